export interface CarriedPackage {
  /** From the root, with forward slashes. */
  readonly folder: string
  readonly name: string
  readonly version: string
}
export declare function closure(names: readonly string[]): CarriedPackage[]
export declare function isNeeded(path: string, target: { readonly platform: string; readonly architecture: string }): boolean

import type { CarriedPackage } from './packages.mjs'

export declare function bundledPackages(): string[]
export declare function writeNotices(folder: string, packages: readonly CarriedPackage[], node: { version: string; licence: string | undefined }, strict: boolean): void

export declare const binaryPath: string

export declare function findCompiler(platform?: NodeJS.Platform, environment?: NodeJS.ProcessEnv): { name: string; version: string } | undefined

export interface CompileShape {
  readonly platform: NodeJS.Platform
  readonly architecture: string
  readonly target: string
  readonly compiler: string
  readonly sources: readonly string[]
  readonly includes: readonly string[]
  readonly definitions: string
  readonly workFolder: string
  readonly output: string
}

export declare function compileCommands(shape: CompileShape): string[][]

export declare function build(options?: { readonly force?: boolean; readonly folder?: string; readonly target?: string }): { readonly status: 'built' | 'current' | 'no-compiler' | 'failed'; readonly message: string }

// The declaration files a program is checked against: TypeScript's own libraries and React's types, read and parsed once per process.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from '../runtime/paths.ts'

export const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  // Every completion is a module of its own: nothing it declares can reach a neighbour of the same batch.
  moduleDetection: ts.ModuleDetectionKind.Force,
  jsx: ts.JsxEmit.ReactJSX,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
}

const fromProject = createRequire(join(projectRoot(), 'package.json'))
const slashes = (path: string): string => path.replaceAll('\\', '/')

/** Folder of TypeScript's lib.*.d.ts files. */
const libraryFolder = slashes(dirname(fromProject.resolve('typescript')))
const reactFolder = slashes(dirname(fromProject.resolve('@types/react/package.json')))
const csstypeFile = slashes(join(dirname(createRequire(join(reactFolder, 'package.json')).resolve('csstype/package.json')), 'index.d.ts'))

const modules: Readonly<Record<string, string>> = {
  react: `${reactFolder}/index.d.ts`,
  'react/jsx-runtime': `${reactFolder}/jsx-runtime.d.ts`,
  csstype: csstypeFile,
  './': `${reactFolder}/index.d.ts`,
}

/** Modules a completion may import; nothing else exists where it runs. */
export const importableModules: readonly string[] = ['react']

const parsed = new Map<string, ts.SourceFile>()

function declarationFile(path: string): ts.SourceFile | undefined {
  const known = parsed.get(path)
  if (known !== undefined) return known
  if (!path.startsWith(`${libraryFolder}/`) && !path.startsWith(`${reactFolder}/`) && path !== csstypeFile) return undefined
  const text = readFileSync(path, 'utf8')
  const file = ts.createSourceFile(path, path === modules['react'] ? askedOnce(text) : text, { languageVersion: ts.ScriptTarget.ES2022, jsDocParsingMode: ts.JSDocParsingMode.ParseNone })
  parsed.set(path, file)
  return file
}

/**
 * React's types with one question in front of another. `LibraryManagedAttributes<C, P>` matches what every single element is made of
 * against memo and lazy components, a quarter of the time of a check, though nothing but those (they have `$$typeof`) and components with
 * `defaultProps` gives anything else than P. Types that say it otherwise stay as they are.
 */
function askedOnce(react: string): string {
  return react.replace(/(type LibraryManagedAttributes<C, P> = )(C extends\s+React\.MemoExoticComponent<infer T>[^;]+);/, '$1C extends { readonly $$$$typeof: symbol } | { defaultProps: unknown } ? ($2) : P;')
}

function resolveModule(name: string, fromReact: boolean): ts.ResolvedModuleWithFailedLookupLocations {
  const path = fromReact || name === 'react/jsx-runtime' || importableModules.includes(name) ? modules[name] : undefined
  if (path === undefined) return { resolvedModule: undefined }
  return { resolvedModule: { resolvedFileName: path, extension: ts.Extension.Dts, isExternalLibraryImport: true } }
}

/** A compiler host that knows the given programs and the declaration files, and no other file of this machine. */
export function createLibraryHost(programs: ReadonlyMap<string, ts.SourceFile>): ts.CompilerHost {
  const find = (path: string): ts.SourceFile | undefined => programs.get(path) ?? declarationFile(path)
  return {
    fileExists: (path) => programs.has(path) || parsed.has(path),
    readFile: (path) => find(path)?.text,
    getSourceFile: find,
    getDefaultLibFileName: () => `${libraryFolder}/lib.es2022.full.d.ts`,
    getDefaultLibLocation: () => libraryFolder,
    writeFile: () => undefined,
    getCurrentDirectory: () => '/completions',
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    resolveModuleNameLiterals: (literals, containingFile) => literals.map((literal) => resolveModule(literal.text, !programs.has(containingFile))),
  }
}

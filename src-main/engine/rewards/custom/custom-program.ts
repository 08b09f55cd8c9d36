// A person's own reward file: found, type-checked, and bundled into one script for the locked-down process.
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { build, type Message } from 'esbuild'
import ts from 'typescript'
import { UserError } from '../../../contract/errors.ts'
import { fileErrorCode } from '../../models/json-file.ts'
import { resourcePath } from '../../runtime/paths.ts'

const endings = /\.(?:[cm]?js|[cm]?ts)$/
const remedy = 'The shape of a reward function is in resources/rewards/custom-reward.d.ts, an example beside it.'

/**
 * Bundles the file and whatever it imports from its own folder and below.
 * @returns a script that exports the function as its default
 * @throws UserError naming file and row: not there, a syntax error, an import that cannot exist where it runs
 */
export async function bundleCustomReward(file: string): Promise<string> {
  const path = resolve(file)
  if (!endings.test(path)) throw new UserError({ code: 'bad-input', what: 'a reward file ends in .js or .ts', place: { file }, remedy })
  try {
    await readFile(path)
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') throw new UserError({ code: 'not-found', what: 'the file does not exist', place: { file } })
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file } }, { cause: error })
  }
  try {
    const result = await build({
      stdin: { contents: `import * as reward from ${JSON.stringify(`./${basename(path)}`)}\nexport default reward.default ?? reward.score`, resolveDir: dirname(path), sourcefile: 'reward-entry.js' },
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'neutral',
      target: 'es2022',
      charset: 'utf8',
      supported: { 'dynamic-import': false },
      logLevel: 'silent',
      // Which of its two exports is there is looked at when it is loaded.
      logOverride: { 'import-is-undefined': 'silent' },
      tsconfigRaw: '{}',
    })
    return result.outputFiles[0]?.text ?? ''
  } catch (error) {
    const first = firstMessage(error)
    const missing = /^Could not resolve "([^"]+)"/.exec(first.text)
    const what = missing === null ? first.text : `${missing[1]} cannot be imported: a reward runs without Node and without packages`
    throw new UserError({ code: 'bad-input', what, place: placeOf(first, path), remedy: missing === null ? '' : 'Import only files of your own, by a relative path.' }, { cause: error })
  }
}

/** What esbuild objected to first. @throws the error itself where it is none of esbuild's */
export function firstMessage(error: unknown): Message {
  const messages = error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors as Message[]) : []
  const first = messages[0]
  if (first === undefined) throw error
  return first
}

function placeOf({ location }: Message, path: string): { file: string; row?: number } {
  if (location === null) return { file: path }
  return { file: basename(location.file) === basename(path) ? path : resolve(dirname(path), location.file), row: location.line }
}

/** How a reward file is checked: strictly, and with nothing of Node or the browser in sight. */
export const customCompilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true, allowJs: true, checkJs: false, strict: true, noEmit: true, skipLibCheck: true, types: [],
}

/** Where the module of `rewardContract` stands: beside the reward file, whose path has forward slashes. */
export function rewardContractPath(path: string): string {
  return `${dirname(path)}/satchel-reward-check.ts`
}

/** Finds what a reward file imports: `satchel` is the declaration of reward functions. */
export function resolveRewardImport(name: string, containing: string, options: ts.CompilerOptions, host: ts.ModuleResolutionHost): ts.ResolvedModuleWithFailedLookupLocations {
  if (name !== 'satchel') return ts.resolveModuleName(name, containing, options, host)
  return { resolvedModule: { resolvedFileName: resourcePath('rewards', 'custom-reward.d.ts').replaceAll('\\', '/'), extension: ts.Extension.Dts } }
}

/** A module that holds the export of a reward file against the type of reward functions. */
export function rewardContract(path: string, text: string): string {
  const isDefault = /export\s+default\b|export\s*\{[^}]*\bas\s+default\b/.test(text)
  return `import * as reward from ${JSON.stringify(`./${basename(path)}`)}\nimport type { RewardFunction } from 'satchel'\nexport const checked: RewardFunction = reward.${isDefault ? 'default' : 'score'}\n`
}

/**
 * Checks the types of a reward file and that its export is a reward function. JavaScript is checked only for what it exports.
 * @throws UserError naming file and row of the first error and counting the others
 */
export function checkCustomTypes(file: string): void {
  const path = resolve(file).replaceAll('\\', '/')
  const entry = rewardContractPath(path)
  const host = ts.createCompilerHost(customCompilerOptions)
  const { getSourceFile, fileExists } = host
  const contents = rewardContract(path, ts.sys.readFile(path) ?? '')
  host.fileExists = (name) => name === entry || fileExists(name)
  host.getSourceFile = (name, options, ...others) => (name === entry ? ts.createSourceFile(name, contents, options) : getSourceFile(name, options, ...others))
  host.resolveModuleNameLiterals = (literals, containing, _redirected, options) => literals.map(({ text }) => resolveRewardImport(text, containing, options, host))
  const program = ts.createProgram([entry], customCompilerOptions, host)
  const errors = ts.getPreEmitDiagnostics(program).filter(({ category }) => category === ts.DiagnosticCategory.Error)
  const first = errors[0]
  if (first === undefined) return
  const message = ts.flattenDiagnosticMessageText(first.messageText, ' ')
  const others = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`
  if (first.file === undefined || first.file.fileName === entry) {
    throw new UserError({ code: 'bad-input', what: `its export is no reward function: ${message}${others}`, place: { file }, expected: 'a default export (or one named score) that takes a completion and gives a number or a verdict', remedy })
  }
  const row = first.file.getLineAndCharacterOfPosition(first.start ?? 0).line + 1
  throw new UserError({ code: 'bad-input', what: `TS${first.code}: ${message}${others}`, place: { file: first.file.fileName === path ? file : first.file.fileName, row }, remedy })
}

// A reward function while it is being written: its type errors by position, and the text as a file a reward worker can load.
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { build } from 'esbuild'
import ts from 'typescript'
import type { CodeProblem } from '../../../contract/calls/rewards.ts'
import { UserError } from '../../../contract/errors.ts'
import { customCompilerOptions, firstMessage, resolveRewardImport, rewardContract, rewardContractPath } from './custom-program.ts'

/** Where a text without a file stands: imports of its own find nothing there. */
function placeOf(path: string | null): string {
  return (path === null ? join(tmpdir(), 'satchel-unsaved', 'reward.ts') : resolve(path)).replaceAll('\\', '/')
}

export interface CodeChecker {
  /** Type errors of a text in order of position; the compiler's own, and that it exports no reward function. */
  check(text: string, path: string | null): CodeProblem[]
}

/** Makes a checker that keeps what it knows of the libraries between two texts. */
export function createCodeChecker(): CodeChecker {
  let current = { path: '', text: '', version: 0 }
  const textOf = (file: string): string | undefined => (file === current.path ? current.text : file === rewardContractPath(current.path) ? rewardContract(current.path, current.text) : ts.sys.readFile(file))
  const service = ts.createLanguageService({
    getCompilationSettings: () => customCompilerOptions,
    getScriptFileNames: () => [current.path, rewardContractPath(current.path)],
    getScriptVersion: (file) => (file === current.path || file === rewardContractPath(current.path) ? String(current.version) : '0'),
    getScriptSnapshot: (file) => {
      const text = textOf(file)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => dirname(current.path),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (file) => file === current.path || file === rewardContractPath(current.path) || ts.sys.fileExists(file),
    readFile: textOf,
    resolveModuleNameLiterals: (literals, containing, _redirected, options) =>
      literals.map(({ text }) => resolveRewardImport(text, containing, options, { fileExists: (file) => file === current.path || ts.sys.fileExists(file), readFile: textOf })),
  })
  return {
    check(text, path) {
      const place = placeOf(path)
      if (text !== current.text || place !== current.path) current = { path: place, text, version: current.version + 1 }
      const own = [...service.getSyntacticDiagnostics(place), ...service.getSemanticDiagnostics(place)].filter(({ category }) => category === ts.DiagnosticCategory.Error)
      if (own.length > 0) return own.map((diagnostic) => problemOf(diagnostic, text)).sort((a, b) => a.start - b.start)
      const contract = service.getSemanticDiagnostics(rewardContractPath(place)).find(({ category }) => category === ts.DiagnosticCategory.Error)
      return contract === undefined ? [] : [{ ...exportPlace(text), message: `Its export is no reward function: ${ts.flattenDiagnosticMessageText(contract.messageText, ' ')}` }]
    },
  }
}

function problemOf({ start = 0, length = 0, messageText }: ts.Diagnostic, text: string): CodeProblem {
  return { start, end: Math.min(text.length, start + Math.max(1, length)), row: rowAt(text, start), message: ts.flattenDiagnosticMessageText(messageText, ' ') }
}

function rowAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

/** Where a person looks for what is exported: the default export, the export named score, or the beginning. */
function exportPlace(text: string): Omit<CodeProblem, 'message'> {
  const found = /export\s+default\b[^\n]*|export\s+(?:const|function|async\s+function)\s+score\b[^\n]*/.exec(text)
  const start = found?.index ?? 0
  return { start, end: found === null ? Math.min(1, text.length) : start + found[0].length, row: rowAt(text, start) }
}

/**
 * The text and whatever it imports as one JavaScript module, for `reward.file` of a trial.
 * @param path the file the text belongs to; imports are found beside it
 * @throws UserError naming the row of a syntax error or of an import that cannot exist where it runs
 */
export async function bundleRewardText(text: string, path: string | null): Promise<string> {
  const place = placeOf(path)
  try {
    const result = await build({
      stdin: { contents: text, resolveDir: dirname(place), sourcefile: basename(place), loader: /\.[cm]?ts$/.test(extname(place)) ? 'ts' : 'js' },
      bundle: true, write: false, format: 'esm', platform: 'neutral', target: 'es2022', charset: 'utf8', logLevel: 'silent', tsconfigRaw: '{}',
    })
    return result.outputFiles[0]?.text ?? ''
  } catch (error) {
    const first = firstMessage(error)
    throw new UserError({ code: 'bad-input', what: first.text, place: { file: path ?? 'the function', ...(first.location === null ? {} : { row: first.location.line }) }, remedy: 'Correct the function; a reward runs without Node and without packages.' }, { cause: error })
  }
}

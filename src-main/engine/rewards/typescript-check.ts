// Parse diagnostics and type errors of completions.
//
//   lib.es2022 + lib.dom + @types/react (parsed once) ─> one program ─> one checker, kept
//   completion 0, 1, 2, ... one after another ─────────────────────────────┘  ─> diagnostics of each
//
// Every completion is a module, so neighbours do not see each other.
import ts from 'typescript'
import type { CodeDiagnostic } from './diagnostic.ts'
import { compilerOptions, createLibraryHost, importableModules } from './typescript-libraries.ts'
import { uncheckedJsx } from './unchecked-jsx.ts'

/** A completion's program after parsing. */
export interface ParsedProgram {
  readonly file: ts.SourceFile
  /** Syntax errors, in order of position. */
  readonly syntax: readonly CodeDiagnostic[]
  /** Whether there is any JSX or an import from React in it. */
  readonly isReact: boolean
}

// The parser keeps these on the file; the public interface hands them out only through a whole program.
type ParserFile = ts.SourceFile & { readonly parseDiagnostics: readonly ts.DiagnosticWithLocation[]; externalModuleIndicator?: ts.Node | true }

/**
 * Parses one program as TSX. The name is internal; positions are UTF-16 units of `code`.
 * @throws RangeError when the nesting is deeper than the parser's stack
 */
export function parseProgram(code: string, name: string): ParsedProgram {
  const file = ts.createSourceFile(
    `/completions/${name}.tsx`,
    code,
    { languageVersion: ts.ScriptTarget.ES2022, jsDocParsingMode: ts.JSDocParsingMode.ParseNone },
    true,
    ts.ScriptKind.TSX,
  ) as ParserFile
  // What `moduleDetection: force` does inside a program: a file without import or export is still a module.
  file.externalModuleIndicator ??= true
  return { file, syntax: file.parseDiagnostics.map(toDiagnostic), isReact: containsReact(file) }
}

/**
 * Type errors of a program, in order of position.
 * @throws whatever the compiler throws on a program it fails on; the checker is then given up, and the next program gets another
 */
export function checkTypes({ file }: ParsedProgram): CodeDiagnostic[] {
  if (kept === undefined || kept.checked >= programsPerChecker) kept = openChecker()
  try {
    const found = check(file, kept)
    return [...found.map(toDiagnostic), ...uncheckedJsx(file, kept.checker)].sort((a, b) => (a.start ?? 0) - (b.start ?? 0))
  } catch (error) {
    // It was left in the middle of something, and what it says from here on cannot be trusted.
    kept = undefined
    throw error
  }
}

// Setting a checker up (the libraries' names, React's types of elements) takes twenty times as long as checking a program with it, so one
// checker serves many programs. The compiler has no public way to hand another file to a checker; this is the one its own language
// service has: bind the file, ask the checker for its diagnostics. A test holds the result equal to that of a program of its own.
const compiler = ts as typeof ts & { bindSourceFile(file: ts.SourceFile, options: ts.CompilerOptions): void }
type OpenChecker = ts.TypeChecker & { getDiagnostics(file: ts.SourceFile): readonly CheckerDiagnostic[] }
type CheckerDiagnostic = ts.Diagnostic & { readonly skippedOn?: keyof ts.CompilerOptions }
type BoundFile = ts.SourceFile & { path: string; imports: readonly ts.StringLiteralLike[]; moduleAugmentations: readonly unknown[]; ambientModuleNames: readonly string[]; readonly bindDiagnostics?: readonly CheckerDiagnostic[] }

interface KeptChecker {
  readonly checker: OpenChecker
  /** The file the checker's program was made with: what it may import, others may. */
  readonly model: BoundFile
  checked: number
}

/** Bounds what a checker remembers of programs it has seen. */
const programsPerChecker = 256
let kept: KeptChecker | undefined

function openChecker(): KeptChecker {
  const { file } = parseProgram("import 'react';\nexport default () => <p></p>;\n", 'model')
  const program = ts.createProgram([file.fileName], compilerOptions, createLibraryHost(new Map([[file.fileName, file]])))
  return { checker: program.getTypeChecker() as OpenChecker, model: file as BoundFile, checked: 0 }
}

function check(parsed: ts.SourceFile, open: KeptChecker): ts.Diagnostic[] {
  const file = parsed as BoundFile
  open.checked += 1
  // Diagnostics are collected by name: each program needs its own.
  file.fileName = `/completions/${open.checked}/${file.fileName.split('/').at(-1)}`
  const { path, imports, moduleAugmentations, ambientModuleNames } = open.model
  Object.assign(file, { path, imports, moduleAugmentations, ambientModuleNames })
  compiler.bindSourceFile(file, compilerOptions)
  return [...(file.bindDiagnostics ?? []), ...open.checker.getDiagnostics(file)].filter((diagnostic) => diagnostic.category === ts.DiagnosticCategory.Error && !isSkipped(diagnostic) && !isImportFailure(diagnostic))
}

const isSkipped = ({ skippedOn }: CheckerDiagnostic): boolean => skippedOn !== undefined && compilerOptions[skippedOn] === true

/** Imports of modules that do not exist where a completion runs: what the bundle stage reports. */
export function missingImports(file: ts.SourceFile): CodeDiagnostic[] {
  const found: CodeDiagnostic[] = []
  for (const statement of file.statements) {
    const specifier = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) ? statement.moduleSpecifier : undefined
    if (specifier === undefined || !ts.isStringLiteral(specifier) || importableModules.includes(specifier.text)) continue
    const message = `cannot bundle "${specifier.text}": a single-file application can import only ${importableModules.join(', ')}`
    found.push({ start: specifier.getStart(file), length: specifier.getWidth(file), severity: 'error', rule: 'missing-import', message })
  }
  return found
}

// Left to the bundle stage, which says it better: module not found, in its several wordings.
function isImportFailure(diagnostic: ts.Diagnostic): boolean {
  return diagnostic.code === 2307 || diagnostic.code === 2792 || diagnostic.code === 2882
}

function toDiagnostic(diagnostic: ts.Diagnostic): CodeDiagnostic {
  // The head alone: below it the checker names one member of a union or another, as the programs before it happen to have ordered them.
  const message = (typeof diagnostic.messageText === 'string' ? diagnostic.messageText : diagnostic.messageText.messageText).slice(0, 500)
  const unknown = unknownName.exec(message)?.[1]
  const plain = unknown === undefined ? withoutSuggestion.get(diagnostic.code) : cannotFindName
  return {
    start: diagnostic.start,
    length: diagnostic.length ?? 0,
    severity: 'error',
    rule: `TS${plain ?? diagnostic.code}`,
    message: unknown === undefined ? inOrder(plain === undefined ? message : message.replace(/ Did you mean [^\n]*\?$/, '')) : `Cannot find name '${unknown}'.`,
  }
}

const cannotFindName = 2304

// A checker suggests another name ten times in its life and then no more: what it says of a program would depend on the programs before it.
const withoutSuggestion: ReadonlyMap<number, number> = new Map([[2833, 2503]])
// What it says instead has several wordings (of shorthand properties, of names of Node or of test runners).
const unknownName = /^(?:Cannot find name|No value exists in scope for the shorthand property) '([^']*)'\./

// The members of a union stand in the order in which the checker first met them, in this program or in one before it.
const plainUnion = /(?:"(?:[^"\\]|\\.)*"|[\w.]+)(?: \| (?:"(?:[^"\\]|\\.)*"|[\w.]+))+/g
const unionMember = /"(?:[^"\\]|\\.)*"|[\w.]+/g
const inOrder = (message: string): string => message.replace(plainUnion, (union) => (union.match(unionMember) ?? []).sort().join(' | '))

function containsReact(file: ts.SourceFile): boolean {
  const visit = (node: ts.Node): boolean => {
    if (ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.isJsxFragment(node)) return true
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) && node.moduleSpecifier.text === 'react') return true
    return ts.forEachChild(node, (child) => visit(child) || undefined) ?? false
  }
  return visit(file)
}

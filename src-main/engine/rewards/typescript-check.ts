// Parse diagnostics and type errors of a batch of completions.
//
//   completion 0 ─┐
//   completion 1 ─┼─> one program: lib.es2022 + lib.dom + @types/react (parsed once) ─> one checker ─> diagnostics per completion
//   completion n ─┘
//
// The checker's set-up is paid once a batch; every completion is a module, so neighbours do not see each other.
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
 * Type errors of every program of a batch, in the order given.
 * @param announce called before each program is checked, so that a program that never returns can be named
 */
export function checkTypes(programs: readonly ParsedProgram[], announce: (index: number) => void): CodeDiagnostic[][] {
  const files = new Map(programs.map(({ file }) => [file.fileName, file]))
  const program = ts.createProgram([...files.keys()], compilerOptions, createLibraryHost(files))
  const checker = program.getTypeChecker()
  return programs.map(({ file }, index) => {
    announce(index)
    const errors = program.getSemanticDiagnostics(file).filter((diagnostic) => diagnostic.category === ts.DiagnosticCategory.Error && !isImportFailure(diagnostic))
    return [...errors.map(toDiagnostic), ...uncheckedJsx(file, checker)].sort((a, b) => (a.start ?? 0) - (b.start ?? 0))
  })
}

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
  return {
    start: diagnostic.start,
    length: diagnostic.length ?? 0,
    severity: 'error',
    rule: `TS${diagnostic.code}`,
    message: ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n').slice(0, 500),
  }
}

function containsReact(file: ts.SourceFile): boolean {
  const visit = (node: ts.Node): boolean => {
    if (ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.isJsxFragment(node)) return true
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) && node.moduleSpecifier.text === 'react') return true
    return ts.forEachChild(node, (child) => visit(child) || undefined) ?? false
  }
  return visit(file)
}

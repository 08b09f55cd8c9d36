// From the code of a completion to a script the sandbox can call: parse, find the function, mark every statement with its line, transpile.
import { transform } from 'esbuild'
import ts from 'typescript'
import type { CodeDiagnostic } from '../diagnostic.ts'
import { findTricks } from '../tricks.ts'

export interface CodeProgram {
  readonly file: ts.SourceFile
  /** Syntax errors, in order of position. */
  readonly syntax: readonly CodeDiagnostic[]
}

type ParserFile = ts.SourceFile & { readonly parseDiagnostics: readonly ts.DiagnosticWithLocation[]; externalModuleIndicator?: ts.Node | true }

/**
 * Parses code as TypeScript, of which JavaScript is a part.
 * @param name names the program among those of a batch
 * @throws RangeError when the nesting is deeper than the parser's stack, or than anything that walks the tree should be asked to go
 */
export function parseCode(code: string, name: string): CodeProgram {
  const file = ts.createSourceFile(`/completions/${name}.ts`, code, { languageVersion: ts.ScriptTarget.ES2022, jsDocParsingMode: ts.JSDocParsingMode.ParseNone }, true, ts.ScriptKind.TS) as ParserFile
  file.externalModuleIndicator ??= true
  refuseDepth(file)
  const syntax = file.parseDiagnostics.map(({ start, length, code: number, messageText }) => ({ start, length, severity: 'error' as const, rule: `TS${number}`, message: ts.flattenDiagnosticMessageText(messageText, '\n').slice(0, 500) }))
  return { file, syntax }
}

const deepest = 500

function refuseDepth(file: ts.SourceFile): void {
  const waiting: (readonly [ts.Node, number])[] = [[file, 0]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [node, depth] = next
    if (depth > deepest) throw new RangeError(`nested more than ${deepest} deep`)
    ts.forEachChild(node, (child) => void waiting.push([child, depth + 1]))
  }
}

/** What keeps the code from being called at all: imports, tricks, a function that is not there. Positions where there are any. */
export function refusals(file: ts.SourceFile, entry: string): CodeDiagnostic[] {
  const found = [...findTricks(file)]
  for (const statement of file.statements) {
    const specifier = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) ? statement.moduleSpecifier : undefined
    if (specifier !== undefined) found.push({ start: specifier.getStart(file), length: specifier.getWidth(file), severity: 'error', rule: 'import', message: 'nothing can be imported here' })
  }
  if (entryName(file, entry) === undefined) found.push({ start: undefined, length: 0, severity: 'error', rule: 'entry', message: `there is no function ${entry}` })
  return found
}

/** How the function is exported: under the name asked for, or as the default. */
function entryName(file: ts.SourceFile, entry: string): 'named' | 'default' | undefined {
  let found: 'default' | undefined
  for (const statement of file.statements) {
    if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name?.text === entry && (ts.isClassDeclaration(statement) || statement.body !== undefined)) return 'named'
    if (ts.isVariableStatement(statement) && statement.declarationList.declarations.some(({ name }) => ts.isIdentifier(name) && name.text === entry)) return 'named'
    if (ts.isExportAssignment(statement) || (ts.isFunctionDeclaration(statement) && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) === true)) found = 'default'
  }
  return found
}

/** The code as one script: its function is exported as `satchelEntry` (or stays the default), and each statement tells its 1-based line first. */
export async function scriptOf(file: ts.SourceFile, entry: string): Promise<{ readonly script: string } | { readonly errors: readonly CodeDiagnostic[] }> {
  const marked = withLines(file) + (entryName(file, entry) === 'named' ? `\n;export { ${entry} as satchelEntry };` : '')
  try {
    const { code } = await transform(marked, { loader: 'ts', format: 'cjs', target: 'es2022', charset: 'utf8', supported: { 'dynamic-import': false }, logLevel: 'silent', tsconfigRaw: '{}' })
    return { script: code }
  } catch (error) {
    const messages = error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors as { text: string; location: { line: number } | null }[]) : []
    if (messages.length === 0) throw error
    return { errors: messages.map(({ text, location }) => ({ start: location === null ? undefined : lineStart(file, location.line), length: 1, severity: 'error' as const, rule: 'esbuild', message: text.slice(0, 500) })) }
  }
}

/** Position of the first character of a line that is not white space; undefined for a line that does not exist. */
export function lineStart(file: ts.SourceFile, line: number): number | undefined {
  const start = file.getLineStarts()[line - 1]
  if (start === undefined) return undefined
  const end = file.text.slice(start).search(/\S/)
  return start + Math.max(0, end)
}

/** The text with a call in front of every statement of a list. Lines stay where they are. */
function withLines(file: ts.SourceFile): string {
  const marks: number[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isSourceFile(node) || ts.isBlock(node) || ts.isCaseClause(node) || ts.isDefaultClause(node)) {
      // A mark in front of a directive would switch it off; one in front of a declaration would say nothing.
      for (const statement of node.statements) if (!isDirective(statement) && !isDeclaration(statement)) marks.push(statement.getStart(file))
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  let text = ''
  let at = 0
  for (const position of marks.sort((a, b) => a - b)) {
    text += `${file.text.slice(at, position)}satchelLine(${file.getLineAndCharacterOfPosition(position).line + 1});`
    at = position
  }
  return text + file.text.slice(at)
}

const isDirective = (statement: ts.Statement): boolean => ts.isExpressionStatement(statement) && ts.isStringLiteral(statement.expression)
const isDeclaration = (statement: ts.Statement): boolean => ts.isFunctionDeclaration(statement) || ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) || ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)

// Programs that would pass the gates without being what was asked for. They are refused as if they did not parse:
//   * comments that switch a check off (`@ts-nocheck`, `@ts-ignore`, `@ts-expect-error`, `eslint-disable`) or change how JSX is read;
//   * declarations that make the types say anything (`declare global`, `namespace JSX`, `declare const x: any`);
//   * code that loads other code while it runs (`import()`), which no check here has seen.
import ts from 'typescript'
import type { CodeDiagnostic } from './diagnostic.ts'

const suppressions = /@ts-(?:no-?check|ignore|expect-error)|eslint-(?:disable|enable|env)|\/[/*]\s*eslint\b|@jsx\w*|^[^\S\r\n]*\/\/\/\s*<(?:reference|amd)/gim

/** Every trick in a program, in order of position; a program without any gives an empty list. */
export function findTricks(file: ts.SourceFile): CodeDiagnostic[] {
  const found: CodeDiagnostic[] = []
  const report = (start: number, length: number, rule: string, message: string): void => {
    found.push({ start, length, severity: 'error', rule, message })
  }
  for (const match of file.text.matchAll(suppressions)) report(match.index, match[0].length, 'suppression', `${match[0].trim()} switches a check off`)
  const visit = (node: ts.Node): void => {
    const trick = trickOf(node)
    if (trick !== undefined) report(node.getStart(file), Math.min(node.getWidth(file), 40), trick.rule, trick.message)
    else ts.forEachChild(node, visit)
  }
  ts.forEachChild(file, visit)
  return found.sort((a, b) => (a.start ?? 0) - (b.start ?? 0))
}

function trickOf(node: ts.Node): { rule: string; message: string } | undefined {
  if (ts.isModuleDeclaration(node)) return { rule: 'ambient', message: 'a namespace or module declaration can change the types everything is checked against' }
  if (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some((modifier) => modifier.kind === ts.SyntaxKind.DeclareKeyword) === true) {
    return { rule: 'ambient', message: '`declare` promises something that does not exist when the program runs' }
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return { rule: 'dynamic-import', message: 'a single-file application loads nothing while it runs' }
  if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword) return { rule: 'dynamic-import', message: 'import.meta does not exist in a single-file application' }
  if (ts.isImportEqualsDeclaration(node) || ts.isNamespaceExportDeclaration(node)) return { rule: 'ambient', message: 'only ES imports and exports exist in a single-file application' }
  return undefined
}

/** Assertions that silence the type checker (`as any`, `as never`, `as unknown as T`); counted by the audit. */
export function silencingAssertions(file: ts.SourceFile): number {
  let count = 0
  const visit = (node: ts.Node): void => {
    if (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) {
      const kind = node.type.kind
      if (kind === ts.SyntaxKind.AnyKeyword || kind === ts.SyntaxKind.NeverKeyword || kind === ts.SyntaxKind.UnknownKeyword) count += 1
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return count
}

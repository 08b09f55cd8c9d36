// JSX that TypeScript's own check lets through unseen, reported as errors of the type stage:
//   * a tag or a spread of type `any`: whatever attributes it gets are accepted;
//   * an attribute with a hyphen on an HTML element (`<p add-apples>`): TypeScript accepts every such name.
import ts from 'typescript'
import type { CodeDiagnostic } from './diagnostic.ts'
import { isKnownAttribute } from './known-attributes.ts'

/** Findings in one program, in order of position. */
export function uncheckedJsx(file: ts.SourceFile, checker: ts.TypeChecker): CodeDiagnostic[] {
  const found: CodeDiagnostic[] = []
  const report = (node: ts.Node, rule: string, message: string): void => {
    found.push({ start: node.getStart(file), length: node.getWidth(file), severity: 'error', rule, message })
  }
  const isAny = (node: ts.Node): boolean => (checker.getTypeAtLocation(node).flags & ts.TypeFlags.Any) !== 0
  const visit = (node: ts.Node): void => {
    if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) {
      const intrinsic = ts.isIdentifier(node.tagName) && /^[a-z]/.test(node.tagName.text)
      if (!intrinsic && isAny(node.tagName)) report(node.tagName, 'unchecked-tag', 'this element has type any, so nothing about it is checked')
      if (intrinsic) reportUnknownAttributes(node, file, report)
    } else if (ts.isJsxSpreadAttribute(node) && isAny(node.expression)) {
      report(node, 'unchecked-attributes', 'these attributes have type any, so nothing about them is checked')
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function reportUnknownAttributes(element: ts.JsxOpeningLikeElement, file: ts.SourceFile, report: (node: ts.Node, rule: string, message: string) => void): void {
  for (const property of element.attributes.properties) {
    if (!ts.isJsxAttribute(property)) continue
    const name = property.name.getText(file)
    if (name.includes('-') && !isKnownAttribute(name)) report(property.name, 'unknown-attribute', `HTML has no attribute named ${name}`)
  }
}

// Small lint rules about React and padding that neither the type checker nor ESLint's core covers.
import type { Rule } from 'eslint'
import type { TSESTree } from '@typescript-eslint/utils'

// ESLint's own types stop at JavaScript; the parser hands the rules the TypeScript tree.
type Node = TSESTree.Node
type Listener = Record<string, (node: Node) => void>

function rule(message: string, create: (report: (node: Node) => void, context: Rule.RuleContext) => Listener): Rule.RuleModule {
  return {
    meta: { type: 'problem', schema: [], messages: { found: message } },
    create: (context) => create((node) => context.report({ node, messageId: 'found' }), context),
  }
}

const isJsx = (node: Node | null | undefined): boolean => node?.type === 'JSXElement' || node?.type === 'JSXFragment'

function hasKey(node: Node): boolean {
  return node.type === 'JSXElement' && node.openingElement.attributes.some((attribute) => attribute.type === 'JSXSpreadAttribute' || attribute.name.name === 'key')
}

/** What a function returns: its expression body, or the arguments of the return statements directly in its block. */
function returned(node: Node): (Node | null)[] {
  if (node.type !== 'ArrowFunctionExpression' && node.type !== 'FunctionExpression') return []
  if (node.body.type !== 'BlockStatement') return [node.body]
  return node.body.body.flatMap((statement) => (statement.type === 'ReturnStatement' ? [statement.argument] : []))
}

const jsxKey = rule('Every element made in a loop or listed in an array needs a key.', (report) => ({
  CallExpression(node) {
    if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression' || node.callee.property.type !== 'Identifier') return
    if (node.callee.property.name !== 'map' && node.callee.property.name !== 'flatMap') return
    for (const argument of node.arguments) {
      for (const result of returned(argument)) if (result !== null && isJsx(result) && !hasKey(result)) report(result)
    }
  },
  ArrayExpression(node) {
    if (node.type !== 'ArrayExpression') return
    for (const element of node.elements) if (element !== null && isJsx(element) && !hasKey(element)) report(element)
  },
}))

const isHookName = (name: string): boolean => /^use(?:[A-Z]|$)/.test(name)
const isComponentOrHookName = (name: string | undefined): boolean => name !== undefined && (/^[A-Z]/.test(name) || isHookName(name))
const conditional = new Set(['IfStatement', 'ConditionalExpression', 'LogicalExpression', 'ForStatement', 'ForInStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement', 'SwitchCase', 'TryStatement'])

function functionName(node: Node): string | undefined {
  if (node.type === 'FunctionDeclaration') return node.id?.name ?? (node.parent.type === 'ExportDefaultDeclaration' ? 'Default' : undefined)
  if (node.type !== 'FunctionExpression' && node.type !== 'ArrowFunctionExpression') return undefined
  if (node.type === 'FunctionExpression' && node.id !== null) return node.id.name
  const { parent } = node
  if (parent.type === 'VariableDeclarator' && parent.id.type === 'Identifier') return parent.id.name
  if (parent.type === 'ExportDefaultDeclaration') return 'Default'
  // memo(function () {}) and forwardRef(...)
  if (parent.type === 'CallExpression' && parent.callee.type === 'Identifier' && /^(?:memo|forwardRef)$/.test(parent.callee.name)) return 'Wrapped'
  return undefined
}

const hooks = rule('A hook is called at the top level of a component or hook: not in a condition, loop, callback or after a return.', (report) => ({
  CallExpression(node) {
    if (node.type !== 'CallExpression') return
    const { callee } = node
    const name = callee.type === 'Identifier' ? callee.name : callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && callee.object.name === 'React' && callee.property.type === 'Identifier' ? callee.property.name : ''
    if (!isHookName(name) || name === 'use') return
    for (let above: Node | null | undefined = node.parent; above !== null && above !== undefined; above = above.parent) {
      if (conditional.has(above.type)) return report(node)
      if (above.type === 'FunctionDeclaration' || above.type === 'FunctionExpression' || above.type === 'ArrowFunctionExpression') {
        if (!isComponentOrHookName(functionName(above)) || returnsBefore(above, node)) report(node)
        return
      }
    }
    report(node)
  },
}))

/** Whether a statement of the function's own block that stands before the hook can return. */
function returnsBefore(owner: Node, hook: Node): boolean {
  if (!('body' in owner) || owner.body === null || owner.body === undefined || Array.isArray(owner.body) || owner.body.type !== 'BlockStatement') return false
  return owner.body.body.some((statement) => {
    if (statement.range[0] >= hook.range[0]) return false
    if (statement.type === 'ReturnStatement') return true
    return statement.type === 'IfStatement' && [statement.consequent, statement.alternate].some((branch) => branch?.type === 'ReturnStatement' || (branch?.type === 'BlockStatement' && branch.body.some((inner) => inner.type === 'ReturnStatement')))
  })
}

const blankLines = rule('More than one blank line in a row.', (_report, context) => ({
  'Program:exit'() {
    const { lines } = context.sourceCode
    let run = 0
    lines.forEach((line, index) => {
      run = line.trim() === '' && index < lines.length - 1 ? run + 1 : 0
      if (run > 1) context.report({ loc: { start: { line: index + 1, column: 0 }, end: { line: index + 1, column: line.length } }, messageId: 'found' })
    })
  },
}))

const emptyElement = rule('An element without content or a name shows nothing.', (report) => ({
  JSXElement(node) {
    if (node.type !== 'JSXElement' || node.openingElement.name.type !== 'JSXIdentifier') return
    const shown = /^(?:h[1-6]|p|button|li|label|option|a|td|th|summary|legend|figcaption)$/.test(node.openingElement.name.name)
    const named = node.openingElement.attributes.some((attribute) => attribute.type === 'JSXSpreadAttribute' || (attribute.name.type === 'JSXIdentifier' && /^(?:aria-label|aria-labelledby|title|children|dangerouslySetInnerHTML)$/.test(attribute.name.name)))
    if (shown && !named && node.children.every((child) => child.type === 'JSXText' && child.value.trim() === '')) report(node)
  },
}))

/** Rules under the prefix `react/`. */
export const reactRules: Record<string, Rule.RuleModule> = { 'jsx-key': jsxKey, hooks, 'blank-lines': blankLines, 'empty-element': emptyElement }

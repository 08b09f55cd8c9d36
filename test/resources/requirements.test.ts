// Every reference is mounted in a document, clicked, and held against its own requirements. Roles and names are read in the plainest way
// (headings and buttons by their text, fields by the label around them), on purpose not by the code that rewards a rollout.
import { createRequire } from 'node:module'
import { compileFunction } from 'node:vm'
import { transformSync } from 'esbuild'
import { parseHTML } from 'linkedom'
import { afterEach, beforeAll, expect, it } from 'vitest'
import type { Requirement } from '../../src-main/contract/rewards.ts'
import { demoPrompts } from '../../src-main/engine-host/make-demo/prompts.ts'

interface Root {
  render(element: unknown): void
  unmount(): void
}

const require = createRequire(import.meta.url)
let createElement: (component: unknown) => unknown
let createRoot: (container: Element) => Root
let flushSync: (action: () => void) => void
let mounted: Root | undefined

beforeAll(() => {
  const { window } = parseHTML('<!doctype html><html><body></body></html>')
  // React reads these when it is loaded, so it is loaded after them.
  Object.assign(globalThis, { window, document: window.document })
  // Node 20 has no navigator of its own; a later one refuses to have it replaced.
  if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator: { userAgent: 'node' } })
  createElement = (require('react') as { createElement: typeof createElement }).createElement
  createRoot = (require('react-dom/client') as { createRoot: typeof createRoot }).createRoot
  flushSync = (require('react-dom') as { flushSync: typeof flushSync }).flushSync
})

afterEach(() => {
  mounted?.unmount()
  mounted = undefined
})

function mount(program: string): Element {
  const { code } = transformSync(program, { loader: 'tsx', format: 'cjs', jsx: 'automatic' })
  const module: { exports: { default?: unknown } } = { exports: {} }
  const run = compileFunction(code, ['module', 'exports', 'require']) as (own: unknown, exports: unknown, load: unknown) => void
  run(module, module.exports, require)
  mounted?.unmount()
  document.body.innerHTML = '<div></div>'
  const container = document.body.firstElementChild as Element
  const root = createRoot(container)
  mounted = root
  flushSync(() => root.render(createElement(module.exports.default)))
  return container
}

const selectors: Readonly<Record<string, string>> = {
  heading: 'h1, h2', button: 'button', listitem: 'li', textbox: 'label:has(input:not([type]))', checkbox: 'label:has(input[type=checkbox])',
}

function byRole(page: Element, role: string, name: string | undefined): Element | undefined {
  return [...page.querySelectorAll(selectors[role] ?? 'unknown-role')].find((element) => name === undefined || element.textContent.trim() === name)
}

function meets(program: string, requirement: Requirement): boolean {
  const page = mount(program)
  if (requirement.kind === 'role') return byRole(page, requirement.role, requirement.name) !== undefined
  if (requirement.kind === 'text') return page.textContent.includes(requirement.text)
  for (let click = 0; click < (requirement.times ?? 1); click++) {
    const control = byRole(page, requirement.role, requirement.name)
    flushSync(() => control?.dispatchEvent(new window.Event('click', { bubbles: true })))
  }
  return page.textContent.includes(requirement.text)
}

it('every reference meets each of its requirements, clicks included', () => {
  const missed = demoPrompts().flatMap((row) => row.requirements
    .filter((requirement) => !meets(row.reference, requirement))
    .map((requirement) => `${row.id}: ${JSON.stringify(requirement)}`))
  expect(missed).toEqual([])
})

it('the reference of another row of the same kind misses at least one requirement', () => {
  const rows = demoPrompts()
  const alike = rows.flatMap((row, index) => {
    const other = rows.slice(index + 1).find((candidate) => candidate.id.split('-')[0] === row.id.split('-')[0])
    return other !== undefined && row.requirements.every((requirement) => meets(other.reference, requirement)) ? [`${row.id} and ${other.id}`] : []
  })
  expect(alike).toEqual([])
})

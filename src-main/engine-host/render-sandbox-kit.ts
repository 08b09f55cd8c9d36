// Everything that lives inside the sandbox's context: a document, React, and the few commands the process around it may give.
// It is bundled into one classic script; nothing in it can reach an object of the process.
//
//   satchelRegister(function)        called once, by the generated script: hands over the program and opens it
//   satchelCommand(secret, name, n)  called by the process only: opens afresh, moves time, clicks, reads the document.
//                                    Answers are JSON texts, the only thing that leaves the context.
//
// Every entry into the context costs a watchdog of its own, so one entry does as much as can be done without one: opening comes with
// handing over, and reading with finding that nothing is due any more.
import type { PageEnvironment } from './render-sandbox-environment.ts'
import { lockDown } from './render-sandbox-lockdown.ts'
import * as React from 'react'
import * as jsxRuntime from 'react/jsx-runtime'
import { flushSync } from 'react-dom'
import { createRoot, type Root } from 'react-dom/client'
import { parseHTML } from 'linkedom'
import type { RenderedElement, RenderedNode } from '../contract/rendered-document.ts'

interface PageNode {
  readonly nodeType: number
  readonly localName?: string
  readonly data?: string
  readonly attributes?: Iterable<{ readonly name: string; readonly value: string }>
  readonly firstChild: PageNode | null
  readonly nextSibling: PageNode | null
  readonly parentNode: PageNode | null
  readonly isConnected: boolean
  value?: unknown
  checked?: unknown
  open?: unknown
  type?: unknown
  click?: unknown
  getAttribute(name: string): string | null
  hasAttribute(name: string): boolean
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  closest(selector: string): PageNode | null
  querySelector(selector: string): PageNode | null
  appendChild(child: PageNode): void
  remove(): void
  dispatchEvent(event: unknown): boolean
}

interface PageDocument {
  readonly body: PageNode
  createElement(name: string): PageNode
  getElementById(id: string): PageNode | null
}

type EventClass = new (type: string, options: object) => { readonly defaultPrevented: boolean }
type Program = (exports: Record<string, unknown>, require: (name: string) => unknown, module: { exports: unknown }) => void

const page = globalThis as unknown as Record<string, unknown>
const { clearTimers, logged, nextInstant, record, runTimers, virtualTime } = page['satchelEnvironment'] as PageEnvironment
delete page['satchelEnvironment']
const view = parseHTML('<!doctype html><html lang="en"><head></head><body></body></html>') as unknown as Record<string, unknown>
const document = view['document'] as PageDocument
const PageEvent = view['Event'] as EventClass

const secret = page['satchelSecret']
delete page['satchelSecret']
const { stringify } = JSON

let program: Program | undefined
let component: unknown
let root: Root | undefined
let container: PageNode | undefined
let ids = new WeakMap<object, number>()
let nodes = new Map<number, PageNode>()
let nextNode = 1

page['document'] = document
page['addEventListener'] = view['addEventListener']
page['removeEventListener'] = view['removeEventListener']
page['dispatchEvent'] = view['dispatchEvent']
const classes = Object.getOwnPropertyNames(page)
for (const name of ['Event', 'CustomEvent', 'InputEvent', 'EventTarget', 'Node', 'Element', 'HTMLElement', 'HTMLInputElement', 'HTMLIFrameElement', 'HTMLButtonElement', 'HTMLFormElement', 'HTMLSelectElement', 'HTMLTextAreaElement', 'Text', 'DocumentFragment', 'NodeList', 'SVGElement']) {
  if (!classes.includes(name) && view[name] !== undefined) page[name] = view[name]
}

page['satchelRegister'] = (handed: unknown): string => {
  if (program !== undefined || typeof handed !== 'function') return ''
  program = handed as Program
  return answer('open', 0, 0)
}

page['satchelCommand'] = (given: unknown, name: unknown, argument: unknown, limit: unknown): string => {
  if (given !== secret) throw new TypeError('this is not for the page')
  return answer(String(name), Number(argument), Number(limit))
}

function answer(name: string, argument: number, limit: number): string {
  try {
    return stringify(command(name, argument, limit))
  } catch (error) {
    record('errors', [error])
    return stringify({ failed: logged.errors[logged.errors.length - 1] })
  }
}

function command(name: string, argument: number, limit: number): unknown {
  switch (name) {
    case 'open':
      return open()
    case 'rest':
      return step(argument) ?? describePage(limit)
    case 'click':
      return { clicked: click(argument) }
    case 'read':
      return describePage(limit)
    default:
      throw new Error(`unknown command ${name}`)
  }
}

/** Runs the program once, then mounts its default export afresh. */
function open(): { problem?: string } {
  if (root !== undefined) {
    root.unmount()
    container?.remove()
    clearTimers()
  }
  component ??= defaultExport()
  if (typeof component === 'string') return { problem: component }
  ids = new WeakMap()
  nodes = new Map()
  nextNode = 1
  container = document.createElement('div')
  container.setAttribute('id', 'root')
  document.body.appendChild(container)
  root = createRoot(container, { onUncaughtError: (error) => record('errors', [error]), onCaughtError: (error) => record('errors', [error]), onRecoverableError: (error) => record('errors', [error]) })
  const element = React.createElement(component as React.ComponentType)
  flushSync(() => root?.render(element))
  return {}
}

/** The component, or a text saying why there is none. */
function defaultExport(): unknown {
  if (program === undefined) return 'nothing was bundled'
  const module = { exports: {} as unknown }
  program(module.exports as Record<string, unknown>, requireModule, module)
  const exported = module.exports as { default?: unknown }
  const found = exported.default
  if (typeof found === 'function') return found
  // memo() and forwardRef() give objects.
  if (typeof found === 'object' && found !== null && '$$typeof' in found && !React.isValidElement(found)) return found
  return 'the program has no default export that is a component'
}

const modules: Record<string, unknown> = { react: { ...React, default: React }, 'react/jsx-runtime': { ...jsxRuntime } }

function requireModule(name: unknown): unknown {
  const found = Object.hasOwn(modules, String(name)) ? modules[String(name)] : undefined
  if (found === undefined) throw new Error(`there is no module ${String(name)} here`)
  return found
}

function describePage(limit: number): unknown {
  return { body: read(limit), errors: logged.errors, warnings: logged.warnings }
}

/** Runs what is due next, up to a horizon of virtual milliseconds from now; says when that was, or undefined when nothing is left. */
function step(horizon: number): { at: number } | undefined {
  const instant = nextInstant(horizon)
  if (instant === undefined) return undefined
  runTimers(instant)
  return { at: virtualTime() }
}

/** Clicks an element as a person would: disabled controls do nothing, boxes toggle, labels pass it on, buttons send their form. */
function click(id: number): boolean {
  const node = nodes.get(id)
  if (node === undefined || !node.isConnected) return false
  activate(node, 0)
  return true
}

function activate(node: PageNode, depth: number): void {
  const tag = node.localName
  if (node.hasAttribute('disabled') && (tag === 'button' || tag === 'input' || tag === 'select' || tag === 'textarea')) return
  const type = (node.getAttribute('type') ?? '').toLowerCase()
  const box = tag === 'input' && (type === 'checkbox' || type === 'radio')
  const before = node.checked
  if (box) node.checked = type === 'radio' ? true : before !== true
  const event = new PageEvent('click', { bubbles: true, cancelable: true })
  node.dispatchEvent(event)
  if (event.defaultPrevented) {
    if (box) node.checked = before
    return
  }
  if (box && before !== node.checked) for (const name of ['input', 'change']) node.dispatchEvent(new PageEvent(name, { bubbles: true }))
  if ((tag === 'button' && (type === '' || type === 'submit')) || (tag === 'input' && type === 'submit')) {
    node.closest('form')?.dispatchEvent(new PageEvent('submit', { bubbles: true, cancelable: true }))
  }
  const label = tag === 'label' ? node : undefined
  if (label !== undefined && depth === 0) {
    const target = label.getAttribute('for') === null ? label.querySelector('input, select, textarea, button') : document.getElementById(label.getAttribute('for') ?? '')
    if (target !== null) activate(target, depth + 1)
  }
  const details = tag === 'summary' ? node.parentNode : null
  if (details?.localName === 'details') {
    if (details.hasAttribute('open')) details.removeAttribute('open')
    else details.setAttribute('open', '')
  }
}

const maximumDepth = 200
const maximumText = 100_000

function text(value: unknown, length: number): string {
  return typeof value === 'string' ? value.slice(0, length) : ''
}

/** The body as plain data. Throws when there are more than `limit` elements or more text than anyone reads. */
function read(limit: number): RenderedElement {
  let elements = 0
  let characters = 0
  const take = (value: unknown): string => {
    const taken = text(value, maximumText)
    characters += taken.length
    if (characters > maximumText) throw new Error('the page shows too much text')
    return taken
  }
  const describe = (node: PageNode, depth: number): RenderedElement => {
    if (++elements > limit) throw new Error(`the page has more than ${limit} elements`)
    if (depth > maximumDepth) throw new Error(`the page is nested more than ${maximumDepth} elements deep`)
    let id = ids.get(node)
    if (id === undefined) {
      id = nextNode++
      ids.set(node, id)
      nodes.set(id, node)
    }
    const attributes: [string, string][] = []
    for (const attribute of node.attributes ?? []) attributes.push([take(attribute.name), take(attribute.value)])
    const children: RenderedNode[] = []
    for (let child = node.firstChild; child !== null && child !== undefined; child = child.nextSibling) {
      if (child.nodeType === 1) children.push(describe(child, depth + 1))
      else if (child.nodeType === 3) children.push(take(child.data))
    }
    const tag = text(node.localName, 64)
    if (tag !== 'input' && tag !== 'textarea' && tag !== 'select') return { id, tag, attributes, children }
    return { id, tag, attributes, value: take(node.value), checked: node.checked === true, children }
  }
  return describe(document.body, 0)
}

const Html = view['HTMLElement'] as { readonly prototype: Record<string, unknown> }
Object.defineProperty(Html.prototype, 'click', { value(this: PageNode) { activate(this, 0) }, writable: true, configurable: true })
lockDown([...new Set(documentClasses())])

/** The classes of everything a page can hold, found on instances: the exported names are only façades of them. */
function documentClasses(): unknown[] {
  const samples: object[] = [document, document.body, new PageEvent('x', {})]
  for (const tag of ['div', 'input', 'button', 'select', 'option', 'form', 'textarea', 'label', 'a', 'p', 'h1', 'ul', 'li', 'img', 'span', 'table', 'canvas', 'template', 'style', 'script']) samples.push(document.createElement(tag))
  const body = document.body as unknown as { childNodes: object; attributes: object; classList: object; style: object; dataset: object }
  const maker = document as unknown as Record<string, (value: string) => object>
  samples.push(body.childNodes, body.attributes, body.classList, maker['createTextNode']!(''), maker['createComment']!(''), maker['createDocumentFragment']!(''))
  const found: unknown[] = []
  for (const sample of samples) {
    for (let prototype: unknown = Object.getPrototypeOf(sample); prototype !== null; prototype = Object.getPrototypeOf(prototype)) found.push(prototype)
  }
  return found
}

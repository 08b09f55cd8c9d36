// What stands in every page of the render service beside the browser itself: React, and a function that takes a program, mounts it, lets it
// come to rest and says so on the document's root element, where the service looks from a world of its own that the page cannot change.
import type { BrowserEnvironment } from './page-kit-environment.ts'
import * as React from 'react'
import * as jsxRuntime from 'react/jsx-runtime'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'

interface BrowserNode {
  id: string
  appendChild(child: BrowserNode): void
  setAttribute(name: string, value: string): void
}

type Program = (exports: Record<string, unknown>, require: (name: string) => unknown, module: { exports: unknown }) => void

/** Virtual milliseconds a page gets to come to rest, as in the DOM sandbox. */
const settlingTime = 1_000
/** Timer rounds at one instant before a page counts as restless; it is then shown as it is. */
const maximumRounds = 200

const page = globalThis as unknown as Record<string, unknown>
const { breathe, nextInstant, report, runTimers, virtualTime } = page['satchelEnvironment'] as BrowserEnvironment
delete page['satchelEnvironment']
const { document, console } = page as unknown as { document: { body: BrowserNode; documentElement: BrowserNode; createElement(name: string): BrowserNode }; console: { error(message: unknown): void } }

const modules: Record<string, unknown> = { react: { ...React, default: React }, 'react/jsx-runtime': { ...jsxRuntime } }

function requireModule(name: unknown): unknown {
  const found = Object.hasOwn(modules, String(name)) ? modules[String(name)] : undefined
  if (found === undefined) throw new Error(`there is no module ${String(name)} here`)
  return found
}

/** Runs the program and mounts its default export. */
function mount(program: Program): void {
  const module = { exports: {} as unknown }
  program(module.exports as Record<string, unknown>, requireModule, module)
  const component = (module.exports as { default?: unknown }).default
  const isComponent = typeof component === 'function' || (typeof component === 'object' && component !== null && '$$typeof' in component && !React.isValidElement(component))
  if (!isComponent) throw new Error('the program has no default export that is a component')
  const container = document.createElement('div')
  container.id = 'root'
  document.body.appendChild(container)
  const root = createRoot(container, { onUncaughtError: report, onCaughtError: (error) => console.error(error), onRecoverableError: (error) => console.error(error) })
  flushSync(() => root.render(React.createElement(component as React.ComponentType)))
}

/** Moves time until nothing is due within the settling time. */
async function settle(): Promise<void> {
  const horizon = virtualTime() + settlingTime
  let last = -1
  let repeats = 0
  for (let instant = nextInstant(horizon); instant !== undefined && repeats <= maximumRounds; instant = nextInstant(horizon)) {
    repeats = instant === last ? repeats + 1 : 0
    last = instant
    runTimers(instant)
    await Promise.resolve()
  }
}

/** Says that the page is at rest, once observers, layout and the browser's own answers have set nothing more going. */
async function rest(): Promise<void> {
  try {
    await settle()
    for (let round = 0; round < 2; round++) {
      await breathe()
      await settle()
    }
  } catch (error) {
    report(error)
  }
  document.documentElement.setAttribute('data-satchel', 'rest')
}

page['satchelRegister'] = (handed: unknown): void => {
  delete page['satchelRegister']
  try {
    mount(handed as Program)
  } catch (error) {
    report(error)
  }
  void rest()
}

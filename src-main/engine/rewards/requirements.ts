// Requirements of a prompt, checked in the rendered document: graded 0..1 as the share that is met.
import type { Requirement } from '../../contract/rewards.ts'
import type { RenderedPage } from '../../contract/rendered-document.ts'
import { createAccessibleDocument } from './accessible-document.ts'
import type { Renderer, RenderResult } from './renderer.ts'
import { showsText, visibleText } from './rendered-text.ts'

export interface RequirementVerdict {
  /** Share of the requirements that are met, 0..1; 1 when there are none. */
  readonly share: number
  /** In the order of the requirements. */
  readonly met: readonly boolean[]
  /** Errors the page logged while it was clicked. */
  readonly clickErrors: readonly string[]
}

type AfterClick = Extract<Requirement, { kind: 'after-click' }>

/**
 * Checks every requirement. Each `after-click` starts from a freshly mounted application, so their order does not matter.
 * @param renderer holds the program that made `page` open
 */
export async function checkRequirements(requirements: readonly Requirement[], page: RenderedPage, renderer: Renderer): Promise<RequirementVerdict> {
  const document = createAccessibleDocument(page.body)
  const text = visibleText(page.body)
  const met: boolean[] = []
  const clickErrors: string[] = []
  let fresh: RenderResult | undefined = { page }
  for (const requirement of requirements) {
    switch (requirement.kind) {
      case 'role':
        met.push(document.find(requirement.role, requirement.name) !== undefined)
        break
      case 'text':
        met.push(showsText(text, requirement.text))
        break
      case 'after-click': {
        const start: RenderResult = fresh ?? (await renderer.reopen())
        fresh = undefined
        const { done, errors } = await clickPatiently(requirement, start, renderer)
        met.push(done)
        clickErrors.push(...errors)
        break
      }
      default:
        throw new Error(`unknown requirement ${(requirement satisfies never as { kind: string }).kind}`)
    }
  }
  const count = met.filter(Boolean).length
  return { share: met.length === 0 ? 1 : count / met.length, met, clickErrors }
}

interface ClickOutcome {
  readonly done: boolean
  readonly errors: readonly string[]
  readonly starved?: boolean
}

/** Clicks that were starved of the processor begin again with a fresh application, a few times. */
async function clickPatiently(requirement: AfterClick, start: RenderResult, renderer: Renderer): Promise<ClickOutcome> {
  let outcome = await clickThrough(requirement, start, renderer)
  for (let attempt = 1; attempt < 4 && outcome.starved === true; attempt++) outcome = await clickThrough(requirement, await renderer.reopen(), renderer)
  return outcome
}

/**
 * Clicks the named control and looks for the text. Something must have changed on the way: a text that stood there from the
 * start, on a page where clicking does nothing, does not count. A second click goes to the same element while it is there (a
 * button may rename itself), otherwise to one that carries the name again.
 */
async function clickThrough(requirement: AfterClick, start: RenderResult, renderer: Renderer): Promise<ClickOutcome> {
  if (!('page' in start)) return { done: false, errors: [] }
  let page = start.page
  let control: number | undefined
  let changed = false
  const logged = page.errors.length
  for (let click = 0; click < (requirement.times ?? 1); click++) {
    if (control === undefined || !holds(page, control)) control = createAccessibleDocument(page.body).find(requirement.role, requirement.name)
    if (control === undefined) return { done: false, errors: [] }
    const clicked = await renderer.click(control)
    if (!('page' in clicked)) return { done: false, errors: [clicked.failure], starved: clicked.starved === true }
    changed ||= JSON.stringify(clicked.page.body) !== JSON.stringify(page.body)
    page = clicked.page
  }
  const errors = page.errors.slice(logged)
  return { done: changed && errors.length === 0 && showsText(visibleText(page.body), requirement.text), errors }
}

function holds(page: RenderedPage, id: number): boolean {
  const visit = (element: RenderedPage['body']): boolean => element.id === id || element.children.some((child) => typeof child !== 'string' && visit(child))
  return visit(page.body)
}

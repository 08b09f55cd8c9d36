// Which of two programs for the same prompt looks more like what was asked for, where no judge model is at hand: both pages and the page of
// the prompt's reference are rendered, and the page whose elements and texts come closer to the reference's is preferred. No pixels, no
// taste: a deterministic stand-in, and the report says so.
import type { RenderedElement, RenderedNode } from '../../contract/rendered-document.ts'
import { rewardConfig } from '../../contract/reward-config.ts'
import { bundleProgram } from '../../engine/rewards/bundle.ts'
import { extractCode } from '../../engine/rewards/code-block.ts'
import { createRenderer, type Renderer } from '../../engine/rewards/renderer.ts'
import { isBlank, isHidden, normaliseSpace } from '../../engine/rewards/rendered-text.ts'
import { bundleSandboxKit } from '../../engine/rewards/sandbox-bundle.ts'
import { parseProgram } from '../../engine/rewards/typescript-check.ts'

/** What a page shows: one entry an element, its tag and the text right inside it; null where nothing rendered. */
export type Look = readonly string[] | null

/** How often the first was preferred, neither, the second. */
export interface Tally {
  readonly wins: number
  readonly ties: number
  readonly losses: number
}

/** The visible elements of a page in document order, each as its tag and its own text. */
export function lookOf(body: RenderedElement): readonly string[] {
  const pieces: string[] = []
  const visit = (element: RenderedElement): void => {
    if (isHidden(element)) return
    const own = element.children.filter((child: RenderedNode) => typeof child === 'string').join(' ')
    pieces.push(`${element.tag} ${normaliseSpace(own)}`)
    for (const child of element.children) if (typeof child !== 'string') visit(child)
  }
  visit(body)
  return pieces
}

/** Dice coefficient of two looks as bags of pieces, 0 to 1; -1 where nothing rendered. */
export function closeness(look: Look, reference: readonly string[]): number {
  if (look === null) return -1
  const left = new Map<string, number>()
  for (const piece of reference) left.set(piece, (left.get(piece) ?? 0) + 1)
  let shared = 0
  for (const piece of look) {
    const count = left.get(piece) ?? 0
    if (count > 0) shared += 1
    left.set(piece, count - 1)
  }
  return (2 * shared) / (look.length + reference.length)
}

/** Prefers what lies closer to the reference, prompt by prompt. */
export function tally(pairs: readonly { readonly first: Look; readonly second: Look; readonly reference: readonly string[] }[]): Tally {
  const differences = pairs.map(({ first, second, reference }) => closeness(first, reference) - closeness(second, reference))
  const count = (test: (difference: number) => boolean): number => differences.filter(test).length
  return { wins: count((difference) => difference > 0), ties: count((difference) => difference === 0), losses: count((difference) => difference < 0) }
}

/** Renders programs to their looks; equal programs once. */
export async function renderLooks(programs: Iterable<string>): Promise<Map<string, Look>> {
  const config = rewardConfig()
  const renderer = createRenderer(await bundleSandboxKit(), config.limits)
  const looks = new Map<string, Look>()
  try {
    for (const program of programs) if (!looks.has(program)) looks.set(program, await renderLook(program, renderer))
  } finally {
    renderer.dispose()
  }
  return looks
}

async function renderLook(program: string, renderer: Renderer): Promise<Look> {
  const parsed = parseProgram(extractCode(program).code, 'compared')
  if (parsed.syntax.length > 0) return null
  const bundled = await bundleProgram(parsed.file)
  if ('errors' in bundled) return null
  const opened = await renderer.open(bundled.script)
  return 'page' in opened && opened.page.errors.length === 0 && !isBlank(opened.page.body) ? lookOf(opened.page.body) : null
}

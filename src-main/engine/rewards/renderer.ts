// Pages of generated programs: gives the locked-down process one program at a time, and replaces it after a crash or time-out.
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { RenderedPage } from '../../contract/rendered-document.ts'
import type { RenderRequest } from './render-protocol.ts'
import { startSandbox, type SandboxProcess } from './sandbox-process.ts'

/** `starved`: the program ran out of time while the machine was busy with other things. */
export type RenderResult = { readonly page: RenderedPage } | { readonly failure: string; readonly starved?: boolean }

export interface Renderer {
  /** Starts the process now instead of with the first program. Throws when it cannot start. */
  start(): Promise<void>
  /** Runs a program in a context of its own and reads the page once it has come to rest. */
  open(script: string): Promise<RenderResult>
  /** Mounts the open program afresh. */
  reopen(): Promise<RenderResult>
  /** Clicks an element of the open page and reads the page again. */
  click(element: number): Promise<RenderResult>
  dispose(): void
}

/**
 * Makes a renderer. Its process starts with the first program and is replaced after a crash or time-out.
 * @param kit the script of `bundleSandboxKit`
 */
export function createRenderer(kit: string, limits: RewardConfig['limits']): Renderer {
  let child: SandboxProcess | undefined
  let nextId = 1

  const ask = async (request: (id: number) => RenderRequest): Promise<RenderResult> => {
    child ??= await startSandbox({ kind: 'start', kit, limits }, limits)
    const id = nextId++
    const answer = await child.ask(request(id), limits.renderSeconds * 1_000)
    if (answer.kind === 'page') return { page: JSON.parse(answer.page) as RenderedPage }
    if (answer.kind === 'lost') {
      child = undefined
      return { failure: answer.reason }
    }
    if (answer.kind === 'failed') return { failure: answer.reason, starved: answer.starved }
    return { failure: 'the render process answered out of turn' }
  }

  return {
    start: async () => {
      child ??= await startSandbox({ kind: 'start', kit, limits }, limits)
    },
    open: (script) => ask((id) => ({ kind: 'open', id, script })),
    reopen: () => ask((id) => ({ kind: 'reopen', id })),
    click: (element) => ask((id) => ({ kind: 'click', id, element })),
    dispose: () => {
      child?.dispose()
      child = undefined
    },
  }
}

/** The same renderer, which calls `tell` with every answer: from there on whoever asked works on it. */
export function announcing(renderer: Renderer, tell: () => void): Renderer {
  const told = async (answer: Promise<RenderResult>): Promise<RenderResult> => {
    const result = await answer
    tell()
    return result
  }
  return { ...renderer, open: (script) => told(renderer.open(script)), reopen: () => told(renderer.reopen()), click: (element) => told(renderer.click(element)) }
}

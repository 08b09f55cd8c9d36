// The page's state for Svelte: the controller's newest view, taken over at most once a frame.
import { createRunController, initialAppView } from './run-controller.ts'
import type { AppView, RunController } from './run-controller.ts'
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'

export interface AppState {
  readonly view: AppView
  readonly controller: RunController
}

/** Views are immutable and may be large, so they are held raw: never made into deep proxies. */
export function createAppState(bridge: SatchelBridge): AppState {
  let view = $state.raw<AppView>(initialAppView)
  let newest = initialAppView
  let scheduled = false
  const controller = createRunController(bridge, (next) => {
    newest = next
    if (scheduled) return
    scheduled = true
    requestAnimationFrame(() => {
      scheduled = false
      view = newest
    })
  })
  return {
    get view() {
      return view
    },
    controller,
  }
}

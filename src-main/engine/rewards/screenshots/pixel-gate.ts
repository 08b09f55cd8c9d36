// The pixel test of the render gate: a React page that the DOM sandbox took for rendered is shown in a real browser; where nothing can be
// seen on it, or the browser cannot show it, it has not rendered.
//
//   pool -> verdict -> rendered? -> browser ─┬─ something can be seen -> the verdict as it was
//                                            ├─ blank, too slow, crashed -> a render failure
//                                            └─ the browser itself failed -> the verdict as it was, marked unchecked
import type { ReactRewardConfig } from '../../../contract/reward-config.ts'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import type { ScoredCompletion, SourceScore } from '../../../contract/rewards.ts'
import { assemble } from '../bus.ts'
import type { RewardPool } from '../reward-pool.ts'

/**
 * A pool whose verdicts have seen the pixels of every page that renders.
 * @param dispose ends what was opened for it, together with the pool
 */
export function createPixelGate(pool: RewardPool, config: ReactRewardConfig, screenshotOf: (text: string) => Promise<ScreenshotResult>, dispose: () => void): RewardPool {
  return {
    warmUp: () => pool.warmUp(),
    async score(items) {
      const verdicts = await pool.score(items)
      return Promise.all(verdicts.map(async (scored, index) => (scored.stages.render ? afterPixels(scored, await screenshotOf(items[index]!.text), config) : scored)))
    },
    dispose() {
      pool.dispose()
      dispose()
    },
  }
}

/** The verdict on a page that rendered, once a browser has shown it. */
export function afterPixels(scored: ScoredCompletion, shown: ScreenshotResult, config: ReactRewardConfig): ScoredCompletion {
  if ('failure' in shown) return shown.blame === 'page' ? notRendered(scored, `in a browser: ${shown.failure}`, config) : { ...scored, pixels: 'unchecked' }
  if (!shown.screenshot.facts.uniform) return { ...scored, pixels: 'seen' }
  return notRendered(scored, 'nothing can be seen on the page: its pixels are all of one colour', config)
}

function notRendered(scored: ScoredCompletion, failure: string, config: ReactRewardConfig): ScoredCompletion {
  const { global: _global, outcome: _outcome, spans: _spans, ...parts } = scored
  const sources = scored.sources.map((one): SourceScore => {
    if (one.source === 'compiler') return { ...one, global: config.ladder.render, failure }
    return one.source === 'requirements' ? { ...one, global: 0 } : one
  })
  const failures = [...new Set(['nothing visible', ...scored.audit.failures])]
  return assemble({ ...parts, sources, stages: { ...scored.stages, render: false }, requirementScore: 0, audit: { passed: false, failures }, pixels: 'blank' }, config)
}

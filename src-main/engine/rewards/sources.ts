// Which sources a recipe has, and how each enters the reward: the one place that knows the names.
import type { RewardConfig } from '../../contract/reward-config.ts'

/** A source's weights after its switch and schedule. */
export interface SourceWeights {
  readonly globalWeight: number
  readonly localWeight: number
  readonly localBound: number
}

/** lines: a span flags the line it starts on, which fades over the window. ranges: a span counts for the tokens it covers. */
export type SpanMapping = 'lines' | 'ranges'

interface SourceSettings extends SourceWeights {
  readonly enabled: boolean
  readonly schedule: { readonly from: number; readonly to: number; readonly startStep: number; readonly endStep: number } | null
  readonly mapping: SpanMapping
}

/** The judges a configuration asks that are sources of their own. */
export function judgesOf(config: RewardConfig): { readonly codeJudge: boolean; readonly screenshotJudge: boolean; readonly answerJudge: boolean } {
  const asked = (judge: { readonly enabled: boolean }): boolean => config.judge.kind !== 'none' && judge.enabled
  return {
    codeJudge: (config.recipe === 'react' || config.recipe === 'code') && asked(config.codeJudge),
    screenshotJudge: config.recipe === 'react' && asked(config.screenshotJudge),
    answerJudge: config.recipe === 'custom' && asked(config.answerJudge),
  }
}

/** The sources of a recipe, by the name they report under. */
function settingsOf(config: RewardConfig): Readonly<Record<string, SourceSettings>> {
  switch (config.recipe) {
    case 'react':
      return {
        compiler: { ...config.compiler, mapping: 'lines' },
        lint: { ...config.linter, mapping: 'lines' },
        // The requirements are graded by their own weight and have no spans.
        requirements: { ...config.requirements, globalWeight: config.requirementWeight, localWeight: 0, localBound: 0, mapping: 'lines' },
        codeJudge: { ...config.codeJudge, mapping: 'lines' },
        screenshotJudge: { ...config.screenshotJudge, mapping: 'lines' },
      }
    case 'maths':
      return { answer: { ...config.answer, mapping: 'ranges' }, format: { ...config.format, mapping: 'ranges' }, steps: { ...config.steps, mapping: 'ranges' } }
    case 'code':
      return { compiler: { ...config.compiler, mapping: 'lines' }, tests: { ...config.tests, mapping: 'lines' }, codeJudge: { ...config.codeJudge, mapping: 'lines' } }
    case 'custom':
      return { custom: { ...config.custom, mapping: config.spans }, answerJudge: { ...config.answerJudge, mapping: 'ranges' } }
  }
}

/** The names of the sources a completion is judged by: those of the recipe, and the judges that are asked. */
export function sourceNames(config: RewardConfig): string[] {
  const judges: Readonly<Record<string, boolean>> = judgesOf(config)
  return Object.keys(settingsOf(config)).filter((name) => judges[name] ?? true)
}

function settings(config: RewardConfig, source: string): SourceSettings {
  const all = settingsOf(config)
  const found = Object.hasOwn(all, source) ? all[source] : undefined
  if (found === undefined) throw new Error(`the reward configuration has no source named ${source}`)
  return found
}

/**
 * The weights of a source.
 * @param step the training step (from 1) a schedule is read at; left out, a schedule counts as finished
 */
export function sourceWeights(config: RewardConfig, source: string, step = Infinity): SourceWeights {
  const { enabled, schedule, globalWeight, localWeight, localBound } = settings(config, source)
  const factor = !enabled ? 0 : schedule === null ? 1 : scheduleFactor(schedule, step)
  return { globalWeight: factor * globalWeight, localWeight: factor * localWeight, localBound }
}

/** How the spans of a source reach tokens. */
export function spanMapping(config: RewardConfig, source: string): SpanMapping {
  return settings(config, source).mapping
}

/** Whether any weight depends on the training step. */
export function isScheduled(config: RewardConfig): boolean {
  return Object.values(settingsOf(config)).some(({ schedule }) => schedule !== null)
}

function scheduleFactor({ from, to, startStep, endStep }: NonNullable<SourceSettings['schedule']>, step: number): number {
  const way = Math.min(1, Math.max(0, (step - startStep) / (endStep - startStep)))
  return from + (to - from) * way
}

// Rewards with judges: what the reward processes said of a completion, and behind it what judges say of those that came far enough.
//
//   pool (locked-down processes) -> verdict -> passed the gates? -> cache, or ask -> verdict with the judges' sources
//
// Judges are asked by this process, which runs no generated code; they are given text, or a picture.
import { UserError } from '../../../contract/errors.ts'
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { RewardSpan, ScoredCompletion, SourceScore } from '../../../contract/rewards.ts'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import { assemble } from '../bus.ts'
import { extractCode } from '../code-block.ts'
import { readSolution } from '../maths/solution.ts'
import type { RewardPool } from '../reward-pool.ts'
import type { ScoreItem } from '../scorer.ts'
import { lineStarts, widen } from '../token-map.ts'
import { judgeKey, type JudgeCache, type ScoreVerdict, type StepsVerdict } from './judge-cache.ts'
import { JudgeFailure } from './judge-failure.ts'
import type { JudgePrompts } from './judge-prompts.ts'
import { judgeCode, judgeCompletion, judgePicture, judgeSteps, type LineTurns } from './judge-questions.ts'
import type { PatientJudge } from './patience.ts'

/** Gives each step of a solution a number from -1 (wrong) to 1 (right). */
export interface StepModel {
  readonly model: string
  readonly identity: string
  /** @throws JudgeFailure when it cannot */
  steps(problem: string, steps: readonly string[]): Promise<number[]>
  dispose(): void
}

/** A judge that adds a source of its own, or replaces what another said. */
export type Judge =
  | { readonly kind: 'code'; readonly source: string; readonly by: PatientJudge; readonly prompts: JudgePrompts; readonly turns: LineTurns }
  | { readonly kind: 'picture'; readonly source: string; readonly by: PatientJudge; readonly prompts: JudgePrompts; readonly screenshotOf: (text: string) => Promise<ScreenshotResult> }
  | { readonly kind: 'completion'; readonly source: string; readonly by: PatientJudge; readonly prompts: JudgePrompts }
  | { readonly kind: 'steps'; readonly source: string; readonly by: PatientJudge; readonly prompts: JudgePrompts }
  | { readonly kind: 'step-model'; readonly source: string; readonly by: StepModel }

export interface JudgedRewardsOptions {
  readonly config: RewardConfig
  readonly judges: readonly Judge[]
  readonly cache: JudgeCache
  readonly dispose: () => void
}

/** A pool whose verdicts hold what judges say as well. A judge that fails costs its source, never the verdict. */
export function createJudgedRewards(pool: RewardPool, { config, judges, cache, dispose }: JudgedRewardsOptions): RewardPool {
  return {
    warmUp: () => pool.warmUp(),
    async score(items) {
      const verdicts = await pool.score(items)
      const judged = await Promise.all(verdicts.map((scored, index) => withJudges(items[index]!, scored, config, judges, cache)))
      await cache.settle()
      return judged
    },
    dispose() {
      pool.dispose()
      dispose()
    },
  }
}

async function withJudges(item: ScoreItem, scored: ScoredCompletion, config: RewardConfig, judges: readonly Judge[], cache: JudgeCache): Promise<ScoredCompletion> {
  const said = reachedJudges(scored, config) ? await Promise.all(judges.map((judge) => judgedSource(judge, item, config, cache))) : judges.map(({ source }) => notAsked(source))
  const { global: _global, outcome: _outcome, spans: _spans, sources, ...parts } = scored
  return assemble({ ...parts, sources: [...sources.filter(({ source }) => judges.every((judge) => judge.source !== source)), ...said] }, config)
}

/** Whether a completion passed the gates before the judges: nobody is asked about a page that does not render. */
function reachedJudges({ stages, sources }: ScoredCompletion, { recipe }: RewardConfig): boolean {
  switch (recipe) {
    case 'react':
      return stages.render
    case 'code':
      return stages.bundle
    case 'maths':
    case 'custom':
      return sources.every(({ failure }) => failure === undefined)
  }
}

const notAsked = (source: string): SourceScore => ({ source, global: 0, spans: [], milliseconds: 0 })

/** What one judge says of a completion, cached by content. A judge that gives nothing usable is the `failure` of its source. */
export async function judgedSource(judge: Judge, item: Pick<ScoreItem, 'row' | 'text'>, config: RewardConfig, cache: JudgeCache): Promise<SourceScore> {
  const started = performance.now()
  try {
    const said = await ask(judge, item, config, cache)
    return { source: judge.source, ...said, milliseconds: performance.now() - started }
  } catch (error) {
    if (!(error instanceof JudgeFailure)) throw error
    return { ...notAsked(judge.source), milliseconds: performance.now() - started, failure: error.message }
  }
}

type Said = Pick<SourceScore, 'global' | 'spans' | 'failure'>

async function ask(judge: Judge, { row, text }: Pick<ScoreItem, 'row' | 'text'>, config: RewardConfig, cache: JudgeCache): Promise<Said> {
  const key = (...content: string[]): string => judgeKey('1', judge.kind, judge.by.identity, judge.kind === 'step-model' ? '' : judge.prompts.source, row.prompt, ...content)
  switch (judge.kind) {
    case 'code': {
      const block = extractCode(text)
      const verdict = await cache.verdict<ScoreVerdict>(key(judge.turns, block.code), () => judgeCode(judge.by.ask, judge.prompts, row, block.code, judge.turns))
      return { global: verdict.score / 10, spans: lineSpans(verdict, block, judge.source), ...(verdict.problem === undefined ? {} : { failure: verdict.problem }) }
    }
    case 'picture': {
      // The program stands for its picture: it looks the same every time, and need not be shown again to be recognised.
      const { score } = await cache.verdict<ScoreVerdict>(key(extractCode(text).code), async () => judgePicture(judge.by.ask, judge.prompts, row, await pictureOf(judge, text)))
      return { global: score / 10, spans: [] }
    }
    case 'completion': {
      const { score } = await cache.verdict<ScoreVerdict>(key(text), () => judgeCompletion(judge.by.ask, judge.prompts, row, text))
      return { global: score / 10, spans: [] }
    }
    case 'steps':
    case 'step-model': {
      const { steps } = readSolution(text)
      if (steps.length === 0) return { global: 0, spans: [] }
      const texts = steps.map(({ start, end }) => text.slice(start, end))
      const asked = judge.kind === 'steps' ? () => judgeSteps(judge.by.ask, judge.prompts, row, texts) : async () => ({ steps: await judge.by.steps(row.prompt, texts) })
      const verdict = await cache.verdict<StepsVerdict>(key(...texts), asked)
      const propagate = config.recipe === 'maths' && config.errorPropagation
      const values = propagate ? propagated(verdict.steps) : verdict.steps
      const spans = steps.map(({ start, end }, index): RewardSpan => ({ start, end, value: values[index] ?? 0, source: judge.source, message: messageOf(verdict.steps[index] ?? 0, values[index] ?? 0) }))
      return { global: values.reduce((sum, value) => sum + value, 0) / values.length, spans }
    }
  }
}

async function pictureOf({ screenshotOf }: Extract<Judge, { kind: 'picture' }>, text: string): Promise<Uint8Array> {
  const result = await screenshotOf(text).catch((error: unknown) => {
    // A browser that cannot be started any more costs the pictures, not the run.
    if (error instanceof UserError) return { failure: error.message }
    throw error
  })
  if ('failure' in result) throw new JudgeFailure(`there is no picture of the page: ${result.failure}`, false)
  return result.screenshot.png
}

/** After the first wrong step no later one earns or loses anything (specification, AIME recipe). */
function propagated(steps: readonly number[]): number[] {
  const first = steps.findIndex((value) => value < 0)
  return steps.map((value, index) => (first >= 0 && index > first ? 0 : value))
}

function messageOf(said: number, counts: number): string {
  if (counts === 0 && said !== 0) return 'an earlier step is wrong'
  return said === 0 ? 'the judge is not sure' : said > 0 ? 'the judge finds it right' : 'the judge finds it wrong'
}

/** Worst lines as spans of the completion: impact / 10, on the line without the space around it. */
function lineSpans({ lines = [] }: ScoreVerdict, { code, start }: { readonly code: string; readonly start: number }, source: string): RewardSpan[] {
  const starts = lineStarts(code)
  return lines.map(({ line, impact, reason }) => {
    const from = starts[line - 1] ?? code.length
    const content = code.slice(from, starts[line] ?? code.length)
    // A blank line has no beginning but its own.
    const indent = content.trim() === '' ? 0 : content.length - content.trimStart().length
    const range = widen({ start: from + indent, end: from + content.trimEnd().length, value: 0 }, code.length)
    return { start: start + range.start, end: start + range.end, value: impact / 10, source, message: reason === '' ? 'judge: a weak line' : `judge: ${reason}` }
  })
}

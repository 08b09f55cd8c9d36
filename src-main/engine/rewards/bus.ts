// The reward bus: sources and their weights -> the token rewards the estimator sees (BoT-GRPO eq. 4).
//
//   r_t = w_g * G + w_s * S_t,   |S_t| <= B
//   S_t = sum over sources of w_i * clip(S_t,i, +-B_i)
//
// A step number moves scheduled weights; without one they are what the schedule ends at.
import { UserError } from '../../contract/errors.ts'
import type { ReactRewardConfig, RewardConfig } from '../../contract/reward-config.ts'
import type { RewardSpan, ScoredCompletion, SourceScore, TokenOffsets } from '../../contract/rewards.ts'
import { isScheduled, sourceWeights, spanMapping } from './sources.ts'
import { lineOf, lineStarts, mapRangesToTokens, mapSpansToTokens } from './token-map.ts'
import { createStream } from '../runtime/random.ts'

/** Token rewards of one completion, and their parts for whoever shows them; every array is [T]. */
export interface TokenRewards {
  readonly rewards: Float64Array
  readonly local: Float64Array
  readonly localBySource: Readonly<Record<string, Float64Array>>
}

const judgeSources = ['codeJudge', 'screenshotJudge', 'answerJudge']

/** What the outcome is made of. */
type Verdict = Pick<ScoredCompletion, 'sources' | 'stages' | 'requirementScore'>

/** G of eq. 4: the weighted sum of the sources' global parts. Throws a UserError that names a source whose score is not finite. */
export function combineGlobal(sources: readonly SourceScore[], config: RewardConfig, step?: number): number {
  const parts = sources.map(({ source, global }) => {
    if (!Number.isFinite(global)) throw notFinite(global, source)
    return { source, value: (sourceWeights(config, source, step).globalWeight * global) / ownScale(source, config) }
  })
  if (config.recipe === 'react' && config.gatedLadder) return gatedSum(parts, config, step)
  return parts.reduce((sum, { value }) => sum + value, 0)
}

/** The format bonus of the AIME recipe reaches tokens as it is: what w_g will multiply it by is taken out beforehand. */
function ownScale(source: string, config: RewardConfig): number {
  return config.recipe === 'maths' && source === 'format' && config.globalWeight !== 0 ? config.globalWeight : 1
}

/** The gated ladder: what the other sources add never carries a program more than half way to the next rung. */
function gatedSum(parts: readonly { readonly source: string; readonly value: number }[], config: ReactRewardConfig, step: number | undefined): number {
  const scale = sourceWeights(config, 'compiler', step).globalWeight
  const rung = parts.reduce((sum, { source, value }) => (source === 'compiler' ? sum + value : sum), 0)
  const others = parts.reduce((sum, { source, value }) => (source === 'compiler' ? sum : sum + value), 0)
  const rungs = Object.values(config.ladder).map((value) => scale * value)
  const above = Math.min(...rungs.filter((value) => value > rung).map((value) => value - rung))
  const below = Math.min(...rungs.filter((value) => value < rung).map((value) => rung - value))
  // Just less than half, so that two neighbouring rungs never meet.
  return rung + Math.max(-0.499 * below, Math.min(0.499 * above, others))
}

/** The outcome on which flatness of a group is tested: no local signal, no style; what judges say only where it is graded. */
export function outcomeOf({ sources, stages, requirementScore }: Verdict, config: RewardConfig, step?: number): number {
  const global = (name: string): number => sources.find(({ source }) => source === name)?.global ?? 0
  const weight = (name: string): number => sourceWeights(config, name, step).globalWeight
  const judged = config.gradedOutcome ? sources.reduce((sum, { source, global: score }) => (judgeSources.includes(source) ? sum + weight(source) * score : sum), 0) : 0
  switch (config.recipe) {
    case 'react': {
      const reached = config.gradedOutcome ? global('compiler') : stages.render ? config.ladder.compiled : config.ladder.parse
      return weight('compiler') * reached + weight('requirements') * requirementScore + judged
    }
    case 'maths':
      return weight('answer') * global('answer')
    case 'code':
      return config.gradedOutcome ? weight('compiler') * global('compiler') + weight('tests') * global('tests') + judged : Number(stages.render)
    case 'custom':
      return config.gradedOutcome ? weight('custom') * global('custom') + judged : Number(stages.render)
  }
}

/** Puts a completion's verdict together: the global score and the outcome follow from its sources. */
export function assemble(parts: Omit<ScoredCompletion, 'global' | 'outcome' | 'spans'>, config: RewardConfig): ScoredCompletion {
  return { global: combineGlobal(parts.sources, config), outcome: outcomeOf(parts, config), spans: parts.sources.flatMap((source) => source.spans), ...parts }
}

/**
 * A verdict under other weights, or at a step of a schedule. The verdict itself is given back where nothing moves.
 * @param changed whether `config` has other weights than the verdict was put together with
 */
export function reweigh(scored: ScoredCompletion, config: RewardConfig, step: number, changed = false): ScoredCompletion {
  if (!changed && !isScheduled(config)) return scored
  return { ...scored, global: combineGlobal(scored.sources, config, step), outcome: outcomeOf(scored, config, step) }
}

/**
 * Token rewards r_t of one completion.
 * @param scored its spans are positions in `offsets.text`
 * @throws UserError when the score is not finite, Error when a span is not (the completion must then be dropped, not trained on)
 */
export function tokenRewards(scored: Pick<ScoredCompletion, 'global' | 'spans'>, offsets: TokenOffsets, config: RewardConfig, step?: number): TokenRewards {
  if (!Number.isFinite(scored.global)) throw notFinite(scored.global, 'global score')
  const count = offsets.starts.length
  const local = new Float64Array(count)
  const localBySource: Record<string, Float64Array> = {}
  const heard = config.recipe === 'react' && config.compilerNoise > 0 ? withNoise(scored.spans, offsets.text, config) : scored.spans
  for (const [source, spans] of spansBySource(heard)) {
    const { localWeight, localBound } = sourceWeights(config, source, step)
    const mapped = spanMapping(config, source) === 'lines' ? mapSpansToTokens(spans, offsets, config) : mapRangesToTokens(spans, offsets, config.divideByFlaggedLines)
    for (let token = 0; token < count; token++) {
      mapped[token] = localWeight * clip(mapped[token]!, localBound)
      local[token] = local[token]! + mapped[token]!
    }
    localBySource[source] = mapped
  }
  const rewards = new Float64Array(count)
  for (let token = 0; token < count; token++) {
    local[token] = clip(local[token]!, config.localBound)
    rewards[token] = config.globalWeight * scored.global + config.localWeight * local[token]!
  }
  return { rewards, local, localBySource }
}

/** The compiler's flags with a share of the lines turned over: a flagged line goes free, a clean one is flagged. Which lines follows from the text alone. */
function withNoise(spans: readonly RewardSpan[], text: string, { compilerNoise, compilerLine }: ReactRewardConfig): RewardSpan[] {
  const starts = lineStarts(text)
  const stream = createStream(0, `compiler noise in ${text}`)
  const turned = Array.from(starts, () => stream.uniform() < compilerNoise)
  const flagged = new Set(spans.flatMap(({ source, start, value }) => (source === 'compiler' && value !== 0 ? [lineOf(starts, start)] : [])))
  const kept = spans.filter(({ source, start }) => source !== 'compiler' || turned[lineOf(starts, start)] !== true)
  const invented = Array.from(starts, (start, line) => ({ start, line })).filter(({ line }) => turned[line] === true && !flagged.has(line))
  return [...kept, ...invented.map(({ start, line }) => ({ start, end: starts[line + 1] ?? text.length, value: compilerLine, source: 'compiler', message: 'noise' }))]
}

function spansBySource(spans: readonly RewardSpan[]): Map<string, RewardSpan[]> {
  const groups = new Map<string, RewardSpan[]>()
  for (const span of spans) {
    const group = groups.get(span.source)
    if (group === undefined) groups.set(span.source, [span])
    else group.push(span)
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function notFinite(value: number, source: string): UserError {
  return new UserError({ code: 'bad-input', what: `the reward is ${value}`, place: { field: `reward source ${source}` }, expected: 'a finite number', remedy: 'Mend the source, or set its weight to 0 to leave it out.' })
}

function clip(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value))
}

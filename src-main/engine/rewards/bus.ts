// The reward bus: sources and their weights -> the token rewards the estimator sees (BoT-GRPO eq. 4).
//
//   r_t = w_g * G + w_s * S_t,   |S_t| <= B
//   S_t = sum over sources of w_i * clip(S_t,i, +-B_i)
import { UserError } from '../../contract/errors.ts'
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { RewardSpan, ScoredCompletion, SourceScore, TokenOffsets } from '../../contract/rewards.ts'
import { mapSpansToTokens } from './token-map.ts'

/** How one source enters the reward. */
export interface SourceWeights {
  readonly globalWeight: number
  readonly localWeight: number
  readonly localBound: number
}

/** Token rewards of one completion, and their parts for whoever shows them; every array is [T]. */
export interface TokenRewards {
  readonly rewards: Float64Array
  readonly local: Float64Array
  readonly localBySource: Readonly<Record<string, Float64Array>>
}

/** The weights of a source by its name. The requirements are graded by their own weight and have no spans. */
export function sourceWeights(config: RewardConfig, source: string): SourceWeights {
  switch (source) {
    case 'compiler':
      return config.compiler
    case 'lint':
      return config.linter
    case 'requirements':
      return { globalWeight: config.requirementWeight, localWeight: 0, localBound: 0 }
    default:
      throw new Error(`the reward configuration has no source named ${source}`)
  }
}

/** G of eq. 4: the weighted sum of the sources' global parts. Throws a UserError that names a source whose score is not finite. */
export function combineGlobal(sources: readonly SourceScore[], config: RewardConfig): number {
  let sum = 0
  for (const { source, global } of sources) {
    if (!Number.isFinite(global)) throw notFinite(global, source)
    sum += sourceWeights(config, source).globalWeight * global
  }
  return sum
}

/**
 * Token rewards r_t of one completion.
 * @param scored its spans are positions in `offsets.text`
 * @throws UserError when the score is not finite, Error when a span is not (the completion must then be dropped, not trained on)
 */
export function tokenRewards(scored: Pick<ScoredCompletion, 'global' | 'spans'>, offsets: TokenOffsets, config: RewardConfig): TokenRewards {
  if (!Number.isFinite(scored.global)) throw notFinite(scored.global, 'global score')
  const count = offsets.starts.length
  const local = new Float64Array(count)
  const localBySource: Record<string, Float64Array> = {}
  for (const [source, spans] of spansBySource(scored.spans)) {
    const { localWeight, localBound } = sourceWeights(config, source)
    const mapped = mapSpansToTokens(spans, offsets, config)
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

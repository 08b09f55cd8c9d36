// The reward simulator: a run's logged rollouts under other weights or another estimator, and how their advantages would change.
//
//   logged sources, spans, gates -> G, outcome, S_t under the new weights -> the new estimator -> advantages beside those of the run
//
// What a source says of a completion is taken from the log; whatever changes that needs scoring again (`satchel score --bench`).
import { UserError } from '../../../contract/errors.ts'
import type { RolloutRecord } from '../../../contract/events.ts'
import { isRecord } from '../../../contract/methods.ts'
import { rewardConfigSchema } from '../../../contract/reward-config.ts'
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { TokenOffsets } from '../../../contract/rewards.ts'
import type { RunConfig } from '../../../contract/run-config.ts'
import { groupAdvantages } from '../../policy/group-advantages.ts'
import { lineEnds, overlongPenalty, placeRewards } from '../../policy/reward-placement.ts'
import { combineGlobal, outcomeOf, tokenRewards } from '../bus.ts'
import { correlation, mean } from './statistics.ts'

/** One step, as it was and as it would have been. */
export interface ReplayedStep {
  readonly step: number
  readonly rollouts: number
  /** Root mean square of the advantages, each rollout weighing the same. */
  readonly before: { readonly reward: number; readonly rootMeanSquare: number; readonly flatGroups: number }
  readonly after: { readonly reward: number; readonly rootMeanSquare: number; readonly flatGroups: number }
  /** Mean absolute change of a token's advantage. */
  readonly change: number
  /** Correlation of the token advantages; null where one side is constant. */
  readonly correlation: number | null
  /** Share of tokens that would be pushed the other way. */
  readonly flippedTokens: number
  /** Share of rollouts whose mean advantage would change its sign. */
  readonly flippedRollouts: number
}

/** Fields of a reward that only weigh what sources said. */
const weighing = new Set(['globalWeight', 'localWeight', 'localBound', 'windowLines', 'decayKernel', 'divideByFlaggedLines', 'gradedOutcome', 'gatedLadder', 'requirementWeight', 'compiler', 'linter', 'requirements', 'answer', 'steps', 'format', 'tests', 'custom', 'spans', 'kind', 'audit', 'limits'])

/** Those of them a verdict depends on all the same: what the audit finds, and how long a completion may take. */
const alsoMeasuring = new Set(['audit', 'limits'])

/**
 * Replays steps of a run.
 * @param before the run's configuration, @param after the one to try; only weights of the reward and the estimator may differ
 * @throws UserError naming a field whose change needs scoring again
 */
export function replaySteps(records: readonly RolloutRecord[], before: RunConfig, after: RunConfig): ReplayedStep[] {
  refuseRescoring(before.reward, after.reward)
  return [...groupSteps(records)].sort(([a], [b]) => a - b).map(([step, own]) => replayStep(step, own, before, after))
}

function groupSteps(records: readonly RolloutRecord[]): Map<number, RolloutRecord[]> {
  const steps = new Map<number, RolloutRecord[]>()
  for (const record of records) steps.set(record.step, [...(steps.get(record.step) ?? []), record])
  return steps
}

/**
 * The part of a reward that decides what sources say of a completion, everything that only weighs it at its default: two rewards with the
 * same part need no scoring again.
 */
export function measuringPart(config: RewardConfig): RewardConfig {
  const standard = rewardConfigSchema.parse({ recipe: config.recipe, ...(config.recipe === 'custom' ? { file: config.file } : {}) })
  const defaults = standard as unknown as Readonly<Record<string, unknown>>
  const kept = Object.entries(config).filter(([field]) => !weighing.has(field) || alsoMeasuring.has(field)).map(([field, value]) => [field, withWeightsOf(defaults[field], value)] as const)
  return rewardConfigSchema.parse({ ...standard, ...Object.fromEntries(kept) })
}

/** A source's block with the weights of another one; anything else as it is. */
function withWeightsOf(weights: unknown, block: unknown): unknown {
  if (!isRecord(block) || !isRecord(weights)) return block
  return { ...block, ...Object.fromEntries(Object.entries(weights).filter(([field]) => ['globalWeight', 'localWeight', 'localBound', 'schedule'].includes(field))) }
}

function refuseRescoring(before: RewardConfig, after: RewardConfig): void {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)])
  const value = (config: RewardConfig, field: string): string => JSON.stringify((config as unknown as Readonly<Record<string, unknown>>)[field])
  const changed = [...fields].find((field) => !weighing.has(field) && value(before, field) !== value(after, field))
  if (changed === undefined) return
  throw new UserError({ code: 'bad-input', what: 'this changes what a source says of a completion, which the log cannot tell', place: { field: `reward.${changed}` }, expected: 'weights, bounds, switches, schedules, the window, or the estimator', remedy: 'Score the completions again: satchel score --bench --data RUN with the changed reward.' })
}

function replayStep(step: number, records: readonly RolloutRecord[], before: RunConfig, after: RunConfig): ReplayedStep {
  const groups = groupsOf(records)
  const old = { advantages: groups.map((group) => group.map(({ advantages }) => Float64Array.from(advantages))), rewards: records.map(({ reward }) => reward) }
  const changed = advantagesOf(groups, after, step)
  const was = advantagesOf(groups, before, step)
  const now = changed.advantages.flat()
  const tokens = old.advantages.flat().flatMap((own, rollout) => [...own].map((value, token) => [value, now[rollout]![token]!] as const))
  const rollouts = old.advantages.flat().map((own, rollout) => [mean([...own]), mean([...now[rollout]!])] as const)
  return {
    step,
    rollouts: records.length,
    before: { reward: mean(old.rewards), rootMeanSquare: rootMeanSquare(old.advantages.flat()), flatGroups: was.flatGroups },
    after: { reward: mean(changed.rewards), rootMeanSquare: rootMeanSquare(now), flatGroups: changed.flatGroups },
    change: mean(tokens.map(([a, b]) => Math.abs(a - b))),
    correlation: correlation(tokens.map(([a]) => a), tokens.map(([, b]) => b)),
    flippedTokens: mean(tokens.map(flipped)),
    flippedRollouts: mean(rollouts.map(flipped)),
  }
}

const flipped = ([a, b]: readonly [number, number]): number => Number(Math.sign(a) * Math.sign(b) < 0)
const rootMeanSquare = (rollouts: readonly Float64Array[]): number => Math.sqrt(mean(rollouts.map((own) => mean([...own].map((value) => value * value)))))

/** Rollouts of one prompt, in the order they were logged. */
function groupsOf(records: readonly RolloutRecord[]): RolloutRecord[][] {
  const groups = new Map<string, RolloutRecord[]>()
  for (const record of records) {
    const group = groups.get(record.promptId)
    if (group === undefined) groups.set(record.promptId, [record])
    else group.push(record)
  }
  return [...groups.values()]
}

/** Advantages of logged rollouts under a configuration, as the training step computes them (without a divergence inside the reward). */
function advantagesOf(groups: readonly (readonly RolloutRecord[])[], config: RunConfig, step: number): { advantages: Float64Array[][]; rewards: number[]; flatGroups: number } {
  const { reward } = config
  const weighed = groups.map((group) => group.map((record) => weigh(record, reward, step)))
  const placed = groups.map((group, g) =>
    group.map((record, k) => {
      const { global } = weighed[g]![k]!
      const offsets: TokenOffsets = { text: record.text, starts: Int32Array.from(record.starts), ends: Int32Array.from(record.ends) }
      const tooLong = overlongPenalty(record.ids.length, config.rollout.maxNewTokens, config.rollout.overlongShare)
      const own = tokenRewards({ global, spans: record.spans }, offsets, reward, step).rewards
      return placeRewards(config.estimator, { tokenRewards: own.map((value) => value + tooLong), score: reward.globalWeight * global + tooLong, lineEnds: lineEnds(offsets) })
    }),
  )
  const stepped = placed.flat().some(({ stepEnds }) => stepEnds !== undefined)
  const result = groupAdvantages(
    config.estimator,
    groups.map((group, g) => ({
      tokenRewards: placed[g]!.map(({ rewards }) => rewards),
      outcomes: weighed[g]!.map(({ outcome }) => outcome),
      truncated: group.map(({ finish }) => finish === 'length'),
      scores: placed[g]!.map(({ score }) => score),
      ...(stepped ? { stepEnds: placed[g]!.map(({ rewards, stepEnds }) => stepEnds ?? new Uint8Array(rewards.length).fill(1)) } : {}),
    })),
  )
  return { advantages: result.advantages, rewards: weighed.flat().map(({ global }) => global), flatGroups: mean(result.stats.map(({ flat }) => Number(flat))) }
}

function weigh({ sources, stages, requirementScore }: RolloutRecord, config: RewardConfig, step: number): { global: number; outcome: number } {
  const scores = sources.map(({ source, global }) => ({ source, global, spans: [], milliseconds: 0 }))
  return { global: combineGlobal(scores, config, step), outcome: outcomeOf({ sources: scores, stages, requirementScore }, config, step) }
}

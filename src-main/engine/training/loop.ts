// BoT-GRPO, one step after another:  sample -> reward -> advantage -> update -> log -> maybe evaluate, maybe checkpoint.
//
// Everything a step does follows from (seed, step) and the weights it starts from, so a run that is stopped and resumed is the same run:
// data position, random streams and shuffles are functions of the step number and need no state of their own.
import type { MetricsRow, RolloutRecord } from '../../contract/events.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import { groupAdvantages, type GroupAdvantages } from '../policy/group-advantages.ts'
import { klEstimate } from '../policy/losses.ts'
import { lineEnds, overlongPenalty, placeRewards, type PlacedRewards } from '../policy/reward-placement.ts'
import { tokenRewards } from '../rewards/bus.ts'
import { compiles } from './evaluation.ts'
import { peakResidentBytes } from './memory-plan.ts'
import type { Optimizer } from './optimizer.ts'
import type { TrainingPass } from './passes.ts'
import type { RolloutSource, SampledRollout, ScoredRollout } from './sample-groups.ts'
import { sampleStep, type PromptGroup, type StepSample } from './sample-step.ts'
import { rolloutLogprobs, updatePolicy, type RolloutLogprobs, type TaughtRollout, type TokenRatios } from './update.ts'

/** What a step works with. */
export interface StepMachinery {
  readonly config: RunConfig
  readonly source: RolloutSource
  readonly policy: PolicyWeights
  readonly pass: TrainingPass
  /** The reference policy's forward pass; present when the loss has a KL term. */
  readonly reference: TrainingPass | undefined
  readonly optimizer: Optimizer
  readonly gradients: ReadonlyMap<string, Float32Array>
  /** Peak memory the plan foretold; undefined where there is no plan (devices other than the CPU). */
  readonly plannedBytes?: number | undefined
  /** Called between two calls into the runtime; may wait (pause) or throw (stop). */
  readonly checkpointForCommands: (phase: 'generate' | 'score' | 'update', done: number, total: number) => Promise<void>
}

export interface StepResult {
  readonly metrics: MetricsRow
  readonly records: readonly RolloutRecord[]
  /** False when the loss or gradient was not finite and nothing was updated. */
  readonly healthy: boolean
}

/** One training step. `step` counts from 1. */
export async function trainStep(machinery: StepMachinery, rows: readonly PromptRow[], step: number): Promise<StepResult> {
  const { config, source } = machinery
  const started = performance.now()
  const sampledFrom = machinery.policy.hash()
  const layerSeconds = machinery.policy.layerSeconds()
  // The reference reads the tokens while the scorer is still at work on their texts.
  let reference: RolloutLogprobs | undefined
  let referenceSeconds = 0
  const readReference = async (rollouts: readonly SampledRollout[]): Promise<void> => {
    if (machinery.reference === undefined) return
    const before = performance.now()
    reference = await rolloutLogprobs(machinery.reference, config, rollouts)
    referenceSeconds = (performance.now() - before) / 1000
  }
  const sample = await sampleStep(source, rows, step, (done, total) => machinery.checkpointForCommands('generate', done, total), readReference)
  const sampled = performance.now()

  const { taught, stats } = assignAdvantages(config, sample.groups, reference, step)
  if ((await machinery.policy.residentHash()) !== sampledFrom) throw new Error(`step ${step}: the sampler's policy is not the trainer's; the device holds other weights than the optimizer`)
  const update = await updatePolicy(machinery, taught.flat(), reference, step)
  const finished = performance.now()

  const values: Record<string, number | null> = {
    ...rewardMetrics(sample, taught.flat(), stats),
    ...sample.metrics,
    ...update.metrics,
    'time/step': (finished - started) / 1000,
    'time/generate': sample.times.generate,
    'time/score_wait': sample.times.scoreWait,
    'time/update': referenceSeconds + (finished - sampled) / 1000,
    'tokens_per_second/generate': sample.times.tokens / Math.max(1e-9, sample.times.generate),
    'time/layers': machinery.policy.frozenLayers === undefined ? null : machinery.policy.layerSeconds() - layerSeconds,
    'memory/resident_gib': process.memoryUsage.rss() / 2 ** 30,
    'memory/peak_gib': peakResidentBytes() / 2 ** 30,
    'memory/planned_gib': machinery.plannedBytes === undefined ? null : machinery.plannedBytes / 2 ** 30,
  }
  return { metrics: { step, values: finiteOrNull(values) }, records: recordsOf(sample, taught, config, step, update.ratios), healthy: update.healthy }
}

/** Rewards to token rewards to advantages (spec order: finite check, masks, flat groups, mu and sigma, A, clip A). */
function assignAdvantages(config: RunConfig, groups: readonly PromptGroup[], reference: RolloutLogprobs | undefined, step: number): { taught: TaughtRollout[][]; stats: GroupAdvantages['stats'] } {
  const placed = groups.map(({ rollouts }) => rollouts.map((rollout) => rewardsOf(config, rollout, reference, step)))
  const stepped = placed.some((group) => group.some(({ stepEnds }) => stepEnds !== undefined))
  const result = groupAdvantages(
    config.estimator,
    groups.map(({ rollouts }, g) => {
      const own = placed[g] as PlacedRewards[]
      return {
        tokenRewards: own.map(({ rewards }) => rewards),
        outcomes: rollouts.map(({ scored }) => scored.outcome),
        truncated: rollouts.map(({ rollout }) => rollout.finish === 'length'),
        scores: own.map(({ score }) => score),
        ...(stepped ? { stepEnds: own.map(({ rewards, stepEnds }) => stepEnds ?? new Uint8Array(rewards.length).fill(1)) } : {}),
      }
    }),
  )
  const taught = groups.map(({ rollouts }, g) =>
    rollouts.map((rollout, k): TaughtRollout => ({
      ...rollout,
      tokenRewards: placed[g]?.[k]?.rewards as Float64Array,
      advantages: result.advantages[g]?.[k] as Float64Array,
      fate: result.fates[g]?.[k] as TaughtRollout['fate'],
    })),
  )
  return { taught, stats: result.stats }
}

/** What the estimator reads of one rollout: score and penalties, the penalty on length, and the divergence where the reward bears it. */
function rewardsOf(config: RunConfig, { scored, offsets, rollout }: ScoredRollout, reference: RolloutLogprobs | undefined, step: number): PlacedRewards {
  const tooLong = overlongPenalty(rollout.ids.length, config.rollout.maxNewTokens, config.rollout.overlongShare)
  const { rewards } = tokenRewards(scored, offsets, config.reward, step)
  const { klPlace, klCoefficient, klEstimator } = config.loss
  const under = klPlace === 'reward' ? reference?.get(rollout) : undefined
  return placeRewards(config.estimator, {
    tokenRewards: rewards.map((reward) => reward + tooLong),
    score: config.reward.globalWeight * scored.global + tooLong,
    lineEnds: lineEnds(offsets),
    ...(under === undefined ? {} : { divergence: Float64Array.from(under, (logprob, t) => klCoefficient * klEstimate(klEstimator, rollout.policyLogprobs[t]!, logprob).value) }),
  })
}

const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length)
const deviation = (values: readonly number[]): number => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)))

/** Metrics of what was sampled, under the names people know from TRL. */
function rewardMetrics(sample: StepSample, taught: readonly TaughtRollout[], stats: GroupAdvantages['stats']): Record<string, number | null> {
  const groups = [...sample.groups, ...sample.discarded].map(({ rollouts }) => rollouts)
  const all = groups.flat()
  const lengths = all.map(({ rollout }) => rollout.ids.length)
  const sources = [...new Set(all.flatMap(({ scored }) => scored.sources.map(({ source }) => source)))]
  const share = (test: (rollout: ScoredRollout) => boolean): number => all.filter(test).length / all.length
  const metrics: Record<string, number | null> = {
    reward: mean(all.map(({ scored }) => scored.global)),
    // Spread inside groups teaches; spread between prompts does not. They are two numbers.
    reward_std: mean(groups.map((group) => deviation(group.map(({ scored }) => scored.global)))),
    reward_std_between: deviation(groups.map((group) => mean(group.map(({ scored }) => scored.global)))),
    frac_reward_zero_std: (stats.filter(({ flat }) => flat).length + sample.discarded.length) / groups.length,
    frac_groups_skipped: (stats.filter(({ skipped }) => skipped).length + sample.discarded.length) / groups.length,
    token_reward: mean(taught.map(({ tokenRewards: rewards }) => mean([...rewards]))),
    advantage_max: taught.reduce((most, { advantages }) => advantages.reduce((largest, value) => Math.max(largest, Math.abs(value)), most), 0),
    'completions/mean_length': mean(lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/clipped_ratio': share(({ rollout }) => rollout.finish === 'length'),
    'stages/parse': share(({ scored }) => scored.stages.parse),
    'stages/types': share(({ scored }) => scored.stages.types),
    'stages/bundle': share(({ scored }) => scored.stages.bundle),
    'stages/render': share(({ scored }) => scored.stages.render),
    compile_rate: share(({ scored }) => compiles(scored)),
    requirement_score: mean(all.map(({ scored }) => scored.requirementScore)),
    'audit/hack_rate': share(({ scored }) => compiles(scored) && !scored.audit.passed),
    num_tokens: lengths.reduce((sum, length) => sum + length, 0),
    ...pixelMetrics(all),
  }
  for (const name of sources) {
    const verdicts = all.flatMap(({ scored }) => scored.sources.filter(({ source }) => source === name))
    metrics[`rewards/${name}/mean`] = mean(verdicts.map(({ global }) => global))
    metrics[`rewards/${name}/failures`] = verdicts.filter(({ failure }) => failure !== undefined).length / verdicts.length
    metrics[`rewards/${name}/milliseconds`] = mean(verdicts.map(({ milliseconds }) => milliseconds))
  }
  return metrics
}

/** How many pages a browser was shown, on how many nothing could be seen, and at how many it failed; nothing where it was not asked. */
function pixelMetrics(all: readonly ScoredRollout[]): Record<string, number> {
  const count = (...kinds: ScoredRollout['scored']['pixels'][]): number => all.filter(({ scored }) => scored.pixels !== undefined && kinds.includes(scored.pixels)).length
  if (count('seen', 'blank', 'unchecked') === 0) return {}
  return { 'pixels/checked': count('seen', 'blank'), 'pixels/blank': count('blank'), 'pixels/unchecked': count('unchecked') }
}

function finiteOrNull(values: Record<string, number | null>): Record<string, number | null> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === null || Number.isFinite(value) ? value : null]))
}

/** Discarded groups are kept on disk like all others; their advantages are 0. */
function recordsOf({ groups, discarded }: StepSample, taught: readonly (readonly TaughtRollout[])[], config: RunConfig, step: number, ratios: TokenRatios): RolloutRecord[] {
  const nothing = ({ rollout }: ScoredRollout): Float64Array => new Float64Array(rollout.ids.length)
  return [
    ...groups.flatMap(({ row }, g) => (taught[g] ?? []).map((rollout) => toRecord(rollout, row, step, ratios.get(rollout.rollout)))),
    ...discarded.flatMap(({ row, rollouts }) => rollouts.map((rollout) => toRecord({ ...rollout, tokenRewards: rewardsOf(config, rollout, undefined, step).rewards, advantages: nothing(rollout), fate: 'dropped' }, row, step))),
  ]
}

function toRecord({ rollout, offsets, scored, tokenRewards: rewards, advantages }: TaughtRollout, row: PromptRow, step: number, ratios?: Float32Array): RolloutRecord {
  return {
    step,
    promptId: row.id,
    prompt: row.prompt,
    index: rollout.index,
    text: offsets.text,
    ids: [...rollout.ids],
    starts: [...offsets.starts],
    ends: [...offsets.ends],
    logprobs: [...rollout.logprobs],
    entropies: [...rollout.entropies],
    tokenRewards: [...rewards],
    advantages: [...advantages],
    // Five digits are more than a colour or a reader needs, and half the size.
    ...(ratios === undefined ? {} : { ratios: Array.from(ratios, (ratio) => Number(ratio.toPrecision(5))) }),
    reward: scored.global,
    outcome: scored.outcome,
    finish: rollout.finish,
    stages: { ...scored.stages },
    requirementScore: scored.requirementScore,
    auditPassed: scored.audit.passed,
    sources: scored.sources.map(({ source, global, failure }) => ({ source, global, ...(failure === undefined ? {} : { failure }) })),
    spans: scored.spans.map((span) => ({ ...span })),
  }
}

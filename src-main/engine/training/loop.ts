// BoT-GRPO, one step after another:  sample -> reward -> advantage -> update -> log -> maybe evaluate, maybe checkpoint.
//
// Everything a step does follows from (seed, step) and the weights it starts from, so a run that is stopped and resumed is the same run:
// data position, random streams and shuffles are functions of the step number and need no state of their own.
import type { MetricsRow, RolloutRecord } from '../../contract/events.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import type { LossConfig, RunConfig } from '../../contract/run-config.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import { groupAdvantages, lossLengths, type GroupAdvantages } from '../policy/group-advantages.ts'
import { correctionOf, importanceWeights } from '../policy/importance.ts'
import { addLossSums, aggregationWeights, emptyLossSums, lossMetrics, policyLoss, type LossSums } from '../policy/losses.ts'
import { reweigh, tokenRewards } from '../rewards/bus.ts'
import { createStream } from '../runtime/random.ts'
import { compiles } from './evaluation.ts'
import type { Optimizer } from './optimizer.ts'
import { packMicroBatches, type MicroBatch, type TrainingPass } from './passes.ts'
import { sampleGroups, type RolloutSource, type ScoredRollout } from './sample-groups.ts'

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
  /** Called between two calls into the runtime; may wait (pause) or throw (stop). */
  readonly checkpointForCommands: (phase: 'generate' | 'score' | 'update', done: number, total: number) => Promise<void>
}

/** A rollout with everything the update needs; arrays have one entry a sampled token. */
interface TaughtRollout extends ScoredRollout {
  readonly prompt: number
  readonly tokenRewards: Float64Array
  readonly advantages: Float64Array
  readonly fate: GroupAdvantages['fates'][number][number]
}

export interface StepResult {
  readonly metrics: MetricsRow
  readonly records: readonly RolloutRecord[]
  /** False when the loss or gradient was not finite and nothing was updated. */
  readonly healthy: boolean
}

/** The prompts of step `step` (from 1): epochs over the training set, each shuffled by its own stream, none repeated within an epoch. */
export function promptsOfStep(rows: readonly PromptRow[], config: RunConfig, step: number): PromptRow[] {
  const perStep = config.rollout.promptsPerStep
  const orders = new Map<number, number[]>()
  return Array.from({ length: perStep }, (_, index) => {
    const position = (step - 1) * perStep + index
    const epoch = Math.floor(position / rows.length)
    let order = orders.get(epoch)
    if (order === undefined) orders.set(epoch, (order = createStream(config.seed, 'data-order', epoch).shuffle(rows.map((_, row) => row))))
    return rows[order[position % rows.length] as number] as PromptRow
  })
}

/** One training step. `step` counts from 1. */
export async function trainStep(machinery: StepMachinery, rows: readonly PromptRow[], step: number): Promise<StepResult> {
  const { config, source } = machinery
  const started = performance.now()
  const prompts = promptsOfStep(rows, config, step)
  const sampledFrom = machinery.policy.hash()

  let scoreWait = 0
  const sampledGroups = await sampleGroups(source, prompts, {
    rolloutsPerPrompt: config.rollout.groupSize,
    streamKey: (prompt, rollout) => ['sample', step, prompt, rollout],
    law: config.rollout,
    onStep: (done, total) => machinery.checkpointForCommands('generate', done, total),
    onScoreWait: (seconds) => (scoreWait = seconds),
  })
  const sampled = performance.now()
  const groups = sampledGroups.map((group) => group.map((rollout) => ({ ...rollout, scored: reweigh(rollout.scored, config.reward, step) })))

  const { taught, stats } = assignAdvantages(config, groups, step)
  if ((await machinery.policy.residentHash()) !== sampledFrom) throw new Error(`step ${step}: the sampler's policy is not the trainer's; the device holds other weights than the optimizer`)
  const update = await updatePolicy(machinery, taught, step)
  const finished = performance.now()

  const values: Record<string, number | null> = {
    ...rewardMetrics(groups, taught, stats),
    ...update.metrics,
    'time/step': (finished - started) / 1000,
    'time/generate': source.sampler.times.total,
    'time/score_wait': scoreWait,
    'time/update': (finished - sampled) / 1000,
    'tokens_per_second/generate': source.sampler.times.tokens / Math.max(1e-9, source.sampler.times.total),
    'memory/resident_gib': process.memoryUsage.rss() / 2 ** 30,
  }
  return { metrics: { step, values: finiteOrNull(values) }, records: taught.map((rollout) => toRecord(rollout, prompts[rollout.prompt] as PromptRow, step)), healthy: update.healthy }
}

/** Rewards to token rewards to advantages (spec order: finite check, masks, flat groups, mu and sigma, A, clip A). */
function assignAdvantages(config: RunConfig, groups: readonly (readonly ScoredRollout[])[], step: number): { taught: TaughtRollout[]; stats: GroupAdvantages['stats'] } {
  const rewards = groups.map((group) => group.map(({ scored, offsets }) => tokenRewards(scored, offsets, config.reward, step).rewards))
  const result = groupAdvantages(
    config.estimator,
    groups.map((group, g) => ({
      tokenRewards: rewards[g] as Float64Array[],
      outcomes: group.map(({ scored }) => scored.outcome),
      truncated: group.map(({ rollout }) => rollout.finish === 'length'),
      scores: group.map(({ scored }) => config.reward.globalWeight * scored.global),
    })),
  )
  const taught = groups.flatMap((group, g) =>
    group.map((rollout, k): TaughtRollout => ({
      ...rollout,
      prompt: g,
      tokenRewards: rewards[g]?.[k] as Float64Array,
      advantages: result.advantages[g]?.[k] as Float64Array,
      fate: result.fates[g]?.[k] as TaughtRollout['fate'],
    })),
  )
  return { taught, stats: result.stats }
}

/** Epochs over the rollouts in mini-batches, one optimizer update each. */
async function updatePolicy(machinery: StepMachinery, taught: readonly TaughtRollout[], step: number): Promise<{ metrics: Record<string, number | null>; healthy: boolean }> {
  const { config, optimizer, gradients, policy } = machinery
  const { epochs, miniBatches } = config.training
  const reference = machinery.reference === undefined ? undefined : await referenceLogprobs(machinery, taught)
  const sums = emptyLossSums()
  const total = { loss: 0, norm: 0, learningRate: 0, updates: 0, entropy: 0, entropyTokens: 0, mismatch: 0 }
  let healthy = true
  for (let epoch = 0; epoch < epochs && healthy; epoch++) {
    const order = createStream(config.seed, 'mini-batches', step, epoch).shuffle(taught.map((_, index) => index))
    const size = Math.ceil(order.length / miniBatches)
    for (let start = 0; start < order.length && healthy; start += size) {
      const members = order.slice(start, start + size).map((index) => taught[index] as TaughtRollout)
      const first = epoch === 0 && start === 0
      const part = await accumulate(machinery, members, { reference, first, key: [step, epoch, start] }, sums, (done) => machinery.checkpointForCommands('update', (epoch * order.length + start + done * members.length) / (epochs * order.length), 1))
      total.loss += part.loss
      total.entropy += part.entropy
      total.entropyTokens += part.tokens
      total.mismatch = Math.max(total.mismatch, part.mismatch)
      if (part.tokens === 0) continue
      const update = Number.isFinite(part.loss) ? optimizer.update(gradients) : discard(gradients, optimizer)
      healthy = update.applied
      if (!healthy) break
      total.norm += update.gradientNorm
      total.learningRate = update.learningRate
      total.updates++
      await policy.refresh()
    }
  }
  const metrics = lossMetrics(sums)
  return {
    healthy,
    metrics: {
      loss: total.updates === 0 ? null : total.loss / total.updates,
      grad_norm: total.updates === 0 ? null : total.norm / total.updates,
      learning_rate: total.updates === 0 ? null : total.learningRate,
      entropy: total.entropyTokens === 0 ? null : total.entropy / total.entropyTokens,
      kl: machinery.reference === undefined ? null : metrics.referenceKl,
      approx_kl: metrics.approximateKl,
      'clip_ratio/region_mean': metrics.clipFraction,
      'clip_ratio/low_mean': metrics.clipFractionLow,
      'clip_ratio/high_mean': metrics.clipFractionHigh,
      ratio: metrics.meanRatio,
      'sampler_mismatch/max': total.mismatch,
      updates: total.updates,
      skipped: healthy ? 0 : 1,
    },
  }
}

function discard(gradients: ReadonlyMap<string, Float32Array>, optimizer: Optimizer): ReturnType<Optimizer['update']> {
  for (const gradient of gradients.values()) gradient.fill(0)
  return { applied: false, gradientNorm: Number.NaN, learningRate: optimizer.state.updates }
}

interface Accumulated {
  readonly loss: number
  readonly tokens: number
  readonly entropy: number
  /** Largest |sampler - trainer| log-probability; only meaningful before the first update of a step. */
  readonly mismatch: number
}

/** Adds the gradient of one mini-batch, micro-batch by micro-batch. */
async function accumulate(
  machinery: StepMachinery,
  members: readonly TaughtRollout[],
  update: { readonly reference: ReadonlyMap<TaughtRollout, Float32Array> | undefined; readonly first: boolean; readonly key: readonly number[] },
  sums: LossSums,
  between: (done: number) => Promise<void>,
): Promise<Accumulated> {
  const { config, pass, gradients } = machinery
  const lengths = lossLengths(members.map(({ rollout }) => rollout.ids.length), members.map(({ fate }) => fate))
  const weights = aggregationWeights(config.loss, lengths)
  const learning = members.flatMap((rollout, index) => (lengths[index] === 0 ? [] : [{ rollout, weight: weights[index] as number }]))
  const sequences = learning.map(({ rollout, weight }) => toSequence(config.loss, rollout, weight, update.reference?.get(rollout)))
  const result = { loss: 0, tokens: 0, entropy: 0, mismatch: 0 }
  let done = 0
  for (const { batch, order } of packMicroBatches(sequences, config.training.microBatchTokens)) {
    await between(done / Math.max(1, sequences.length))
    const columns = await pass.backward(batch, gradients, [...update.key, done])
    result.loss += columns.loss
    result.tokens += columns.logprob.length
    for (const value of columns.entropy) result.entropy += value
    if (update.first) result.mismatch = Math.max(result.mismatch, largestDifference(columns.logprob, batch.columns['oldLogprob'] as Float32Array))
    addLossSums(sums, plainLossSums(config.loss, batch, columns.logprob, order.map((index) => learning[index]!.rollout.rollout.ids.length)))
    done += order.length
  }
  return result
}

/** The metrics of the readable loss on the log-probabilities the graph gave. */
function plainLossSums(config: LossConfig, batch: MicroBatch, logprob: Float32Array, lengths: readonly number[]): LossSums {
  const { oldLogprob, advantage, referenceLogprob } = batch.columns
  return policyLoss(config, {
    lengths,
    weights: new Float64Array(lengths.length).fill(1),
    logProbabilities: logprob,
    oldLogProbabilities: oldLogprob as Float32Array,
    advantages: advantage as Float32Array,
    ...(referenceLogprob === undefined ? {} : { referenceLogProbabilities: referenceLogprob }),
  }).sums
}

/** The correction compares the law a token was drawn from with the policy itself and rides on the token's weight. */
function toSequence(config: LossConfig, { rollout, promptIds, advantages }: TaughtRollout, weight: number, reference: Float32Array | undefined): { ids: number[]; from: number; columns: Record<string, Float32Array> } {
  const corrections = importanceWeights(correctionOf(config), rollout.policyLogprobs, rollout.logprobs).weights
  return {
    ids: [...promptIds, ...rollout.ids],
    from: promptIds.length,
    columns: {
      weight: Float32Array.from(corrections, (correction) => weight * correction),
      advantage: Float32Array.from(advantages),
      oldLogprob: rollout.policyLogprobs,
      ...(reference === undefined ? {} : { referenceLogprob: reference }),
    },
  }
}

/** Log-probabilities of all sampled tokens under the reference model. */
async function referenceLogprobs({ config, reference }: StepMachinery, taught: readonly TaughtRollout[]): Promise<Map<TaughtRollout, Float32Array>> {
  const result = new Map<TaughtRollout, Float32Array>()
  const sequences = taught.map(({ rollout, promptIds }) => ({ ids: [...promptIds, ...rollout.ids], from: promptIds.length, columns: {} }))
  for (const { batch, order } of packMicroBatches(sequences, config.training.microBatchTokens)) {
    const { logprob } = await (reference as TrainingPass).forward(batch)
    let at = 0
    for (const index of order) {
      const rollout = taught[index] as TaughtRollout
      result.set(rollout, logprob.slice(at, (at += rollout.rollout.ids.length)))
    }
  }
  return result
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs((a[i] as number) - (b[i] as number)))
  return largest
}

const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length)
const deviation = (values: readonly number[]): number => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)))

/** Metrics of what was sampled, under the names people know from TRL. */
function rewardMetrics(groups: readonly (readonly ScoredRollout[])[], taught: readonly TaughtRollout[], stats: GroupAdvantages['stats']): Record<string, number | null> {
  const all = groups.flat()
  const lengths = all.map(({ rollout }) => rollout.ids.length)
  const sources = [...new Set(all.flatMap(({ scored }) => scored.sources.map(({ source }) => source)))]
  const share = (test: (rollout: ScoredRollout) => boolean): number => all.filter(test).length / all.length
  const metrics: Record<string, number | null> = {
    reward: mean(all.map(({ scored }) => scored.global)),
    // Spread inside groups teaches; spread between prompts does not. They are two numbers.
    reward_std: mean(groups.map((group) => deviation(group.map(({ scored }) => scored.global)))),
    reward_std_between: deviation(groups.map((group) => mean(group.map(({ scored }) => scored.global)))),
    frac_reward_zero_std: stats.filter(({ flat }) => flat).length / stats.length,
    frac_groups_skipped: stats.filter(({ skipped }) => skipped).length / stats.length,
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
  }
  for (const name of sources) {
    const verdicts = all.flatMap(({ scored }) => scored.sources.filter(({ source }) => source === name))
    metrics[`rewards/${name}/mean`] = mean(verdicts.map(({ global }) => global))
    metrics[`rewards/${name}/failures`] = verdicts.filter(({ failure }) => failure !== undefined).length / verdicts.length
    metrics[`rewards/${name}/milliseconds`] = mean(verdicts.map(({ milliseconds }) => milliseconds))
  }
  return metrics
}

function finiteOrNull(values: Record<string, number | null>): Record<string, number | null> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === null || Number.isFinite(value) ? value : null]))
}

function toRecord({ rollout, offsets, scored, tokenRewards: rewards, advantages }: TaughtRollout, row: PromptRow, step: number): RolloutRecord {
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

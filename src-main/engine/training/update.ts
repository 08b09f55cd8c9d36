// From advantages to new weights: epochs over the rollouts of a step in mini-batches, one optimizer update each.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LossConfig, RunConfig } from '../../contract/run-config.ts'
import type { GroupAdvantages } from '../policy/group-advantages.ts'
import { lossLengths } from '../policy/group-advantages.ts'
import { carmKeeps, correctionOf, importanceWeights } from '../policy/importance.ts'
import { addLossSums, aggregationWeights, emptyLossSums, lossMetrics, policyLoss, type LossSums } from '../policy/losses.ts'
import { sequenceColumns, usesSequence } from '../policy/surrogates.ts'
import type { Rollout } from '../rollout/sampler.ts'
import { createStream } from '../runtime/random.ts'
import type { StepMachinery } from './loop.ts'
import type { Optimizer } from './optimizer.ts'
import { packMicroBatches, type MicroBatch, type TrainingPass } from './passes.ts'
import type { ScoredRollout } from './sample-groups.ts'

/** A rollout with everything the update needs; arrays have one entry a sampled token. */
export interface TaughtRollout extends ScoredRollout {
  readonly tokenRewards: Float64Array
  readonly advantages: Float64Array
  readonly fate: GroupAdvantages['fates'][number][number]
}

/** Ratio of new to old policy of every token, by rollout, in the last mini-batch it was learned from. */
export type TokenRatios = ReadonlyMap<Rollout, Float32Array>

/** Log-probabilities of sampled tokens, by rollout. */
export type RolloutLogprobs = ReadonlyMap<Rollout, Float32Array>

interface Totals {
  loss: number
  tokens: number
  entropy: number
  /** Largest |sampler - trainer| log-probability, before the first update of the step. */
  mismatch: number
  /** Rollouts that had drifted too far. */
  masked: number
  readonly ratios: Map<Rollout, Float32Array>
}

/**
 * One step's updates.
 * @param reference log-probabilities under the reference model, where there is one
 */
export async function updatePolicy(machinery: StepMachinery, taught: readonly TaughtRollout[], reference: RolloutLogprobs | undefined, step: number): Promise<{ metrics: Record<string, number | null>; healthy: boolean; ratios: TokenRatios }> {
  const { config, optimizer, gradients, policy } = machinery
  const { epochs, miniBatches } = config.training
  const sums = emptyLossSums()
  const total: Totals = { loss: 0, tokens: 0, entropy: 0, mismatch: 0, masked: 0, ratios: new Map() }
  const updates = { count: 0, norm: 0, learningRate: 0 }
  let healthy = true
  for (let epoch = 0; epoch < epochs && healthy; epoch++) {
    const order = createStream(config.seed, 'mini-batches', step, epoch).shuffle(taught.map((_, index) => index))
    const size = Math.ceil(order.length / miniBatches)
    for (let start = 0; start < order.length && healthy; start += size) {
      const members = order.slice(start, start + size).map((index) => taught[index] as TaughtRollout)
      const tokensBefore = total.tokens
      const lossBefore = total.loss
      await accumulate(machinery, members, { reference, first: epoch === 0 && start === 0, key: [step, epoch, start] }, sums, total, (done) => machinery.checkpointForCommands('update', (epoch * order.length + start + done * members.length) / (epochs * order.length), 1))
      if (total.tokens === tokensBefore) continue
      const update = Number.isFinite(total.loss - lossBefore) ? optimizer.update(gradients) : discard(gradients, optimizer)
      healthy = update.applied
      if (!healthy) break
      updates.norm += update.gradientNorm
      updates.learningRate = update.learningRate
      updates.count++
      await policy.refresh()
    }
  }
  return { healthy, metrics: updateMetrics(config, sums, total, updates, reference !== undefined, healthy), ratios: total.ratios }
}

function updateMetrics(config: RunConfig, sums: LossSums, total: Totals, updates: { readonly count: number; readonly norm: number; readonly learningRate: number }, withReference: boolean, healthy: boolean): Record<string, number | null> {
  const metrics = lossMetrics(sums)
  return {
    loss: updates.count === 0 ? null : total.loss / updates.count,
    grad_norm: updates.count === 0 ? null : updates.norm / updates.count,
    learning_rate: updates.count === 0 ? null : updates.learningRate,
    entropy: total.tokens === 0 ? null : total.entropy / total.tokens,
    kl: withReference ? metrics.referenceKl : null,
    approx_kl: metrics.approximateKl,
    'clip_ratio/region_mean': metrics.clipFraction,
    'clip_ratio/low_mean': metrics.clipFractionLow,
    'clip_ratio/high_mean': metrics.clipFractionHigh,
    ratio: metrics.meanRatio,
    'sampler_mismatch/max': total.mismatch,
    ...(config.loss.carmEpsilon === null ? {} : { 'carm/masked': total.masked }),
    updates: updates.count,
    skipped: healthy ? 0 : 1,
  }
}

function discard(gradients: ReadonlyMap<string, Float32Array>, optimizer: Optimizer): ReturnType<Optimizer['update']> {
  for (const gradient of gradients.values()) gradient.fill(0)
  return { applied: false, gradientNorm: Number.NaN, learningRate: optimizer.state.updates }
}

/** Adds the gradient of one mini-batch, micro-batch by micro-batch. */
async function accumulate(
  machinery: StepMachinery,
  members: readonly TaughtRollout[],
  update: { readonly reference: RolloutLogprobs | undefined; readonly first: boolean; readonly key: readonly number[] },
  sums: LossSums,
  total: Totals,
  between: (done: number) => Promise<void>,
): Promise<void> {
  const { config, pass, gradients } = machinery
  const { carmEpsilon } = config.loss
  const teaching = members.filter(({ rollout, fate }) => lossLengths([rollout.ids.length], [fate])[0] !== 0)
  // Only a loss that looks at whole rollouts must know where the policy stands before it differentiates.
  const present = usesSequence(config.loss.surrogate) || carmEpsilon !== null ? await rolloutLogprobs(pass, config, teaching) : undefined
  const learning = teaching.filter(({ rollout }) => carmEpsilon === null || carmKeeps(carmEpsilon, present?.get(rollout) as Float32Array, rollout.logprobs))
  total.masked += teaching.length - learning.length
  const weights = aggregationWeights(config.loss, learning.map(({ rollout }) => rollout.ids.length))
  const sequences = learning.map((taught, index) => toSequence(config.loss, taught, weights[index] as number, update.reference?.get(taught.rollout), present?.get(taught.rollout)))
  let done = 0
  for (const { batch, order } of packMicroBatches(sequences, config.training.microBatchTokens)) {
    await between(done / Math.max(1, sequences.length))
    const columns = await pass.backward(batch, gradients, [...update.key, done])
    total.loss += columns.loss
    total.tokens += columns.logprob.length
    for (const value of columns.entropy) total.entropy += value
    if (update.first) total.mismatch = Math.max(total.mismatch, largestDifference(columns.logprob, batch.columns['oldLogprob'] as Float32Array))
    // The first update of a step begins from the policy the rollouts were drawn with: there is nothing to keep.
    if (config.training.epochs * config.training.miniBatches > 1) keepRatios(total.ratios, order.map((index) => learning[index]!.rollout), columns.logprob)
    addLossSums(sums, plainLossSums(config.loss, batch, columns.logprob, order.map((index) => learning[index]!.rollout.ids.length)))
    done += order.length
  }
}

/** @param logprob of the rollouts' tokens one after another */
function keepRatios(ratios: Map<Rollout, Float32Array>, rollouts: readonly Rollout[], logprob: Float32Array): void {
  let at = 0
  for (const rollout of rollouts) {
    ratios.set(rollout, rollout.policyLogprobs.map((old, t) => Math.exp(logprob[at + t]! - old)))
    at += rollout.ids.length
  }
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

/**
 * The correction compares the law a token was drawn from with the policy itself. It rides on the advantage: every surrogate is in
 * proportion to that, and the KL term is not to be weighed.
 */
function toSequence(config: LossConfig, { rollout, promptIds, advantages }: TaughtRollout, weight: number, reference: Float32Array | undefined, present: Float32Array | undefined): { ids: number[]; from: number; columns: Record<string, Float32Array> } {
  const corrections = importanceWeights(correctionOf(config), rollout.policyLogprobs, rollout.logprobs).weights
  return {
    ids: [...promptIds, ...rollout.ids],
    from: promptIds.length,
    columns: {
      weight: new Float32Array(rollout.ids.length).fill(weight),
      advantage: Float32Array.from(advantages, (advantage, t) => advantage * corrections[t]!),
      oldLogprob: rollout.policyLogprobs,
      ...(reference === undefined ? {} : { referenceLogprob: reference }),
      ...(present === undefined || !usesSequence(config.surrogate) ? {} : sequenceColumns(config, present, rollout.policyLogprobs)),
    },
  }
}

/** Log-probabilities of all sampled tokens under the policy of a pass. */
export async function rolloutLogprobs(pass: TrainingPass, config: RunConfig, rollouts: readonly Pick<ScoredRollout, 'rollout' | 'promptIds'>[]): Promise<RolloutLogprobs> {
  const result = new Map<Rollout, Float32Array>()
  const sequences = rollouts.map(({ rollout, promptIds }) => ({ ids: [...promptIds, ...rollout.ids], from: promptIds.length, columns: {} }))
  for (const { batch, order } of packMicroBatches(sequences, config.training.microBatchTokens)) {
    // Between two calls into the runtime, which block, verdicts arrive and the scorer is given its next texts.
    await nextTurn()
    const { logprob } = await pass.forward(batch)
    let at = 0
    for (const index of order) {
      const { rollout } = rollouts[index] as ScoredRollout
      result.set(rollout, logprob.slice(at, (at += rollout.ids.length)))
    }
  }
  return result
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs((a[i] as number) - (b[i] as number)))
  return largest
}

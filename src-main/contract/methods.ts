// What belongs together: the loss and the sampling a method is known by, the presets, and the combinations that are refused.
import { estimatorNames, rewardForm } from './estimator-config.ts'
import type { EstimatorName } from './estimator-config.ts'
import type { LossConfig } from './loss-config.ts'
import type { RunConfig, RunConfigInput } from './run-config.ts'

/** Parts of a configuration, as a person would write them. */
export type ConfigFragment = Pick<RunConfigInput, 'estimator' | 'loss' | 'rollout'>

type LossFragment = NonNullable<RunConfigInput['loss']>
type RolloutFragment = NonNullable<RunConfigInput['rollout']>

/**
 * What makes a method itself beside its advantages. These are defaults: what a configuration says wins. The divergence from the reference
 * model is no part of it; the preset `paper` has it where the source has.
 */
export function methodDefaults(name: EstimatorName): { readonly loss: LossFragment; readonly rollout: RolloutFragment } {
  switch (name) {
    case 'bot-grpo':
    case 'grpo':
    case 'grpo-process':
    case 'pure':
      return { loss: {}, rollout: {} }
    case 'dr-grpo':
      return { loss: { aggregation: 'constant-length' }, rollout: {} }
    case 'dapo':
      return { loss: { clipLow: 0.2, clipHigh: 0.28, aggregation: 'all-tokens' }, rollout: { groups: { kind: 'dynamic' }, overlongShare: 0.2 } }
    case 'gspo':
      return { loss: { surrogate: 'sequence', clipLow: 3e-4, clipHigh: 4e-4, clipReferenceLength: 8192 }, rollout: {} }
    case 'gspo-token':
      return { loss: { surrogate: 'sequence-token', clipLow: 3e-4, clipHigh: 4e-4, clipReferenceLength: 8192 }, rollout: {} }
    case 'rloo':
      return { loss: { surrogate: 'sequence-sum' }, rollout: {} }
    case 'reinforce++':
      return { loss: { aggregation: 'all-tokens' }, rollout: {} }
    case 'cispo':
      return { loss: { surrogate: 'cispo', aggregation: 'all-tokens' }, rollout: {} }
    case 'sapo':
      return { loss: { surrogate: 'sapo' }, rollout: {} }
  }
}

/** What a source's authors used beyond what makes the method (`paper`), or what guards against its hazards (`safe`). Both overrule what a configuration says about estimator, surrogate, clip, aggregation, KL place and groups. */
export const presetNames = ['paper', 'safe'] as const
export type PresetName = (typeof presetNames)[number]

export function presetFragment(preset: PresetName, name: EstimatorName): ConfigFragment {
  const method = methodDefaults(name)
  const loss: LossFragment = { surrogate: 'token', clipLow: 0.2, clipHigh: 0.2, clipReferenceLength: null, dualClip: null, aggregation: 'token-then-rollout', klUnbiased: false, ...method.loss }
  const rollout: RolloutFragment = { groups: { kind: 'fixed' }, overlongShare: 0, ...method.rollout }
  switch (preset) {
    case 'paper':
      return { estimator: { name }, loss: { ...loss, ...paperDivergence(name) }, rollout }
    case 'safe':
      return { estimator: guarded(name), loss: { ...loss, dualClip: loss.surrogate === 'token' ? 3 : null, klCoefficient: 0, klPlace: 'loss' }, rollout }
  }
}

/** The KL term at the source (GRPO 2402.03300 4.1; PURE 2504.15275; RLOO in TRL). */
function paperDivergence(name: EstimatorName): LossFragment {
  switch (name) {
    case 'grpo':
    case 'grpo-process':
      return { klCoefficient: 0.04, klEstimator: 'k3', klPlace: 'loss' }
    case 'pure':
      return { klCoefficient: 0.001, klEstimator: 'k3', klPlace: 'loss' }
    case 'rloo':
      return { klCoefficient: 0.05, klEstimator: 'k1', klPlace: 'reward' }
    default:
      return { klCoefficient: 0, klPlace: 'loss' }
  }
}

/** Flat groups cannot blow a small penalty up, and no token's advantage exceeds 5. */
function guarded(name: EstimatorName): NonNullable<RunConfigInput['estimator']> {
  switch (name) {
    case 'dr-grpo':
    case 'pure':
    case 'rloo':
    case 'reinforce++':
      return { name, flatGroups: 'skip', clipAdvantage: 5 }
    default:
      return { name, flatGroups: 'sigma-floor', clipAdvantage: 5 }
  }
}

/**
 * Puts the defaults of the method under what a configuration says. A loss that names another surrogate than the method's is left alone.
 * Whatever is no configuration at all passes through, for the schema to refuse.
 */
export function withMethodDefaults(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { estimator = {}, loss = {}, rollout = {} } = value
  const name = isRecord(estimator) ? (estimator['name'] ?? 'bot-grpo') : undefined
  if (!isEstimatorName(name) || !isRecord(loss) || !isRecord(rollout)) return value
  const own = methodDefaults(name)
  const foreign = loss['surrogate'] !== undefined && loss['surrogate'] !== (own.loss.surrogate ?? 'token')
  return { ...value, loss: foreign ? loss : { ...own.loss, ...loss }, rollout: { ...own.rollout, ...rollout } }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEstimatorName(value: unknown): value is EstimatorName {
  return (estimatorNames as readonly unknown[]).includes(value)
}

/** Two fields that do not go together: where the person is sent, and the sentence that names both. */
export interface Conflict {
  readonly path: readonly string[]
  readonly message: string
}

/** The surrogate without which the name would be another method's. */
function demandedSurrogate(name: EstimatorName): LossConfig['surrogate'] | undefined {
  switch (name) {
    case 'gspo':
    case 'gspo-token':
    case 'cispo':
    case 'sapo':
      return methodDefaults(name).loss.surrogate
    default:
      return undefined
  }
}

/** What an estimator, a loss and their surroundings refuse of each other. */
export function findConflicts(config: Pick<RunConfig, 'estimator' | 'loss' | 'rollout' | 'adapter'>): Conflict[] {
  const { estimator, loss, rollout, adapter } = config
  const form = rewardForm(estimator.name)
  const wholeSequence = loss.surrogate === 'sequence' || loss.surrogate === 'sequence-sum'
  const usesSequence = wholeSequence || loss.surrogate === 'sequence-token'
  const demanded = demandedSurrogate(estimator.name)
  const conflicts: [boolean, string, string][] = [
    [demanded !== undefined && loss.surrogate !== demanded, 'loss.surrogate', `estimator.name "${estimator.name}" is nothing without loss.surrogate "${demanded ?? ''}"; leave loss.surrogate out, or take estimator.name "${estimator.name === 'gspo-token' ? 'bot-grpo' : 'grpo'}"`],
    [wholeSequence && form !== 'score', 'loss.surrogate', `loss.surrogate "${loss.surrogate}" needs one advantage a rollout, but estimator.name "${estimator.name}" gives one a token; take loss.surrogate "sequence-token", or an estimator such as "grpo"`],
    [wholeSequence && loss.aggregation !== 'token-then-rollout', 'loss.aggregation', `loss.surrogate "${loss.surrogate}" has one loss a rollout, so loss.aggregation must be "token-then-rollout"`],
    [loss.dualClip !== null && loss.surrogate !== 'token', 'loss.dualClip', `loss.dualClip bounds the loss of loss.surrogate "token" only, not of "${loss.surrogate}"; set it to null`],
    [loss.clipReferenceLength !== null && loss.surrogate !== 'sequence' && loss.surrogate !== 'sequence-token', 'loss.clipReferenceLength', `loss.clipReferenceLength scales the clip of a mean over the sequence, which loss.surrogate "${loss.surrogate}" does not take; set it to null`],
    [loss.klCoefficient > 0 && loss.klPlace === 'reward' && (form === 'token' || form === 'step'), 'loss.klPlace', `loss.klPlace "reward" is for estimators that take one score a rollout or a return, not for estimator.name "${estimator.name}"; set it to "loss"`],
    [loss.klUnbiased && loss.klPlace === 'reward', 'loss.klUnbiased', 'loss.klUnbiased weighs the KL term of the loss, but loss.klPlace is "reward"; set loss.klUnbiased to false'],
    [loss.correctionLow > loss.correctionHigh, 'loss.correctionLow', `loss.correctionLow ${loss.correctionLow} lies above loss.correctionHigh ${loss.correctionHigh}`],
    [usesSequence && adapter.kind === 'lora' && adapter.dropout > 0, 'adapter.dropout', `adapter.dropout ${adapter.kind === 'lora' ? adapter.dropout : 0} makes every ratio of a sequence noise, which loss.surrogate "${loss.surrogate}" cannot bear; set adapter.dropout to 0`],
    [loss.carmEpsilon !== null && adapter.kind === 'lora' && adapter.dropout > 0, 'adapter.dropout', 'adapter.dropout above 0 lets rollouts drift by chance, so loss.carmEpsilon would mask them; set one of the two to nothing'],
  ]
  if (rollout.groups.kind === 'vigor') {
    const budget = rollout.promptsPerStep * rollout.groupSize
    const needed = (rollout.groups.rounds + 1) * 2 ** (rollout.groups.rounds - 1)
    conflicts.push([budget < needed, 'rollout.groups.rounds', `rollout.groups.rounds ${rollout.groups.rounds} needs at least ${needed} rollouts a step, but rollout.promptsPerStep times rollout.groupSize is ${budget}`])
  }
  return conflicts.flatMap(([holds, path, message]) => (holds ? [{ path: path.split('.'), message }] : []))
}

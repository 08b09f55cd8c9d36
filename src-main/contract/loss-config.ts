// The loss: which surrogate of the policy gradient, how token losses are added up, corrections, and the distance to the reference model.
import { z } from 'zod'
import { field } from './field.ts'

const count = z.number().int().positive()

/** Surrogates; engine/policy/surrogates.ts has the formulas. */
export const surrogates = ['token', 'sequence', 'sequence-token', 'sequence-sum', 'cispo', 'sapo'] as const

export const lossConfigSchema = z.strictObject({
  surrogate: field(z.enum(surrogates).default('token'), '', 'PPO', 'What the ratio of new to old policy is taken of, and how it is bounded: each token (PPO, GRPO), the mean over the sequence (GSPO; the form for token advantages is sequence-token), the whole sequence (RLOO), or the softer bounds of CISPO and SAPO.'),
  clipLow: field(z.number().positive().default(0.2), 'ratio', 'PPO', 'The probability ratio is not rewarded below 1 minus this.'),
  clipHigh: field(z.number().positive().default(0.2), 'ratio', 'PPO', 'The probability ratio is not rewarded above 1 plus this.'),
  clipReferenceLength: field(count.nullable().default(null), 'tokens', 'Satchel', 'With a sequence surrogate the clip is meant for completions of this length and widens as the root of (this / length) for shorter ones, as the noise of a mean does; empty leaves it as it is.'),
  dualClip: field(z.number().gt(1).nullable().default(null), 'ratio', 'Dual-clip PPO', 'With a negative advantage the loss grows no further than this many times the advantage; empty leaves it unbounded.'),
  cispoCap: field(z.number().positive().default(5), 'ratio', 'CISPO, TRL', 'Largest weight of a token under CISPO.'),
  sapoTemperaturePositive: field(z.number().positive().default(1), '', 'SAPO', 'How sharply SAPO bounds the ratio where the advantage is positive.'),
  sapoTemperatureNegative: field(z.number().positive().default(1.05), '', 'SAPO', 'How sharply SAPO bounds the ratio where the advantage is negative.'),
  aggregation: field(z.enum(['token-then-rollout', 'all-tokens', 'constant-length']).default('token-then-rollout'), '', 'BoT-GRPO', 'How token losses become one number.'),
  constantLength: field(count.default(256), 'tokens', 'Dr.GRPO', 'The divisor when aggregation is constant-length.'),
  correction: field(z.enum(['none', 'truncated', 'masked']).default('none'), '', 'TRL', 'What to do where the law completions were drawn from (top-k, top-p, min-p) is not the policy itself: nothing, weigh tokens by the ratio up to a cap, or leave tokens outside a band out.'),
  correctionCap: field(z.number().positive().default(2), 'ratio', 'TRL', 'Largest weight when correction is truncated.'),
  correctionLow: field(z.number().nonnegative().default(0.5), 'ratio', 'IcePop', 'Lower end of the band when correction is masked.'),
  correctionHigh: field(z.number().positive().default(5), 'ratio', 'IcePop', 'Upper end of the band when correction is masked.'),
  carmEpsilon: field(z.number().positive().nullable().default(null), 'ratio', 'CARM', 'A rollout is left out once its mean absolute log-ratio to the law it was drawn from exceeds log(1 + this); empty keeps all.'),
  klCoefficient: field(z.number().nonnegative().default(0), '', 'Satchel', 'Weight of the distance to the reference model; 0 leaves it out.'),
  klEstimator: field(z.enum(['k1', 'k2', 'k3']).default('k3'), '', 'GRPO', 'Which estimate of the KL divergence is taken.'),
  klUnbiased: field(z.boolean().default(false), '', 'GRPO; TRL has it on', 'Weigh the KL term in the loss by the probability ratio of new to old policy: its gradient is then that of the reverse KL divergence, with k3 in particular (DeepSeek-V3.2).'),
  klPlace: field(z.enum(['loss', 'reward']).default('loss'), '', 'GRPO; RLOO takes reward', 'Whether the KL divergence is added to the loss or taken off the reward before advantages are formed.'),
})
export type LossConfig = z.infer<typeof lossConfigSchema>

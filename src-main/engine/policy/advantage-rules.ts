// The formulas of the estimators, each as its paper has it. A group is a list of rollouts; a rollout is its rewards r_t.
//
// BoT-GRPO (arXiv 2610.09804; K rollouts of one prompt, L_k tokens each)
//   mu = 1/K sum_k 1/L_k sum_t r_t^k,   sigma^2 = 1/K sum_k 1/L_k sum_t (r_t^k - mu)^2,   A_t^k = (r_t^k - mu) / (sigma + eps)
//   An option drops 1/L_k: mean and deviation over all tokens of the group, long rollouts weighing more (for comparison; nobody's paper).
// GRPO (2402.03300): the same with one score R^k for all tokens of a rollout.
// Dr.GRPO (2503.20783): A^k = R^k - mean(R).      RLOO (2402.14740): A^k = K/(K-1) (R^k - mean(R)), the mean of the others as baseline.
// GRPO, process form (2402.03300, 4.1.3): step rewards of the group pooled and standardised; A_t = sum of those at or after t.
// PURE (2504.15275): credit of step j  c_j = softmax(-r/T)_j r_j,  A_t = sum over steps j at or after t of (c_j - b n_j), where b is the
//   credit a token in the other rollouts and n_j the tokens of the step.
// REINFORCE++ (2501.03262): G_t = r_t + discount G_{t+1}, standardised over all tokens of the batch.
import type { AdvantageSettings } from './advantage-settings.ts'

/** Rewards of one rollout. The last token always ends a step; so do those whose `stepEnds` is not 0, or all where it is left out. */
export interface RewardedRollout {
  /** [L] A score stands at every token of its rollout. */
  readonly rewards: Float64Array
  /** [L] where the rule has steps. Rewards inside a step are not read. */
  readonly stepEnds: Uint8Array | undefined
}

export interface RuleResult {
  readonly mu: number
  readonly sigma: number
  /** [K][L_k] */
  readonly advantages: readonly Float64Array[]
}

/** What advantages are divided by, given the spread of the group; 0 stands for "no advantage at all". */
export type DivisorOf = (sigma: number) => number

/** BoT-GRPO; with the same reward at all tokens of a rollout, GRPO. */
export function standardiseTokens(group: readonly RewardedRollout[], settings: Pick<AdvantageSettings, 'deviation' | 'pooled'>, divisorOf: DivisorOf): RuleResult {
  const { mu, variance, count } = settings.pooled ? tokenMoments(group) : rolloutMoments(group)
  const sigma = Math.sqrt(variance * (settings.deviation === 'sample' ? count / (count - 1) : 1))
  const divisor = divisorOf(sigma)
  return { mu, sigma, advantages: group.map(({ rewards }) => centred(rewards, mu, divisor)) }
}

/** Dr.GRPO; times K/(K-1) it is RLOO, whose baseline is the mean of the other rollouts. */
export function centreScores(group: readonly RewardedRollout[], settings: Pick<AdvantageSettings, 'rule'>): RuleResult {
  const { mu, variance } = rolloutMoments(group)
  const divisor = settings.rule === 'rloo' ? (group.length - 1) / group.length : 1
  return { mu, sigma: Math.sqrt(variance), advantages: group.map(({ rewards }) => centred(rewards, mu, divisor)) }
}

/** GRPO in its process form. */
export function standardiseSteps(group: readonly RewardedRollout[], settings: Pick<AdvantageSettings, 'deviation'>, divisorOf: DivisorOf): RuleResult {
  const steps = group.flatMap((rollout) => [...rollout.rewards.filter((_, t) => endsStep(rollout, t))])
  const mu = sum(steps) / steps.length
  const sigma = Math.sqrt(sum(steps.map((reward) => (reward - mu) ** 2)) / (settings.deviation === 'sample' ? steps.length - 1 : steps.length))
  const divisor = divisorOf(sigma)
  return { mu, sigma, advantages: group.map((rollout) => sumFromEnd(rollout, (t) => quotient(rollout.rewards[t]! - mu, divisor))) }
}

/** PURE, without the outcome term of its own: here the outcome is part of every step's reward. */
export function minimumCredit(group: readonly RewardedRollout[], settings: Pick<AdvantageSettings, 'temperature'>): RuleResult {
  const credits = group.map((rollout) => stepCredits(rollout, settings.temperature))
  const totals = credits.map(sum)
  const allCredit = sum(totals)
  const allTokens = sum(group.map(({ rewards }) => rewards.length))
  const mu = allCredit / group.length
  const advantages = group.map((rollout, k) => {
    const baseline = (allCredit - totals[k]!) / (allTokens - rollout.rewards.length)
    return sumFromEnd(rollout, (end, start) => credits[k]![end]! - baseline * (end - start + 1))
  })
  return { mu, sigma: Math.sqrt(sum(totals.map((total) => (total - mu) ** 2)) / group.length), advantages }
}

/** softmax(-r/T) r at the ends of steps, 0 elsewhere: the worst step bears nearly all of it. */
function stepCredits(rollout: RewardedRollout, temperature: number): Float64Array {
  const ends = rollout.rewards.map((reward, t) => (endsStep(rollout, t) ? reward : Infinity))
  const worst = ends.reduce((least, reward) => Math.min(least, reward), Infinity)
  const weights = ends.map((reward) => Math.exp((worst - reward) / temperature))
  const total = sum(weights)
  return weights.map((weight, t) => (weight === 0 ? 0 : (weight / total) * ends[t]!))
}

/** REINFORCE++ returns of one rollout: G_t = r_t + discount G_{t+1}. */
export function returnsToGo(rewards: Float64Array, discount: number): Float64Array {
  const returns = new Float64Array(rewards.length)
  let after = 0
  for (let t = rewards.length - 1; t >= 0; t--) returns[t] = after = rewards[t]! + discount * after
  return returns
}

/** REINFORCE++ over the rollouts of a whole batch: (G - mean) / sqrt(variance + eps), every token weighing the same. */
export function whitenReturns(batch: readonly RewardedRollout[], settings: Pick<AdvantageSettings, 'discount' | 'deviation' | 'epsilon'>): RuleResult {
  const returns = batch.map(({ rewards }) => returnsToGo(rewards, settings.discount))
  const tokens = sum(returns.map((own) => own.length))
  const mu = sum(returns.map(sum)) / tokens
  const variance = sum(returns.map((own) => squares(own, mu))) / (settings.deviation === 'sample' ? tokens - 1 : tokens)
  const divisor = Math.sqrt(variance + settings.epsilon)
  return { mu, sigma: Math.sqrt(variance), advantages: returns.map((own) => centred(own, mu, divisor)) }
}

/** Mean over rollouts of their means, and of their mean squared distances from it. */
function rolloutMoments(group: readonly RewardedRollout[]): { mu: number; variance: number; count: number } {
  const mu = sum(group.map(({ rewards }) => sum(rewards) / rewards.length)) / group.length
  return { mu, variance: sum(group.map(({ rewards }) => squares(rewards, mu) / rewards.length)) / group.length, count: group.length }
}

/** The same over all tokens. */
function tokenMoments(group: readonly RewardedRollout[]): { mu: number; variance: number; count: number } {
  const count = sum(group.map(({ rewards }) => rewards.length))
  const mu = sum(group.map(({ rewards }) => sum(rewards))) / count
  return { mu, variance: sum(group.map(({ rewards }) => squares(rewards, mu))) / count, count }
}

/** For each token the sum of `value` over the steps that end at or after it. */
function sumFromEnd(rollout: RewardedRollout, value: (end: number, start: number) => number): Float64Array {
  const sums = new Float64Array(rollout.rewards.length)
  let total = 0
  for (let end = rollout.rewards.length - 1; end >= 0; ) {
    let start = end
    while (start > 0 && !endsStep(rollout, start - 1)) start--
    total += value(end, start)
    sums.fill(total, start, end + 1)
    end = start - 1
  }
  return sums
}

function endsStep({ stepEnds, rewards }: RewardedRollout, token: number): boolean {
  return stepEnds === undefined || token === rewards.length - 1 || stepEnds[token] !== 0
}

const quotient = (value: number, divisor: number): number => (divisor > 0 ? value / divisor : 0)

function centred(values: Float64Array, mu: number, divisor: number): Float64Array {
  const result = new Float64Array(values.length)
  for (let t = 0; t < values.length; t++) result[t] = quotient(values[t]! - mu, divisor)
  return result
}

function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

/** Sum of (x - mu)^2: in double precision and after the mean is known; a one-pass formula loses small deviations altogether. */
function squares(values: Float64Array, mu: number): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += (values[i]! - mu) ** 2
  return total
}

// The numbers of one token, in words and units.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'
import { compact, percent, signed } from '../../state/number-format.ts'
import { visibleTokenText } from './token-lines.ts'
import type { TokenLine } from './token-lines.ts'

export interface TokenFact {
  readonly label: string
  readonly value: string
  /** The value is a piece of what the model wrote. */
  readonly written?: boolean
}

/** Index (1-based), text, id, probability, log-probability, entropy, reward and advantage of a token, and its ratio where it was kept. */
export function tokenFacts(rollout: RolloutRecord, token: number): TokenFact[] {
  const logprob = rollout.logprobs[token] ?? Number.NaN
  return [
    { label: 'Token', value: `${token + 1} of ${rollout.ids.length}` },
    { label: 'Text', value: visibleTokenText(rollout, token), written: true },
    { label: 'Id', value: String(rollout.ids[token] ?? '') },
    { label: 'Reward', value: signed(rollout.tokenRewards[token] ?? Number.NaN, 3) },
    { label: 'Advantage', value: `${signed(rollout.advantages[token] ?? Number.NaN, 3)} σ` },
    { label: 'Probability', value: percent(Math.exp(logprob)) },
    { label: 'Log-probability', value: compact(logprob) },
    { label: 'Entropy', value: `${compact(rollout.entropies[token])} nats` },
    ...(rollout.ratios === undefined ? [] : [{ label: 'Ratio', value: `${compact(rollout.ratios[token], 4)} ×` }]),
  ]
}

/** The same as one sentence, for a screen reader. */
export function describeToken(rollout: RolloutRecord, token: number): string {
  return tokenFacts(rollout, token)
    .map((fact) => `${fact.label} ${fact.value}`)
    .join(', ')
}

/** A line's number, and what the rewards said about it. */
export function describeLine(line: TokenLine): string {
  return [`Line ${line.number}`, ...line.flags.map((flag) => `${flag.source} ${signed(flag.value)}, column ${flag.column}: ${flag.message}`)].join('; ')
}

// What the bench found, in words and numbers. Pure.
import type { RewardReport, RewardSample, ScoredSample } from '../../../src-main/contract/calls/rewards.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { gateNames } from '../../../src-main/contract/rewards.ts'
import type { RolloutRecord } from '../../../src-main/contract/events.ts'
import { compact, percent, plural, signed, unknown } from '../../state/number-format.ts'
import type { TokenFact } from '../rollouts/token-facts.ts'
import { visibleTokenText } from '../rollouts/token-lines.ts'

/** Tokens painted by everything together, or by the local signal of one source. */
export type Paint = { readonly by: 'total' } | { readonly by: 'source'; readonly source: string }

/** A scored sample as the token painter takes it; what only a model knows of its tokens stays zero. */
export function paintedSample(sample: RewardSample, scored: ScoredSample, paint: Paint): RolloutRecord {
  const zeros = scored.starts.map(() => 0)
  const values = paint.by === 'total' ? scored.tokenRewards : (scored.localBySource[paint.source] ?? zeros)
  return {
    step: 0, promptId: sample.id, prompt: sample.prompt, index: 0, text: sample.completion, ids: scored.starts.map((_, at) => at), starts: scored.starts, ends: scored.ends,
    logprobs: zeros, entropies: zeros, advantages: zeros, tokenRewards: values, reward: scored.global, outcome: scored.outcome, finish: 'stop', stages: scored.stages,
    requirementScore: scored.requirementScore, auditPassed: scored.audit.passed, sources: scored.sources.map(({ source, global, failure }) => ({ source, global, ...(failure === undefined ? {} : { failure }) })),
    spans: paint.by === 'total' ? scored.spans : scored.spans.filter(({ source }) => source === paint.source),
  }
}

/** Every number of one token: its reward and what each source put on it. */
export function tokenRewardFacts(rollout: RolloutRecord, scored: ScoredSample, token: number, exact: boolean): TokenFact[] {
  return [
    { label: exact ? 'Token' : 'Word', value: `${token + 1} of ${scored.starts.length}` },
    { label: 'Text', value: visibleTokenText(rollout, token), written: true },
    { label: 'Reward', value: signed(scored.tokenRewards[token] ?? Number.NaN, 3) },
    ...Object.entries(scored.localBySource).map(([source, local]) => ({ label: source, value: signed(local[token] ?? 0, 3) })),
  ]
}

/** How far a completion came, in the recipe's own words. */
export function verdictWords(recipe: Recipe, { stages }: Pick<ScoredSample, 'stages'>): string {
  const names = gateNames[recipe]
  const failed = (['parse', 'types', 'bundle', 'render'] as const).find((gate) => !stages[gate])
  return failed === undefined ? names.render : `fails at: ${names[failed]}`
}

/** The bench in one line. */
export function summaryWords({ completions, groups, passed, flatGroups, hackRate }: RewardReport): string {
  const several = flatGroups > 0 ? `, ${percent(flatGroups)} of the groups flat` : ''
  const hacks = hackRate > 0 ? `, ${percent(hackRate)} of these fail the audit` : ''
  return `${plural(completions, 'completion')} of ${plural(groups, 'prompt')}: ${percent(passed)} pass${hacks}${several}`
}

export interface SourceRow {
  readonly source: string
  readonly cells: readonly string[]
}

/** A column of the table by source, with the sentence that explains it. */
export const sourceColumns: readonly { readonly title: string; readonly help: string }[] = [
  { title: 'Mean', help: 'Mean of what the source says of a completion, before its weight.' },
  { title: 'Spread in groups', help: 'Mean deviation among the answers to one prompt: this is what teaches.' },
  { title: 'Between prompts', help: 'Deviation of the means of the prompts: differences that teach nothing.' },
  { title: 'At its bound', help: 'Share of tokens on which its local signal is cut off at its bound.' },
  { title: 'Silent', help: 'Share of tokens on which it has nothing to say.' },
  { title: 'Differs', help: 'Share of completions on which it did not say the same when it was asked again.' },
  { title: 'With outcome', help: 'Correlation of what it says with the outcome.' },
  { title: 'Time', help: 'Milliseconds a completion.' },
  { title: 'Failed', help: 'Share of completions it could not judge.' },
]

/** The table by source; what is not known yet is a dash. */
export function sourceRows({ sources, scorings }: RewardReport): SourceRow[] {
  return sources.map((source) => ({
    source: source.source,
    cells: [
      compact(source.mean), compact(source.spreadInside), compact(source.spreadBetween), percent(source.boundHits), percent(source.sparsity),
      scorings > 1 ? percent(source.noisy) : unknown, compact(source.outcomeCorrelation, 2), `${compact(source.milliseconds, 2)}\u202fms`, percent(source.failures),
    ],
  }))
}

export interface Rung {
  readonly name: string
  readonly reward: number
  readonly kind: 'honest' | 'cheat' | 'better'
}

/** Known cheats and the honest failure, best first; `better` is a cheat that pays more than honesty. */
export function cheatLadder({ cheats, honest }: RewardReport): Rung[] {
  const rungs: Rung[] = cheats.map(({ name, reward }) => ({ name, reward, kind: honest !== undefined && reward > honest.reward + 1e-9 ? 'better' : 'cheat' }))
  return [...rungs, ...(honest === undefined ? [] : [{ ...honest, kind: 'honest' as const }])].sort((a, b) => b.reward - a.reward)
}

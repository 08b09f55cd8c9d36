// What a completion that passes is called in each recipe: programs compile, answers are right. Reports, the command line and the pages take
// their words from here.
import type { Recipe } from './reward-config.ts'

export interface OutcomeWords {
  /** Of one completion: it `passes`, or it `fails`. */
  readonly passes: string
  readonly fails: string
  /** In a line of numbers, before the share that passes. */
  readonly short: string
  /** The share that passes, as a heading. */
  readonly rate: string
  /** Those that pass, as the subject of a sentence. */
  readonly subject: string
  /** What passing takes, in one sentence. */
  readonly meaning: string
  /** What `requirementScore` is a share of; null where it says nothing that passing does not say. */
  readonly detail: { readonly short: string; readonly title: string } | null
}

export const outcomeWords: Readonly<Record<Recipe, OutcomeWords>> = {
  react: { passes: 'compiles', fails: 'does not compile', short: 'compiles', rate: 'Compile rate', subject: 'programs that compile', meaning: 'Compiles: parses, passes the type check, bundles and renders', detail: { short: 'requirements', title: 'Requirements met' } },
  maths: { passes: 'is right', fails: 'is not right', short: 'right', rate: 'Right answers', subject: 'answers that are right', meaning: 'Right: gives an answer of the kind asked for that equals the one of the problem', detail: null },
  code: { passes: 'passes every case', fails: 'does not pass every case', short: 'passes', rate: 'Passes every case', subject: 'functions that pass every case', meaning: 'Passes: parses, loads, and gives what each test case expects', detail: { short: 'cases', title: 'Cases passed' } },
  custom: { passes: 'passes', fails: 'does not pass', short: 'passes', rate: 'Pass rate', subject: 'completions that pass', meaning: 'Passes: as the function of the reward says', detail: null },
}

/** A verdict in words: passes or not, and how much of what was asked for is met. */
export function verdictText(recipe: Recipe, passes: boolean, requirementScore: number, percent: (share: number) => string): string {
  const words = outcomeWords[recipe]
  const detail = words.detail === null || (recipe === 'react' && !passes) ? '' : `, ${words.detail.short} ${percent(requirementScore)}`
  return `${passes ? words.passes : words.fails}${detail}`
}

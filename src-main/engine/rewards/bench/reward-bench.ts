// The reward bench: a composition tried on completions before any training. What each source says, how much of it teaches, how long it
// takes, whether it says the same twice; and warnings about what would go wrong.
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { PromptRow, ScoredCompletion, TokenOffsets } from '../../../contract/rewards.ts'
import { tokenRewards } from '../bus.ts'
import { openRewards } from '../judge/open-rewards.ts'
import type { ScoreRow } from '../score.ts'
import { sourceNames, sourceWeights } from '../sources.ts'
import { honestFailure, knownCheats } from './cheats.ts'
import { correlation, deviation, mean } from './statistics.ts'

/** What one source did over all completions. */
export interface SourceReport {
  readonly source: string
  /** Mean of its global part, before weighting. */
  readonly mean: number
  /** Mean deviation of its global part inside a group: what teaches. */
  readonly spreadInside: number
  /** Deviation of the group means: differences between prompts, which teach nothing. */
  readonly spreadBetween: number
  /** Share of tokens on which its local signal reaches its bound. */
  readonly boundHits: number
  /** Share of tokens on which it has nothing to say. */
  readonly sparsity: number
  /** Share of completions on which it did not say the same in all scorings; above 0 it is noisy. */
  readonly noisy: number
  /** Pearson's correlation of its global part with the outcome; null where one of them never changes. */
  readonly outcomeCorrelation: number | null
  readonly milliseconds: number
  /** Share of completions it could not judge. */
  readonly failures: number
}

export interface BenchReport {
  readonly recipe: RewardConfig['recipe']
  readonly completions: number
  readonly groups: number
  /** Share of groups with two or more completions whose outcomes are all the same. */
  readonly flatGroups: number
  readonly outcomeMean: number
  readonly passed: number
  /** Share of passed completions that fail the sealed audit. */
  readonly hackRate: number
  /** Share of pairs in a group in which the worse outcome has the higher mean token reward. */
  readonly overturned: number
  /** Mean token reward of known cheats and of an honest attempt that failed. */
  readonly cheats: readonly { readonly name: string; readonly reward: number }[]
  readonly honest: { readonly name: string; readonly reward: number } | undefined
  readonly sources: readonly SourceReport[]
  readonly warnings: readonly string[]
}

export interface BenchOptions {
  readonly config: RewardConfig
  readonly workers: number
  /** How often everything is scored, from scratch each time. */
  readonly scorings?: number
  readonly onProgress?: (done: number, total: number) => void
}

/** Verdicts on rows and on the trials beside them: what a report is made from. */
export interface BenchVerdicts {
  /** All rows, once a scoring. */
  readonly runs: readonly (readonly ScoredCompletion[])[]
  readonly trials: readonly ScoredCompletion[]
}

/**
 * Tries a reward on completions; those that answer the same prompt are a group. Where a row has no token offsets, words stand in for tokens.
 * @throws UserError when no reward worker can start or a judge cannot be asked
 */
export async function benchReward(rows: readonly ScoreRow[], { config, workers, scorings = 3, onProgress }: BenchOptions): Promise<BenchReport> {
  const trials = benchTrials(config, rows)
  const runs: ScoredCompletion[][] = []
  for (let scoring = 0; scoring < scorings; scoring++) {
    // A pool of its own each time: verdicts are remembered, by judges as well, and a repeated one would prove nothing.
    const pool = await openRewards({ workers, config })
    try {
      const items = rows.map((row) => ({ id: row.id, row, text: row.completion }))
      runs.push(await pool.score(scoring === 0 ? [...items, ...trials.map(({ row, text, name }) => ({ id: name, row, text }))] : items))
    } finally {
      pool.dispose()
    }
    onProgress?.(scoring + 1, scorings)
  }
  return reportBench(rows, config, { runs: runs.map((run) => run.slice(0, rows.length)), trials: runs[0]!.slice(rows.length) })
}

/** The report on rows that have been scored, with the trials of `benchTrials`. */
export function reportBench(rows: readonly ScoreRow[], config: RewardConfig, { runs, trials: trialScores }: BenchVerdicts): BenchReport {
  const scored = runs[0]!
  const rewards = scored.map((verdict, index) => tokenRewards(verdict, offsetsOf(rows[index]!), config))
  const groups = groupsOf(rows)
  const trialRewards = benchTrials(config, rows).map(({ name, honest, text }, index) => ({ name, honest, reward: mean([...tokenRewards(trialScores[index]!, wordOffsets(text), config).rewards]) }))
  const sources = sourceNames(config).map((source) => reportOf(source, config, runs, rewards.map(({ localBySource }) => localBySource[source]), groups))
  const several = groups.filter((group) => group.length > 1)
  const report = {
    recipe: config.recipe,
    completions: rows.length,
    groups: groups.length,
    flatGroups: several.length === 0 ? 0 : several.filter((group) => deviation(group.map((index) => scored[index]!.outcome)) < 1e-9).length / several.length,
    outcomeMean: mean(scored.map(({ outcome }) => outcome)),
    passed: mean(scored.map(({ stages }) => Number(stages.render))),
    hackRate: mean(scored.filter(({ stages }) => stages.render).map(({ audit }) => Number(!audit.passed))),
    overturned: overturnedPairs(scored, rewards.map(({ rewards: own }) => mean([...own])), groups),
    cheats: trialRewards.filter(({ honest }) => !honest).map(({ name, reward }) => ({ name, reward })),
    honest: trialRewards.filter(({ honest }) => honest).map(({ name, reward }) => ({ name, reward }))[0],
    sources,
  }
  return { ...report, warnings: warningsOf(report, config, several.length) }
}

/** The tokens of a row, or its words. */
export function offsetsOf({ offsets, completion }: ScoreRow): TokenOffsets {
  return offsets ?? wordOffsets(completion)
}

/** Words with the space before them, as stand-ins for tokens. */
export function wordOffsets(text: string): TokenOffsets {
  const words = [...text.matchAll(/\s*\S+|\s+$/g)]
  if (words.length === 0) return { text, starts: Int32Array.of(0), ends: Int32Array.of(text.length) }
  return { text, starts: Int32Array.from(words, ({ index }) => index), ends: Int32Array.from(words, ({ index, 0: word }) => index + word.length) }
}

/** Known cheats and an honest attempt that failed, all answers to one of the rows. */
export function benchTrials(config: RewardConfig, rows: readonly ScoreRow[]): { readonly name: string; readonly honest: boolean; readonly text: string; readonly row: PromptRow }[] {
  const row = rows.find(({ reference }) => reference !== undefined) ?? rows[0]
  if (row === undefined) return []
  const honest = honestFailure(config.recipe, row)
  return [...knownCheats(config.recipe, row).map((attempt) => ({ ...attempt, honest: false, row })), ...(honest === undefined ? [] : [{ ...honest, honest: true, row }])]
}

/** Indices of the rows that answer the same prompt. */
function groupsOf(rows: readonly ScoreRow[]): number[][] {
  const groups = new Map<string, number[]>()
  for (const [index, { prompt, system }] of rows.entries()) {
    const key = JSON.stringify([system ?? '', prompt])
    groups.set(key, [...(groups.get(key) ?? []), index])
  }
  return [...groups.values()]
}

function reportOf(source: string, config: RewardConfig, runs: readonly (readonly ScoredCompletion[])[], locals: readonly (Float64Array | undefined)[], groups: readonly (readonly number[])[]): SourceReport {
  const first = runs[0]!.map(({ sources }) => sources.find((one) => one.source === source)!)
  const globals = first.map(({ global }) => global)
  const { localWeight, localBound } = sourceWeights(config, source)
  const bound = Math.abs(localWeight) * localBound
  const signals = locals.flatMap((local) => (local === undefined ? [] : [...local]))
  const silent = locals.filter((local) => local === undefined).length / Math.max(1, locals.length)
  const said = (run: number, index: number): string => {
    const { global, spans, failure } = runs[run]![index]!.sources.find((one) => one.source === source)!
    return JSON.stringify([global, failure === undefined, spans.map(({ start, end, value }) => [start, end, value])])
  }
  return {
    source,
    mean: mean(globals),
    spreadInside: mean(groups.map((group) => deviation(group.map((index) => globals[index]!)))),
    spreadBetween: deviation(groups.map((group) => mean(group.map((index) => globals[index]!)))),
    boundHits: bound === 0 || signals.length === 0 ? 0 : signals.filter((value) => Math.abs(value) >= bound * (1 - 1e-9)).length / signals.length,
    sparsity: signals.length === 0 ? 1 : silent + (1 - silent) * (signals.filter((value) => value === 0).length / signals.length),
    noisy: mean(first.map((_, index) => Number(runs.some((_run, run) => said(run, index) !== said(0, index))))),
    outcomeCorrelation: correlation(globals, runs[0]!.map(({ outcome }) => outcome)),
    milliseconds: mean(first.map(({ milliseconds }) => milliseconds)),
    failures: mean(first.map(({ failure }) => Number(failure !== undefined))),
  }
}

function overturnedPairs(scored: readonly ScoredCompletion[], rewards: readonly number[], groups: readonly (readonly number[])[]): number {
  let pairs = 0
  let overturned = 0
  for (const group of groups) {
    for (const worse of group) {
      for (const better of group) {
        if (scored[worse]!.outcome >= scored[better]!.outcome - 1e-9) continue
        pairs += 1
        if (rewards[worse]! > rewards[better]!) overturned += 1
      }
    }
  }
  return pairs === 0 ? 0 : overturned / pairs
}

/** w_g has to be at least this many times w_s B: then no local signal can weigh as much as the whole difference between right and wrong. */
const smallestRatio = 2
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

function warningsOf(report: Omit<BenchReport, 'warnings'>, config: RewardConfig, groupsOfSeveral: number): string[] {
  const warnings: string[] = []
  const local = Math.abs(config.localWeight) * config.localBound
  if (config.globalWeight < smallestRatio * local) warnings.push(`w_g = ${config.globalWeight} is not well above w_s * B = ${config.localWeight} * ${config.localBound} = ${local}: local signals can outweigh the outcome. Raise reward.globalWeight, or lower reward.localWeight or reward.localBound.`)
  if (report.overturned > 0) warnings.push(`In ${percent(report.overturned)} of the pairs in a group the completion with the worse outcome has the higher mean reward.`)
  if (groupsOfSeveral === 0) warnings.push('No prompt has two or more completions, so nothing can be said about groups.')
  else if (report.flatGroups > 0.8) warnings.push(`${percent(report.flatGroups)} of the groups are flat: all their completions have the same outcome and teach little or nothing. Choose easier or harder prompts, grade the outcome, or raise the temperature.`)
  for (const { source, noisy, failures, spreadInside, spreadBetween } of report.sources) {
    if (noisy > 0) warnings.push(`The source ${source} is noisy: it did not say the same of ${percent(noisy)} of the completions when asked again.`)
    if (failures > 0.05) warnings.push(`The source ${source} could not judge ${percent(failures)} of the completions.`)
    if (groupsOfSeveral > 0 && spreadBetween > 1e-9 && spreadInside < 1e-9) warnings.push(`The source ${source} differs between prompts but never inside a group: it teaches nothing.`)
  }
  const { honest } = report
  const better = honest === undefined ? [] : report.cheats.filter(({ reward }) => reward > honest.reward + 1e-9)
  for (const { name, reward } of better) warnings.push(`A known cheat (${name}: ${reward.toFixed(3)}) scores above an honest attempt that failed (${honest!.name}: ${honest!.reward.toFixed(3)}).`)
  if (report.hackRate > 0.05) warnings.push(`${percent(report.hackRate)} of the completions that pass fail the sealed audit.`)
  return warnings
}

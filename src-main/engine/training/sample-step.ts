// The rollouts of one training step: as many for every prompt, flat groups replaced (DAPO), or more where outcomes vary (VIGOR).
// All follow from (seed, step) and the policy, so a resumed run samples what it would have sampled.
import type { PromptRow } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import { reweigh } from '../rewards/bus.ts'
import type { Rollout } from '../rollout/sampler.ts'
import { createStream } from '../runtime/random.ts'
import { sampleGroups, type RolloutSource, type SampledRollout, type ScoredRollout } from './sample-groups.ts'

/** The rollouts of one prompt; their number may differ between prompts. */
export interface PromptGroup {
  readonly row: PromptRow
  readonly rollouts: readonly ScoredRollout[]
}

export interface StepSample {
  /** Groups that advantages are formed of. */
  readonly groups: readonly PromptGroup[]
  /** Groups that were sampled and thrown away because their outcomes are all the same. */
  readonly discarded: readonly PromptGroup[]
  readonly metrics: Readonly<Record<string, number>>
  /** Seconds in the sampler, tokens it drew, and seconds spent waiting for scores after the last of them. */
  readonly times: { readonly generate: number; readonly tokens: number; readonly scoreWait: number }
}

/** How many prompts a step takes from the data. VIGOR spends a budget of rollouts: 2 a prompt at first, then as many again in every round. */
export function promptsPerStep({ rollout }: RunConfig): number {
  const { groups, promptsPerStep: prompts, groupSize } = rollout
  return groups.kind === 'vigor' ? Math.floor((prompts * groupSize) / (groups.rounds + 1)) : prompts
}

/** The prompts of step `step` (from 1): epochs over the training set, each shuffled by its own stream, none repeated within an epoch. */
export function promptsOfStep(rows: readonly PromptRow[], config: RunConfig, step: number): PromptRow[] {
  const perStep = promptsPerStep(config)
  const orders = new Map<number, number[]>()
  return Array.from({ length: perStep }, (_, index) => {
    const position = (step - 1) * perStep + index
    const epoch = Math.floor(position / rows.length)
    let order = orders.get(epoch)
    if (order === undefined) orders.set(epoch, (order = createStream(config.seed, 'data-order', epoch).shuffle(rows.map((_row, row) => row))))
    return rows[order[position % rows.length] as number] as PromptRow
  })
}

/**
 * Samples and scores the rollouts of a step.
 * @param between called between decode steps with finished and wanted rollouts; may throw to stop
 * @param whileScoring called once with the rollouts of all groups, in order, that advantages are formed of: while they are scored, where it
 *   is known by then which these are
 */
export async function sampleStep(source: RolloutSource, rows: readonly PromptRow[], step: number, between: (finished: number, wanted: number) => Promise<void>, whileScoring?: (rollouts: readonly SampledRollout[]) => Promise<void>): Promise<StepSample> {
  const { config } = source
  const { groups: kind, groupSize } = config.rollout
  const times = { generate: 0, tokens: 0, scoreWait: 0 }
  /** @param first number of the first prompt, and of the first rollout of each, in the step: they name the random streams */
  const sample = async (prompts: readonly PromptRow[], rolloutsPerPrompt: number, first: (prompt: number) => { readonly prompt: number; readonly rollout: number }, meanwhile?: typeof whileScoring): Promise<PromptGroup[]> => {
    const sampled = await sampleGroups(source, prompts, {
      rolloutsPerPrompt,
      streamKey: (prompt, rollout) => ['sample', step, first(prompt).prompt, first(prompt).rollout + rollout],
      law: config.rollout,
      onStep: between,
      whileScoring: meanwhile,
      onScoreWait: (seconds) => (times.scoreWait += seconds),
    })
    times.generate += source.sampler.times.total
    times.tokens += source.sampler.times.tokens
    return sampled.map((rollouts, prompt) => ({
      row: prompts[prompt] as PromptRow,
      rollouts: rollouts.map(({ rollout, scored, ...rest }) => ({ ...rest, rollout: numbered(rollout, first(prompt).rollout), scored: reweigh(scored, config.reward, step, source.reweighed) })),
    }))
  }
  const prompts = promptsOfStep(rows, config, step)
  if (kind.kind === 'fixed') return { groups: await sample(prompts, groupSize, (prompt) => ({ prompt, rollout: 0 }), whileScoring), discarded: [], metrics: {}, times }
  const chosen = kind.kind === 'dynamic' ? await refilled(config, rows, prompts, step, kind.maxRefills, sample) : await doubled(prompts, kind.rounds, sample)
  await whileScoring?.(chosen.groups.flatMap(({ rollouts }) => rollouts))
  return { ...chosen, times }
}

/** A rollout under its number in the step. */
function numbered(rollout: Rollout, first: number): Rollout {
  return first === 0 ? rollout : { ...rollout, index: first + rollout.index }
}

type Sample = (prompts: readonly PromptRow[], rolloutsPerPrompt: number, first: (prompt: number) => { readonly prompt: number; readonly rollout: number }) => Promise<PromptGroup[]>

/**
 * DAPO's dynamic sampling (arXiv 2503.14476, eq. 11): groups whose outcomes are all the same are thrown away and other prompts sampled in
 * their place, at most `maxRefills` times. What is missing then is missing. Refills come from a stream of their own, so that the order
 * of the data is that of a run without them.
 */
async function refilled(config: RunConfig, rows: readonly PromptRow[], prompts: readonly PromptRow[], step: number, maxRefills: number, sample: Sample): Promise<Omit<StepSample, 'times'>> {
  const wanted = prompts.length
  const waiting = createStream(config.seed, 'refill', step).shuffle(rows.filter((row) => !prompts.includes(row)))
  const groups: PromptGroup[] = []
  const discarded: PromptGroup[] = []
  let next: readonly PromptRow[] = prompts
  let round = 0
  for (; next.length > 0 && round <= maxRefills; round++) {
    const before = groups.length + discarded.length
    for (const group of await sample(next, config.rollout.groupSize, (prompt) => ({ prompt: before + prompt, rollout: 0 }))) {
      const varied = outcomeSpread(group) > config.estimator.flatTolerance
      ;(varied ? groups : discarded).push(group)
    }
    next = waiting.splice(0, wanted - groups.length)
  }
  return { groups, discarded, metrics: { 'groups/refills': round - 1, 'groups/discarded': discarded.length, 'groups/missing': wanted - groups.length } }
}

/** VIGOR (arXiv 2607.22002): the half of the prompts whose outcomes vary most goes on and doubles its rollouts, round by round. */
async function doubled(prompts: readonly PromptRow[], rounds: number, sample: Sample): Promise<Omit<StepSample, 'times'>> {
  const groups = await sample(prompts, 2, (prompt) => ({ prompt, rollout: 0 }))
  let going = groups.map((_, index) => index)
  for (let size = 2, round = 2; round <= rounds; size *= 2, round++) {
    going = [...going].sort((a, b) => outcomeVariance(groups[b]!) - outcomeVariance(groups[a]!) || a - b).slice(0, Math.max(1, Math.floor(going.length / 2))).sort((a, b) => a - b)
    const more = await sample(going.map((index) => groups[index]!.row), size, (prompt) => ({ prompt: going[prompt] as number, rollout: size }))
    more.forEach(({ row, rollouts }, prompt) => {
      const index = going[prompt] as number
      groups[index] = { row, rollouts: [...groups[index]!.rollouts, ...rollouts] }
    })
  }
  return { groups, discarded: [], metrics: { 'groups/largest': Math.max(...groups.map(({ rollouts }) => rollouts.length)) } }
}

/** Dynamic sampling and VIGOR look at outcomes, never at the spread of token rewards. */
function outcomesOf({ rollouts }: PromptGroup): number[] {
  return rollouts.map(({ scored }) => scored.outcome).filter(Number.isFinite)
}

function outcomeSpread(group: PromptGroup): number {
  const outcomes = outcomesOf(group)
  return outcomes.length === 0 ? 0 : Math.max(...outcomes) - Math.min(...outcomes)
}

function outcomeVariance(group: PromptGroup): number {
  const outcomes = outcomesOf(group)
  const mean = outcomes.reduce((sum, value) => sum + value, 0) / Math.max(1, outcomes.length)
  return outcomes.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, outcomes.length)
}

// Prompts in, scored rollouts out: sampling with scoring beside it.
import type { PromptRow, ScoredCompletion, TokenOffsets } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import type { Tokenizer } from '../models/tokenizer.ts'
import type { Rollout, Sampler, SamplingLaw } from '../rollout/sampler.ts'
import { createStream } from '../runtime/random.ts'

/** Scores completions; the pool of reward processes in a run, a plain function in tests. */
export interface Scorer {
  score(items: readonly { readonly id: string; readonly row: PromptRow; readonly text: string }[]): Promise<readonly ScoredCompletion[]>
}

/** Everything sampling needs of a run. */
export interface RolloutSource {
  readonly config: RunConfig
  readonly sampler: Sampler
  readonly tokenizer: Tokenizer
  readonly scorer: Scorer
  /** Whether `config` has other weights of the reward than the scorer, which keeps those it was started with. */
  readonly reweighed?: boolean
  readonly stopIds: ReadonlySet<number>
  /** Ids of a prompt row, through the chat template. */
  readonly encodePrompt: (row: PromptRow) => readonly number[]
}

export interface ScoredRollout {
  readonly rollout: Rollout
  readonly promptIds: readonly number[]
  readonly offsets: TokenOffsets
  readonly scored: ScoredCompletion
}

/** A rollout before its verdict. */
export type SampledRollout = Pick<ScoredRollout, 'rollout' | 'promptIds'>

export interface SampleGroupsOptions {
  readonly rolloutsPerPrompt: number
  /** Purpose and keys of a rollout's random stream. */
  readonly streamKey: (prompt: number, rollout: number) => readonly [purpose: string, ...key: number[]]
  readonly law: SamplingLaw
  /** Called between decode steps; may throw to stop. */
  readonly onStep?: (finished: number, wanted: number) => void | Promise<void>
  /**
   * Work that needs the sampled tokens and no verdict; done while the scorer finishes, rollouts in the order of the groups. The next step's
   * sampling is no such work: it draws from the policy that this step's verdicts teach.
   */
  readonly whileScoring?: ((rollouts: readonly SampledRollout[]) => Promise<void>) | undefined
  /** Seconds spent waiting for scores with nothing else to do. */
  readonly onScoreWait?: (seconds: number) => void
}

/** Completions travel to the scorer in batches of this size: small, so that little is left to do when the last token is drawn; a busy scorer puts them together. */
const SCORE_BATCH = 4

/** Samples `rolloutsPerPrompt` completions of every row and scores them while others are still being written. Groups in row order. */
export async function sampleGroups(source: RolloutSource, rows: readonly PromptRow[], options: SampleGroupsOptions): Promise<ScoredRollout[][]> {
  const { config, sampler, tokenizer, scorer } = source
  const prompts = rows.map((row) => source.encodePrompt(row))
  const offsets = new Map<Rollout, TokenOffsets>()
  const scores = new Map<Rollout, Promise<ScoredCompletion>>()
  let waiting: Rollout[] = []
  const send = (): void => {
    const batch = waiting
    waiting = []
    const verdicts = scorer.score(batch.map((rollout) => ({ id: `${rollout.request}.${rollout.index}`, row: rows[rollout.request] as PromptRow, text: (offsets.get(rollout) as TokenOffsets).text })))
    // Awaited below; until then a failure must not count as unhandled.
    verdicts.catch(() => undefined)
    batch.forEach((rollout, index) => scores.set(rollout, verdicts.then((list) => list[index] as ScoredCompletion)))
    for (const rollout of batch) scores.get(rollout)?.catch(() => undefined)
  }
  const rollouts = await sampler.generate(
    prompts.map((promptIds, prompt) => ({
      promptIds,
      streams: Array.from({ length: options.rolloutsPerPrompt }, (_, rollout) => createStream(config.seed, ...options.streamKey(prompt, rollout))),
    })),
    {
      law: options.law,
      maxNewTokens: config.rollout.maxNewTokens,
      slots: config.rollout.slots,
      stopIds: source.stopIds,
      sampleLimit: tokenizer.size,
      onFinished(rollout) {
        offsets.set(rollout, tokenizer.tokenOffsets(rollout.ids))
        waiting.push(rollout)
        if (waiting.length >= SCORE_BATCH) send()
      },
      ...(options.onStep === undefined ? {} : { onStep: options.onStep }),
    },
  )
  if (waiting.length > 0) send()
  await options.whileScoring?.(rollouts.map((rollout) => ({ rollout, promptIds: prompts[rollout.request] as readonly number[] })))
  const before = performance.now()
  const groups: ScoredRollout[][] = rows.map(() => [])
  for (const rollout of rollouts) {
    groups[rollout.request]?.push({
      rollout,
      promptIds: prompts[rollout.request] as readonly number[],
      offsets: offsets.get(rollout) as TokenOffsets,
      scored: await (scores.get(rollout) as Promise<ScoredCompletion>),
    })
  }
  options.onScoreWait?.((performance.now() - before) / 1000)
  return groups
}

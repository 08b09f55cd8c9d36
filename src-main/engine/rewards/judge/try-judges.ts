// The judges of a reward, each asked about one sample: who answers, how long it takes, what was written and what was understood of it.
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { SourceScore } from '../../../contract/rewards.ts'
import type { NamedSample } from '../bench/sample-rows.ts'
import { createJudgeCache } from './judge-cache.ts'
import { judgedSource, type Judge } from './judged-rewards.ts'
import { withOpenJudges } from './open-rewards.ts'

export interface JudgeTrial {
  readonly source: string
  /** The model that answers. */
  readonly model: string
  /** What was written, answer by answer; a process-reward model writes nothing. */
  readonly answers: readonly { readonly text: string; readonly seconds: number }[]
  /** What the source says of the sample; its `failure` where nothing was understood. */
  readonly said: SourceScore
}

/**
 * Opens the judges of a reward and asks each about the sample, one after the other.
 * @returns no trials where the reward has no judge
 * @throws UserError of opening them: nobody answers, no such model, a key or a prompt file that is not there
 */
export async function tryJudges(config: RewardConfig, { row, completion }: NamedSample): Promise<JudgeTrial[]> {
  return withOpenJudges(config, async (judges) => {
    const trials: JudgeTrial[] = []
    for (const judge of judges) {
      const { judge: heard, answers } = overheard(judge)
      const said = await judgedSource(heard, { row, text: completion }, config, createJudgeCache())
      trials.push({ source: judge.source, model: judge.by.model, answers, said })
    }
    return trials
  })
}

/** The judge with its answers kept. */
function overheard(judge: Judge): Pick<JudgeTrial, 'answers'> & { readonly judge: Judge } {
  const answers: { text: string; seconds: number }[] = []
  if (judge.kind === 'step-model') return { judge, answers }
  const { by } = judge
  const ask: typeof by.ask = async (messages, form) => {
    const started = performance.now()
    const text = await by.ask(messages, form)
    answers.push({ text, seconds: (performance.now() - started) / 1_000 })
    return text
  }
  return { judge: { ...judge, by: { ...by, ask } }, answers }
}

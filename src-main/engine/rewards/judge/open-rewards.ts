// A reward ready to score: the pool of reward processes and, where the configuration has judges, those behind it.
import { UserError } from '../../../contract/errors.ts'
import type { JudgeConfig, ServerJudgeConfig } from '../../../contract/judge-config.ts'
import type { CodeRewardConfig, MathsRewardConfig, ReactRewardConfig, RewardConfig } from '../../../contract/reward-config.ts'
import { createRewardPool, type RewardPool } from '../reward-pool.ts'
import { judgesOf } from '../sources.ts'
import type { JudgeBackend } from './judge-backend.ts'
import { createJudgeCache } from './judge-cache.ts'
import { startJudgeProcess } from './judge-process.ts'
import { readJudgePrompts } from './judge-prompts.ts'
import { createJudgedRewards, type Judge, type StepModel } from './judged-rewards.ts'
import { openCamera, pixelsUnchecked, type PageCamera } from '../screenshots/camera.ts'
import { createPixelGate } from '../screenshots/pixel-gate.ts'
import { createPatientJudge, type PatientJudge } from './patience.ts'

export interface OpenRewardsOptions {
  readonly config: RewardConfig
  readonly workers: number
  /** Where verdicts of judges are kept for a resumed run; without it they are forgotten with the process. */
  readonly judgeFile?: string
  /** A browser that is open already, which whoever opened it ends; null where it is known that none can be had. */
  readonly camera?: PageCamera | null
  /** Hears what is left out because this machine lacks it, as a sentence. */
  readonly onNotice?: (message: string) => void
}

/** Name of `judgeFile` in a run folder. */
export const judgeFileName = 'judges.jsonl'

/**
 * Opens a reward. Judges are tried before anything is scored, so that a run does not begin with one that cannot answer.
 * @throws UserError saying what a judge lacks: a server that does not answer, a model or prompt file that is not there, a browser for pictures
 */
export async function openRewards({ config, workers, judgeFile, camera: given, onNotice }: OpenRewardsOptions): Promise<RewardPool> {
  const opened: { dispose(): void }[] = []
  const dispose = (): void => opened.splice(0).forEach((one) => one.dispose())
  try {
    const keep: Keep = (one) => {
      opened.push(one)
      return one
    }
    const camera = given === undefined ? await openGateCamera(config, keep, onNotice) : (given ?? undefined)
    const judges = await openJudges(config, keep, camera)
    const bare = createRewardPool({ workers, config })
    const pool = config.recipe === 'react' && config.screenshots.mode === 'reward' && camera !== undefined ? createPixelGate(bare, config, camera.screenshotOf, dispose) : bare
    return judges.length === 0 ? pool : createJudgedRewards(pool, { config, judges, cache: createJudgeCache(judgeFile), dispose })
  } catch (error) {
    dispose()
    throw error
  }
}

type Keep = <One extends { dispose(): void }>(one: One) => One

/** Without a browser pages are judged by their document alone, and that is said. */
async function openGateCamera(config: RewardConfig, keep: Keep, onNotice: OpenRewardsOptions['onNotice']): Promise<PageCamera | undefined> {
  if (config.recipe !== 'react' || config.screenshots.mode !== 'reward') return undefined
  const opened = await openCamera(config.limits)
  if ('camera' in opened) return keep(opened.camera)
  onNotice?.(pixelsUnchecked(opened.unavailable))
  return undefined
}

/**
 * Opens the judges of a reward for as long as they are used.
 * @throws UserError saying what a judge lacks
 */
export async function withOpenJudges<Result>(config: RewardConfig, use: (judges: readonly Judge[]) => Promise<Result>): Promise<Result> {
  const opened: { dispose(): void }[] = []
  try {
    return await use(await openJudges(config, (one) => {
      opened.push(one)
      return one
    }))
  } finally {
    for (const one of opened) one.dispose()
  }
}

/**
 * Opens the judges of a reward, each of which is kept by whoever ends it.
 * @param camera a browser that is open already; where it is left out and a judge wants pictures, one is opened
 * @throws UserError saying what a judge lacks
 */
async function openJudges(config: RewardConfig, keep: Keep, camera?: PageCamera): Promise<Judge[]> {
  const { judge } = config
  switch (config.recipe) {
    case 'react':
      return [...(await openCodeJudge(config, keep)), ...(await openScreenshotJudge(config, keep, camera))]
    case 'code':
      return openCodeJudge(config, keep)
    case 'custom': {
      if (judge.kind === 'none' || !judgesOf(config).answerJudge) return []
      const prompts = await readJudgePrompts('answer', config.answerJudge.promptFile)
      return [{ kind: 'completion', source: 'answerJudge', by: keep(await openJudge(judge)), prompts }]
    }
    case 'maths':
      switch (config.stepChecks.by) {
        case 'verifier':
          return []
        case 'judge': {
          if (judge.kind === 'none') throw new Error('steps are to be judged and there is no judge')
          const prompts = await readJudgePrompts('steps', config.stepChecks.promptFile)
          return [{ kind: 'steps', source: 'steps', by: keep(await openJudge(judge)), prompts }]
        }
        case 'model':
          return [{ kind: 'step-model', source: 'steps', by: keep(await openStepModel(config.prm)) }]
      }
  }
}

async function openCodeJudge(config: ReactRewardConfig | CodeRewardConfig, keep: Keep): Promise<Judge[]> {
  const { judge, codeJudge: { lines, promptFile } } = config
  if (judge.kind === 'none' || !judgesOf(config).codeJudge) return []
  const prompts = await readJudgePrompts('code', promptFile, lines === 'none' ? [] : lines === 'one-turn' ? ['score-and-lines'] : ['lines'])
  return [{ kind: 'code', source: 'codeJudge', by: keep(await openJudge(judge)), prompts, turns: lines }]
}

async function openScreenshotJudge(config: ReactRewardConfig, keep: Keep, open: PageCamera | undefined): Promise<Judge[]> {
  const { judge, limits, screenshotJudge: { url, model, promptFile } } = config
  if (judge.kind !== 'server' || !judgesOf(config).screenshotJudge) return []
  const prompts = await readJudgePrompts('screenshot', promptFile)
  const camera = open ?? keep(await openJudgeCamera(limits))
  const by = keep(await openServer({ ...judge, url: url === '' ? judge.url : url, model: model === '' && url === '' ? judge.model : model }, camera.example))
  return [{ kind: 'picture', source: 'screenshotJudge', by, prompts, screenshotOf: camera.screenshotOf }]
}

async function openJudgeCamera(limits: RewardConfig['limits']): Promise<PageCamera> {
  const opened = await openCamera(limits)
  if ('camera' in opened) return opened.camera
  throw new UserError({ code: 'device', what: `the screenshot judge needs pictures of the pages, and this machine cannot make any: ${opened.unavailable}`, place: { field: 'reward.screenshotJudge.enabled' }, expected: 'a browser that renders pages', remedy: 'Make it available, or switch reward.screenshotJudge off.' })
}

/** Loading a model takes some servers minutes; the first question waits for it as long as Node lets a request wait. */
const openSeconds = 290

async function openServer(config: ServerJudgeConfig, picture?: PageCamera['example']): Promise<PatientJudge> {
  // Loaded when a judge is asked for: without one nothing that can open a socket is in the process.
  const { openServerJudge } = await import('./server-judge.ts')
  return createPatientJudge(await openServerJudge(config, AbortSignal.timeout(openSeconds * 1_000), picture), config)
}

/** A question that is answered too late ends in the judge's own process; only one that does not even do that costs the process. */
const graceSeconds = 10

async function openJudge(judge: Exclude<JudgeConfig, { kind: 'none' }>): Promise<PatientJudge> {
  if (judge.kind === 'server') return openServer(judge)
  const { model, precision, maximumAnswerTokens, timeoutSeconds } = judge
  const child = await startJudgeProcess({ kind: 'open-model', config: { model, precision, maximumAnswerTokens } })
  const backend: JudgeBackend = {
    model,
    identity: child.identity,
    async ask(messages, signal) {
      const answer = await child.work({ kind: 'ask', messages: messages.map(({ role, text }) => ({ role, text })), seconds: timeoutSeconds }, signal)
      if (answer.kind !== 'text') throw new Error(`the judge's process answered ${answer.kind} to a question`)
      return answer.text
    },
    dispose: () => child.dispose(),
  }
  return createPatientJudge(backend, { timeoutSeconds: timeoutSeconds + graceSeconds, retries: 1, concurrency: 1 })
}

/** A solution takes a classifier a second or two. */
const stepModelSeconds = 300

async function openStepModel(config: MathsRewardConfig['prm']): Promise<StepModel> {
  const child = await startJudgeProcess({ kind: 'open-step-model', config })
  return {
    model: config.folder,
    identity: child.identity,
    async steps(problem, steps) {
      const answer = await child.work({ kind: 'steps', problem, steps }, AbortSignal.timeout(stepModelSeconds * 1_000))
      if (answer.kind !== 'steps') throw new Error(`the process of the process-reward model answered ${answer.kind}`)
      return [...answer.steps]
    },
    dispose: () => child.dispose(),
  }
}

// What the replication runs: one backbone, identical rewards, data, seeds, sampling and budget; only credit assignment differs.
//
//   sweep      the learning rate of every method, on seeds of their own
//   compare    every method at its learning rate, on the seeds of the result
//   regimes    BoT-GRPO and GRPO from bases that are never right, sometimes right, or know no better; and where the outcome has no grades
//   ablations  what each part of BoT-GRPO is worth
import type { RunConfigInput } from '../../contract/run-config.ts'
import { presetFragment, type ConfigFragment } from '../../contract/methods.ts'
import type { BaseName } from './bases.ts'

export const methods = {
  'bot-grpo-paper': { label: 'BoT-GRPO, as published', fragment: presetFragment('paper', 'bot-grpo') },
  'bot-grpo-safe': { label: 'BoT-GRPO, safe defaults', fragment: presetFragment('safe', 'bot-grpo') },
  grpo: { label: 'GRPO', fragment: presetFragment('paper', 'grpo') },
  dapo: { label: 'DAPO', fragment: presetFragment('paper', 'dapo') },
  gspo: { label: 'GSPO', fragment: presetFragment('paper', 'gspo') },
  pure: { label: 'PURE', fragment: presetFragment('paper', 'pure') },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly fragment: ConfigFragment }>>
export type MethodName = keyof typeof methods
export const methodNames = Object.keys(methods) as readonly MethodName[]

export type Stage = 'sweep' | 'compare' | 'regimes' | 'ablations'
export type Task = 'react' | 'maths'

/** One training run. `id` is the name of its folder and says what it is. */
export interface Experiment {
  readonly id: string
  readonly stage: Stage
  readonly task: Task
  readonly base: BaseName
  readonly method: MethodName
  readonly variant: string
  readonly seed: number
  readonly learningRate: number
  readonly config: RunConfigInput
}

/** How much of everything: the whole comparison, or a smoke run that only shows that it works. */
export interface Scale {
  readonly tasks: Readonly<Partial<Record<Task, { readonly steps: number; readonly sweepSteps: number; readonly learningRates: readonly number[] }>>>
  readonly evaluateEvery: number
  readonly evaluatePrompts: number
  readonly seeds: readonly number[]
  /** Regimes and most ablations take the first so many seeds. */
  readonly fewSeeds: number
  readonly sweepSeeds: readonly number[]
  readonly promptsPerStep: number
  readonly regimes: boolean
  readonly ablations: boolean
}

export const scales: Readonly<Record<'full' | 'smoke', Scale>> = {
  full: {
    tasks: { react: { steps: 32, sweepSteps: 20, learningRates: [1e-3, 2e-3, 4e-3] }, maths: { steps: 48, sweepSteps: 24, learningRates: [2.5e-4, 5e-4, 1e-3] } },
    evaluateEvery: 4, evaluatePrompts: 40, seeds: [1, 2, 3, 4, 5], fewSeeds: 2, sweepSeeds: [101, 102], promptsPerStep: 8, regimes: true, ablations: true,
  },
  smoke: { tasks: { react: { steps: 2, sweepSteps: 1, learningRates: [1e-3] } }, evaluateEvery: 1, evaluatePrompts: 4, seeds: [1], fewSeeds: 1, sweepSeeds: [101], promptsPerStep: 2, regimes: false, ablations: false },
}

/** Where a base and its prompts lie. */
export interface BaseFiles {
  readonly model: string
  readonly prompts: string
}

/** The base a task is compared on: rarely right, which is where credit matters most. */
export const mainBase: Readonly<Record<Task, BaseName>> = { react: 'react-rare', maths: 'maths' }

/** What one run does otherwise than its method: fields of the task's reward and of BoT-GRPO's estimator. */
interface Change {
  readonly reward?: Readonly<Record<string, boolean | number | Readonly<Record<string, number>>>>
  readonly estimator?: Readonly<Record<string, string>>
  /** Times the learning rate that the sweep chose. */
  readonly rateFactor?: number
  /** On all seeds, not on the first few: what may become a default. */
  readonly everySeed?: boolean
}

/** A regime: where a run starts and how finely its outcome is graded. */
interface Regime {
  readonly task: Task
  readonly base: BaseName
  readonly change?: Change
}

/**
 * When token credit pays. The product's outcome has grades below "compiles" (a program that parses is worth more, lint counts), which tell
 * GRPO something of a group that fails to the last; a coarse outcome takes them away: every failure is worth -1.
 */
export const regimes = {
  'never right': { task: 'react', base: 'react-never' },
  'never right, coarse outcome': { task: 'react', base: 'react-never', change: { reward: { linter: { globalWeight: 0 }, ladder: { notReact: -1, parse: -1, types: -1, bundle: -1, render: -1 } } } },
  mixed: { task: 'react', base: 'react-mixed' },
  weak: { task: 'react', base: 'react-weak' },
  'rarely right': { task: 'maths', base: 'maths-rare' },
} as const satisfies Readonly<Record<string, Regime>>

interface Wanted {
  readonly stage: Stage
  readonly task: Task
  readonly base: BaseName
  readonly method: MethodName
  readonly seed: number
  readonly learningRate: number
  readonly variant?: string
  readonly change?: Change
}

function rewardOf(task: Task, change: Change['reward']): RunConfigInput['reward'] {
  const own = task === 'react' ? { recipe: 'react', requirementWeight: 2 } : { recipe: 'maths' }
  return { ...own, ...change } as RunConfigInput['reward']
}

/** The configuration of a run. KL to the base, clip, sampling and budget are the same for all; several mini-batches, so that ratios matter. */
function experiment(scale: Scale, files: ReadonlyMap<BaseName, BaseFiles>, wanted: Wanted): Experiment {
  const { stage, task, base, method, seed, learningRate, variant = '', change = {} } = wanted
  const place = files.get(base)
  const length = scale.tasks[task]
  if (place === undefined || length === undefined) throw new Error(`the base ${base} or the task ${task} is not part of this scale`)
  const { estimator, loss, rollout } = methods[method].fragment
  const id = [stage, base, method, ...(variant === '' ? [] : [variant]), ...(stage === 'sweep' ? [`lr-${learningRate}`] : []), `seed-${seed}`].join('.')
  const steps = stage === 'sweep' ? length.sweepSteps : length.steps
  return {
    id, stage, task, base, method, variant, seed, learningRate,
    config: {
      name: id.replace(/[^A-Za-z0-9._-]/g, '-'),
      model: place.model,
      data: { prompts: place.prompts },
      seed,
      device: 'cpu',
      adapter: { kind: 'lora', rank: 16, alpha: 32, targets: ['all-linear', 'lm_head'] },
      rollout: { ...rollout, promptsPerStep: scale.promptsPerStep, groupSize: 8, maxNewTokens: 112 },
      reward: rewardOf(task, change.reward),
      estimator: { ...estimator, ...change.estimator },
      loss: { ...loss, klCoefficient: 0.05, klEstimator: 'k3', klPlace: 'loss' },
      optimizer: { learningRate: learningRate * (change.rateFactor ?? 1), schedule: 'constant' },
      training: { steps, miniBatches: 4, checkpointEvery: Math.max(1, Math.ceil(steps / 4)), keepCheckpoints: 1 },
      evaluation: { every: scale.evaluateEvery, prompts: scale.evaluatePrompts, ...(task === 'maths' ? { samples: 4, k: [1, 2, 4] } : { samples: 2, k: [1, 2], shown: scale.evaluatePrompts }) },
    },
  }
}

/** The runs that choose a learning rate for every method. */
export function planSweep(scale: Scale, files: ReadonlyMap<BaseName, BaseFiles>, task: Task): Experiment[] {
  return methodNames.flatMap((method) => (scale.tasks[task]?.learningRates ?? []).flatMap((learningRate) => scale.sweepSeeds.map((seed) => experiment(scale, files, { stage: 'sweep', task, base: mainBase[task], method, seed, learningRate }))))
}

/** The name of a variant as part of a folder's name. */
export const slug = (name: string): string => name.replaceAll(/ %|,/g, '').replaceAll(' ', '-')

export const regimeMethods = ['bot-grpo-safe', 'grpo'] as const

/** What is taken away from or done to BoT-GRPO. */
const ablations: Readonly<Record<Task, Readonly<Record<string, Change>>>> = {
  react: {
    'without 1 over L': { estimator: { pooling: 'token' } },
    'w_s 0.05': { reward: { localWeight: 0.05 } },
    'w_s 0.16': { reward: { localWeight: 0.16 } },
    'w_s 1.6': { reward: { localWeight: 1.6 } },
    'window 0': { reward: { windowLines: 0 } },
    'window 1': { reward: { windowLines: 1 } },
    'window 5': { reward: { windowLines: 5 } },
    'flat groups kept': { estimator: { flatGroups: 'keep' } },
    'flat groups skipped': { estimator: { flatGroups: 'skip' } },
    'compiler and lint only': { reward: { requirementWeight: 0 } },
    'lines divided': { reward: { divideByFlaggedLines: true } },
    'first stage only': { reward: { checkBroken: false } },
    'as published, both': { reward: { divideByFlaggedLines: true, checkBroken: false } },
    'noise 10 %': { reward: { compilerNoise: 0.1 } },
    'noise 30 %': { reward: { compilerNoise: 0.3 } },
  },
  maths: {
    'half the learning rate': { rateFactor: 0.5 },
    'steps undivided': { reward: { divideByFlaggedLines: false } },
    'steps undivided, outcome 1': { reward: { divideByFlaggedLines: false, globalWeight: 1 } },
    'steps undivided, outcome 1, half the rate': { reward: { divideByFlaggedLines: false, globalWeight: 1 }, rateFactor: 0.5, everySeed: true },
    'steps judged alone': { reward: { errorPropagation: false } },
  },
}

/** Everything else of a task, at the learning rates the sweep chose. Seed by seed, so that a comparison stopped early is a fair one. */
export function planRest(scale: Scale, files: ReadonlyMap<BaseName, BaseFiles>, task: Task, chosen: (method: MethodName) => number): Experiment[] {
  const make = (wanted: Omit<Wanted, 'learningRate' | 'task'>): Experiment => experiment(scale, files, { ...wanted, task, learningRate: chosen(wanted.method) })
  const compare = scale.seeds.flatMap((seed) => methodNames.map((method) => make({ stage: 'compare', base: mainBase[task], method, seed })))
  const few = scale.seeds.slice(0, scale.fewSeeds)
  const own = Object.entries<Regime>(scale.regimes ? regimes : {}).filter(([, regime]) => regime.task === task)
  const regimeRuns = few.flatMap((seed) => own.flatMap(([name, { base, change }]) => regimeMethods.map((method) => make({ stage: 'regimes', base, method, seed, variant: slug(name), ...(change === undefined ? {} : { change }) }))))
  const ablated = scale.seeds.flatMap((seed, index) => Object.entries(scale.ablations ? ablations[task] : {})
    .filter(([, { everySeed = false }]) => everySeed || index < scale.fewSeeds)
    .map(([name, change]) => make({ stage: 'ablations', base: mainBase[task], method: 'bot-grpo-safe', seed, variant: slug(name), change })))
  return [...compare, ...regimeRuns, ...ablated]
}

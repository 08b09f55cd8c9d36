// Rewards composed and tried before anything is trained with them: samples to score, their verdicts, the replay of a run, a function of one's own.
import { z } from 'zod'
import { nothing, pathSchema, taskSchema } from './shared.ts'

/** A reward as a form or a file has it: checked where it is used, so that every problem is told with its field. */
const reward = z.record(z.string(), z.unknown())
const longestText = 1_000_000
export const mostSamples = 256

/** A completion to score, with the row of the prompt it answers. */
export const rewardSampleSchema = z.object({
  id: z.string().min(1).max(200),
  /** What it is: the reference, a known cheat, a rollout of a run. */
  name: z.string().max(200),
  prompt: z.string().max(longestText),
  completion: z.string().max(longestText),
  /** Everything else the row of a prompt file may hold: requirements, answer, tests, data. */
  row: z.record(z.string(), z.unknown()),
  /** UTF-16 positions of the sampled tokens where they are known; words stand in for tokens otherwise. */
  tokens: z.object({ starts: z.array(z.int().nonnegative()), ends: z.array(z.int().nonnegative()) }).nullable(),
})
export type RewardSample = z.infer<typeof rewardSampleSchema>

export const sampleSourceSchema = z.discriminatedUnion('kind', [
  /** Rows that come with Satchel, each answered well, nearly, and by cheating. */
  z.strictObject({ kind: z.literal('built-in') }),
  z.strictObject({ kind: z.literal('dataset'), path: pathSchema }),
  /** The newest rollouts of a run, or those of one step. */
  z.strictObject({ kind: z.literal('run'), directory: pathSchema, step: z.int().positive().nullable() }),
])
export type SampleSource = z.infer<typeof sampleSourceSchema>

/** The text of a reward function as the editor has it, and the file it belongs to; null before it has been saved. */
export const rewardCodeSchema = z.strictObject({ text: z.string().max(longestText), path: pathSchema.nullable() })
export type RewardCode = z.infer<typeof rewardCodeSchema>

const span = z.object({ start: z.number(), end: z.number(), value: z.number(), source: z.string(), message: z.string() })

export const scoredSampleSchema = z.object({
  id: z.string(),
  /** G of eq. 4 and the outcome on which flatness is tested. */
  global: z.number(),
  outcome: z.number(),
  stages: z.object({ parse: z.boolean(), types: z.boolean(), bundle: z.boolean(), render: z.boolean() }),
  requirementScore: z.number(),
  audit: z.object({ passed: z.boolean(), failures: z.array(z.string()) }),
  /** `global` before weighting, `part` what it adds to G. */
  sources: z.array(z.object({ source: z.string(), global: z.number(), part: z.number(), milliseconds: z.number(), failure: z.string().optional() })),
  spans: z.array(span),
  /** One entry a token (or word): positions, r_t, and each source's weighted local signal. */
  starts: z.array(z.int()),
  ends: z.array(z.int()),
  tokenRewards: z.array(z.number()),
  localBySource: z.record(z.string(), z.array(z.number())),
})
export type ScoredSample = z.infer<typeof scoredSampleSchema>

const named = z.object({ name: z.string(), reward: z.number() })

/** What the reward bench says of all samples together (engine/rewards/bench). */
export const rewardReportSchema = z.object({
  completions: z.int(),
  groups: z.int(),
  flatGroups: z.number(),
  outcomeMean: z.number(),
  passed: z.number(),
  hackRate: z.number(),
  overturned: z.number(),
  cheats: z.array(named),
  honest: named.optional(),
  /** How often everything was scored; with one scoring nothing is known of repeatability. */
  scorings: z.int(),
  sources: z.array(
    z.object({
      source: z.string(), mean: z.number(), spreadInside: z.number(), spreadBetween: z.number(), boundHits: z.number(), sparsity: z.number(),
      noisy: z.number(), outcomeCorrelation: z.number().nullable(), milliseconds: z.number(), failures: z.number(),
    }),
  ),
  warnings: z.array(z.string()),
})
export type RewardReport = z.infer<typeof rewardReportSchema>

/** A place in the code of a reward function; UTF-16 positions and a 1-based row. */
export const codeProblemSchema = z.object({ start: z.int(), end: z.int(), row: z.int(), message: z.string() })
export type CodeProblem = z.infer<typeof codeProblemSchema>

const side = z.object({ reward: z.number(), rootMeanSquare: z.number(), flatGroups: z.number() })

/** One step of a run as it was, and as it would have been (engine/rewards/bench/replay.ts). */
export const replayedStepSchema = z.object({ step: z.int(), rollouts: z.int(), before: side, after: side, change: z.number(), correlation: z.number().nullable(), flippedTokens: z.number(), flippedRollouts: z.number() })
export type ReplayedStep = z.infer<typeof replayedStepSchema>

/** Done by the tools process. */
export const rewardToolCalls = {
  /** Completions to try a reward of this recipe on; `skipped` rows held nothing to score. */
  'rewards.samples': {
    request: z.object({ recipe: z.enum(['react', 'maths', 'code', 'custom']), source: sampleSourceSchema }).strict(),
    response: z.object({ samples: z.array(rewardSampleSchema), skipped: z.int(), note: z.string() }),
  },
  /** Scores samples. What was scored before is not scored again when only weights have changed; `scorings` above 1 asks everything so often. */
  'rewards.score': {
    request: z.object({ reward, code: rewardCodeSchema.nullable(), samples: z.array(rewardSampleSchema).min(1).max(mostSamples), scorings: z.int().min(1).max(5), task: taskSchema }).strict(),
    response: z.object({ scored: z.array(scoredSampleSchema), report: rewardReportSchema }),
  },
  /** Type errors of a reward function as it is being written. */
  'rewards.check': { request: rewardCodeSchema, response: z.object({ problems: z.array(codeProblemSchema) }) },
  /** A function to begin with. */
  'rewards.template': { request: nothing, response: z.object({ text: z.string() }) },
  /** A run's logged rollouts under another reward's weights, another estimator, or both; null leaves the run's own. */
  'rewards.replay': {
    request: z.object({ directory: pathSchema, reward: reward.nullable(), estimator: z.string().max(40).nullable(), task: taskSchema }).strict(),
    response: z.object({ steps: z.array(replayedStepSchema), left: z.int() }),
  },
} as const

/** Done by the app: files of rewards, through the system's dialogs. Null when the person chose none. */
export const rewardFileCalls = {
  /** Opens a .js or .ts file with a reward function. */
  'rewards.openFile': { request: nothing, response: z.object({ path: z.string(), text: z.string() }).nullable() },
  /** Reads a file that was opened, saved or named by an imported reward before. */
  'rewards.readFile': { request: z.object({ path: pathSchema }).strict(), response: z.object({ text: z.string() }) },
  /** Writes the function to its file, or asks for a place where `path` is null. */
  'rewards.saveFile': { request: rewardCodeSchema, response: z.object({ path: z.string() }).nullable() },
  /** A reward from a JSON file: the reward alone, or a run's configuration with one. */
  'rewards.import': { request: nothing, response: z.object({ file: z.string(), reward }).nullable() },
  'rewards.export': { request: z.object({ reward }).strict(), response: z.object({ file: z.string() }).nullable() },
} as const

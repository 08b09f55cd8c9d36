// The configuration of a reward: what is measured, how it is weighted, and the limits generated code runs under.
// Every field carries its unit, where its default comes from, and the sentence the screen shows (see field.ts).
import { z } from 'zod'
import { field } from './field.ts'

const weight = z.number().min(-100).max(100)

/** How one source's spans become part of the local signal. */
const localSource = (what: string, sourceWeight: number, bound: number) =>
  z
    .strictObject({
      globalWeight: field(weight.default(1), 'factor', 'BoT-GRPO', `Weight of the ${what} in the global score.`),
      localWeight: field(weight.default(sourceWeight), 'factor', 'BoT-GRPO', `Weight of the ${what} in the local (token) signal.`),
      localBound: field(z.number().min(0).default(bound), 'reward', 'Satchel', `Largest absolute local signal the ${what} alone can put on a token.`),
    })
    .prefault({})

const ladder = z
  .strictObject({
    notReact: field(z.number().default(-1.3), 'reward', 'Satchel', 'Outcome of text without any React in it: the parse failure plus the paper\'s -0.3.'),
    parse: field(z.number().default(-1), 'reward', 'Satchel', 'Outcome when the program does not parse, or is refused as a trick.'),
    types: field(z.number().default(-0.9), 'reward', 'Satchel', 'Outcome when it parses but has type errors.'),
    bundle: field(z.number().default(-0.85), 'reward', 'Satchel', 'Outcome when the types hold but it cannot be bundled.'),
    render: field(z.number().default(-0.8), 'reward', 'Satchel', 'Outcome when it is bundled but throws, logs an error, never settles or shows nothing.'),
    compiled: field(z.number().default(0), 'reward', 'BoT-GRPO', 'Outcome when it renders: the paper gives the failure its penalty and success none.'),
  })
  .prefault({})

const lint = z
  .strictObject({
    fatal: field(z.number().default(-0.5), 'reward', 'BoT-GRPO', 'Penalty for code the linter cannot read.'),
    error: field(z.number().default(-0.1), 'reward', 'BoT-GRPO', 'Penalty for each lint error.'),
    warning: field(z.number().default(-0.02), 'reward', 'BoT-GRPO', 'Penalty for each lint warning.'),
    floor: field(z.number().max(0).default(-0.5), 'reward', 'Satchel', 'The lint score of one completion never falls below this.'),
  })
  .prefault({})

const limits = z
  .strictObject({
    maximumCharacters: field(z.int().min(1).default(65_536), 'UTF-16 units', 'Satchel', 'A longer program is refused unread.'),
    itemSeconds: field(z.number().positive().default(60), 'seconds', 'Satchel', 'A completion that keeps a reward worker silent for this long is scored as failed and the worker is replaced.'),
    startSeconds: field(z.number().positive().default(120), 'seconds', 'Satchel', 'A reward worker that is not ready after this long is given up.'),
    scriptMilliseconds: field(z.int().min(10).default(2_000), 'milliseconds', 'Satchel', 'One uninterrupted run of generated code (a render, an effect, a click) may take this long; one that got little of a busy processor is tried again.'),
    renderSeconds: field(z.number().positive().default(20), 'seconds', 'Satchel', 'The render process is killed when a completion keeps it for this long.'),
    renderMegabytes: field(z.int().min(32).default(128), 'MiB', 'Satchel', 'Heap of the render process.'),
    workerMegabytes: field(z.int().min(256).default(1_024), 'MiB', 'Satchel', 'Heap of a reward worker.'),
    maximumElements: field(z.int().min(1).default(2_000), 'elements', 'Satchel', 'A larger rendered document is a render failure.'),
    maximumRounds: field(z.int().min(1).default(200), 'rounds', 'Satchel', 'An application that still has work after this many timer rounds never settles: a render failure.'),
  })
  .prefault({})

const audit = z
  .strictObject({
    maximumRepeats: field(z.int().min(1).default(6), 'lines', 'Satchel', 'The same line of code may occur this often.'),
    maximumBlankShare: field(z.number().min(0).max(1).default(0.35), 'share', 'Satchel', 'Share of blank lines above which a program counts as padded.'),
    maximumBlankRun: field(z.int().min(1).default(3), 'lines', 'Satchel', 'Longest run of blank lines that is not padding.'),
    maximumCommentShare: field(z.number().min(0).max(1).default(0.5), 'share', 'Satchel', 'Share of comment characters above which a program counts as padded.'),
    minimumLengthRatio: field(z.number().min(0).default(0.4), 'ratio', 'Satchel', 'Shortest program, against the reference, without white space.'),
    maximumLengthRatio: field(z.number().min(1).default(2.5), 'ratio', 'Satchel', 'Longest program, against the reference, without white space.'),
  })
  .prefault({})

/** The reward of a single-file React application (specification: the React recipe; the requirements are ours). */
export const rewardConfigSchema = z.strictObject({
  kind: field(z.literal('react').default('react'), 'name', 'Satchel', 'What the completions are: single-file React applications.'),
  globalWeight: field(weight.default(1), 'factor', 'Satchel', 'w_g: weight of the global score G in every token reward.'),
  localWeight: field(weight.default(0.5), 'factor', 'Satchel', 'w_s: weight of the local signal S_t in a token reward.'),
  localBound: field(z.number().min(0).default(1), 'reward', 'Satchel', 'B: the local signal of a token never exceeds this in absolute value; keep w_g well above w_s times B.'),
  windowLines: field(z.int().min(0).max(1_000).default(3), 'lines', 'BoT-GRPO', 'w: a flagged line reaches this many lines up and down, falling linearly.'),
  divideByFlaggedLines: field(z.boolean().default(true), 'on/off', 'BoT-GRPO', 'Divide the local signal of a source by its number of flagged lines, so that many errors do not pile up.'),
  typeCheck: field(z.boolean().default(true), 'on/off', 'Satchel', 'Check the program against React\'s own types; off, a program only has to parse, bundle and render.'),
  gradedOutcome: field(z.boolean().default(false), 'on/off', 'Satchel', 'Test a group for flatness on the graded outcome; off, every failure below "compiles" counts as the same outcome.'),
  compilerLine: field(z.number().default(-1), 'reward', 'BoT-GRPO', 'Local penalty of a line the compiler flags.'),
  requirementWeight: field(weight.default(1), 'reward', 'Satchel', 'Added to the global score when every requirement of the prompt is met; shares count in proportion.'),
  ladder: field(ladder, '', 'Satchel', 'The outcome by the last stage a program reached.'),
  lint: field(lint, '', 'BoT-GRPO', 'Penalties of the linter.'),
  compiler: field(localSource('compiler', 1, 1), '', 'BoT-GRPO', 'How compiler diagnostics enter the reward.'),
  linter: field(localSource('linter', 1, 1), '', 'BoT-GRPO', 'How lint messages enter the reward.'),
  audit: field(audit, '', 'Satchel', 'Thresholds of the sealed audit; it never enters the reward.'),
  limits: field(limits, '', 'Satchel', 'Limits generated code is read and run under.'),
})

/** A complete reward configuration, every default filled in. */
export type RewardConfig = z.infer<typeof rewardConfigSchema>

/** What a person may write: every field optional. */
export type RewardConfigInput = z.input<typeof rewardConfigSchema>

/** Fills in every default. Throws a ZodError naming the field for a value that is out of range or unknown. */
export function rewardConfig(input: RewardConfigInput = {}): RewardConfig {
  return rewardConfigSchema.parse(input)
}

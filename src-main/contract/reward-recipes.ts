// The rewards of mathematics with checked steps, of code with tests, and of a person's own function.
import { z } from 'zod'
import { field } from './field.ts'
import { answerJudge, codeJudge, judgeSchema, processRewardModel, stepChecks } from './judge-config.ts'
import { busFields, limits, rewardSource } from './reward-fields.ts'

const mathsAudit = z
  .strictObject({
    minimumSteps: field(z.int().min(0).default(1), 'steps', 'Satchel', 'A correct answer with fewer steps than this was not worked out.'),
    maximumRepeats: field(z.int().min(1).default(4), 'lines', 'Satchel', 'The same line may occur this often.'),
    maximumAnswers: field(z.int().min(1).default(1), 'answers', 'Satchel', 'More different final answers than this are a guess.'),
  })
  .prefault({})

/** The reward of mathematics (specification: the AIME recipe; the step verifier is ours). */
export const mathsRewardSchema = z
  .strictObject({
    recipe: field(z.literal('maths'), 'name', 'BoT-GRPO', 'What the completions are: numbered steps and a final answer.'),
    ...busFields({ globalWeight: 3, gradedOutcome: false, origin: 'BoT-GRPO, AIME recipe' }),
    answerKind: field(z.enum(['integer', 'any']).default('integer'), '', 'BoT-GRPO, AIME recipe', 'integer: answers are whole numbers within the bounds below; any: numbers, expressions, tuples and sets, compared by value.'),
    minimumAnswer: field(z.int().default(0), '', 'BoT-GRPO, AIME recipe', 'Smallest answer when answerKind is integer.'),
    maximumAnswer: field(z.int().default(999), '', 'BoT-GRPO, AIME recipe', 'Largest answer when answerKind is integer.'),
    answer: field(rewardSource('answer', { globalWeight: 1, localWeight: 0, localBound: 0 }), '', 'BoT-GRPO', 'How the final answer enters the reward: 1 when it is right, else 0.'),
    steps: field(rewardSource('steps', { globalWeight: 0, localWeight: 1, localBound: 1 }), '', 'BoT-GRPO', 'How checked steps enter the reward: -1, 0 or +1 on the tokens of each step, divided by the number of steps.'),
    format: field(rewardSource('format', { globalWeight: 1, localWeight: 0, localBound: 0 }), '', 'BoT-GRPO', 'How the tags enter the reward; their bonus reaches every token as it is, not multiplied by w_g.'),
    formatMatched: field(z.number().default(0.2), 'reward', 'BoT-GRPO, AIME recipe', 'Bonus when the steps and the final answer are tagged exactly as asked.'),
    formatMismatched: field(z.number().default(-1), 'reward', 'BoT-GRPO, AIME recipe', 'Penalty when tags are there but do not match.'),
    formatMissing: field(z.number().default(-1), 'reward', 'Satchel', 'Penalty when there are no tags at all.'),
    errorPropagation: field(z.boolean().default(true), 'on/off', 'BoT-GRPO, AIME recipe', 'After the first wrong step no later step earns or loses anything.'),
    stepChecks: field(stepChecks(), '', 'Satchel', 'Who says which steps are right.'),
    judge: field(judgeSchema, '', 'Satchel', 'The model that judges steps, where stepChecks.by is judge.'),
    prm: field(processRewardModel(), '', 'Satchel', 'The process-reward model, where stepChecks.by is model.'),
    symbolicMilliseconds: field(z.int().min(10).default(1_000), 'milliseconds', 'Satchel', 'One comparison of two expressions may take this long; then they count as different.'),
    audit: field(mathsAudit, '', 'Satchel', 'Thresholds of the sealed audit; it never enters the reward.'),
    limits: field(limits(), '', 'Satchel', 'Limits completions are read under.'),
  })
  .refine(({ stepChecks: { by }, judge }) => by !== 'judge' || judge.kind !== 'none', { message: 'is needed where stepChecks.by is judge: say who judges', path: ['judge'] })
  .refine(({ stepChecks: { by }, prm }) => by !== 'model' || prm.folder !== '', { message: 'is needed where stepChecks.by is model: name the folder of the process-reward model', path: ['prm', 'folder'] })

/** A complete configuration of the maths reward, every default filled in. */
export type MathsRewardConfig = z.infer<typeof mathsRewardSchema>

const codeLadder = z
  .strictObject({
    parse: field(z.number().default(-1), 'reward', 'Satchel', 'Outcome when the code does not parse.'),
    types: field(z.number().default(-0.9), 'reward', 'Satchel', 'Outcome when it parses but has type errors (only with typeCheck).'),
    load: field(z.number().default(-0.8), 'reward', 'Satchel', 'Outcome when it cannot be loaded, or does not define the function asked for.'),
    ran: field(z.number().default(0), 'reward', 'Satchel', 'Outcome when the function could be called; its passed cases come on top.'),
  })
  .prefault({})

const codeAudit = z
  .strictObject({
    maximumRepeats: field(z.int().min(1).default(6), 'lines', 'Satchel', 'The same line of code may occur this often.'),
    maximumLengthRatio: field(z.number().min(1).default(4), 'ratio', 'Satchel', 'Longest program, against the reference, without white space.'),
  })
  .prefault({})

/** The reward of JavaScript and TypeScript functions with test cases (ours). */
export const codeRewardSchema = z.strictObject({
  recipe: field(z.literal('code'), 'name', 'Satchel', 'What the completions are: a JavaScript or TypeScript function that test cases call.'),
  ...busFields({ globalWeight: 1, gradedOutcome: true, origin: 'Satchel' }),
  typeCheck: field(z.boolean().default(false), 'on/off', 'Satchel', 'Check the types of the code; untyped JavaScript passes.'),
  errorLine: field(z.number().default(-1), 'reward', 'BoT-GRPO', 'Local penalty of a line the compiler flags, or that a case failed on with an error.'),
  ladder: field(codeLadder, '', 'Satchel', 'The outcome by the last stage the code reached.'),
  compiler: field(rewardSource('compiler', { globalWeight: 1, localWeight: 1, localBound: 1, origin: 'Satchel' }), '', 'Satchel', 'How parsing, types and loading enter the reward.'),
  tests: field(rewardSource('tests', { globalWeight: 1, localWeight: 1, localBound: 1, origin: 'Satchel' }), '', 'Satchel', 'How test cases enter the reward: the share that passed, and the lines errors came from.'),
  judge: field(judgeSchema, '', 'Satchel', 'The model that judges code that loads; none leaves judges out.'),
  codeJudge: field(codeJudge('code judge', 'Satchel'), '', 'Satchel', 'How a judge that reads the code enters the reward: 0 to 10, divided by 10.'),
  tolerance: field(z.number().min(0).default(1e-9), 'ratio', 'Satchel', 'Numbers this close, relative to the expected one, count as equal.'),
  caseMilliseconds: field(z.int().min(10).default(500), 'milliseconds', 'Satchel', 'One case may take this long; one that got little of a busy processor is tried again.'),
  maximumTimeouts: field(z.int().min(1).default(2), 'cases', 'Satchel', 'After so many cases that ran out of time the others count as failed without being run.'),
  audit: field(codeAudit, '', 'Satchel', 'Thresholds of the sealed audit: hidden tests, tricks, repetition, length; it never enters the reward.'),
  limits: field(limits(), '', 'Satchel', 'Limits generated code is read and run under.'),
})

/** A complete configuration of the code reward, every default filled in. */
export type CodeRewardConfig = z.infer<typeof codeRewardSchema>

/** The reward of a person's own function. */
export const customRewardSchema = z
  .strictObject({
    recipe: field(z.literal('custom'), 'name', 'Satchel', 'What a completion is worth is said by a function of your own.'),
    ...busFields({ globalWeight: 1, gradedOutcome: true, origin: 'Satchel' }),
    file: field(z.string().min(1), '', '', 'A .js or .ts file whose default export takes a completion and gives a score, spans, or both. Relative to the configuration that names it.'),
    custom: field(rewardSource('function', { globalWeight: 1, localWeight: 1, localBound: 1, origin: 'Satchel' }), '', 'Satchel', 'How the function\'s verdict enters the reward.'),
    spans: field(z.enum(['ranges', 'lines']).default('ranges'), '', 'Satchel', 'ranges: a span counts for the tokens it covers; lines: it flags the line it starts on, which fades over the window.'),
    minimum: field(z.number().default(-10), 'reward', 'Satchel', 'A score or span below this is a failure of the function.'),
    maximum: field(z.number().default(10), 'reward', 'Satchel', 'A score or span above this is a failure of the function.'),
    failureValue: field(z.number().default(0), 'reward', 'Satchel', 'Score of a completion on which the function throws, gives no finite number, or runs out of time.'),
    passAt: field(z.number().default(1), 'reward', 'Satchel', 'A completion passes from this score on, where the function does not say so itself.'),
    callMilliseconds: field(z.int().min(10).default(1_000), 'milliseconds', 'Satchel', 'One call may take this long; one that got little of a busy processor is tried again.'),
    judge: field(judgeSchema, '', 'Satchel', 'The model that judges completions; none leaves judges out.'),
    answerJudge: field(answerJudge(), '', 'Satchel', 'How a judge that reads the whole completion enters the reward: 0 to 10, divided by 10.'),
    limits: field(limits(), '', 'Satchel', 'Limits the function runs under.'),
  })
  .refine(({ minimum, maximum }) => minimum < maximum, { message: 'maximum must be above minimum', path: ['maximum'] })

/** A complete configuration of a custom reward, every default filled in. */
export type CustomRewardConfig = z.infer<typeof customRewardSchema>

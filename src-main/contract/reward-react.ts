// The reward of single-file React applications. Every field carries its unit, where its default comes from, and the sentence the screen
// shows (see field.ts).
import { z } from 'zod'
import { field } from './field.ts'
import { codeJudge, judgeSchema, screenshotJudge } from './judge-config.ts'
import { busFields, limits, rewardSource, switchOnly, weight } from './reward-fields.ts'

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

const screenshots = z
  .strictObject({
    mode: field(z.enum(['off', 'audit', 'reward']).default('off'), '', 'Satchel', 'Whether pages are shown in a real browser: audit keeps pictures of some pages that render, for looking at; reward does so too and counts a page on which nothing can be seen as one that did not render, which takes a browser half a second a page.'),
    perStep: field(z.int().min(0).max(64).default(4), 'pictures', 'Satchel', 'Pages of a step whose pictures are kept.'),
    keep: field(z.int().min(0).max(100_000).default(400), 'pictures', 'Satchel', 'Pictures the run folder holds; the oldest leave (20 to 60 KB each).'),
  })
  .prefault({})

/** The reward of a single-file React application (specification: the React recipe; the requirements are ours). */
export const reactRewardSchema = z
  .strictObject({
    recipe: field(z.literal('react').optional().default('react'), 'name', 'Satchel', 'What the completions are: single-file React applications.'),
    /** How the recipe was named at first; a configuration that still says it means the same. */
    kind: z.literal('react').exactOptional(),
    ...busFields({ globalWeight: 1, gradedOutcome: false, origin: 'Satchel', divideByFlaggedLines: false }),
    typeCheck: field(z.boolean().default(true), 'on/off', 'Satchel', 'Check the program against React\'s own types; off, a program only has to parse, bundle and render.'),
    checkBroken: field(z.boolean().default(true), 'on/off', 'Satchel', 'Flag the type errors of a program that does not parse as well, as local penalties alone: mistakes that a parse error hides would otherwise go free, and be learned.'),
    gatedLadder: field(z.boolean().default(false), 'on/off', 'RLPF', 'Keep a program that reached a later stage above every one that did not: what lint and requirements add stays within half the distance to the next rung.'),
    compilerLine: field(z.number().default(-1), 'reward', 'BoT-GRPO', 'Local penalty of a line the compiler flags.'),
    compilerNoise: field(z.number().min(0).max(1).default(0), 'share', 'Satchel', 'Share of lines whose compiler flag is turned over at random, the same lines for the same text: an experiment on how much noise a local reward bears.'),
    requirementWeight: field(weight.default(1), 'reward', 'Satchel', 'Added to the global score when every requirement of the prompt is met; shares count in proportion.'),
    ladder: field(ladder, '', 'Satchel', 'The outcome by the last stage a program reached.'),
    lint: field(lint, '', 'BoT-GRPO', 'Penalties of the linter.'),
    compiler: field(rewardSource('compiler', { globalWeight: 1, localWeight: 1, localBound: 1 }), '', 'BoT-GRPO', 'How compiler diagnostics enter the reward.'),
    linter: field(rewardSource('linter', { globalWeight: 1, localWeight: 1, localBound: 1 }), '', 'BoT-GRPO', 'How lint messages enter the reward.'),
    requirements: field(switchOnly('requirements'), '', 'Satchel', 'How the requirements of a prompt enter the reward; requirementWeight is their weight.'),
    judge: field(judgeSchema, '', 'Satchel', 'The model that judges pages that render; none leaves judges out.'),
    codeJudge: field(codeJudge('code judge', 'BoT-GRPO'), '', 'BoT-GRPO', 'How a judge that reads the code enters the reward: 0 to 10, divided by 10.'),
    screenshotJudge: field(screenshotJudge(), '', 'BoT-GRPO', 'How a judge that sees the page enters the reward: 0 to 10, divided by 10.'),
    screenshots: field(screenshots, '', 'Satchel', 'Pictures of pages, taken by a real browser.'),
    audit: field(audit, '', 'Satchel', 'Thresholds of the sealed audit; it never enters the reward.'),
    limits: field(limits(), '', 'Satchel', 'Limits generated code is read and run under.'),
  })
  .refine(({ judge, screenshotJudge: { enabled } }) => !enabled || judge.kind === 'server', { message: 'must be server where screenshotJudge is on: the built-in engine runs no model that sees', path: ['judge', 'kind'] })

/** A complete configuration of the React reward, every default filled in. */
export type ReactRewardConfig = z.infer<typeof reactRewardSchema>

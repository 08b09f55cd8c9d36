// Fields that every reward recipe shares: the bus (eq. 4 of BoT-GRPO), how one source enters it, and the limits generated code runs under.
import { z } from 'zod'
import { field } from './field.ts'

/** Bounds of a weight: far beyond these a reward is a mistake. */
export const weight = z.number().min(-100).max(100)

const step = z.int().min(1)

/** On/off and schedule of one source. The schedule is a factor on the source's weights that moves in a straight line over training. */
export const sourceSwitch = (what: string) => ({
  enabled: field(z.boolean().default(true), 'on/off', 'Satchel', `Whether the ${what} enters the reward at all.`),
  schedule: field(
    z
      .strictObject({
        from: field(z.number().min(0).max(100), 'factor', 'Satchel', 'Factor on the weights up to startStep.'),
        to: field(z.number().min(0).max(100), 'factor', 'Satchel', 'Factor on the weights from endStep on; also what evaluation and scoring outside of training use.'),
        startStep: field(step.default(1), 'step', 'Satchel', 'Last step with the factor `from`.'),
        endStep: field(step, 'step', 'Satchel', 'First step with the factor `to`.'),
      })
      .refine(({ startStep, endStep }) => startStep < endStep, { message: 'endStep must come after startStep', path: ['endStep'] })
      .nullable()
      .default(null),
    '',
    'Satchel',
    `How the weights of the ${what} change over training; empty leaves them as they are.`,
  ),
})

/** How one source enters the reward: globally, locally, or both. */
export const sourceFields = (what: string, defaults: { readonly globalWeight: number; readonly localWeight: number; readonly localBound: number; readonly origin?: string }) => ({
  ...sourceSwitch(what),
  globalWeight: field(weight.default(defaults.globalWeight), 'factor', defaults.origin ?? 'BoT-GRPO', `Weight of the ${what} in the global score.`),
  localWeight: field(weight.default(defaults.localWeight), 'factor', defaults.origin ?? 'BoT-GRPO', `Weight of the ${what} in the local (token) signal.`),
  localBound: field(z.number().min(0).default(defaults.localBound), 'reward', 'Satchel', `Largest absolute local signal the ${what} alone can put on a token.`),
})

/** `sourceFields` as a schema that may be left out. */
export const rewardSource = (...parameters: Parameters<typeof sourceFields>) => z.strictObject(sourceFields(...parameters)).prefault({})

/** Shape of a lone switch that may be left out: for a source whose weight is a field of its own. */
export const switchOnly = (what: string) => z.strictObject(sourceSwitch(what)).prefault({})

/** The bus: eq. 4, the decay of a flagged line, the test for flat groups. */
export const busFields = (defaults: { readonly globalWeight: number; readonly gradedOutcome: boolean; readonly origin: string; readonly divideByFlaggedLines?: boolean }) => ({
  globalWeight: field(weight.default(defaults.globalWeight), 'factor', defaults.origin, 'w_g: weight of the global score G in every token reward.'),
  localWeight: field(weight.default(0.5), 'factor', defaults.origin, 'w_s: weight of the local signal S_t in a token reward.'),
  localBound: field(z.number().min(0).default(1), 'reward', 'Satchel', 'B: the local signal of a token never exceeds this in absolute value; keep w_g well above w_s times B.'),
  windowLines: field(z.int().min(0).max(1_000).default(3), 'lines', 'BoT-GRPO', 'w: a flagged line reaches this many lines up and down, fading as decayKernel says.'),
  decayKernel: field(z.enum(['linear', 'gaussian', 'box']).default('linear'), '', 'BoT-GRPO', 'How a flagged line fades over the window: linear reaches zero just behind it, gaussian has half the window as its deviation, box does not fade.'),
  divideByFlaggedLines: field(z.boolean().default(defaults.divideByFlaggedLines ?? true), 'on/off', defaults.divideByFlaggedLines === false ? 'Satchel' : 'BoT-GRPO', 'Divide the local signal of a source by its number of flagged lines, so that many errors do not pile up. Divided, every mistake mended makes the others count for more, and a group that fails to the last learns little.'),
  gradedOutcome: field(z.boolean().default(defaults.gradedOutcome), 'on/off', 'Satchel', 'Test a group for flatness on the graded outcome; off, every failure counts as the same outcome.'),
})

/** Limits generated code is read and run under. */
export const limits = () => z
  .strictObject({
    maximumCharacters: field(z.int().min(1).default(65_536), 'UTF-16 units', 'Satchel', 'A longer program is refused unread.'),
    itemSeconds: field(z.number().positive().default(60), 'seconds', 'Satchel', 'A completion that keeps a reward worker silent for this long is scored as failed and the worker is replaced.'),
    startSeconds: field(z.number().positive().default(600), 'seconds', 'Satchel', 'A reward worker that is not ready after this long is given up. It takes a second or two; minutes where others keep the machine busy.'),
    scriptMilliseconds: field(z.int().min(10).default(2_000), 'milliseconds', 'Satchel', 'One uninterrupted run of generated code (a render, an effect, a click) may take this long; one that got little of a busy processor is tried again.'),
    renderSeconds: field(z.number().positive().default(20), 'seconds', 'Satchel', 'The render process is killed when a completion keeps it for this long.'),
    renderMegabytes: field(z.int().min(32).default(128), 'MiB', 'Satchel', 'Heap of the render process.'),
    workerMegabytes: field(z.int().min(256).default(1_024), 'MiB', 'Satchel', 'Heap of a reward worker.'),
    maximumElements: field(z.int().min(1).default(2_000), 'elements', 'Satchel', 'A larger rendered document is a render failure.'),
    maximumRounds: field(z.int().min(1).default(200), 'rounds', 'Satchel', 'An application that still has work after this many timer rounds never settles: a render failure.'),
  })
  .prefault({})

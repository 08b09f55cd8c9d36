// Judges: models that read a completion and grade it. Who answers (`reward.judge`), and how each judge enters a reward.
import { z } from 'zod'
import { field } from './field.ts'
import { sourceFields } from './reward-fields.ts'

const perQuestion = (longestSeconds: number) => ({
  timeoutSeconds: field(z.number().min(0.1).max(longestSeconds).default(60), 'seconds', 'Satchel', 'A question has this long in all, repetitions included; then it counts as unanswered.'),
  maximumAnswerTokens: field(z.int().min(1).max(32_768).default(512), 'tokens', 'Satchel', 'Longest answer; a judge that thinks before it answers needs thousands.'),
})

const noJudge = z.strictObject({ kind: field(z.literal('none'), '', 'Satchel', 'Nothing is judged by a model.') })

const serverJudge = z.strictObject({
  kind: field(z.literal('server'), '', 'Satchel', 'A server on this machine that speaks the OpenAI chat protocol: llama.cpp, Ollama, LM Studio, vLLM.'),
  url: field(z.url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:8080/v1' }).default('http://127.0.0.1:8080/v1'), '', 'llama.cpp', 'Its address, up to and including /v1.'),
  model: field(z.string().default(''), '', 'Satchel', 'The model\'s name at the server; empty takes the only one it has.'),
  allowOtherMachines: field(z.boolean().default(false), 'on/off', 'Satchel', 'Let the address be one outside this machine: prompts, completions and pictures are then sent there.'),
  apiKeyVariable: field(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$|^$/, 'must be the name of an environment variable').default(''), '', 'Satchel', 'Environment variable that holds the key the server wants; the key itself is written nowhere.'),
  // Node ends a request of which it has heard nothing for five minutes.
  ...perQuestion(290),
  retries: field(z.int().min(0).max(10).default(2), 'times', 'Satchel', 'How often a question is repeated when the connection fails or the server is busy.'),
  answers: field(z.enum(['text', 'schema']).default('text'), '', 'Satchel', 'text: the judge answers as its prompt asks, which every server can; schema: the server holds it to JSON of a given form (response_format), which small models need.'),
  concurrency: field(z.int().min(1).max(64).default(4), 'questions', 'llama.cpp', 'Questions that are asked at the same time.'),
})

const modelJudge = z.strictObject({
  kind: field(z.literal('model'), '', 'Satchel', 'A model run by Satchel itself, in a process of its own.'),
  model: field(z.string().min(1), '', '', 'Folder or .gguf file of the model, or a name that models list shows. Relative to the configuration that names it.'),
  precision: field(z.enum(['fp32', 'stored', 'int8', 'int4']).default('int8'), '', 'Satchel', 'How its weights are held in memory.'),
  ...perQuestion(3_600),
})

/** What of a server the app's settings keep, for rewards that will want a judge. */
export const judgeServerSchema = serverJudge.pick({ url: true, model: true, allowOtherMachines: true, apiKeyVariable: true })
export type JudgeServer = z.infer<typeof judgeServerSchema>

/** Who answers a judge's questions. */
export const judgeSchema = z.discriminatedUnion('kind', [noJudge, serverJudge, modelJudge], { error: 'must be none, server or model' }).prefault({ kind: 'none' })

export type JudgeConfig = z.infer<typeof judgeSchema>
export type ServerJudgeConfig = Extract<JudgeConfig, { kind: 'server' }>

const promptFile = field(z.string().default(''), '', 'Satchel', 'File with what the judge is asked; empty takes the one that comes with Satchel. Relative to the configuration that names it.')

/** A judge that reads code, and may name its worst lines. */
export const codeJudge = (what: string, origin: string) =>
  z.strictObject({
    ...sourceFields(what, { globalWeight: 1, localWeight: 1, localBound: 1, origin }),
    lines: field(z.enum(['none', 'one-turn', 'two-turn']).default('two-turn'), '', 'BoT-GRPO', 'Whether it names at most three worst lines (impact -1 to -3, divided by 10): none asks for the score alone, one-turn in the same answer, two-turn in a second one, which is steadier.'),
    promptFile,
  }).prefault({})

/** A judge that looks at a picture of the page, and never sees the code. */
export const screenshotJudge = () =>
  z.strictObject({
    ...sourceFields('screenshot judge', { globalWeight: 1, localWeight: 0, localBound: 0 }),
    enabled: field(z.boolean().default(false), 'on/off', 'Satchel', 'Whether a picture of the page is judged; it needs a server with a model that sees.'),
    url: field(z.union([z.literal(''), z.url({ protocol: /^https?$/ })], { error: 'must be empty or an address such as http://127.0.0.1:8081/v1' }).default(''), '', 'Satchel', 'Address of the server that sees; empty takes the judge\'s.'),
    model: field(z.string().default(''), '', 'Satchel', 'Name of the model that sees; empty takes the judge\'s.'),
    promptFile,
  }).prefault({})

/** A judge that reads a whole completion, whatever it is. */
export const answerJudge = () => z.strictObject({ ...sourceFields('judge', { globalWeight: 1, localWeight: 0, localBound: 0, origin: 'Satchel' }), promptFile }).prefault({})

/** Who says which steps of a solution are right. */
export const stepChecks = () =>
  z
    .strictObject({
      by: field(z.enum(['verifier', 'judge', 'model']).default('verifier'), '', 'Satchel', 'verifier: exact arithmetic; judge: the judge is asked about every step; model: a process-reward model.'),
      promptFile,
    })
    .prefault({})

/** A process-reward model: an ONNX token classifier that says of each step how likely it is right. */
export const processRewardModel = () =>
  z
    .strictObject({
      folder: field(z.string().default(''), '', '', 'Folder with model.onnx and tokenizer.json. Relative to the configuration that names it.'),
      separator: field(z.string().default('\n'), '', 'TRL', 'Put behind every step, and where its label is read; empty reads it at the step\'s own last token.'),
      label: field(z.int().min(0).default(1), '', 'TRL', 'Which of the model\'s labels means that a step is right.'),
      threshold: field(z.number().gt(0).lt(1).default(0.5), 'probability', 'Satchel', 'A step this likely to be right counts 0; above it rises to +1 and below it falls to -1.'),
      maximumTokens: field(z.int().min(1).default(4_096), 'tokens', 'Satchel', 'What lies beyond so many tokens is not judged.'),
    })
    .prefault({})

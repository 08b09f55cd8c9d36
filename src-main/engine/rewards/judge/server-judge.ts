// A judge behind a server that speaks the OpenAI chat protocol. llama.cpp, Ollama, LM Studio and vLLM were looked at; what they do differently:
//
//   llama.cpp   takes any model name; has one model; thinking comes in reasoning_content; errors are {"error": {"message"}}
//   Ollama      wants the name of a model it has; loads it with the first question, which may take a minute; cuts long prompts silently
//   LM Studio   answers unknown paths with 200 and {"error": "..."}; loads models when they are named
//   vLLM        content may be null where the answer was cut off while thinking
import { z } from 'zod'
import { UserError } from '../../../contract/errors.ts'
import type { ServerJudgeConfig } from '../../../contract/judge-config.ts'
import type { JudgeBackend, JudgeMessage } from './judge-backend.ts'
import { createJudgeClient, type JudgeClient } from './judge-client.ts'
import { JudgeFailure } from './judge-failure.ts'

/** Ollama's list is null while it has no model. */
const listSchema = z.object({ data: z.array(z.object({ id: z.string() })).nullable() })

const choiceSchema = z.object({
  message: z.object({ content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() })), z.null()]).optional() }),
  finish_reason: z.string().nullish(),
})
const chatSchema = z.object({ choices: z.tuple([choiceSchema], z.unknown()) })
const errorSchema = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) })

/**
 * Opens the judge: asks the server which models it has, chooses, and has the model say one token, for which some servers load it first.
 * @param picture a picture for a judge that shall see
 * @throws UserError when nobody answers at the address, when the key is not there, when the model is not, or when it does not see
 */
export async function openServerJudge(config: ServerJudgeConfig, signal: AbortSignal, picture?: Uint8Array): Promise<JudgeBackend> {
  const client = createJudgeClient(config.url, config.allowOtherMachines)
  const key = keyOf(config.apiKeyVariable)
  const model = await chooseModel(client, config, key, signal)
  await tryOut(client, model, key, signal, picture)
  return {
    model,
    identity: JSON.stringify([client.address, model, config.maximumAnswerTokens, ...(config.answers === 'text' ? [] : [config.answers])]),
    async ask(messages, within, schema) {
      const form = config.answers === 'text' || schema === undefined ? {} : { response_format: { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema } } }
      const body = { model, messages: messages.map(asMessage), temperature: 0, seed: 0, max_tokens: config.maximumAnswerTokens, stream: false, ...form }
      return readAnswer(await client.request('/chat/completions', { body, key, signal: within }))
    },
    dispose: () => undefined,
  }
}

function keyOf(variable: string): string | undefined {
  if (variable === '') return undefined
  const key = process.env[variable]
  if (key !== undefined && key !== '') return key
  throw new UserError({ code: 'bad-input', what: `the environment variable ${variable} is not set`, place: { field: 'reward.judge.apiKeyVariable' }, expected: 'the key that the judge\'s server wants', remedy: `Set ${variable} before you start Satchel, or leave the field empty.` })
}

async function chooseModel(client: JudgeClient, { model, url }: ServerJudgeConfig, key: string | undefined, signal: AbortSignal): Promise<string> {
  let names: string[]
  try {
    names = listSchema.parse(await client.request('/models', { key, signal })).data?.map(({ id }) => id) ?? []
  } catch (error) {
    if (error instanceof z.ZodError && model !== '') return model
    throw unreachable(url, error instanceof z.ZodError ? 'it has no list of models' : error)
  }
  if (model === '' && names.length === 1) return names[0]!
  if (model !== '' && (names.includes(model) || names.includes(`${model}:latest`) || names.length === 0)) return model
  // llama.cpp has one model and answers to every name.
  if (model !== '' && names.length === 1) return model
  const list = names.slice(0, 20).join(', ')
  throw new UserError({ code: 'bad-input', what: model === '' ? `the judge's server has ${names.length} models, and none was chosen` : `the judge's server has no model named ${model}`, place: { field: 'reward.judge.model' }, expected: names.length === 0 ? 'the name of a model; load one in the server first' : `one of ${list}`, remedy: 'Name the model that shall judge.' })
}

async function tryOut(client: JudgeClient, model: string, key: string | undefined, signal: AbortSignal, picture: Uint8Array | undefined): Promise<void> {
  const question: JudgeMessage = { role: 'user', text: 'Hello', ...(picture === undefined ? {} : { picture }) }
  try {
    const answer = await client.request('/chat/completions', { body: { model, messages: [asMessage(question)], temperature: 0, max_tokens: 1, stream: false }, key, signal })
    refuseError(answer)
    if (!chatSchema.safeParse(answer).success) throw new JudgeFailure('its answer is not that of a chat', false)
  } catch (error) {
    if (picture === undefined) throw unreachable(client.address, error)
    throw new UserError({ code: 'bad-input', what: `the judge's server at ${client.address} takes no pictures with the model ${model}: ${error instanceof Error ? error.message : String(error)}`, place: { field: 'reward.screenshotJudge.model' }, expected: 'a model that sees', remedy: 'Load one (llama-server needs its projector, --mmproj), name it, or switch reward.screenshotJudge off.' })
  }
}

/** Nobody answers, or not as such a server does. */
function unreachable(url: string, cause: unknown): UserError {
  const why = !(cause instanceof Error) ? String(cause) : cause.name === 'TimeoutError' ? 'it did not answer in time' : cause.message
  return new UserError({ code: 'network', what: `the judge's server at ${url} cannot be used: ${why}`, place: { field: 'reward.judge.url' }, expected: 'a running server that speaks the OpenAI chat protocol', remedy: 'Start it (llama-server -m MODEL.gguf --port 8080, ollama serve, or the server of LM Studio), correct the address, or set reward.judge.kind to none.' })
}

function asMessage({ role, text, picture }: JudgeMessage): unknown {
  if (picture === undefined) return { role, content: text }
  const url = `data:image/png;base64,${Buffer.from(picture).toString('base64')}`
  return { role, content: [{ type: 'text', text }, { type: 'image_url', image_url: { url } }] }
}

/** Some servers answer an error as if all were well. */
function refuseError(value: unknown): void {
  const failed = errorSchema.safeParse(value)
  if (failed.success) throw new JudgeFailure(`the server answered: ${(typeof failed.data.error === 'string' ? failed.data.error : failed.data.error.message).slice(0, 200)}`, false)
}

/** The text of a chat answer. */
function readAnswer(value: unknown): string {
  refuseError(value)
  const read = chatSchema.safeParse(value)
  if (!read.success) throw new JudgeFailure('the answer is not that of a chat', false)
  const [{ message: { content }, finish_reason: finish }] = read.data.choices
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')
  if (text.trim() !== '') return text
  throw new JudgeFailure(finish === 'length' ? 'the answer was cut off before it began: raise reward.judge.maximumAnswerTokens' : 'the answer is empty', false)
}

// A judge run by our own engine: a conversation in, the likeliest continuation out. One question at a time, so that an answer depends on its
// question alone and never on what else is being asked (sums of a larger batch are rounded differently).
import { UserError } from '../../../contract/errors.ts'
import { runConfigSchema } from '../../../contract/run-config.ts'
import { createChatTemplate } from '../../models/chat-template.ts'
import { openModelFolder } from '../../models/model-folder.ts'
import { createStream } from '../../runtime/random.ts'
import { openModelSession } from '../../training/session.ts'
import type { JudgeMessage } from './judge-backend.ts'
import { JudgeFailure } from './judge-failure.ts'
import type { JudgeModelConfig } from './judge-protocol.ts'

/** Room for the question; models that hold less are given what they hold. */
const longestQuestion = 16_384

export interface ModelAnswers {
  /** Hash of the model's files and how its weights are held. */
  readonly identity: string
  /** @throws JudgeFailure when the question is too long, or `seconds` have passed */
  ask(messages: readonly Omit<JudgeMessage, 'picture'>[], seconds: number): Promise<string>
  close(): Promise<void>
}

/** @throws UserError when the model cannot be opened */
export async function openModelAnswers({ model, precision, maximumAnswerTokens }: JudgeModelConfig): Promise<ModelAnswers> {
  const folder = await openModelFolder(model)
  await folder.close()
  // An adapter that changes nothing: a frozen model may be held in fewer bits.
  const session = await openModelSession(runConfigSchema.parse({ model, data: { prompts: '-' }, device: 'cpu', adapter: { kind: 'lora', rank: 1 }, weights: { precision } }))
  const { tokenizer, contextTokens } = session
  const template = folder.chatTemplate === null ? undefined : createChatTemplate(folder.chatTemplate, tokenizer)
  const withSwitch = folder.chatTemplate !== null && /\benable_thinking\b/.test(folder.chatTemplate)
  const longest = Math.min(contextTokens, longestQuestion + maximumAnswerTokens)
  if (longest <= maximumAnswerTokens) throw new UserError({ code: 'bad-input', what: `the model holds ${contextTokens} tokens, which leaves no room for a question beside an answer of ${maximumAnswerTokens}`, place: { file: model, field: 'reward.judge.maximumAnswerTokens' }, expected: `fewer than ${contextTokens}` })
  const sampler = await session.openSampler(longest)

  const encode = (messages: readonly Omit<JudgeMessage, 'picture'>[]): number[] => {
    if (template === undefined) return tokenizer.encodePrompt(`${messages.map(({ text }) => text).join('\n\n')}\n\n`)
    return template.encode(messages.map(({ role, text }) => ({ role, content: text })), withSwitch ? { enableThinking: false } : {})
  }
  return {
    identity: JSON.stringify([session.modelHash, precision, maximumAnswerTokens]),
    async ask(messages, seconds) {
      const promptIds = encode(messages)
      const room = longest - maximumAnswerTokens
      if (promptIds.length > room) throw new JudgeFailure(`the question has ${promptIds.length} tokens, and the judge reads at most ${room}`, false)
      const until = performance.now() + seconds * 1_000
      const [rollout] = await sampler.generate([{ promptIds, streams: [createStream(1, 'judge')] }], {
        law: { temperature: 0, topK: 0, topP: 1, minP: 0 },
        maxNewTokens: maximumAnswerTokens,
        slots: 1,
        stopIds: session.stopIds,
        sampleLimit: tokenizer.size,
        onStep() {
          if (performance.now() > until) throw new JudgeFailure(`no answer within ${seconds} s`, false)
        },
      })
      return tokenizer.tokenOffsets(rollout!.ids).text
    },
    close: () => session.close(),
  }
}

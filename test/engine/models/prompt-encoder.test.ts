import { describe, expect, test } from 'vitest'
import { chatConfigSchema } from '../../../src-main/contract/chat-config.ts'
import { readChatTemplate } from '../../../src-main/engine/models/chat-template-file.ts'
import { createChatTemplate } from '../../../src-main/engine/models/chat-template.ts'
import { createPromptEncoder } from '../../../src-main/engine/models/prompt-encoder.ts'
import { openTokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import type { Tokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import { fixture, userError } from './fixtures.ts'

const chat = (changes: object = {}) => chatConfigSchema.parse(changes)

async function opened(name: string): Promise<{ tokenizer: Tokenizer; template: string | null }> {
  const folder = fixture('tokenizers', name)
  return { tokenizer: await openTokenizer(folder, { vocabularySize: 1 << 20 }), template: await readChatTemplate(folder) }
}

describe('prompts for a model that can think', () => {
  test('leave thinking to the template, or switch it on or off', async () => {
    const { tokenizer, template } = await opened('smollm3')
    const messages = [{ role: 'user', content: 'hi' }] as const
    const reference = createChatTemplate(template!, tokenizer)
    const encoded = (changes: object): number[] => createPromptEncoder(tokenizer, template, chat(changes))({ prompt: 'hi' })
    expect(encoded({})).toEqual(reference.encode(messages))
    expect(encoded({ thinking: 'on' })).toEqual(reference.encode(messages, { enableThinking: true }))
    expect(encoded({ thinking: 'off' })).toEqual(reference.encode(messages, { enableThinking: false }))
    // An empty think block stands at the end of the prompt, so that the answer begins at once.
    expect(tokenizer.decode(encoded({ thinking: 'off' }), { keepSpecial: true })).toMatch(/<think>\n\n<\/think>\n$/)
    expect(encoded({ thinking: 'off' })).not.toEqual(encoded({}))
  })

  test('carry the day of the configuration, whatever day it is', async () => {
    const { tokenizer, template } = await opened('smollm3')
    const text = (changes: object): string => tokenizer.decode(createPromptEncoder(tokenizer, template, chat(changes))({ prompt: 'hi' }), { keepSpecial: true })
    expect(text({})).toContain('01 January 2025')
    expect(text({ date: '2024-02-29' })).toContain('29 February 2024')
  })
})

describe('the system text of the configuration', () => {
  test('is that of prompts without their own', async () => {
    const { tokenizer, template } = await opened('qwen2')
    const encode = createPromptEncoder(tokenizer, template, chat({ system: 'Be brief.' }))
    const text = (row: { prompt: string; system?: string }): string => tokenizer.decode(encode(row), { keepSpecial: true })
    expect(text({ prompt: 'hi' })).toContain('Be brief.')
    expect(text({ prompt: 'hi', system: 'Be long.' })).toMatch(/^(?![^]*Be brief)[^]*Be long\./)
    expect(createPromptEncoder(tokenizer, template, chat())({ prompt: 'hi' })).not.toEqual(encode({ prompt: 'hi' }))
  })

  test('goes before plain text where there is no template', async () => {
    const { tokenizer } = await opened('llama3')
    expect(createPromptEncoder(tokenizer, null, chat({ system: 'Be brief.' }))({ prompt: 'hi' })).toEqual(tokenizer.encodePrompt('Be brief.\n\nhi'))
  })
})

describe('thinking is not switched', () => {
  test.each(['on', 'off'] as const)('%s for a model whose template has no switch, or that has no template', async (thinking) => {
    const { tokenizer, template } = await opened('qwen2')
    expect(await userError(() => createPromptEncoder(tokenizer, template, chat({ thinking })))).toMatchObject({ code: 'bad-input', place: { field: 'chat.thinking' }, what: `thinking cannot be switched ${thinking}: this model's chat template has no switch for it` })
    expect((await userError(() => createPromptEncoder(tokenizer, null, chat({ thinking })))).what).toContain('has no chat template')
  })
})

describe('a chat configuration', () => {
  test.each([{ date: '2025-02-30' }, { date: 'today' }, { thinking: 'maybe' }, { temperature: 1 }])('%j is refused', (changes) => {
    expect(chatConfigSchema.safeParse(changes).success).toBe(false)
  })
})

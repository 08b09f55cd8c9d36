import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createChatTemplate, encodePromptRow } from '../../../src-main/engine/models/chat-template.ts'
import type { ChatMessage, ChatTemplate } from '../../../src-main/engine/models/chat-template.ts'
import { readChatTemplate } from '../../../src-main/engine/models/chat-template-file.ts'
import { openTokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import type { Tokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import { fixture, temporaryFolder, TOKENIZER_FIXTURES, userError } from './fixtures.ts'

interface Chat {
  readonly messages: ChatMessage[]
  readonly options: { add_generation_prompt?: boolean; enable_thinking?: boolean }
  readonly text: string
  readonly ids: number[]
}

async function load(name: string): Promise<{ tokenizer: Tokenizer; template: ChatTemplate }> {
  const folder = fixture('tokenizers', name)
  const tokenizer = await openTokenizer(folder, { vocabularySize: 1000 })
  const source = await readChatTemplate(folder)
  if (source === null) throw new Error(`${name} has no template`)
  return { tokenizer, template: createChatTemplate(source, tokenizer) }
}

const controlsOf = (tokenizer: Tokenizer, ids: number[]): number[] => ids.filter((id) => tokenizer.specialIds.has(id))

describe.each(TOKENIZER_FIXTURES)('%s: as the reference renders and tokenises', async (name) => {
  const { template } = await load(name)
  const { chats } = JSON.parse(readFileSync(fixture('tokenizers', name, 'expected.json'), 'utf8')) as { chats: Chat[] }

  test.each(chats.map((chat, index) => [index, chat] as const))('conversation %i', (_, { messages, options, text, ids }) => {
    const ours = {
      ...(options.add_generation_prompt === undefined ? {} : { addGenerationPrompt: options.add_generation_prompt }),
      ...(options.enable_thinking === undefined ? {} : { enableThinking: options.enable_thinking }),
    }
    expect(template.render(messages, ours)).toBe(text)
    expect(template.encode(messages, ours)).toEqual(ids)
  })
})

describe('contents cannot inject control tokens', () => {
  test.each(TOKENIZER_FIXTURES)('%s: whatever the user writes, the control tokens are those of a harmless conversation', async (name) => {
    const { tokenizer, template } = await load(name)
    const contents = [...tokenizer.specialTokens.values()]
    const nasty = fc.array(fc.oneof(fc.constantFrom(...contents), fc.constantFrom(...contents.map((text) => text.slice(0, -2))), fc.constantFrom(...contents.map((text) => text.slice(2))), fc.constantFrom('<', '>', '|', '\n', ' ', 'x', 'user', '\uE000')), { maxLength: 7 }).map((parts) => parts.join(''))
    const harmless = controlsOf(tokenizer, template.encode([{ role: 'user', content: 'x' }]))
    const unknown = tokenizer.idOf('<unk>')
    fc.assert(
      fc.property(nasty, (content) => {
        const ids = template.encode([{ role: 'user', content }])
        expect(controlsOf(tokenizer, ids).filter((id) => id !== unknown)).toEqual(harmless)
        // Nothing is lost either: the text is what a person sees rendered (normalised where the tokenizer normalises).
        const rendered = template.render([{ role: 'user', content }])
        if (name === 'qwen2') expect(tokenizer.decode(ids, { keepSpecial: true })).toBe(rendered.normalize('NFC'))
        if (['llama3', 'smollm', 'smollm3'].includes(name)) expect(tokenizer.decode(ids, { keepSpecial: true })).toBe(rendered)
      }),
    )
  })

  test('a look-alike becomes the ids of its plain text, in place', async () => {
    const { tokenizer, template } = await load('qwen2')
    const ids = template.encode([{ role: 'user', content: 'say <|im_end|> now' }])
    const plain = tokenizer.encode('say <|im_end|> now')
    expect(JSON.stringify(ids)).toContain(JSON.stringify(plain).slice(1, -1))
  })

  test('an assistant message that thinks is still recognised by the template', async () => {
    const { template } = await load('smollm')
    expect(template.render([{ role: 'user', content: 'q' }, { role: 'assistant', content: '<think>a</think>b' }])).not.toContain('<think>a')
  })
})

describe('rendering', () => {
  test('the date is pinned, and can be set', async () => {
    const { template } = await load('smollm')
    const messages: ChatMessage[] = [{ role: 'user', content: 'hi' }]
    expect(template.render(messages)).toContain('Today: 01 January 2025')
    expect(template.render(messages, { date: '2024-02-29' })).toContain('Today: 29 February 2024')
    expect((await userError(() => template.render(messages, { date: 'yesterday' }))).what).toContain('"yesterday" is not of the form YYYY-MM-DD')
  })

  test('strftime and range are those of Python', async () => {
    const { tokenizer } = await load('qwen2')
    const render = (source: string): string => createChatTemplate(source, tokenizer).render([], { date: '2025-03-09' })
    // datetime.datetime(2025, 3, 9).strftime("%Y %y %m %d %B %b %A %a %H %I %M %S %p %%") and %e of the C library
    expect(render("{{ strftime_now('%Y %y %m %d %B %b %A %a %H %I %M %S %p %% %e') }}")).toBe('2025 25 03 09 March Mar Sunday Sun 00 12 00 00 AM %  9')
    expect(render('{% for i in range(3) %}{{ i }}{% endfor %}|{% for i in range(2, 9, 3) %}{{ i }}{% endfor %}|{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}|{% for i in range(0) %}x{% endfor %}')).toBe('012|258|321|')
  })

  test.each(['range(1000000000)', 'range(-1000000000, 7)', 'range(1, 2, 0)'])('%s fills no memory', async (range) => {
    const { tokenizer } = await load('qwen2')
    const template = createChatTemplate(`{% for i in ${range} %}x{% endfor %}`, tokenizer)
    expect((await userError(() => template.render([]))).what).toMatch(/a range of/)
  })

  test('variables of the run reach the template', async () => {
    const { tokenizer } = await load('qwen2')
    expect(createChatTemplate('{{ tone }}{{ pad_token }}{{ bos_token is defined }}', tokenizer).render([], { variables: { tone: 'calm' } })).toBe('calm<|endoftext|>false')
  })

  test('a template that refuses the messages says why', async () => {
    const { template } = await load('llama2')
    const envelope = await userError(() => template.encode([{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }]))
    expect(envelope).toMatchObject({ code: 'bad-input', place: { field: 'chat_template' } })
    expect(envelope.what).toContain('Roles must alternate user, assistant, ...')
  })

  test('a template that cannot be parsed is refused', async () => {
    const { tokenizer } = await load('qwen2')
    for (const source of ['{% if x %}', '{{ x', '{% for %}']) expect((await userError(() => createChatTemplate(source, tokenizer, 'm/tokenizer_config.json'))).what).toContain('the chat template cannot be parsed')
  })
})

describe("SmolLM3's way: thinking on, off, or as the system text says", () => {
  const system = (content: string): ChatMessage[] => [{ role: 'system', content }, { role: 'user', content: 'hi' }]
  const closed = '<|im_start|>assistant\n<think>\n\n</think>\n'

  test('thinking is on unless it is switched off, and then the answer starts behind an empty think block', async () => {
    const { tokenizer, template } = await load('smollm3')
    const messages: ChatMessage[] = [{ role: 'user', content: 'hi' }]
    expect(template.render(messages)).toMatch(/Mode: \/think\n[^]*<\|im_start\|>assistant\n$/)
    const off = template.render(messages, { enableThinking: false })
    expect(off).toContain('Mode: /no_think')
    expect(off.endsWith(closed)).toBe(true)
    const opened = template.encode(messages, { enableThinking: false })
    expect(opened.slice(-5).filter((id) => id === tokenizer.idOf('<think>') || id === tokenizer.idOf('</think>'))).toEqual([tokenizer.idOf('<think>'), tokenizer.idOf('</think>')])
  })

  test('/no_think and /think in the system text win over the switch and are not shown; in what a user writes they are text', async () => {
    const { template } = await load('smollm3')
    const off = template.render(system('Short. /no_think'), { enableThinking: true })
    expect([off.includes('Short.\n'), off.includes('Short. /no_think'), off.endsWith(closed)]).toEqual([true, false, true])
    expect(template.render(system('Long. /think'), { enableThinking: false }).endsWith(closed)).toBe(false)
    expect(template.render([{ role: 'user', content: 'hi /no_think' }])).toMatch(/Mode: \/think[^]*hi \/no_think/)
  })

  test('the date is the pinned one, so a prompt has the same ids on any day', async () => {
    const { template } = await load('smollm3')
    expect(template.render(system('x'))).toContain('Today: 01 January 2025')
    expect(template.encode(system('x'), { date: '2025-01-01' })).toEqual(template.encode(system('x')))
    expect(template.encode(system('x'), { date: '2025-01-02' })).not.toEqual(template.encode(system('x')))
  })
})

describe("Phi's way: one fixed system line", () => {
  test('a system text is added to it, and without one it stands alone', async () => {
    const { template } = await load('phi4')
    expect(template.render([{ role: 'user', content: 'p' }])).toBe('<|system|>You are a careful mathematician.<|end|><|user|>p<|end|><|assistant|>')
    expect(template.render([{ role: 'system', content: 's' }, { role: 'user', content: 'p' }])).toBe('<|system|>You are a careful mathematician. s<|end|><|user|>p<|end|><|assistant|>')
  })

  test('it knows no switch for thinking, and <think> is plain text', async () => {
    const { tokenizer, template } = await load('phi4')
    const messages: ChatMessage[] = [{ role: 'user', content: 'p' }]
    expect(template.encode(messages, { enableThinking: false })).toEqual(template.encode(messages, { enableThinking: true }))
    expect(tokenizer.idOf('<think>')).toBe(undefined)
    expect(tokenizer.decode(tokenizer.encode('<think>\n'))).toBe('<think>\n')
  })

  test('control tokens swallow white space behind them, as the reference does, but only those of the template', async () => {
    const { template } = await load('phi4')
    expect(template.encode([{ role: 'user', content: ' \n p' }])).toEqual(template.encode([{ role: 'user', content: 'p' }]))
    expect(template.encode([{ role: 'user', content: '<|end|>  p' }])).not.toEqual(template.encode([{ role: 'user', content: '<|end|>p' }]))
  })
})

describe('prompt rows', () => {
  test('go through the template, the system text first', async () => {
    const { tokenizer, template } = await load('qwen2')
    expect(encodePromptRow(tokenizer, template, { prompt: 'p', system: 's' })).toEqual(template.encode([{ role: 'system', content: 's' }, { role: 'user', content: 'p' }]))
    expect(encodePromptRow(tokenizer, template, { prompt: 'p' })).toEqual(template.encode([{ role: 'user', content: 'p' }]))
  })

  test('are plain text for a model without a template, framed as its post-processor says', async () => {
    const { tokenizer } = await load('llama3')
    expect(encodePromptRow(tokenizer, null, { prompt: 'p', system: 's' })).toEqual([tokenizer.idOf('<|begin_of_text|>'), ...tokenizer.encode('s\n\np')])
  })
})

describe("where a folder's template lies", () => {
  const write = (files: Record<string, string>): string => {
    const folder = temporaryFolder()
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return folder
  }

  test('chat_template.jinja wins over tokenizer_config.json', async () => {
    expect(await readChatTemplate(write({ 'chat_template.jinja': 'A', 'tokenizer_config.json': '{"chat_template": "B"}' }))).toBe('A')
    expect(await readChatTemplate(write({ 'tokenizer_config.json': '{"chat_template": "B"}' }))).toBe('B')
  })

  test('of several named templates the default is taken', async () => {
    const list = [{ name: 'tool_use', template: 'T' }, { name: 'default', template: 'D' }]
    expect(await readChatTemplate(write({ 'tokenizer_config.json': JSON.stringify({ chat_template: list }) }))).toBe('D')
  })

  test('none is null', async () => {
    expect(await readChatTemplate(write({}))).toBe(null)
    expect(await readChatTemplate(write({ 'tokenizer_config.json': '{}' }))).toBe(null)
  })

  test('a wrong one is named', async () => {
    const folder = write({ 'tokenizer_config.json': '{"chat_template": 5}' })
    expect((await userError(async () => readChatTemplate(folder))).place).toEqual({ file: join(folder, 'tokenizer_config.json'), field: 'chat_template' })
  })
})

// Chat templates: messages to the exact ids a model was trained to see.
import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { PINNED_DATE } from '../../contract/chat-config.ts'
import { UserError } from '../../contract/errors.ts'
import { createLookAlikes } from './look-alikes.ts'
import type { Tokenizer } from './tokenizer.ts'

/** One message. `content` is never trusted: it cannot produce control tokens. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
}

/** What a template may be told. */
export interface ChatOptions {
  /** End with the opening of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean
  /** For templates that know it (SmolLM3, Qwen3); left undefined otherwise. */
  readonly enableThinking?: boolean
  /** The day the template believes it is (YYYY-MM-DD), so that a run does not depend on when it is made. */
  readonly date?: string
  /** Further template variables, from the run's own configuration (trusted). */
  readonly variables?: Readonly<Record<string, string | number | boolean>>
}

/** A model's way of writing a conversation. */
export interface ChatTemplate {
  /** The conversation as text, as a person would see it. */
  render(messages: readonly ChatMessage[], options?: ChatOptions): string
  /** The conversation as ids. Control tokens come from the template only, whatever the contents say. */
  encode(messages: readonly ChatMessage[], options?: ChatOptions): number[]
}

/**
 * Prepares a template.
 * @param source Jinja text from {@link readChatTemplate}
 * @param file named in errors
 * @throws UserError when the template cannot be parsed; `render` and `encode` throw one when it refuses the messages.
 */
export function createChatTemplate(source: string, tokenizer: Tokenizer, file = 'tokenizer_config.json'): ChatTemplate {
  const template = parseTemplate(source, file)
  const tokens = namedTokens(tokenizer)

  function render(messages: readonly ChatMessage[], options: ChatOptions): string {
    const environment = new Environment()
    for (const [name, value] of Object.entries(globalsOf(options.date ?? PINNED_DATE))) environment.set(name, value)
    const variables: Record<string, unknown> = {
      ...tokens,
      ...options.variables,
      messages: messages.map(({ role, content }) => ({ role, content })),
      add_generation_prompt: options.addGenerationPrompt ?? true,
      ...(options.enableThinking === undefined ? {} : { enable_thinking: options.enableThinking }),
    }
    for (const [name, value] of Object.entries(variables)) environment.set(name, value)
    try {
      return new Interpreter(environment).run(template.parsed).value as string
    } catch (error) {
      throw new UserError(
        {
          code: 'bad-input',
          what: `the chat template refuses these messages (${(error as Error).message})`,
          place: { file, field: 'chat_template' },
          remedy: 'Change the roles or their order (many templates want user and assistant to alternate), or use a plain prompt.',
        },
        { cause: error },
      )
    }
  }

  return {
    render: (messages, options = {}) => render(messages, options),
    encode: (messages, options = {}) => {
      const inUse = [source, ...messages.map((message) => message.content), ...Object.values(options.variables ?? {}).map(String)]
      const lookAlikes = createLookAlikes([...tokenizer.specialTokens.values()], inUse)
      const hidden = messages.map((message) => ({ ...message, content: lookAlikes.hide(message.content) }))
      return tokenizer.encodeTemplate(render(hidden, options), lookAlikes.hidden)
    },
  }
}

/**
 * The ids of a prompt row: through the template where the model has one, otherwise as plain text (a system text first, then a
 * blank line).
 */
export function encodePromptRow(
  tokenizer: Tokenizer,
  template: ChatTemplate | null,
  row: { readonly prompt: string; readonly system?: string | undefined },
  options: ChatOptions = {},
): number[] {
  if (template === null) return tokenizer.encodePrompt(row.system === undefined ? row.prompt : `${row.system}\n\n${row.prompt}`)
  const system: ChatMessage[] = row.system === undefined ? [] : [{ role: 'system', content: row.system }]
  return template.encode([...system, { role: 'user', content: row.prompt }], options)
}

function parseTemplate(source: string, file: string): Template {
  try {
    return new Template(source)
  } catch (error) {
    throw new UserError(
      {
        code: 'bad-input',
        what: `the chat template cannot be parsed (${(error as Error).message})`,
        place: { file, field: 'chat_template' },
        remedy: 'Copy the tokenizer files of this model again.',
      },
      { cause: error },
    )
  }
}

/** bos_token, eos_token, pad_token, unk_token as texts, as templates name them. */
function namedTokens(tokenizer: Tokenizer): Record<string, string> {
  const named: Record<string, string> = {}
  for (const name of ['bos_token', 'eos_token', 'pad_token', 'unk_token']) {
    const value = tokenizer.config[name]
    if (typeof value === 'string') named[name] = value
    else if (typeof value === 'object' && value !== null && 'content' in value && typeof value.content === 'string') named[name] = value.content
  }
  return named
}

/** Templates count messages and tools; the file of a stranger must not fill the memory. */
const longestRange = 100_000

/** Jinja's constants and the functions Hugging Face gives to templates. */
function globalsOf(date: string): Record<string, unknown> {
  return {
    true: true, false: false, none: null, True: true, False: false, None: null,
    raise_exception: (message: string) => {
      throw new Error(message)
    },
    range: (first: number, second?: number, step = 1) => {
      const [from, to] = second === undefined ? [0, first] : [first, second]
      const length = Math.max(0, Math.ceil((to - from) / step))
      if (!(length <= longestRange)) throw new Error(`a range of ${length} numbers`)
      return Array.from({ length }, (_, index) => from + index * step)
    },
    strftime_now: (format: string) => formatDate(date, format),
  }
}

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** strftime for midnight of a day, in English whatever the machine's language. */
function formatDate(date: string, format: string): string {
  const day = new Date(`${date}T00:00:00Z`)
  if (Number.isNaN(day.getTime())) throw new Error(`the date "${date}" is not of the form YYYY-MM-DD`)
  const two = (value: number): string => String(value).padStart(2, '0')
  const month = MONTHS[day.getUTCMonth()] ?? ''
  const weekday = DAYS[day.getUTCDay()] ?? ''
  const parts: Readonly<Record<string, string>> = {
    Y: String(day.getUTCFullYear()), y: two(day.getUTCFullYear() % 100), m: two(day.getUTCMonth() + 1),
    d: two(day.getUTCDate()), e: String(day.getUTCDate()).padStart(2, ' '),
    B: month, b: month.slice(0, 3), A: weekday, a: weekday.slice(0, 3), H: '00', I: '12', M: '00', S: '00', p: 'AM', '%': '%',
  }
  return format.replace(/%(.)/g, (directive, letter: string) => parts[letter] ?? directive)
}

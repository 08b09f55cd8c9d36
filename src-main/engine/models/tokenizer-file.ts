// tokenizer.json and tokenizer_config.json, checked: what the tokenizer and the chat template need from them.
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import type { AddedToken } from './added-tokens.ts'
import { checkFile, readJsonFile, readOptionalJsonFile } from './json-file.ts'

/** How token strings spell bytes: GPT-2's visible letters for bytes, or SentencePiece pieces with <0xNN> for the rest. */
export type ByteScheme = 'byte-level' | 'byte-fallback'

/** A checked tokenizer. `json` is what the byte-pair library reads; control tokens are taken out of it. */
export interface TokenizerFile {
  readonly file: string
  readonly json: Readonly<Record<string, unknown>>
  readonly config: Readonly<Record<string, unknown>>
  readonly scheme: ByteScheme
  /** Token strings by id; ids may have holes. */
  readonly vocabulary: ReadonlyMap<number, string>
  readonly addedTokens: readonly AddedToken[]
  readonly unknownToken: string | null
  /** The decoder drops one space at the very beginning of a text (SentencePiece's dummy prefix). */
  readonly stripsLeadingSpace: boolean
}

const REMEDY = 'Copy the tokenizer files of this model again.'

const addedTokenSchema = z.object({
  id: z.number().int().nonnegative(),
  content: z.string(),
  special: z.boolean().optional(),
  lstrip: z.boolean().optional(),
  rstrip: z.boolean().optional(),
  single_word: z.boolean().optional(),
  normalized: z.boolean().optional(),
})

const typed = z.looseObject({ type: z.string() }).nullish()

const tokenizerSchema = z.looseObject(
  {
    model: z.looseObject(
      {
        type: z.string().optional(),
        vocab: z.custom<Record<string, number>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must map tokens to ids'),
        merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])]), 'must be a list of pairs'),
        byte_fallback: z.boolean().nullish(),
        unk_token: z.string().nullish(),
      },
      'must describe a byte-pair (BPE) model',
    ),
    added_tokens: z.array(addedTokenSchema, 'must be a list of tokens').nullish(),
    normalizer: typed,
    pre_tokenizer: typed,
    post_processor: typed,
    decoder: typed,
  },
  'must hold one JSON object',
)

const configSchema = z.looseObject({}, 'must hold one JSON object')

/** Reads a folder's tokenizer files. @throws UserError naming file and field. */
export async function readTokenizerFile(folder: string): Promise<TokenizerFile> {
  const file = join(folder, 'tokenizer.json')
  const json = await readJsonFile(file, 'A model needs its tokenizer.json; a SentencePiece tokenizer.model alone cannot be read.')
  const config = await readOptionalJsonFile(join(folder, 'tokenizer_config.json'))
  return parseTokenizerFile(json, config ?? {}, file, join(folder, 'tokenizer_config.json'))
}

/** The pure part of {@link readTokenizerFile}. The file names only serve the errors. */
export function parseTokenizerFile(json: unknown, config: unknown, file = 'tokenizer.json', configFile = 'tokenizer_config.json'): TokenizerFile {
  const kind = z.looseObject({ model: z.looseObject({ type: z.string() }) }).safeParse(json)
  if (kind.success && kind.data.model.type !== 'BPE') {
    throw new UserError({
      code: 'bad-input',
      what: `a tokenizer of type ${kind.data.model.type} is not supported`,
      place: { file, field: 'model.type' },
      expected: 'BPE',
      remedy: 'Choose a model of a supported family.',
    })
  }
  const fields = checkFile(tokenizerSchema, json, file, REMEDY)
  const addedTokens = (fields.added_tokens ?? []).map(addedTokenOf)
  const vocabulary = vocabularyOf(fields.model.vocab, addedTokens, file)
  const decoders = stepsOf(fields.decoder, 'decoders')
  const preTokenizers = stepsOf(fields.pre_tokenizer, 'pretokenizers')
  return {
    file,
    json: withoutControls(fields, addedTokens),
    config: checkFile(configSchema, config, configFile, REMEDY),
    scheme: schemeOf(decoders, file),
    vocabulary,
    addedTokens,
    unknownToken: fields.model.unk_token ?? null,
    stripsLeadingSpace: decoders.some((step) => step['type'] === 'Strip' && step['content'] === ' ' && step['start'] === 1) || preTokenizers.some(addsSpace),
  }
}

function addedTokenOf(token: z.infer<typeof addedTokenSchema>): AddedToken {
  const special = token.special ?? false
  return {
    id: token.id,
    content: token.content,
    special,
    lstrip: token.lstrip ?? false,
    rstrip: token.rstrip ?? false,
    singleWord: token.single_word ?? false,
    normalized: token.normalized ?? !special,
  }
}

function vocabularyOf(vocab: Readonly<Record<string, unknown>>, addedTokens: readonly AddedToken[], file: string): Map<number, string> {
  const vocabulary = new Map<number, string>()
  for (const [token, id] of Object.entries(vocab)) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) throw wrongToken(file, token, `its id ${String(id)} is not a whole number from 0`)
    const other = vocabulary.get(id)
    if (other !== undefined) throw wrongToken(file, token, `its id ${id} is also that of "${other}"`)
    vocabulary.set(id, token)
  }
  for (const { id, content } of addedTokens) {
    const other = vocabulary.get(id)
    if (other !== undefined && other !== content) throw wrongToken(file, content, `its id ${id} is also that of "${other}"`)
    vocabulary.set(id, content)
  }
  return vocabulary
}

function wrongToken(file: string, token: string, what: string): UserError {
  return new UserError({ code: 'bad-input', what, place: { file, field: `token ${JSON.stringify(token)}` }, remedy: REMEDY })
}

/** A step (normaliser, decoder, ...) may be one object or a sequence of them. */
function stepsOf(step: Readonly<Record<string, unknown>> | null | undefined, key: 'decoders' | 'pretokenizers'): Readonly<Record<string, unknown>>[] {
  if (step === null || step === undefined) return []
  const inner = step[key]
  return step['type'] === 'Sequence' && Array.isArray(inner) ? inner.filter((own): own is Readonly<Record<string, unknown>> => typeof own === 'object' && own !== null) : [step]
}

function addsSpace(step: Readonly<Record<string, unknown>>): boolean {
  return step['type'] === 'Metaspace' && step['prepend_scheme'] !== 'never'
}

function schemeOf(decoders: readonly Readonly<Record<string, unknown>>[], file: string): ByteScheme {
  const types = decoders.map((step) => step['type'])
  if (types.includes('ByteLevel')) return 'byte-level'
  if (types.includes('ByteFallback') || types.includes('Metaspace')) return 'byte-fallback'
  throw new UserError({
    code: 'bad-input',
    what: `the tokenizer spells no bytes (decoder ${types.length === 0 ? 'none' : types.join(', ')})`,
    place: { file, field: 'decoder' },
    expected: 'ByteLevel, or ByteFallback',
    remedy: 'Choose a model of a supported family.',
  })
}

/**
 * The model without control tokens: some vocabularies list them as ordinary pieces, and then plain text that happens to
 * spell one could become it. The unknown token stays, it stands for characters the vocabulary lacks.
 */
function withoutControls(fields: z.infer<typeof tokenizerSchema>, addedTokens: readonly AddedToken[]): Record<string, unknown> {
  const controls = new Set(addedTokens.filter((token) => token.special && token.content !== fields.model.unk_token).map((token) => token.content))
  const listed = [...controls].some((control) => Object.hasOwn(fields.model.vocab, control))
  const model = !listed
    ? fields.model
    : {
        ...fields.model,
        vocab: Object.fromEntries(Object.entries(fields.model.vocab).filter(([token]) => !controls.has(token))),
        merges: fields.model.merges.filter((merge) => !controls.has(typeof merge === 'string' ? merge.replace(' ', '') : merge.join(''))),
      }
  return {
    normalizer: null,
    post_processor: null,
    decoder: null,
    ...fields,
    pre_tokenizer: withoutDigits(fields.pre_tokenizer),
    model: { ...model, type: 'BPE' },
    added_tokens: [],
  }
}

/** The library takes only 0-9 for digits; the reference takes every number of Unicode, as a pattern says it. */
function withoutDigits(step: Readonly<Record<string, unknown>> | null | undefined): Readonly<Record<string, unknown>> | null {
  if (step === null || step === undefined) return null
  if (Array.isArray(step['pretokenizers'])) return { ...step, pretokenizers: (step['pretokenizers'] as Record<string, unknown>[]).map(withoutDigits) }
  if (step['type'] !== 'Digits') return step
  return { type: 'Split', pattern: { Regex: step['individual_digits'] === true ? '\\p{N}' : '\\p{N}+' }, behavior: 'Isolated', invert: false }
}

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import { resourcePath } from '../../../src-main/engine/runtime/paths.ts'
import { encodePrompts, longestSequence, inspectPromptFile, readPromptFile, splitPrompts } from '../../../src-main/engine/training/prompts.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()

async function fileOf(content: string | Buffer): Promise<string> {
  const path = join(await temporaryFolder(), 'prompts.jsonl')
  await writeFile(path, content)
  return path
}

async function refusal(path: string): Promise<UserError> {
  try {
    await readPromptFile(path)
  } catch (error) {
    if (error instanceof UserError) return error
  }
  throw new Error('the file was accepted')
}

describe('a prompt file', () => {
  it('is read with row numbers, whatever ends its lines', async () => {
    const path = await fileOf('\uFEFF{"id":"a","prompt":"one","split":"heldout"}\r\n\r\n{"prompt":"two\u2028lines","reference":"x","other":1}')
    expect(await readPromptFile(path)).toEqual([
      { id: 'a', prompt: 'one', split: 'heldout', row: 1 },
      { id: 'row-3', prompt: 'two\u2028lines', reference: 'x', row: 3 },
    ])
  })

  it('of the built-in model has no problems', async () => {
    const { rows, problems } = await inspectPromptFile(resourcePath('demo', 'prompts.jsonl'))
    expect(problems).toEqual([])
    expect(rows.length).toBeGreaterThanOrEqual(240)
  })

  it.each([
    ['a row that is not JSON', '{"prompt":"a"}\n{"prompt":\n', { row: 2 }, 'not JSON'],
    ['an empty prompt', '{"prompt":"a"}\n{"prompt":"  "}\n', { row: 2, field: 'prompt' }, 'the prompt is empty'],
    ['a row without a prompt', '{"question":"a"}\n', { row: 1, field: 'prompt' }, 'missing'],
    ['a row that is no object', '["a"]\n', { row: 1 }, 'expected object'],
    ['an id used twice', '{"id":"x","prompt":"a"}\n{"id":"x","prompt":"b"}\n', { row: 2, field: 'id' }, 'already used by row 1'],
    ['an unknown requirement', '{"prompt":"a","requirements":[{"kind":"colour"}]}\n', { row: 1, field: 'requirements.0.kind' }, ''],
    ['a split that is neither', '{"prompt":"a","split":"test"}\n', { row: 1, field: 'split' }, '"train" or "heldout"'],
  ])('with %s is refused, naming file, row and field', async (_, content, place, words) => {
    const path = await fileOf(content)
    const error = await refusal(path)
    expect(error.envelope.code).toBe('bad-input')
    expect(error.envelope.place).toEqual({ file: path, ...place })
    expect(error.message).toContain(words)
  })

  it('counts every bad row and names the first ones', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? '{"prompt":"good"}' : '{"prompt":""}'))
    const error = await refusal(await fileOf(rows.join('\n')))
    expect(error.message).toContain('row 2')
    expect(error.message).toContain('10 bad rows of 20')
    expect(error.message).toContain('row 4, prompt')
    expect(error.message).toContain('and 5 more')
  })

  it('with bytes that are no text, without rows, or missing is refused', async () => {
    expect((await refusal(await fileOf(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a])))).envelope.place.row).toBe(1)
    expect((await refusal(await fileOf('\n\n'))).message).toContain('no prompts')
    expect((await refusal(join(await temporaryFolder(), 'absent.jsonl'))).envelope.code).toBe('not-found')
  })

  it('with one enormous row is refused before it fills the memory', async () => {
    expect((await refusal(await fileOf(`{"prompt":"${'x'.repeat(17 * 1024 * 1024)}`))).message).toContain('longer than')
  })
})

describe('the split', () => {
  const rows = Array.from({ length: 20 }, (_, index) => ({ id: `${index}`, prompt: 'p' }))

  it('follows the rows where they say', () => {
    const own = [{ id: 'a', prompt: 'p', split: 'heldout' as const }, { id: 'b', prompt: 'p', split: 'train' as const }]
    const { train, heldout } = splitPrompts(own, { seed: 1, heldoutShare: 0.9 })
    expect([train.map(({ id }) => id), heldout.map(({ id }) => id)]).toEqual([['b'], ['a']])
  })

  it('draws the share by the seed where they do not', () => {
    const first = splitPrompts(rows, { seed: 1, heldoutShare: 0.2 })
    expect(first.heldout).toHaveLength(4)
    expect(first.train).toHaveLength(16)
    expect(splitPrompts(rows, { seed: 1, heldoutShare: 0.2 })).toEqual(first)
    expect(splitPrompts(rows, { seed: 2, heldoutShare: 0.2 }).heldout).not.toEqual(first.heldout)
  })

  it('always leaves a prompt to train on', () => {
    expect(splitPrompts(rows.slice(0, 2), { seed: 1, heldoutShare: 1 }).train).toHaveLength(1)
    expect(() => splitPrompts([{ id: 'a', prompt: 'p', split: 'heldout' }], { seed: 1, heldoutShare: 0.2 })).toThrow('none is left to train on')
  })
})

describe('prompts against the context', () => {
  it('names row and length of one that leaves no room for a completion', () => {
    const rows = [{ id: 'a', prompt: 'short', row: 1 }, { id: 'b', prompt: 'x'.repeat(30), row: 4 }]
    const encode = ({ prompt }: { prompt: string }): number[] => [...prompt].map((_, index) => index)
    expect(encodePrompts(rows, encode, { contextTokens: 40, maxNewTokens: 10, file: 'p.jsonl' }).map((ids) => ids.length)).toEqual([5, 30])
    expect(() => encodePrompts(rows, encode, { contextTokens: 39, maxNewTokens: 10, file: 'p.jsonl' })).toThrow(/p\.jsonl, row 4, prompt: the prompt has 30 tokens; with 10 new ones/)
  })

  it('and the longest of them with its completion is the length of the run', () => {
    expect(longestSequence([[1, 2, 3], [1, 2, 3, 4, 5], [1]], 160)).toBe(165)
  })
})

import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createJudgeCache, judgeKey, type JudgeVerdict } from '../../../../src-main/engine/rewards/judge/judge-cache.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-judges-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Counts how often it is asked. */
function counted(verdict: JudgeVerdict): { ask: () => Promise<JudgeVerdict>; times: () => number } {
  let times = 0
  return { times: () => times, ask: () => Promise.resolve((times++, verdict)) }
}

describe('the cache of judges', () => {
  it('asks once, also when the same is wanted twice at a time', async () => {
    const cache = createJudgeCache()
    const judge = counted({ score: 7 })
    expect(await Promise.all([cache.verdict('a', judge.ask), cache.verdict('a', judge.ask)])).toEqual([{ score: 7 }, { score: 7 }])
    await cache.verdict('a', judge.ask)
    expect(judge.times()).toBe(1)
    await cache.verdict('b', judge.ask)
    expect(judge.times()).toBe(2)
  })

  it('keeps no failure', async () => {
    const cache = createJudgeCache()
    await expect(cache.verdict('a', () => Promise.reject(new Error('busy')))).rejects.toThrow('busy')
    expect(await cache.verdict('a', counted({ score: 3 }).ask)).toEqual({ score: 3 })
  })

  it('gives a resumed run the answers it was given before', async () => {
    const file = join(folder, 'judges.jsonl')
    const first = createJudgeCache(file)
    await first.verdict('a', counted({ score: 7, lines: [{ line: 2, impact: -1, reason: 'x' }] }).ask)
    await first.verdict('b', counted({ steps: [1, 0, -0.5] }).ask)
    await first.settle()
    const again = createJudgeCache(file)
    const other = counted({ score: 0 })
    expect(await again.verdict('a', other.ask)).toEqual({ score: 7, lines: [{ line: 2, impact: -1, reason: 'x' }] })
    expect(await again.verdict('b', other.ask)).toEqual({ steps: [1, 0, -0.5] })
    expect(other.times()).toBe(0)
  })

  it('reads past damaged lines, and writes nothing onto half of one', async () => {
    const file = join(folder, 'damaged.jsonl')
    await writeFile(file, '{"key":"a","verdict":{"score":7}}\nrubbish\n{"key":"b","verdict":{"score":700}}\n[]\n')
    await appendFile(file, '{"key":"c","verd')
    const cache = createJudgeCache(file)
    const judge = counted({ score: 1 })
    expect(await cache.verdict('a', judge.ask)).toEqual({ score: 7 })
    expect(await cache.verdict('b', judge.ask)).toEqual({ score: 1 })
    expect(await cache.verdict('c', judge.ask)).toEqual({ score: 1 })
    await cache.settle()
    expect((await readFile(file, 'utf8')).split('\n').slice(-3)).toEqual(['{"key":"b","verdict":{"score":1}}', '{"key":"c","verdict":{"score":1}}', ''])
  })

  it('says when it cannot be written', async () => {
    const cache = createJudgeCache(join(folder, 'file-as-folder', 'judges.jsonl'))
    await writeFile(join(folder, 'file-as-folder'), '')
    await expect(cache.verdict('a', counted({ score: 1 }).ask).then(() => cache.settle())).rejects.toThrow(/a file stands where a folder is needed/)
  })
})

describe('the key of a question', () => {
  it('differs with every part and with where parts end', () => {
    const keys = [judgeKey('a', 'b'), judgeKey('ab'), judgeKey('a', 'c'), judgeKey('a', '', 'b'), judgeKey(Uint8Array.of(97), 'b', '')]
    expect(new Set(keys).size).toBe(keys.length)
    expect(judgeKey('a', 'b')).toBe(judgeKey(Uint8Array.of(97), 'b'))
  })
})

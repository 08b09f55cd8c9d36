import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import * as zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DataRow, DataSource } from '../../../src-main/engine/data/data-source.ts'
import { openDataset } from '../../../src-main/engine/data/open-dataset.ts'

// Written by pandas 3.1.1 with pyarrow 26.0.1: 25 rows {question, answer, level, big, messages} in groups of 10.
const parquet = (packing: string): string => resolve(import.meta.dirname, 'fixtures', `sums-${packing}.parquet`)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-data-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, contents: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, contents)
  return path
}

async function using<Value>(path: string, use: (source: DataSource) => Promise<Value>): Promise<Value> {
  const source = await openDataset(path)
  try {
    return await use(source)
  } finally {
    await source.close()
  }
}

async function scanned(source: DataSource): Promise<DataRow[]> {
  const rows: DataRow[] = []
  for await (const row of source.scan()) rows.push(row)
  return rows
}

describe('a dataset', () => {
  it.each([
    ['rows.jsonl', '{"a": 1}\n{"a": "é"}\n', 'jsonl'],
    ['one.json', '[{"a": 1},\n{"a": "é"}]', 'json'],
    ['lines.json', '{"a": 1}\n{"a": "é"}\n', 'jsonl'],
    ['inside.json', '{"version": 2,\n"data": [{"a": 1}, {"a": "é"}]}', 'json'],
    ['marked.jsonl', '\uFEFF{"a": 1}\n{"a": "é"}', 'jsonl'],
    ['nameless', '{"a": 1}\n{"a": "é"}', 'jsonl'],
  ])('%s is read, whatever its JSON is like', async (name, text, format) => {
    await using(file(name, text), async (source) => {
      expect(source.format).toBe(format)
      expect((await scanned(source)).map(({ value }) => value)).toEqual([{ a: 1 }, { a: 'é' }])
      expect((await source.read(1, 5)).map(({ value }) => value)).toEqual([{ a: 'é' }])
      expect(await source.count()).toBe(2)
    })
  })

  it.each([
    ['comma.csv', 'q,a\nx,"1,5"\ny,2\n'],
    ['semicolon.csv', '\uFEFFq;a\r\nx;1,5\r\ny;2\r\n'],
    ['tabs.tsv', 'q\ta\nx\t1,5\ny\t2'],
  ])('%s is a table', async (name, text) => {
    await using(file(name, text), async (source) => {
      expect((await scanned(source)).map(({ value }) => value)).toEqual([{ q: 'x', a: '1,5' }, { q: 'y', a: '2' }])
      expect((await source.read(1, 1))[0]).toMatchObject({ index: 1, line: 3 })
    })
  })

  it('names bad rows by their line, and goes on', async () => {
    await using(file('bad.jsonl', Buffer.concat([Buffer.from('{"a": 1}\nnot JSON\n[1]\n'), Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), Buffer.from('{"a": 2}\n')])), async (source) => {
      expect((await scanned(source)).map(({ line, value, problem }) => [line, value === null ? problem.replace(/ \(.*/, '') : value['a']])).toEqual([[1, 1], [2, 'the row is not JSON'], [3, 'the row is not an object with fields'], [4, 'the row is not UTF-8 text'], [5, 2]])
    })
    await using(file('bad.csv', 'a,b\n1,2,3\n4\n'), async (source) => {
      expect((await scanned(source)).map(({ value, problem }) => value ?? problem)).toEqual([expect.stringMatching(/3 cells, the heading 2/), { a: '4', b: '' }])
    })
  })

  it.each(['snappy', 'gzip'])('in Parquet packed with %s is read anywhere', async (packing) => {
    await using(parquet(packing), async (source) => {
      expect([source.format, source.total()]).toEqual(['parquet', 25])
      const rows = await source.read(8, 4)
      expect(rows.map(({ index, line, value }) => [index, line, value?.['question'], value?.['level']])).toEqual([8, 9, 10, 11].map((at) => [at, at + 1, `What is ${at} + ${at}?`, at]))
      expect(rows[0]?.value).toMatchObject({ big: (2n ** 60n + 8n).toString(), messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Add 8 and 8.' }] })
      expect(await scanned(source)).toHaveLength(25)
      expect(await source.read(24, 10)).toHaveLength(1)
    })
  })

  it('in Parquet packed with Zstandard is read where Node can, and refused in words where it cannot', async () => {
    const reading = using(parquet('zstd'), (source) => source.read(0, 1))
    if ('zstdDecompressSync' in zlib) expect((await reading)[0]?.value).toMatchObject({ answer: '0' })
    else await expect(reading).rejects.toThrow(/Zstandard.*Node 22\.15/s)
  })

  it('may be a folder of several files, read as one', async () => {
    const place = join(folder, 'several')
    mkdirSync(join(place, 'data'), { recursive: true })
    writeFileSync(join(place, 'README.md'), 'about')
    writeFileSync(join(place, 'data', 'test.jsonl'), '{"a": 3}\n')
    writeFileSync(join(place, 'data', 'train-1.jsonl'), '{"a": 1}\n{"a": 2}\n')
    await using(place, async (source) => {
      expect(await source.read(1, 5)).toMatchObject([{ index: 1, value: { a: 1, file: 'train-1.jsonl' } }, { index: 2, value: { a: 2 } }])
      expect((await scanned(source)).map(({ index, value }) => [index, value?.['a'], value?.['file']])).toEqual([[0, 3, 'test.jsonl'], [1, 1, 'train-1.jsonl'], [2, 2, 'train-1.jsonl']])
      expect(await source.count()).toBe(3)
      expect(source.total()).toBe(3)
    })
  })

  it('may be a folder of texts, one row a file', async () => {
    const place = join(folder, 'texts')
    mkdirSync(place)
    writeFileSync(join(place, 'a.txt'), 'first\ntext')
    writeFileSync(join(place, 'b.md'), 'second')
    await using(place, async (source) => {
      expect((await scanned(source)).map(({ value }) => value)).toEqual([{ text: 'first\ntext', file: 'a.txt' }, { text: 'second', file: 'b.md' }])
    })
  })

  it.each([
    ['empty.jsonl', '', /the file is empty/],
    ['picture.png', Buffer.from([0x89, 0x50, 0x4e, 0x47]), /no dataset Satchel knows/],
    ['binary.jsonl', Buffer.from([0x7b, 0, 0, 0]), /is not text/],
    ['sixteen.csv', Buffer.from('\uFEFFa,b\n', 'utf16le'), /UTF-16.*Save it again as UTF-8/s],
    ['cut.parquet', Buffer.from('PAR1 and no footer'), /no whole Parquet file/],
  ])('%s is refused in words', async (name, contents, message) => {
    await expect(openDataset(file(name, contents))).rejects.toThrow(message)
  })

  it('says so when there is nothing, or a folder holds none', async () => {
    await expect(openDataset(join(folder, 'absent.jsonl'))).rejects.toThrow(/does not exist/)
    mkdirSync(join(folder, 'bare'))
    await expect(openDataset(join(folder, 'bare'))).rejects.toThrow(/no dataset lies in this folder/)
  })
})

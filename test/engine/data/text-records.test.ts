import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRecordIndex } from '../../../src-main/engine/data/record-index.ts'
import { guessDelimiter, splitRow } from '../../../src-main/engine/data/separated-values.ts'
import { readRecords } from '../../../src-main/engine/data/text-records.ts'
import type { RecordKind } from '../../../src-main/engine/data/text-records.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-records-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(text: string): string {
  const path = join(folder, 'records')
  writeFileSync(path, text)
  return path
}

async function all(text: string, kind: RecordKind): Promise<[line: number, text: string][]> {
  const found: [number, string][] = []
  for await (const { line, bytes } of readRecords(file(text), kind)) found.push([line, bytes.toString('utf8')])
  return found
}

describe('records of a text file', () => {
  it('are lines, blank ones left out and counted', async () => {
    expect(await all('a\n\n  \nb\r\nc', 'lines')).toEqual([[1, 'a'], [4, 'b\r'], [5, 'c']])
  })

  it('are rows of a table, also where a quoted cell holds line ends', async () => {
    expect(await all('h,i\n"1\n2",3\n4,"say ""x\n"""\n', 'quoted')).toEqual([[1, 'h,i'], [2, '"1\n2",3'], [4, '4,"say ""x\n"""']])
  })

  it('are the elements of a JSON array, whatever stands inside them', async () => {
    expect(await all('[ {"a": "],\\"{"},\n [1, [2]] , "x,y",\n3\n]', 'elements')).toEqual([[1, '{"a": "],\\"{"}'], [2, '[1, [2]]'], [2, '"x,y"'], [3, '3']])
  })

  it('are found in an array inside an object', async () => {
    expect((await all('{"name": "[", "rows": [{"a": 1}, {"a": 2}], "more": [3]}', 'elements')).map(([, text]) => text)).toEqual(['{"a": 1}', '{"a": 2}'])
  })

  it('are none in an empty array', async () => {
    expect(await all('[]', 'elements')).toEqual([])
  })

  it('say which file is missing', async () => {
    await expect(readRecords(join(folder, 'absent'), 'lines').next()).rejects.toThrow(/absent: the file does not exist/)
  })

  it('are whole where they lie over the pieces a file is read in', async () => {
    const long = 'x'.repeat(300_000)
    expect(await all(`${long}\n${long}1\ny\n`, 'lines')).toEqual([[1, long], [2, `${long}1`], [3, 'y']])
    expect((await all(`["${long}", "${long}]"]`, 'elements')).map(([, text]) => text.length)).toEqual([300_002, 300_003])
  })
})

describe('the index', () => {
  it.each<[RecordKind, (count: number) => string, (at: number) => string]>([
    ['lines', (count) => Array.from({ length: count }, (_, at) => `row ${at}`).join('\n'), (at) => `row ${at}`],
    ['quoted', (count) => Array.from({ length: count }, (_, at) => `"row\n${at}",x`).join('\n'), (at) => `"row\n${at}",x`],
    ['elements', (count) => JSON.stringify(Array.from({ length: count }, (_, at) => ({ at }))), (at) => `{"at":${at}}`],
  ])('reads %s anywhere, in any order, as often as asked', async (kind, write, expected) => {
    const index = createRecordIndex(file(write(1000)), kind)
    for (const offset of [700, 0, 255, 256, 257, 990]) {
      const texts = (await index.read(offset, 5)).map(({ bytes }) => bytes.toString('utf8'))
      expect(texts).toEqual(Array.from({ length: 5 }, (_, at) => expected(offset + at)))
    }
    expect(await index.read(998, 10)).toHaveLength(2)
    expect(await index.read(5000, 10)).toEqual([])
    expect([index.known, index.complete]).toEqual([1000, true])
    await index.close()
  })

  it('looks no further than it is asked', async () => {
    const index = createRecordIndex(file(Array.from({ length: 1000 }, (_, at) => at).join('\n')), 'lines')
    await index.read(0, 10)
    expect([index.known, index.complete]).toEqual([10, false])
    await index.close()
  })

  it('knows the line of a record', async () => {
    const index = createRecordIndex(file(Array.from({ length: 600 }, (_, at) => `"${at}\n"`).join('\n')), 'quoted')
    expect((await index.read(500, 1))[0]?.line).toBe(1001)
    await index.close()
  })

  it('can be stopped while it counts, and goes on later', async () => {
    const index = createRecordIndex(file(Array.from({ length: 10_000 }, (_, at) => at).join('\n')), 'lines')
    await expect(index.extend(Infinity, () => { throw new Error('enough') })).rejects.toThrow('enough')
    await index.extend(Infinity)
    expect(index.known).toBe(10_000)
    await index.close()
  })
})

describe('rows of CSV', () => {
  it('give back the cells they were written from', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', ' ', 'é') })
    fc.assert(fc.property(fc.array(cell, { minLength: 1, maxLength: 6 }), (cells) => {
      const row = cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')
      expect(splitRow(row, ',')).toEqual(cells)
    }))
  })

  it('may leave quotes out, and end as Windows has it', () => {
    expect(splitRow('a, b ,,"c"\r', ',')).toEqual(['a', ' b ', '', 'c'])
  })

  it.each([['a,b,c', ','], ['a;b;c,d', ';'], ['a\tb', '\t'], ['"a,b"|c|d', '|']])('%j is divided by %j', (row, delimiter) => {
    expect(guessDelimiter(row)).toBe(delimiter)
  })
})

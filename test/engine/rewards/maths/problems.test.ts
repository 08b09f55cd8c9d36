import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../../src-main/contract/reward-config.ts'
import { importAime, parseCsv } from '../../../../src-main/engine/rewards/maths/aime.ts'
import { scoreSolution } from '../../../../src-main/engine/rewards/maths/maths-scorer.ts'
import { problemKinds } from '../../../../src-main/engine/rewards/maths/problem-kinds.ts'
import { diceOf, makeProblems, writeSolution, type Level } from '../../../../src-main/engine/rewards/maths/problems.ts'
import { createStream } from '../../../../src-main/engine/runtime/random.ts'

const config = rewardConfig({ recipe: 'maths' })
const noAlgebra = (): never => {
  throw new Error('whole numbers need no algebra library')
}

describe('made problems', () => {
  const rows = makeProblems({ seed: 1, count: 150, levels: [1, 2, 3], instructions: true })
  test('the same seed makes the same, another seed makes others, none twice', () => {
    expect(makeProblems({ seed: 1, count: 150, levels: [1, 2, 3], instructions: true })).toEqual(rows)
    expect(new Set(rows.map(({ prompt }) => prompt)).size).toBe(150)
    const others = new Set(makeProblems({ seed: 2, count: 150, levels: [1, 2, 3], instructions: true }).map(({ prompt }) => prompt))
    expect(rows.filter(({ prompt }) => others.has(prompt)).length).toBeLessThan(15)
  })
  test.each(Object.entries(problemKinds).flatMap(([level, kinds]) => Object.keys(kinds).map((kind) => [level, kind] as const)))('level %s, %s: every worked solution earns all there is', async (level, kind) => {
    for (let index = 0; index < 25; index++) {
      const problem = problemKinds[Number(level) as Level][kind]!(diceOf(createStream(7, kind, index)))
      if (problem.answer < 0 || problem.answer > 999) continue
      const scored = await scoreSolution({ id: '', row: { id: '', prompt: problem.question, answer: String(problem.answer) }, text: writeSolution(problem) }, config, noAlgebra)
      expect(scored, problem.question).toMatchObject({ stages: { render: true }, outcome: 1, audit: { failures: [] } })
      // 3 * (1 + 0.2 / 3): the bonus reaches r as it is.
      expect(config.globalWeight * scored.global).toBeCloseTo(3.2, 12)
      expect(scored.spans.filter(({ value }) => value < 0), problem.question).toEqual([])
      expect(scored.spans.filter(({ value }) => value > 0).length, writeSolution(problem)).toBeGreaterThanOrEqual(new Set(problem.steps).size / 2)
    }
  })
})

describe('the public list of AIME problems', () => {
  let folder: string
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'aime-'))))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const load = async (text: string | Uint8Array) => {
    const file = join(folder, 'list.csv')
    await writeFile(file, text)
    return importAime(file, false)
  }
  test('quotes, commas and line ends inside fields are read', async () => {
    const rows = await load('\uFEFFID,Year,Problem Number,Question,Answer,Part\r\n1983-1,1983,1,"Let $x$, ""y"" and\nz be, so.",060,\r\n2000-I-2,2000,2,Find it.,9,I\r\n')
    expect(rows).toEqual([
      { id: '1983-1', prompt: 'Let $x$, "y" and\nz be, so.', answer: '60', data: { year: 1983, number: 1 } },
      { id: '2000-I-2', prompt: 'Find it.', answer: '9', data: { year: 2000, number: 2, part: 'I' } },
    ])
  })
  test('columns may stand in another order, and the name may be left to year and number', async () => {
    expect(await load('answer,question,year,problem number\n5,Why?,1999,3\n')).toEqual([{ id: '1999-3', prompt: 'Why?', answer: '5', data: { year: 1999, number: 3 } }])
  })
  test.each([
    ['no heading', '', /column Question, Answer, ID.*is missing/],
    ['a missing column', 'ID,Question\na,b\n', /row 1.*column Answer is missing/],
    ['an answer that is no number', 'ID,Question,Answer\na,b,5\nc,d,x^2\n', /row 3, Answer.*"x\^2" is not a whole number from 0 to 999/],
    ['an answer out of range', 'ID,Question,Answer\na,b,1000\n', /row 2, Answer.*"1000"/],
    ['an empty question', 'ID,Question,Answer\na, ,5\n', /row 2, Question.*empty/],
    ['a problem twice', 'ID,Question,Answer\na,b,5\na,c,6\n', /row 3, ID.*already in row 2/],
    ['a row that is too short', 'ID,Question,Answer\na,b\n', /row 2.*2 columns, the heading 3/],
    ['an open quote', 'ID,Question,Answer\na,"b,5\n', /row 2.*never closed/],
    ['several bad rows are counted', 'ID,Question,Answer\na,b,y\nc,,5\nd,e,6\n', /2 bad rows of 3/],
  ])('%s is refused with its place', async (_name, text, message) => {
    await expect(load(text)).rejects.toThrow(message)
  })
  test('another encoding and a missing file are said', async () => {
    await expect(load(new Uint8Array([0x49, 0x44, 0xff, 0x0a]))).rejects.toThrow(/UTF-8/)
    await expect(importAime(join(folder, 'none.csv'), false)).rejects.toThrow(/does not exist/)
  })
  test('a field that ends the file', () => expect(parseCsv('a,', 'x').map(({ fields }) => fields)).toEqual([['a', '']]))
})

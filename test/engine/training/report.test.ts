import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import { openPictureStore } from '../../../src-main/engine/rewards/screenshots/picture-store.ts'
import { programHash } from '../../../src-main/engine/rewards/screenshots/screenshots.ts'
import { lineChart, niceTicks, thin } from '../../../src-main/engine/training/report-chart.ts'
import { renderReport, writeReport, writeRunReport } from '../../../src-main/engine/training/report.ts'
import type { RunData } from '../../../src-main/engine/training/report.ts'
import { createRunFolder } from '../../../src-main/engine/training/run-folder.ts'
import { exampleDescription, exampleEvaluation, exampleRollout, useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()

function exampleRun(changes: Partial<RunData> = {}): RunData {
  return {
    name: 'demo-1', directory: '/runs/demo-1', description: exampleDescription(), pictures: 0, pages: new Map(), unreadable: 0,
    metrics: [1, 2, 3, 4].map((step) => ({ step, values: { reward: step / 4 - 1, compile_rate: step / 4, entropy: null, 'time/step': 30 } })),
    evaluations: [exampleEvaluation(0, 2), exampleEvaluation(2, 18), exampleEvaluation(4, 15)],
    rollouts: [exampleRollout(4, 0), exampleRollout(4, 1)], changes: [],
    ...changes,
  }
}

describe('the report', () => {
  it('says what was changed on the way, and where on the curves', () => {
    const { document } = parseHTML(renderReport([exampleRun({ changes: [{ step: 3, field: 'optimizer.learningRate', from: 0.001, to: 0.0005, time: '2026-11-30T10:00:00.000Z' }] })]))
    const row = [...document.querySelectorAll('section')].find((section) => section.querySelector('h2')?.textContent === 'Changed on the way')?.querySelectorAll('tbody td') ?? []
    expect([...row].map((cell) => cell.textContent)).toEqual(['optimizer.learningRate', '3', '0.001', '0.0005', '2026-11-30T10:00:00.000Z'])
    expect(document.querySelectorAll('svg .mark').length).toBe(document.querySelectorAll('svg').length)
    expect(parseHTML(renderReport([exampleRun()])).document.querySelectorAll('.mark')).toHaveLength(0)
  })

  it('is one page that loads nothing and runs nothing', () => {
    const html = renderReport([exampleRun()])
    const { document } = parseHTML(html)
    expect(document.querySelectorAll('script, link, img, iframe, object')).toHaveLength(0)
    expect(html).not.toMatch(/https?:|url\(|@import| on\w+=/)
    expect(document.querySelector('meta[http-equiv]')?.getAttribute('content')).toContain("default-src 'none'")
    expect(document.querySelector('h1')?.textContent).toBe('Run demo-1')
  })

  it('shows the pages of samples whose pictures the run kept, each in the page itself', async () => {
    const folder = await createRunFolder(await temporaryFolder(), exampleDescription())
    const first = exampleEvaluation(0, 2)
    const [sample] = first.samplesShown
    if (sample === undefined) throw new Error('the example evaluation shows no sample')
    await folder.writeEvaluation(first)
    const facts = { consoleErrors: [], pageErrors: [], text: '', elements: 1, distinctPixels: 9, uniform: false, milliseconds: 1 }
    await openPictureStore(join(folder.directory, 'screenshots')).write(programHash(sample.text), { png: Buffer.from('a picture'), facts })
    const { document } = parseHTML(await readFile(await writeRunReport(folder.directory), 'utf8'))
    const pictures = [...document.querySelectorAll('img')]
    expect(pictures.map((picture) => picture.getAttribute('alt'))).toEqual(['The page of the sample of step 0'])
    expect(pictures[0]?.getAttribute('src')).toBe(`data:image/png;base64,${Buffer.from('a picture').toString('base64')}`)
    expect(document.querySelector('meta[http-equiv]')?.getAttribute('content')).toContain('img-src data:')
    await folder.close()
  })

  it('begins with the answer: from where to where, how far below its peak, when it crossed which level', () => {
    const { document } = parseHTML(renderReport([exampleRun()]))
    const cells = [...(document.querySelector('section table tbody tr')?.querySelectorAll('td') ?? [])].map((cell) => cell.textContent)
    expect(cells).toEqual(['demo-1', 'bot-grpo, seed 1', '4 of 4', '10.0 % 0.0 % to 100.0 %', '75.0 % 0.0 % to 100.0 %', '15.0 %', '2 / 2 / 2', '10.0 % to 75.0 %', '0.0 % 0.0 % to 16.0 %', '2 min 0 s'])
  })

  it('speaks the words of the recipe, and of several recipes those they share', () => {
    const description = exampleDescription()
    const maths = exampleRun({ name: 'sums', description: { ...description, config: { ...description.config, reward: rewardConfig({ recipe: 'maths' }) } } })
    const textOf = (runs: readonly RunData[]): string => parseHTML(renderReport(runs)).document.querySelector('main')?.textContent ?? ''
    const own = textOf([maths])
    for (const words of ['right, first', 'gives an answer', 'Right answers', 'is not right']) expect(own).toContain(words)
    expect(own).not.toMatch(/compile|requirement/i)
    const both = textOf([maths, exampleRun()])
    expect(both).toContain('passes, first')
    expect(both).toContain('type-checks')
    expect(both).toContain('gives an answer')
  })

  it('shows what models wrote as text, never as markup', () => {
    const nasty = '<script>alert(1)</script><img src=x onerror=alert(1)>'
    const sample = { promptId: 'counter-01', prompt: nasty, text: nasty, compiles: false, requirementScore: 0 }
    const rollout = { ...exampleRollout(4, 0), prompt: nasty, text: nasty, starts: [0, 10], ends: [10, nasty.length], ids: [1, 2] }
    const run = exampleRun({ name: nasty, evaluations: [{ ...exampleEvaluation(0, 1), samplesShown: [sample] }], rollouts: [rollout] })
    const { document } = parseHTML(renderReport([run]))
    expect(document.querySelectorAll('script, img')).toHaveLength(0)
    expect([...document.querySelectorAll('pre')].some((block) => block.textContent === nasty)).toBe(true)
  })

  it('paints each token by its advantage and keeps the text whole', () => {
    const { document } = parseHTML(renderReport([exampleRun()]))
    const painted = [...document.querySelectorAll('pre')].find((block) => block.querySelector('span[title]') !== null)
    expect(painted?.textContent).toBe(exampleRollout(4, 0).text.slice(0, 6))
    expect([...(painted?.querySelectorAll('span') ?? [])].map((token) => token.getAttribute('style'))).toEqual([expect.stringContaining('40, 160, 90'), expect.stringContaining('220, 60, 60')])
  })

  it('sets several runs beside each other in every chart', () => {
    const { document } = parseHTML(renderReport([exampleRun(), exampleRun({ name: 'demo-2' })]))
    expect(document.querySelectorAll('.legend span')).toHaveLength(2)
    for (const chart of document.querySelectorAll('svg')) expect(chart.querySelectorAll('polyline, circle').length).toBeGreaterThanOrEqual(2)
  })

  it('of a run that has done nothing yet is a page all the same', () => {
    const html = renderReport([exampleRun({ metrics: [], evaluations: [], rollouts: [] })])
    expect(html).toContain('Nothing yet.')
    expect(html).not.toContain('NaN')
  })

  it('is written into the run folder, or where it is wanted', async () => {
    const directory = join(await temporaryFolder(), 'run')
    const folder = await createRunFolder(directory, exampleDescription())
    await folder.writeEvaluation(exampleEvaluation(0, 2))
    await folder.close()
    expect(await writeRunReport(directory)).toBe(join(directory, 'report.html'))
    expect(await readFile(join(directory, 'report.html'), 'utf8')).toContain('10.0 %')
    const elsewhere = join(directory, '..', 'elsewhere', 'both.html')
    await writeReport([directory, directory], elsewhere)
    expect(await readFile(elsewhere, 'utf8')).toContain('<h1>2 runs</h1>')
  })
})

describe('a chart', () => {
  it('puts every number inside its frame, whatever the data', () => {
    for (const ys of [[0], [5, 5, 5], [-1e6, 1e6], [1e-9, 2e-9], [0, 1]]) {
      const svg = lineChart('x', [{ label: 'a', colour: '#000', line: ys.map((y, x) => ({ x, y })), dots: ys.map((y, x) => ({ x, y, low: y - 1, high: y + 1 })) }])
      const numbers = [...svg.matchAll(/(?:points|c[xy]|[xy][12]?)="([^"]*)"/g)].flatMap(([, text]) => text!.split(/[ ,]/).map(Number))
      expect(numbers.every((value) => value >= 0 && value <= 420), svg).toBe(true)
    }
  })

  it('has round ticks that span the data', () => {
    expect(niceTicks(0, 1, 4)).toEqual([0, 0.5, 1])
    expect(niceTicks(-1.8, 0.9, 4)).toEqual([-2, -1, 0, 1])
    expect(niceTicks(3, 3, 4)).toEqual([3])
  })

  it('keeps the peaks of a long line', () => {
    const points = Array.from({ length: 10_000 }, (_, x) => ({ x, y: x === 7777 ? 100 : x === 1234 ? -100 : 0 }))
    const kept = thin(points, 400)
    expect(kept.length).toBeLessThanOrEqual(400)
    expect(kept.some(({ y }) => y === 100) && kept.some(({ y }) => y === -100)).toBe(true)
    expect(kept.every((point, index) => index === 0 || point.x > kept[index - 1]!.x)).toBe(true)
  })
})

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMetricsIndex } from '../../src-main/app/metrics-index.ts'
import type { MetricsIndex } from '../../src-main/app/metrics-index.ts'

let folder: string
let file: string
let index: MetricsIndex

const line = (step: number, values: Record<string, number | null> = { reward: step }): string => `${JSON.stringify({ step, values })}\n`
const steps = (): number[] => Array.from({ length: index.length }, (_, at) => index.row(at).step)
const whole = { from: 0, to: 1e9, columns: 10_000 }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-index-'))
  file = join(folder, 'metrics.jsonl')
  index = createMetricsIndex(file)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the index of metrics', () => {
  it('is empty without a file, and reads only what was appended since', async () => {
    expect(await index.refresh()).toEqual({ from: 0, rewritten: false })
    writeFileSync(file, line(1) + line(2))
    expect(await index.refresh()).toEqual({ from: 0, rewritten: false })
    appendFileSync(file, line(3))
    expect(await index.refresh()).toEqual({ from: 2, rewritten: false })
    expect(await index.refresh()).toEqual({ from: 3, rewritten: false })
    expect(steps()).toEqual([1, 2, 3])
    expect(index.lastStep).toBe(3)
  })

  it('waits for the end of a line that is being written, wherever it was cut', async () => {
    const text = line(1, { reward: 1, 'rewards/grün/mean': 2 })
    const bytes = Buffer.from(text)
    for (let cut = 0; cut < bytes.length; cut += 1) {
      writeFileSync(file, bytes.subarray(0, cut))
      index = createMetricsIndex(file)
      await index.refresh()
      expect(index.length).toBe(0)
      appendFileSync(file, bytes.subarray(cut))
      await index.refresh()
      expect(index.row(0)).toEqual({ step: 1, values: { reward: 1, 'rewards/grün/mean': 2 } })
      expect(index.unreadable).toBe(0)
    }
  })

  it('begins anew when a resumed run has written its file anew, shorter or longer', async () => {
    writeFileSync(file, line(1) + line(2) + line(3))
    await index.refresh()
    writeFileSync(file, line(1))
    expect(await index.refresh()).toEqual({ from: 0, rewritten: true })
    expect(steps()).toEqual([1])
    writeFileSync(file, line(1, { reward: 9 }) + line(2) + line(3))
    expect((await index.refresh()).rewritten).toBe(true)
    expect(index.row(0).values).toEqual({ reward: 9 })
  })

  it('keeps what a resumed run did the second time, and drops what came after its checkpoint the first time', async () => {
    writeFileSync(file, [1, 2, 3, 4, 3].map((step, order) => line(step, { order })).join(''))
    await index.refresh()
    expect(steps()).toEqual([1, 2, 3])
    expect(index.row(2).values).toEqual({ order: 4 })
  })

  it('knows of metrics that come and go, and never shows a row the value of another', async () => {
    writeFileSync(file, line(1, { reward: 1 }) + line(2, { reward: null, kl: 0.5 }) + line(3, { kl: 0.25 }))
    await index.refresh()
    expect(index.row(1).values).toEqual({ reward: null, kl: 0.5 })
    expect(index.series(whole)).toEqual([
      { name: 'reward', steps: [1], values: [1] },
      { name: 'kl', steps: [2, 3], values: [0.5, 0.25] },
    ])
  })

  it('holds more rows and metrics than it made room for at first', async () => {
    const rows = Array.from({ length: 700 }, (_, at) => line(at + 1, { reward: at, ...(at > 500 ? { late: at } : {}) }))
    writeFileSync(file, rows.join(''))
    await index.refresh()
    const [reward, late] = index.series(whole)
    expect(reward?.values).toEqual(Array.from({ length: 700 }, (_, at) => at))
    expect(late?.steps[0]).toBe(502)
  })

  it('counts lines that are no rows', async () => {
    writeFileSync(file, `nonsense\n{"step":"one","values":{}}\n\n${line(1)}`)
    await index.refresh()
    expect([index.length, index.unreadable]).toEqual([1, 2])
  })
})

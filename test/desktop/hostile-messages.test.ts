// A page gone bad: thousands of messages that are nearly right, to every call of the contract. The app refuses or answers, and lives.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { calls } from '../../src-main/contract/calls.ts'
import type { CallName } from '../../src-main/contract/calls.ts'
import { fakeEngine, openApp } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { sampleRequests } from './sample-request.ts'
import type { SampleRequest } from './sample-request.ts'

const missing = inject('missing')
const messages = 5000
/** Well-formed requests of these start a process each, or those that answer anew; they are asked a few times only. */
const costly: readonly string[] = ['runs.start', 'runs.startDemo', 'runs.dryRun', 'machine.try', 'models.plan', 'rewards.score', 'rewards.check', 'rewards.replay', 'judge.try', 'pages.render', 'settings.change', 'settings.reset', 'settings.resetFolder']
let home: string
let app: OpenedApp
let appWords = ''

/** What the page saw of its own messages: how many were refused, answered, never sent, and refused without a reason. */
interface Tally {
  readonly sent: number
  readonly refused: number
  readonly answered: number
  readonly unsendable: number
  readonly speechless: number
  /** Calls that had no answer after a minute. */
  readonly unanswered: readonly string[]
  readonly tried: Readonly<Record<string, number>>
}

/** Runs in the page. Each message is a well-formed request with one to three changes, or goes to a name that is none. */
async function sendMutated({ samples, count, costlyNames }: { samples: readonly SampleRequest[]; count: number; costlyNames: readonly string[] }): Promise<Tally> {
  type Call = (name: unknown, request: unknown) => Promise<{ ok: boolean; error?: { what?: string } }>
  const { call } = (window as unknown as { satchel: { call: Call } }).satchel
  // A linear congruence (Numerical Recipes) from 1: the same messages on every machine.
  let state = 1
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  const pick = <Value>(list: readonly Value[]): Value => list[below(list.length)] as Value
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  let deep: unknown = []
  for (let level = 0; level < 400; level += 1) deep = [deep]
  const values: (() => unknown)[] = [
    () => null, () => undefined, () => 0, () => -1, () => 1e308, () => Number.NaN, () => Infinity, () => 2 ** 53, () => 0.5, () => '', () => '\u0000', () => '\ud800', () => '../'.repeat(50), () => '/etc/passwd',
    () => 'C:\\Windows\\win.ini', () => 'file:///etc/passwd', () => '__proto__', () => 'x'.repeat(100_000), () => true, () => [], () => ({}), () => [[[[]]]], () => ({ toString: 1 }), () => ({ then: 1 }), () => ({ length: -1 }),
    () => circle, () => deep, () => new Date(Number.NaN), () => new Map([[{}, 1]]), () => new Set([1]), () => 10n, () => /x/g, () => new ArrayBuffer(8), () => new Float32Array(9), () => new Error('mutated'),
    () => Array.from({ length: 3000 }, () => 'y'), () => JSON.parse('{"__proto__": {"polluted": true}}') as unknown, () => () => 1, () => Symbol('s'), () => document.body,
  ]
  const wrongNames = ['', 'toString', '__proto__', 'constructor', 'runs', 'runs.', 'RUNS.LIST', 'runs.list ', 'runs.list\u0000', 'hasOwnProperty', 'x'.repeat(10_000)]
  const fields = ['path', 'directory', 'directories', 'task', 'job', 'config', '__proto__', 'constructor', 'prototype', 'length', 'toJSON', '']

  const mutate = (request: unknown): unknown => {
    if (typeof request !== 'object' || request === null || below(8) === 0) return pick(values)()
    const copy: Record<string, unknown> = { ...request }
    const names = Object.keys(copy)
    const at = names.length === 0 || below(5) === 0 ? pick(fields) : pick(names)
    const kind = below(6)
    if (kind === 0) delete copy[at]
    else if (kind === 1) copy[at] = [copy[at]]
    else if (kind === 2) copy[at] = mutate(copy[at])
    else copy[at] = pick(values)()
    return copy
  }

  const usual = samples.filter(({ name }) => !costlyNames.includes(name))
  const rare = samples.filter(({ name }) => costlyNames.includes(name))
  const tally = { sent: 0, refused: 0, answered: 0, unsendable: 0, speechless: 0, unanswered: [] as string[], tried: {} as Record<string, number> }
  const one = async (index: number): Promise<void> => {
    const sample = (index % 50 === 0 ? rare[(index / 50) % rare.length] : usual[index % usual.length]) as SampleRequest
    let request = mutate(sample.request)
    for (let more = below(3); more > 0; more -= 1) request = mutate(request)
    const name: unknown = below(12) === 0 ? pick([...wrongNames, ...values.map((value) => value())]) : sample.name
    tally.sent += 1
    tally.tried[sample.name] = (tally.tried[sample.name] ?? 0) + 1
    try {
      const outcome = await Promise.race([call(name, request), new Promise<null>((resolve) => setTimeout(() => resolve(null), 60_000))])
      if (outcome === null) tally.unanswered.push(`${String(name)} ${JSON.stringify(request)?.slice(0, 300)}`)
      else if (outcome.ok) tally.answered += 1
      else tally.refused += 1
      if (outcome?.ok === false && (outcome.error?.what ?? '') === '') tally.speechless += 1
    } catch {
      // The browser itself does not let it through: a function, a symbol, an element.
      tally.unsendable += 1
    }
  }
  for (let from = 0; from < count; from += 50) await Promise.all(Array.from({ length: Math.min(50, count - from) }, (_, at) => one(from + at)))
  return tally
}

beforeAll(async () => {
  if (missing !== '') return
  home = mkdtempSync(join(tmpdir(), 'satchel-hostile-'))
  writeFileSync(join(home, 'rows.jsonl'), '{"prompt": "a"}\n')
  // Where a download of the sample's name would go: it is refused before it asks anybody.
  mkdirSync(join(home, 'models', 'sample'), { recursive: true })
  writeFileSync(join(home, 'models', 'sample', 'config.json'), '{}')
  app = await openApp({ home, on: 'Home', environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEPS: '2', HOME: home } })
  app.application.process().stderr?.on('data', (data: Buffer) => (appWords += data.toString('utf8')))
  await app.application.evaluate(({ dialog, shell }) => {
    // A person who closes every dialog, on a desktop that opens nothing.
    dialog.showOpenDialog = async () => ({ canceled: true, filePaths: [] })
    dialog.showSaveDialog = async () => ({ canceled: true, filePath: '' })
    shell.openPath = async () => ''
    shell.showItemInFolder = () => undefined
  })
})
afterAll(async () => {
  if (missing !== '') return
  await app.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

describe.skipIf(missing !== '')(`the app under hostile messages${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('is asked in forms its contract knows', () => {
    for (const { name, request } of sampleRequests('/tmp/x')) expect(calls[name as CallName].request.safeParse(request).success, name).toBe(true)
  })

  it('stands 5,000 of them, to every call, and gives a reason for each refusal', async () => {
    const samples = sampleRequests(join(home, 'rows.jsonl'))
    const before = readdirSync(home).toSorted()
    const tally = await app.page.evaluate(sendMutated, { samples, count: messages, costlyNames: costly })
    expect(Object.keys(tally.tried).toSorted()).toEqual(Object.keys(calls).toSorted())
    expect(tally.sent).toBe(messages)
    // Some mutations are well-formed requests; most are not.
    expect(tally.refused).toBeGreaterThan(messages * 0.6)
    expect(tally.answered).toBeGreaterThan(50)
    expect(tally.speechless).toBe(0)
    expect(tally.unanswered).toEqual([])
    expect(appWords).not.toMatch(/uncaught|unhandled|\bat .*\(file:/i)
    expect(await app.page.evaluate(() => 'polluted' in {})).toBe(false)
    expect(await app.application.evaluate(() => 'polluted' in {})).toBe(false)
    // Nothing was written beside what the app keeps.
    expect(readdirSync(home).filter((name) => !before.includes(name) && !['runs', 'models', 'prompts', 'reports'].includes(name))).toEqual([])
    expect(readFileSync(join(home, 'rows.jsonl'), 'utf8')).toBe('{"prompt": "a"}\n')
  }, 600_000)

  it('still works afterwards', async () => {
    expect(app.application.windows()).toHaveLength(1)
    await app.page.reload()
    await app.page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: 'Models', exact: true }).click()
    await app.page.getByRole('article', { name: 'Built-in model' }).waitFor()
  })
})

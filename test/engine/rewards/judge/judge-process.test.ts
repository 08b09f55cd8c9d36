// A model of our own in its process: it keeps to its time, comes back after it had to be killed, and says what it cannot open.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startJudgeProcess, type JudgeProcess } from '../../../../src-main/engine/rewards/judge/judge-process.ts'
import { resourcePath } from '../../../../src-main/engine/runtime/paths.ts'
import { buildForTests } from '../../../support/build-entries.ts'

const model = resourcePath('demo', 'model')
const patient = (): AbortSignal => AbortSignal.timeout(120_000)
const messages = [{ role: 'system', text: 'You judge.' }, { role: 'user', text: 'counter' }, { role: 'assistant', text: 'SCORE: 7' }, { role: 'user', text: 'Which lines?' }] as const

let child: JudgeProcess
beforeAll(async () => {
  await buildForTests()
  child = await startJudgeProcess({ kind: 'open-model', config: { model, precision: 'fp32', maximumAnswerTokens: 48 } })
})
afterAll(() => child.dispose())

describe('a judge\'s process', () => {
  it('answers in order, the same every time', async () => {
    const answers = await Promise.all([messages, messages.slice(0, 2), messages].map((said) => child.work({ kind: 'ask', messages: said, seconds: 100 }, patient())))
    const texts = answers.map((answer) => (answer.kind === 'text' ? answer.text : answer.kind))
    expect(texts[0]).not.toBe('')
    expect(texts[2]).toBe(texts[0])
    expect(texts[1]).not.toBe(texts[0])
  })

  it('gives up on a question whose time is over, and lives on', async () => {
    await expect(child.work({ kind: 'ask', messages, seconds: 0 }, patient())).rejects.toThrow('no answer within 0 s')
    expect((await child.work({ kind: 'ask', messages, seconds: 100 }, patient())).kind).toBe('text')
  })

  it('refuses a question that is too long, by its number of tokens', async () => {
    await expect(child.work({ kind: 'ask', messages: [{ role: 'user', text: 'word '.repeat(20_000) }], seconds: 100 }, patient())).rejects.toThrow(/the question has \d+ tokens, and the judge reads at most \d+/)
  })

  it('is started again after it had to be killed in the middle of a question', async () => {
    await expect(child.work({ kind: 'ask', messages, seconds: 100 }, AbortSignal.timeout(1))).rejects.toThrow(/no answer in time|given up/)
    const broken = new AbortController()
    const asked = child.work({ kind: 'ask', messages, seconds: 100 }, broken.signal)
    setTimeout(() => broken.abort(), 5)
    await asked.catch(() => undefined)
    expect((await child.work({ kind: 'ask', messages, seconds: 100 }, patient())).kind).toBe('text')
  })
})

it('a process whose model cannot be opened says so in its parent\'s words', async () => {
  await expect(startJudgeProcess({ kind: 'open-step-model', config: { folder: model, separator: '', label: 1, threshold: 0.5, maximumTokens: 100 } })).rejects.toThrow(/reward\.prm\.folder: model\.onnx is missing/)
})

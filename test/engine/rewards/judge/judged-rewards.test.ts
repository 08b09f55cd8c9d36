// Verdicts with judges, over a pool that gives ready-made verdicts and judges that say what a test wants.
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../../src-main/contract/errors.ts'
import { rewardConfig, type RewardConfig } from '../../../../src-main/contract/reward-config.ts'
import type { PromptRow, ScoredCompletion, SourceScore } from '../../../../src-main/contract/rewards.ts'
import { assemble, tokenRewards } from '../../../../src-main/engine/rewards/bus.ts'
import type { JudgeMessage } from '../../../../src-main/engine/rewards/judge/judge-backend.ts'
import { createJudgeCache } from '../../../../src-main/engine/rewards/judge/judge-cache.ts'
import { JudgeFailure } from '../../../../src-main/engine/rewards/judge/judge-failure.ts'
import { readJudgePrompts } from '../../../../src-main/engine/rewards/judge/judge-prompts.ts'
import { createJudgedRewards, type Judge } from '../../../../src-main/engine/rewards/judge/judged-rewards.ts'
import { judgeSteps } from '../../../../src-main/engine/rewards/judge/judge-questions.ts'
import type { PatientJudge } from '../../../../src-main/engine/rewards/judge/patience.ts'
import type { RewardPool } from '../../../../src-main/engine/rewards/reward-pool.ts'

const judge = { kind: 'server', url: 'http://127.0.0.1:1/v1' } as const
const react = rewardConfig({ judge })
const row: PromptRow = { id: 'list', prompt: 'Write a list.' }
const code = "export default function App() {\r\n  const x = 1;\n\n  return <ul><li>{x}</li></ul>;\n}"
const text = `Here it is:\n\`\`\`jsx\n${code}\n\`\`\``

const source = (name: string, global: number, failure?: string): SourceScore => ({ source: name, global, spans: [], milliseconds: 1, ...(failure === undefined ? {} : { failure }) })
const passed = (config: RewardConfig, sources: SourceScore[], render = true): ScoredCompletion => assemble({ sources, stages: { parse: true, types: true, bundle: render, render }, requirementScore: 1, audit: { passed: true, failures: [] } }, config)
const reactSources = [source('compiler', 0), source('lint', -0.1), source('requirements', 1)]

function poolOf(verdict: (text: string) => ScoredCompletion): RewardPool {
  return { score: (items) => Promise.resolve(items.map((item) => verdict(item.text))), warmUp: () => Promise.resolve(), dispose: () => undefined }
}

interface Said extends PatientJudge {
  readonly asked: (readonly JudgeMessage[])[]
}

/** A judge that answers in turn, and then says nothing more. */
function saying(...answers: (string | JudgeFailure)[]): Said {
  const asked: (readonly JudgeMessage[])[] = []
  return {
    model: 'test',
    identity: 'test',
    asked,
    ask(messages) {
      const answer = answers[asked.push(messages) - 1] ?? new JudgeFailure('no more answers', false)
      return typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer)
    },
    dispose: () => undefined,
  }
}

async function score(config: RewardConfig, judges: Judge[], verdict: (text: string) => ScoredCompletion, texts: string[], cache = createJudgeCache()): Promise<ScoredCompletion[]> {
  return createJudgedRewards(poolOf(verdict), { config, judges, cache, dispose: () => undefined }).score(texts.map((own, index) => ({ id: String(index), row, text: own })))
}

const codeJudge = async (by: PatientJudge, turns: 'none' | 'one-turn' | 'two-turn' = 'two-turn'): Promise<Judge> => ({ kind: 'code', source: 'codeJudge', by, prompts: await readJudgePrompts('code', ''), turns })
const sourceIn = (scored: ScoredCompletion | undefined, name: string): SourceScore | undefined => scored?.sources.find((one) => one.source === name)

describe('an answer in the form that is asked of servers', () => {
  it('is read as one in words is', async () => {
    const by = saying('{"reason": "A list, score 2 of them", "lines": [{"line": 2, "impact": -2, "reason": "unused name"}], "score": 7}')
    const [scored] = await score(react, [await codeJudge(by, 'one-turn')], () => passed(react, reactSources), [text])
    expect(sourceIn(scored, 'codeJudge')).toMatchObject({ global: 0.7, spans: [{ value: -0.2, message: 'judge: unused name' }] })
    const steps = await judgeSteps(saying('{"step_1": "right", "step_2": "wrong", "step_3": "unclear"}').ask, await readJudgePrompts('steps', ''), row, ['a', 'b', 'c'])
    expect(steps).toEqual({ steps: [1, -1, 0] })
  })
})

describe('a code judge', () => {
  it('that never came to speak is said to need longer answers', async () => {
    const [scored] = await score(react, [await codeJudge(saying('<think>The page has a list. SCORE: 4?'))], () => passed(react, reactSources), [text])
    expect(sourceIn(scored, 'codeJudge')?.failure).toMatch(/still thinking; raise reward\.judge\.maximumAnswerTokens/)
  })

  it('is asked for the score first and for lines in a second turn, and its lines are places in the completion', async () => {
    const by = saying('Fine.\nSCORE: 8', 'LINE 2: -2 unused name\nLINE 3: -1 blank')
    const [scored] = await score(react, [await codeJudge(by)], () => passed(react, reactSources), [text])
    expect(by.asked.map((messages) => messages.map(({ role }) => role))).toEqual([['system', 'user'], ['system', 'user', 'assistant', 'user']])
    expect(by.asked[0]![1]!.text).toContain('Write a list.')
    expect(by.asked[0]![1]!.text).toContain('2 |   const x = 1;\n3 | \n')
    expect(by.asked[1]![2]!.text).toBe('Fine.\nSCORE: 8')
    const judged = sourceIn(scored, 'codeJudge')
    expect(judged).toMatchObject({ global: 0.8, spans: [{ value: -0.2, message: 'judge: unused name', source: 'codeJudge' }, { value: -0.1, message: 'judge: blank' }] })
    expect(judged?.spans.map(({ start, end }) => text.slice(start, end))).toEqual(['const x = 1;', '\n'])
    // compiler 0 + lint -0.1 + requirements 1 + judge 0.8, all of weight 1
    expect(scored?.global).toBeCloseTo(1.7, 12)
    expect(scored?.outcome).toBe(1)
    expect(scored?.spans).toEqual(judged?.spans)
  })

  it('reaches tokens through the bus like any other source', async () => {
    const [scored] = await score(react, [await codeJudge(saying('SCORE: 8', 'LINE 2: -3 bad'))], () => passed(react, reactSources), [text])
    const at = text.indexOf('const x')
    const { local, rewards } = tokenRewards(scored!, { text, starts: Int32Array.of(0, at), ends: Int32Array.of(at, text.length) }, react)
    expect(local[1]).toBeCloseTo(-0.3, 12)
    expect(rewards[1]).toBeCloseTo(1.7 - 0.5 * 0.3, 12)
  })

  it('may say both in one turn, or the score alone', async () => {
    const one = saying('LINE 4: -3 no key\nSCORE: 6')
    const [both] = await score(react, [await codeJudge(one, 'one-turn')], () => passed(react, reactSources), [text])
    expect(one.asked).toHaveLength(1)
    expect(one.asked[0]![1]!.text).toContain('Name at most three lines')
    expect(sourceIn(both, 'codeJudge')).toMatchObject({ global: 0.6, spans: [{ value: -0.3 }] })
    const alone = saying('LINE 4: -3 no key\nSCORE: 6')
    const [only] = await score(react, [await codeJudge(alone, 'none')], () => passed(react, reactSources), [text])
    expect(sourceIn(only, 'codeJudge')).toMatchObject({ global: 0.6, spans: [] })
  })

  it('counts 0 with the reason when it cannot be read or does not answer, and neighbours keep theirs', async () => {
    const by = saying('It is lovely.', 'SCORE: 9', new JudgeFailure('no answer within 60 s', false))
    const scored = await score(react, [await codeJudge(by, 'none')], () => passed(react, reactSources), [text, `${text} `.replace('x = 1', 'x = 2'), text.replace('x = 1', 'x = 3')])
    expect(scored.map((one) => sourceIn(one, 'codeJudge')).map((one) => [one?.global, one?.failure])).toEqual([[0, 'no score could be read from the answer: It is lovely.'], [0.9, undefined], [0, 'no answer within 60 s']])
    expect(scored[0]?.global).toBeCloseTo(0.9, 12)
  })

  it('keeps its score when only the second answer cannot be read, and that counts as a failure', async () => {
    const [scored] = await score(react, [await codeJudge(saying('SCORE: 8', 'All lines are fine to me'))], () => passed(react, reactSources), [text])
    expect(sourceIn(scored, 'codeJudge')).toMatchObject({ global: 0.8, spans: [], failure: expect.stringContaining('no lines could be read') as string })
  })

  it('is not asked about a page that does not render: the source says 0 and no failure', async () => {
    const by = saying('SCORE: 10')
    const [scored] = await score(react, [await codeJudge(by)], () => passed(react, [source('compiler', -0.8), source('lint', 0), source('requirements', 0)], false), [text])
    expect(by.asked).toHaveLength(0)
    expect(sourceIn(scored, 'codeJudge')).toEqual({ source: 'codeJudge', global: 0, spans: [], milliseconds: 0 })
    expect(scored?.global).toBeCloseTo(-0.8, 12)
  })

  it('is asked once about the same program for the same prompt, whatever stands around it', async () => {
    const by = saying('SCORE: 8', 'NONE')
    const cache = createJudgeCache()
    const judges = [await codeJudge(by)]
    const first = await score(react, judges, () => passed(react, reactSources), [text, `Well. ${text}`], cache)
    const again = await score(react, judges, () => passed(react, reactSources), [text], cache)
    expect(by.asked).toHaveLength(2)
    expect([...first, ...again].map((one) => sourceIn(one, 'codeJudge')?.global)).toEqual([0.8, 0.8, 0.8])
  })

  it('enters the outcome only where it is graded', async () => {
    const graded = rewardConfig({ judge, gradedOutcome: true })
    const [scored] = await score(graded, [await codeJudge(saying('SCORE: 5'), 'none')], () => passed(graded, reactSources), [text])
    expect(scored?.outcome).toBeCloseTo(1.5, 12)
  })

  it('judges code of the code recipe once it loads', async () => {
    const config = rewardConfig({ recipe: 'code', judge })
    const by = saying('SCORE: 4')
    const [scored] = await score(config, [await codeJudge(by, 'none')], () => passed(config, [source('compiler', 0), source('tests', 0.5)]), ['```js\nlet a\n```'])
    expect(sourceIn(scored, 'codeJudge')?.global).toBe(0.4)
  })
})

describe('a screenshot judge', () => {
  const config = rewardConfig({ judge, screenshotJudge: { enabled: true } })
  const open = async (by: PatientJudge, screenshotOf: Extract<Judge, { kind: 'picture' }>['screenshotOf']): Promise<Judge> => ({ kind: 'picture', source: 'screenshotJudge', by, prompts: await readJudgePrompts('screenshot', ''), screenshotOf })
  const png = Uint8Array.of(137, 80, 78, 71)
  const facts = { consoleErrors: [], pageErrors: [], text: '', elements: 1, distinctPixels: 1, uniform: false, milliseconds: 1 }

  it('is shown the prompt and the picture, never the code', async () => {
    const by = saying('SCORE: 7')
    const [scored] = await score(config, [await open(by, () => Promise.resolve({ screenshot: { png, facts } }))], () => passed(config, reactSources), [text])
    expect(by.asked[0]!.at(-1)).toMatchObject({ role: 'user', picture: png })
    const shown = JSON.stringify(by.asked[0]!.map(({ text: own }) => own))
    expect(shown).toContain('Write a list.')
    for (const line of code.split(/\r?\n/)) if (line.trim().length > 2) expect(shown).not.toContain(line.trim())
    expect(sourceIn(scored, 'screenshotJudge')).toMatchObject({ global: 0.7, spans: [] })
  })

  it('counts 0 with the reason when there is no picture, or no browser any more', async () => {
    const [scored] = await score(config, [await open(saying(), () => Promise.resolve({ failure: 'the page was too slow', blame: 'page' }))], () => passed(config, reactSources), [text])
    expect(sourceIn(scored, 'screenshotJudge')).toMatchObject({ global: 0, failure: 'there is no picture of the page: the page was too slow' })
    const [gone] = await score(config, [await open(saying(), () => Promise.reject(new UserError({ code: 'device', what: 'the browser does not start' })))], () => passed(config, reactSources), [text])
    expect(sourceIn(gone, 'screenshotJudge')).toMatchObject({ global: 0, failure: 'there is no picture of the page: the browser does not start.' })
  })
})

describe('judges of steps', () => {
  const solution = '<step_1> 2 + 2 = 4 </step_1>\n<step_2> 4 * 3 = 13 </step_2>\n<step_3> so 13 </step_3>\n<final> 13 </final>'
  const maths = (change: { errorPropagation?: boolean } = {}) => rewardConfig({ recipe: 'maths', stepChecks: { by: 'judge' }, judge, ...change })
  const verdict = (config: RewardConfig) => passed(config, [source('answer', 0), source('format', 0.2), { ...source('steps', 1), spans: [{ start: 0, end: 5, value: 1, source: 'steps', message: 'verifier' }] }])
  const stepJudge = async (by: PatientJudge): Promise<Judge> => ({ kind: 'steps', source: 'steps', by, prompts: await readJudgePrompts('steps', '') })

  it('replace what the verifier said, and errors propagate', async () => {
    const config = maths()
    const by = saying('STEP 1: right\nSTEP 2: wrong\nSTEP 3: right')
    const [scored] = await score(config, [await stepJudge(by)], () => verdict(config), [solution])
    expect(by.asked[0]!.at(-1)!.text).toContain('STEP 2\n| 4 * 3 = 13')
    const steps = sourceIn(scored, 'steps')!
    expect(scored!.sources.map((one) => one.source)).toEqual(['answer', 'format', 'steps'])
    expect(steps.spans.map(({ start, end, value, message }) => [solution.slice(start, end).trim(), value, message])).toEqual([['2 + 2 = 4', 1, 'the judge finds it right'], ['4 * 3 = 13', -1, 'the judge finds it wrong'], ['so 13', 0, 'an earlier step is wrong']])
    expect(steps.global).toBe(0)
  })

  it('keep later steps where errors do not propagate', async () => {
    const config = maths({ errorPropagation: false })
    const [scored] = await score(config, [await stepJudge(saying('STEP 1: right\nSTEP 2: wrong\nSTEP 3: right'))], () => verdict(config), [solution])
    expect(sourceIn(scored, 'steps')?.spans.map(({ value }) => value)).toEqual([1, -1, 1])
  })

  it('may be a model that gives numbers, asked once', async () => {
    const config = rewardConfig({ recipe: 'maths', stepChecks: { by: 'model' }, prm: { folder: 'prm' } })
    let times = 0
    const by = { model: 'prm', identity: 'prm', steps: (_problem: string, steps: readonly string[]) => Promise.resolve((times++, steps.map((_, index) => 0.5 - 0.4 * index))), dispose: () => undefined }
    const cache = createJudgeCache()
    const scored = await score(config, [{ kind: 'step-model', source: 'steps', by }], () => verdict(config), [solution, 'no step', solution], cache)
    expect(sourceIn(scored[0], 'steps')?.spans.map(({ value }) => value)).toEqual([0.5, 0.09999999999999998, -0.30000000000000004])
    expect(sourceIn(scored[2], 'steps')).toMatchObject({ global: sourceIn(scored[0], 'steps')!.global })
    expect(times).toBe(2)
  })

  it('cost their source alone when they fail', async () => {
    const config = maths()
    const [scored] = await score(config, [await stepJudge(saying('I cannot say.'))], () => verdict(config), [solution])
    expect(sourceIn(scored, 'steps')).toMatchObject({ global: 0, spans: [], failure: expect.stringContaining('no verdict on a step') as string })
    expect(sourceIn(scored, 'format')?.global).toBe(0.2)
  })
})

describe('a judge of whole completions', () => {
  it('adds its score to that of a person\'s own function, where that did not fail', async () => {
    const config = rewardConfig({ recipe: 'custom', file: 'own.js', judge, answerJudge: { globalWeight: 0.5 } })
    const by = saying('SCORE: 6')
    const answerJudge: Judge = { kind: 'completion', source: 'answerJudge', by, prompts: await readJudgePrompts('answer', '') }
    const scored = await score(config, [answerJudge], (own) => passed(config, [source('custom', 1, own === 'bad' ? 'it threw' : undefined)]), ['line one\nline two', 'bad'])
    expect(scored[0]?.global).toBeCloseTo(1 + 0.5 * 0.6, 12)
    expect(by.asked).toHaveLength(1)
    expect(by.asked[0]!.at(-1)!.text).toContain('| line one\n| line two')
  })
})

it('a failure that is none of the judge\'s is not swallowed', async () => {
  const by: PatientJudge = { model: 'test', identity: 'test', ask: () => Promise.reject(new Error('broken invariant')), dispose: () => undefined }
  await expect(score(react, [await codeJudge(by)], () => passed(react, reactSources), [text])).rejects.toThrow('broken invariant')
})

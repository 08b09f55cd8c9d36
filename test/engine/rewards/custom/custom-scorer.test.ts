// A person's own reward, from the file to the verdict, through a real locked-down process.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rewardConfig, type CustomRewardConfig } from '../../../../src-main/contract/reward-config.ts'
import type { PromptRow, ScoredCompletion } from '../../../../src-main/contract/rewards.ts'
import { checkReward } from '../../../../src-main/engine/rewards/check-reward.ts'
import { checkVerdict, createCustomScorer } from '../../../../src-main/engine/rewards/custom/custom-scorer.ts'
import { resourcePath } from '../../../../src-main/engine/runtime/paths.ts'
import { buildForTests } from '../../../support/build-entries.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let folder: string
beforeAll(async () => {
  await buildForTests()
  folder = await mkdtemp(join(tmpdir(), 'reward file '))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let files = 0
async function configOf(code: string, ending = 'ts', input: Partial<CustomRewardConfig> = {}): Promise<CustomRewardConfig> {
  const file = join(folder, `reward-${++files}.${ending}`)
  await writeFile(file, code)
  return { ...rewardConfig({ recipe: 'custom', file, limits: { scriptMilliseconds: 500 } }), callMilliseconds: 300, ...input }
}
const row: PromptRow = { id: 'p', prompt: 'Say hello.', data: { words: ['hello', 'world'] } }
const check = async (config: CustomRewardConfig): Promise<void> => checkReward(config, [{ ...row, row: 1 }], 'prompts.jsonl')
async function score(config: CustomRewardConfig, ...texts: string[]): Promise<ScoredCompletion[]> {
  const scorer = await createCustomScorer(config)
  try {
    const scored: ScoredCompletion[] = []
    await scorer.score(texts.map((text, index) => ({ id: String(index), row, text })), () => undefined, (index, verdict) => (scored[index] = verdict))
    return scored
  } finally {
    scorer.dispose()
  }
}

describe('what a function may give', () => {
  test('a number', async () => {
    const config = await configOf('export default ({ completion }: { completion: string }) => completion.length / 10')
    await check(config)
    expect((await score(config, '12345', '1234567890')).map(({ global, outcome, stages }) => [global, outcome, stages.render])).toEqual([[0.5, 0.5, false], [1, 1, true]])
  })
  test('a verdict with spans, from JavaScript, through a promise, under the name score, with a file of its own beside it', async () => {
    await writeFile(join(folder, 'helper.js'), 'export const mark = (start, end) => ({ start, end, value: -0.5, message: "here" })')
    const config = await configOf("import { mark } from './helper.js'\nexport async function score({ completion, prompt, row }) { return { global: row.data.words.length, spans: [mark(0, completion.length && 1)], passed: prompt === 'Say hello.', audit: ['odd'] } }", 'js')
    await check(config)
    expect((await score(config, 'ab'))[0]).toMatchObject({ global: 2, requirementScore: 1, spans: [{ start: 0, end: 1, value: -0.5, source: 'custom', message: 'here' }], audit: { passed: false, failures: ['odd'] } })
  })
  test('the example of the documentation', async () => {
    const config = rewardConfig({ recipe: 'custom', file: resourcePath('rewards', 'example-reward.ts') })
    await check(config)
    const text = 'hello! world'
    expect((await score(config, text))[0]).toMatchObject({ global: 1, spans: [{ start: 5, end: 6, value: -1 }], audit: { passed: true } })
    expect(await readFile(config.file, 'utf8')).toContain("from 'satchel'")
  })
})

describe('the check before a run names what is wrong', () => {
  test.each([
    ['a type error', 'export default ({ completion }: { completion: string }) => completion.size', 'ts', /reward-\d+\.ts, row 1: TS2339.*size/],
    ['a wrong result type', 'export default () => "good"', 'ts', /its export is no reward function.*string/],
    ['an unknown field', "import type { RewardFunction } from 'satchel'\nconst f: RewardFunction = () => ({ golbal: 1 })\nexport default f", 'ts', /row 2.*golbal/],
    ['a syntax error', 'export default (\n) => {', 'js', /row 2/],
    ['no export', 'const x = 1', 'js', /no reward function|cannot be loaded/],
    ['an export that is no function', 'export default 3', 'js', /no reward function/],
    ['a module of Node', "import fs from 'node:fs'\nexport default () => fs.readFileSync('x').length", 'js', /row 1.*node:fs cannot be imported/],
    ['a package', "import x from 'react'\nexport default () => x", 'js', /react cannot be imported|no reward function/],
    ['an error on an empty completion', 'export default ({ completion }) => completion[0].length', 'js', /trial on an empty completion of prompt p failed: TypeError/],
    ['no number', 'export default ({ completion }) => completion.length / 0', 'js', /trial.*the score is NaN, not a finite number/],
    ['a score out of range', 'export default () => 11', 'js', /the score 11 lies outside -10 to 10/],
    ['an endless loop', 'export default () => { for (;;) {} }', 'js', /ran longer than 300 ms/],
    ['an endless loop while loading', 'for (;;) {}\nexport default () => 0', 'js', /cannot be loaded: .*longer/],
    ['what is not there where it runs', 'export default () => fetch("http://a").then(() => 1)', 'js', /fetch is not defined|no reward function/],
  ])('%s', async (_name, code, ending, message) => {
    await expect(check(await configOf(code, ending))).rejects.toThrow(message)
  })
  test('a file that is not there, and one that is no code', async () => {
    await expect(check(rewardConfig({ recipe: 'custom', file: join(folder, 'none.ts') }))).rejects.toThrow(/none\.ts.*does not exist/)
    await expect(check(rewardConfig({ recipe: 'custom', file: join(folder, 'none.py') }))).rejects.toThrow(/ends in \.js or \.ts/)
  })
})

describe('what goes wrong in a run costs one completion', () => {
  test('failures have a reason and the configured score, neighbours their own', async () => {
    const code = `export default ({ completion }) => {
      switch (completion) {
        case 'throw': throw new Error('broken')
        case 'loop': for (;;) {}
        case 'nan': return NaN
        case 'text': return 'x'
        case 'memory': { const all = []; for (;;) all.push(new Array(1e6).fill(1)) }
        case 'span': return { spans: [{ start: 0, end: 99, value: -1 }] }
        case 'tamper': Object.prototype.global = 5; return {}
        default: return 1
      }
    }`
    const scored = await score(await configOf(code, 'js', { failureValue: -2 }), 'throw', 'ok', 'loop', 'ok', 'nan', 'text', 'memory', 'ok', 'span', 'tamper', 'ok')
    expect(scored.map(({ global }) => global)).toEqual([-2, 1, -2, 1, -2, -2, -2, 1, -2, -2, 1])
    expect(scored.map(({ sources }) => sources[0]?.failure)).toEqual([
      'Error: broken', undefined, 'the program ran longer than 300 ms', undefined, 'the score is NaN, not a finite number', 'the function gave "x" instead of a number or a verdict',
      expect.stringMatching(/out of memory|longer than 300 ms/), undefined, 'span 0: [0, 99) does not lie in the completion of 4 characters', expect.stringMatching(/TypeError/), undefined,
    ])
    expect(scored[0]).toMatchObject({ requirementScore: 0, audit: { passed: false, failures: ['not judged'] } })
  })
})

describe('hostile code in a reward, between honest neighbours', () => {
  // The completion names what the function does with it. None of it may give a score, and none may reach the next completion.
  const hostile: Record<string, string> = {
    recursion: 'const dive = () => dive() + 1; return dive()',
    'a regular-expression bomb': "return /^(a+)+$/.test('a'.repeat(60) + '!') ? 1 : 1",
    'a text that doubles': "let text = 'x'; const keep = []; for (;;) { text += text; keep.push(text.split('')) }",
    'process.exit': 'process.exit(0)',
    'a file': "const name = 'node:fs'; return require(name).readFileSync('/etc/passwd').length",
    'a child process': "const name = 'node:child_process'; return require(name).execSync('echo 1').length",
    'a socket': "return new WebSocket('ws://localhost').readyState",
    'the network': "return fetch('http://localhost').then(() => 1)",
    'a worker': "return new Worker('x') ? 1 : 0",
    'shared memory': 'return new SharedArrayBuffer(8).byteLength',
    'the constructor of a function': "return (() => 1).constructor('return 1')()",
    eval: "return (0, eval)('1')",
    'a changed JSON.stringify': "JSON.stringify = () => '{\"value\":1}'; return NaN",
    'a changed Array.prototype': 'Array.prototype.toJSON = () => 1; return []',
    'a changed Promise': 'Promise.prototype.then = function () { return 1 }; return Promise.resolve(NaN)',
    'another command of the sandbox': "globalThis.satchelCommand = () => '{\"value\":1}'; return NaN",
    'a result printed and sent': "console.log('{\"value\":1}'); globalThis.process?.send?.({ kind: 'value', id: 1, text: '1' }); return NaN",
    'a flood of console output': "for (;;) console.log('x'.repeat(1000))",
    'a promise that never resolves': 'return new Promise(() => {})',
    'a thenable that loops': 'return { then() { for (;;) {} } }',
    'microtasks without end': 'const again = () => Promise.resolve().then(again); return again()',
    'a getter that loops': 'return { get global() { for (;;) {} } }',
    'a proxy': 'return new Proxy({}, { get() { for (;;) {} }, ownKeys() { for (;;) {} } })',
    'an error that cannot be described': 'throw { get message() { for (;;) {} }, toString() { throw 1 } }',
    'a circular verdict': 'const verdict = { global: 1 }; verdict.self = verdict; return verdict',
    'a deep verdict': 'let spans = []; for (let i = 0; i < 1e5; i++) spans = [spans]; return { global: 1, spans }',
    'a million spans': "return { global: 1, spans: Array.from({ length: 1e6 }, () => ({ start: 0, end: 1, value: 1, message: 'x'.repeat(100) })) }",
    'a verdict with one more field': 'return { global: 1, passed: true, outcome: 9 }',
  }
  const odd = ['x'.repeat(1_000_000), '\ud800', '\u0000\u202e', '__proto__', '{"global":1}', '']

  test('costs its own completion and nothing else', async () => {
    const cases = Object.entries(hostile).map(([name, body]) => `case ${JSON.stringify(name)}: { ${body} }`)
    const code = `export default ({ completion }) => { switch (completion) {\n${cases.join('\n')}\ndefault: return 0.5 } }`
    const names = Object.keys(hostile)
    const scored = await score(await configOf(code, 'js', { failureValue: -2 }), ...names.flatMap((name) => [name, 'honest']), ...odd)
    expect(Object.fromEntries(names.map((name, index) => [name, [scored[2 * index]?.global, scored[2 * index]?.sources[0]?.failure !== undefined]]))).toEqual(Object.fromEntries(names.map((name) => [name, [-2, true]])))
    expect([...names.map((_, index) => scored[2 * index + 1]), ...scored.slice(2 * names.length)].map((verdict) => verdict?.global)).toEqual([...names, ...odd].map(() => 0.5))
  }, 300_000)
})

describe('verdicts are read strictly', () => {
  const bounds = { minimum: -1, maximum: 1 }
  test.each([
    [{ $number: 'Infinity' }, /score is Infinity/], [null, /gave null/], [[1], /a list/], [{ global: '1' }, /score is "1"/], [{ golbal: 1 }, /field golbal/], [{ passed: 1 }, /passed is 1/], [{ audit: 'x' }, /audit/], [{ spans: {} }, /spans is no list/],
    [{ spans: [null] }, /span 0: null is no span/], [{ spans: [{ start: 2, end: 1, value: 0 }] }, /span 0.*\[2, 1\)/], [{ spans: [{ start: 0.5, end: 1, value: 0 }] }, /\[0.5, 1\)/], [{ spans: [{ start: 0, end: 1, value: 2 }] }, /value 2 lies outside -1 to 1/], [{ spans: [{ start: 0, end: 1 }] }, /value is nothing/],
  ])('%j', (value, message) => {
    const verdict = checkVerdict(value, 'abc', bounds)
    expect('failure' in verdict ? verdict.failure : '').toMatch(message)
  })
  test('nothing but spans is a score of 0', () => {
    expect(checkVerdict({ spans: [{ start: 0, end: 3, value: 1 }], global: { $undefined: true } }, 'abc', bounds)).toEqual({ global: 0, spans: [{ start: 0, end: 3, value: 1, source: 'custom', message: '' }], passed: undefined, audit: [] })
  })
})

describe('rows that lack what a recipe needs are refused with their place', () => {
  test.each([
    [rewardConfig({ recipe: 'maths' }), { row: 3 }, /prompts\.jsonl, row 3, answer/],
    [rewardConfig({ recipe: 'maths' }), { row: 3, answer: '1/2' }, /answer 1\/2 is no whole number from 0 to 999/],
    [rewardConfig({ recipe: 'maths' }), { row: 3, answer: '((' }, /cannot be read/],
    [rewardConfig({ recipe: 'code' }), { row: 3, tests: [] }, /row 3, entry/],
    [rewardConfig({ recipe: 'code' }), { row: 3, entry: 'f' }, /row 3, tests/],
  ])('%#', async (config, fields, message) => {
    await expect(checkReward(config, [{ id: 'a', prompt: 'b', ...fields }], 'prompts.jsonl')).rejects.toThrow(message)
  })
  test('an answer of any kind is welcome when any is asked for', async () => {
    await checkReward(rewardConfig({ recipe: 'maths', answerKind: 'any' }), [{ id: 'a', prompt: 'b', row: 1, answer: '\\frac{\\pi}{2}' }], 'f')
  })
})

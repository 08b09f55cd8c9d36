// Functions against cases, through a real locked-down process.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rewardConfig, type CodeRewardConfig } from '../../../../src-main/contract/reward-config.ts'
import type { PromptRow, ScoredCompletion } from '../../../../src-main/contract/rewards.ts'
import { createCodeScorer } from '../../../../src-main/engine/rewards/code/code-scorer.ts'
import type { RecipeScorer } from '../../../../src-main/engine/rewards/scorer.ts'
import { buildForTests } from '../../../support/build-entries.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const config = rewardConfig({ recipe: 'code', caseMilliseconds: 300, limits: { renderSeconds: 10 } })
const cases = (...list: [input: unknown[], expected: unknown][]) => list.map(([input, expected]) => ({ input, expected }))
const add: PromptRow = {
  id: 'add', prompt: 'add(a, b) gives the sum', entry: 'add', reference: 'function add(a, b) { return a + b }',
  tests: cases([[1, 2], 3], [[-4, 4], 0], [[20, 31], 51], [[0.1, 0.2], 0.3]),
  hiddenTests: cases([[100, 200], 300], [[7, 8], 15]),
}

let scorer: RecipeScorer
beforeAll(async () => {
  await buildForTests()
  scorer = await createCodeScorer(config)
})
afterAll(() => scorer.dispose())

async function scoreAll(texts: readonly string[], row = add, by = scorer): Promise<ScoredCompletion[]> {
  const scored: ScoredCompletion[] = []
  await by.score(texts.map((text, index) => ({ id: String(index), row, text })), () => undefined, (index, verdict) => (scored[index] = verdict))
  return scored
}
const score = async (text: string, row = add): Promise<ScoredCompletion> => (await scoreAll([text], row))[0]!
const withScorer = async (input: Partial<CodeRewardConfig>, use: (scorer: RecipeScorer) => Promise<void>): Promise<void> => {
  const own = await createCodeScorer({ ...config, ...input })
  try {
    await use(own)
  } finally {
    own.dispose()
  }
}

const honest = 'function add(a, b) {\n  return a + b;\n}'

describe('honest code', () => {
  test.each([
    ['a function', honest],
    ['an arrow', 'const add = (a, b) => a + b'],
    ['exported TypeScript in a fence', 'Here it is:\n```ts\nexport const add = (a: number, b: number): number => a + b;\n```\nEnjoy.'],
    ['a default export', 'export default (a, b) => a + b'],
    ['a promise', 'async function add(a, b) { await null; return a + b }'],
    ['typed arrays', 'const add = (a, b) => Float64Array.from([a, b]).map((x) => x).slice().subarray(0).reduce((x, y) => x + y)'],
    ['a directive, a label, a switch and a generic', '"use strict";\nfunction add<T>(a: T, b: T) { out: for (;;) { switch (a) { case b: break out; default: break out } } return +a + +b }'],
  ])('%s passes', async (_name, text) => {
    expect(await score(text)).toMatchObject({ global: 1, outcome: 1, requirementScore: 1, spans: [], stages: { parse: true, types: true, bundle: true, render: true }, audit: { failures: [] } })
  })
  test('objects, lists and nothing are compared by content', async () => {
    const row: PromptRow = { id: '', prompt: '', entry: 'f', tests: cases([[1], { b: [1, null], a: { $x: true } }], [[2], []], [[3], null], [[4], 'é😀'], [[5], -0]) }
    expect((await score('const f = (n) => [{ a: { $x: true }, b: [1, null] }, [], null, "é😀", 0][n - 1]', row)).requirementScore).toBe(1)
  })
  test.each([['undefined for null', 'undefined'], ['NaN', 'NaN'], ['text for a number', '"3"'], ['a map', 'new Map([["a", 1]])'], ['a function', '() => 3'], ['a big integer', '3n'], ['a symbol', 'Symbol()']])('%s is no match', async (_name, value) => {
    const row: PromptRow = { id: '', prompt: '', entry: 'f', tests: cases([[], null], [[], 3], [[], { a: 1 }]) }
    expect((await score(`const f = () => (${value})`, row)).requirementScore).toBe(0)
  })
})

describe('the ladder', () => {
  test.each([
    ['no code', '', -1, { parse: false, types: false, bundle: false, render: false }],
    ['a lost brace', 'function add(a, b) { return a + b', -1, { parse: false, types: false, bundle: false, render: false }],
    ['no such function', 'function sum(a, b) { return a + b }', -0.8, { parse: true, types: true, bundle: false, render: false }],
    ['an import', "import fs from 'node:fs'\nexport const add = (a, b) => a + b", -0.8, { parse: true, types: true, bundle: false, render: false }],
    ['an error while loading', 'const add = (a, b) => a + b;\nnull.x', -0.8, { parse: true, types: true, bundle: false, render: false }],
    ['not a function', 'const add = 3', -0.8, { parse: true, types: true, bundle: false, render: false }],
    ['half of the cases', 'const add = (a, b) => Math.abs(a) + b', 0.75, { parse: true, types: true, bundle: true, render: false }],
  ])('%s', async (_name, text, global, stages) => {
    const scored = await score(text)
    expect(scored.global).toBeCloseTo(global, 12)
    expect(scored.stages).toEqual(stages)
    expect(scored.audit.passed).toBe(stages.bundle && global > 0.7)
  })
  test('types count when they are asked for; untyped JavaScript passes', async () => {
    await withScorer({ typeCheck: true }, async (own) => {
      const [typed, untyped] = await scoreAll(['const add = (a: number, b: number): string => a + b', honest], add, own)
      expect(typed).toMatchObject({ global: -0.9, stages: { types: false } })
      expect(typed?.spans.map(({ source, value }) => [source, value])).toEqual([['compiler', -1]])
      expect(untyped?.global).toBe(1)
    })
  })
})

describe('lines', () => {
  const at = (scored: ScoredCompletion, text: string) => scored.spans.filter(({ value }) => value < 0).map(({ start, source }) => [source, text.slice(0, start).split('\n').length])
  test.each([
    ['an error inside a call', 'function help(x) {\n  const y = 1;\n  return x.nothing.at;\n}\nfunction add(a, b) {\n  return help(a);\n}', [['tests', 3]]],
    ['an endless loop', 'function add(a, b) {\n  let i = 0;\n  while (true) {\n    i++;\n  }\n}', [['tests', 4]]],
    ['an error of its own', 'const add = (a, b) => {\n  if (a > 0) {\n    throw new Error("no");\n  }\n  return a + b;\n}', [['tests', 3]]],
    ['an error while loading', 'const x = 1;\nconst add = (a, b) => a + b;\nx();', [['compiler', 3]]],
    ['a syntax error', 'function add(a, b) {\n  return a +;\n}', [['compiler', 2]]],
    ['behind a fence, with surrogates before it', '😀\n```js\nfunction add(a, b) {\n  null.x;\n}\n```', [['tests', 4]]],
  ])('%s is found', async (_name, text, expected) => {
    expect(at(await score(text), text)).toEqual(expected)
  })
  test('a wrong result has no line', async () => expect((await score('const add = () => 0')).spans).toEqual([]))
})

describe('the sealed audit', () => {
  test.each([
    ['answers written down', 'function add(a, b) {\n  if (a === 1) return 3;\n  if (a === -4) return 0;\n  if (a === 20) return 51;\n  return 0.3;\n}', ['hidden tests']],
    ['a suppression', '// @ts-nocheck\nconst add = (a, b) => a + b', ['hidden tests', 'suppressions']],
    ['length', `const add = (a, b) => a + b;\n${Array.from({ length: 40 }, (_, i) => `const filler${i} = ${i};`).join('\n')}`, ['length against reference']],
  ])('%s', async (_name, text, failures) => {
    expect((await score(text)).audit.failures).toEqual(failures)
  })
  test('a table of the visible cases', async () => {
    const row: PromptRow = { id: '', prompt: '', entry: 'f', tests: cases([[11], 121], [[12], 144], [[13], 169]) }
    expect((await score('const f = (n) => ({ 11: 121, 12: 144, 13: 169 })[n]', row)).audit.failures).toEqual(['answers written down'])
    expect((await score('const f = (n) => n * n', row)).audit.passed).toBe(true)
  })
  test('hidden cases never enter the reward', async () => {
    expect(await score('function add(a, b) { return a > 50 ? 0 : a + b }')).toMatchObject({ global: 1, requirementScore: 1, audit: { failures: ['hidden tests'] } })
  })
})

describe('hostile code', () => {
  // Each tries to pass without computing a sum, to get out, or to take others down. Scored between honest neighbours.
  const hostile: Record<string, string> = {
    'an endless loop': 'function add() { for (;;) {} }',
    'an endless loop while loading': 'for (;;) {}\nfunction add() {}',
    'endless recursion': 'function add(a, b) { return add(a, b) }',
    'a memory bomb': 'function add() { const all = []; for (;;) all.push(new Array(1e6).fill(0)) }',
    'a string bomb': 'function add() { let s = "x"; for (;;) s += s }',
    'a regular-expression bomb': 'function add() { return /^(a+)+$/.test("a".repeat(60) + "!") }',
    'process.exit': 'function add() { process.exit(0) }',
    'require': 'function add() { return require("fs") }',
    'a dynamic import': 'async function add() { return (await import("node:fs")).readFileSync }',
    'the constructor of a function': 'function add() { return add.constructor("return process")() }',
    'eval': 'function add() { return (0, eval)("3") }',
    'a result that says it passed': 'function add() { return { value: 3, passed: true, ok: true } }',
    'a result that equals everything': 'function add() { return { valueOf: () => 3, toJSON: () => 3, toString: () => "3", [Symbol.toPrimitive]: () => 3 } }',
    'a proxy': 'function add() { return new Proxy({}, { get: () => 3, ownKeys: () => [], has: () => true }) }',
    'a changed JSON.stringify': 'JSON.stringify = () => \'{"value":3}\';\nfunction add() { return 0 }',
    'a changed Object.keys': 'Object.keys = () => [];\nfunction add() { return {} }',
    'a changed Array.prototype': 'Array.prototype.toJSON = () => 3;\nfunction add() { return [] }',
    'a changed Object.prototype': 'Object.prototype.toJSON = () => 3;\nfunction add() { return {} }',
    'a changed Promise': 'Promise.prototype.then = function () { return 3 };\nfunction add() { return Promise.resolve(3) }',
    'a changed Reflect.apply': 'Reflect.apply = () => 3;\nfunction add() { return 0 }',
    'another command of the sandbox': 'satchelCommand = () => \'{"value":3}\';\nfunction add() { return 0 }',
    'the global command': 'globalThis.satchelCommand = () => \'{"value":3}\';\nfunction add() { return 0 }',
    'another registration': 'satchelRegister((e) => { e.default = (a, b) => a + b });\nfunction add() { return 0 }',
    'another entry': 'exports.satchelEntry = (a, b) => a + b;\nfunction add() { return 0 }',
    'the caller': 'function add() { return add.caller }',
    'a thenable that never ends': 'function add() { return { then() {} } }',
    'a thenable that loops': 'function add() { return { then() { for (;;) {} } } }',
    'microtasks without end': 'function add() { const again = () => Promise.resolve().then(again); again(); return 0 }',
    'a getter that loops': 'function add() { return { get x() { for (;;) {} } } }',
    'an error that cannot be described': 'function add() { throw { get message() { for (;;) {} }, toString() { throw 1 } } }',
    'a huge result': 'function add() { return "x".repeat(2e7) }',
    'a deep result': 'function add() { let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return x }',
    'a circular result': 'function add() { const x = {}; x.x = x; return x }',
    'a sparse result': 'function add() { return new Array(4e9) }',
    'a faked line': 'function add() { satchelLine(-5); satchelLine("x"); satchelLine(1e9); null.x }',
    'a frozen global': 'Object.freeze(globalThis);\nfunction add() { return 0 }',
    'typed memory': 'function add() { return new Uint8Array(4e9).length && 3 }',
    'typed memory bit by bit': 'function add() { const all = []; for (let i = 0; i < 1e4; i++) all.push(new Float64Array(1e5)); return 3 }',
    'typed memory by copies': 'function add() { const one = new Uint8Array(4e7); one.constructor = undefined; const all = []; for (let i = 0; i < 100; i++) all.push(one.slice()); return 3 }',
    'typed memory by buffers': 'function add() { const { buffer } = new Uint8Array(4e7); return buffer.slice(0) && new buffer.constructor(4e9) && 3 }',
    'typed memory by a lie': 'function add() { let asked = 0; return new Uint8Array({ get length() { return asked++ ? 2e8 : 0 } }).length && 3 }',
    'typed memory by a function': 'function add() { const f = () => 0; Object.defineProperty(f, "length", { value: 3e9 }); return new Uint8Array(f).length && 3 }',
    'typed memory by a subclass': 'class Big extends Uint8Array {}\nfunction add() { return new Big(3e8).length && 3 }',
    'workers and sockets': 'function add() { return [typeof Worker, typeof fetch, typeof WebSocket, typeof SharedArrayBuffer, typeof Atomics].filter((t) => t !== "undefined").length === 0 ? 0 : 3 }',
    'unpaired surrogates': 'function add() { return "\\ud800" }\n// \ud800',
    'child processes': 'function add() { return process.binding("spawn_sync") && require("node:child_process").execSync("echo 3") }',
    'a socket': 'function add() { return require("node:net").connect(80, "localhost") && 3 }',
    'a flood of console output': 'function add() { for (;;) console.log("x".repeat(1000)) }',
    'a result printed and sent': 'function add() { console.log(\'{"value":3}\'); globalThis.process?.send?.({ kind: "value", id: 1, text: \'{"value":3}\' }); return 0 }',
    'checks switched off': '// @ts-nocheck\n/* eslint-disable */\nfunction add() { return 0 }',
    'no body': 'function add(a, b)',
    'an empty body': 'function add(a, b) {}',
    'nothing': '',
    'a line of a million characters': `function add() { return "${'x'.repeat(1_000_000)}".length && 3 }`,
    'a line of a hundred thousand characters': `function add() { return ${'1+'.repeat(20_000)}1 }`,
    'absurd nesting': `function add() { return ${'['.repeat(20_000)}${']'.repeat(20_000)} }`,
  }
  let scored: ScoredCompletion[]
  beforeAll(async () => {
    scored = await scoreAll(Object.values(hostile).flatMap((text) => [text, honest]), { ...add, tests: cases([[1, 2], 3], [[20, 31], 51]) })
  }, 300_000)

  test.each(Object.keys(hostile).map((name, index) => [name, index] as const))('%s passes nothing', (_name, index) => {
    const verdict = scored[2 * index]!
    expect(verdict.requirementScore).toBe(0)
    expect(verdict.stages.render).toBe(false)
    expect(Number.isFinite(verdict.global)).toBe(true)
    expect(verdict.audit.passed).toBe(false)
  })
  test('no neighbour notices', () => {
    for (const [index, name] of Object.keys(hostile).entries()) expect(scored[2 * index + 1], `neighbour of ${name}`).toMatchObject({ global: 1, stages: { render: true }, audit: { passed: true } })
  })
})

test('a row without tests says so', async () => {
  const { tests: _tests, hiddenTests: _hidden, ...row } = add
  expect((await score(honest, row)).sources[1]).toMatchObject({ source: 'tests', global: 0, failure: 'the row has no tests' })
})

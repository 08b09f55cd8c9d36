// The whole way from a text to its verdict, through real worker and render processes.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import type { PromptRow, Requirement, ScoredCompletion } from '../../../src-main/contract/rewards.ts'
import { createRewardPool, type RewardPool } from '../../../src-main/engine/rewards/reward-pool.ts'
import { scoreRows } from '../../../src-main/engine/rewards/score.ts'
import { buildForTests } from '../../support/build-entries.ts'

const counter = `import { useState } from 'react';
export default function App() {
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>Apples</h1>
      <p>{count}</p>
      <button onClick={() => setCount(count + 1)}>Add</button>
    </main>
  );
}
`
const requirements: Requirement[] = [
  { kind: 'role', role: 'heading', name: 'Apples' },
  { kind: 'text', text: '0' },
  { kind: 'after-click', role: 'button', name: 'Add', times: 3, text: '3' },
]
const row: PromptRow = { id: 'apples', prompt: 'A counter titled Apples', requirements, reference: counter }

// Each new pool loads a compiler and a linter; on a busy machine that takes its time.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let pool: RewardPool
beforeAll(async () => {
  await buildForTests()
  pool = createRewardPool({ workers: 1, config: rewardConfig() })
  await pool.warmUp()
})
afterAll(() => pool.dispose())

const score = async (text: string, prompt: PromptRow = row): Promise<ScoredCompletion> => (await pool.score([{ id: 'one', row: prompt, text }]))[0]!
const withRequirements = (...list: Requirement[]): PromptRow => ({ id: 'r', prompt: '', requirements: list })
/** The parts that must not depend on how long anything took. */
const untimed = (scored: readonly ScoredCompletion[]): unknown => JSON.parse(JSON.stringify(scored, (key, value: unknown) => (key === 'milliseconds' ? 0 : value)))

describe('the ladder', () => {
  test('an application that meets its prompt gets everything', async () => {
    const scored = await score(counter)
    expect(scored.stages).toEqual({ parse: true, types: true, bundle: true, render: true })
    expect(scored).toMatchObject({ global: 1, outcome: 1, requirementScore: 1, spans: [], audit: { passed: true, failures: [] } })
  })

  // Defaults: -1.3, -1, -0.9, -0.85, -0.8; lint adds -0.5 for what it cannot read.
  test.each([
    ['prose', 'Here you are: a counter!', -1.3 - 0.5, { parse: false, types: false, bundle: false, render: false }],
    ['nothing', '', -1.3 - 0.5, { parse: false, types: false, bundle: false, render: false }],
    ['a function that shows nothing and uses nothing of React', 'export default function App() { return null }', -1.3 - 0.5, { parse: false, types: false, bundle: false, render: false }],
    ['a lost brace', 'export default function App() { return <p>x</p>', -1 - 0.5, { parse: false, types: false, bundle: false, render: false }],
    ['an unknown name', 'export default function App() { return <p>{cuont}</p> }', -0.9, { parse: true, types: false, bundle: false, render: false }],
    ['a module that does not exist', "import _ from 'lodash';\nexport default function App() { return <p>{String(_)}</p> }", -0.85, { parse: true, types: true, bundle: false, render: false }],
    ['a blank page', 'export default function App() { return <></> }', -0.8, { parse: true, types: true, bundle: true, render: false }],
    ['an error while rendering', "export default function App() { if (Date.now() > 0) throw new Error('no'); return <p>x</p> }", -0.8, { parse: true, types: true, bundle: true, render: false }],
    ['an error in the console', "export default function App() { console.error('no'); return <p>x</p> }", -0.8, { parse: true, types: true, bundle: true, render: false }],
  ])('%s', async (_name, text, global, stages) => {
    const scored = await score(text)
    expect(scored.global).toBeCloseTo(global, 10)
    expect(scored.stages).toEqual(stages)
    expect(scored.outcome).toBe(-1)
    expect(scored.audit.passed).toBe(false)
  })

  test('what went wrong at the end is said', async () => {
    const scored = await score("export default function App() { throw new Error('out of apples'); return <p>x</p> }")
    expect(scored.sources[0]?.failure).toContain('out of apples')
  })
})

describe('spans', () => {
  test('point into the whole completion, also behind a fence', async () => {
    const text = `Sure! 😀\n\`\`\`tsx\n${counter.replace('{count}', '{cuont}')}\`\`\`\nDone.`
    const scored = await score(text)
    expect(scored.spans.filter(({ source }) => source === 'compiler').map(({ start, end, value }) => [text.slice(start, end), value])).toEqual([['cuont', -1]])
  })
  test('a line is flagged once, however many findings it has', async () => {
    const scored = await score('export default function App() {\n  return <p>{one}{two}</p>\n}')
    expect(scored.spans.filter(({ source }) => source === 'compiler').map(({ value }) => value)).toEqual([-1, 0])
  })
  test('lint findings keep their own penalties', async () => {
    const scored = await score('export default function App() {\n  var one: any = 1\n  return <p>{one}</p>\n}')
    expect(scored.spans.map(({ source, value }) => [source, value]).sort()).toEqual([['lint', -0.02], ['lint', -0.1]])
    expect(scored.global).toBeCloseTo(-0.12, 10)
  })
})

describe('requirements', () => {
  const toggle = `import { useState } from 'react';
export default function App() {
  const [on, setOn] = useState(false);
  return <main><button onClick={() => setOn(!on)}>{on ? 'Hide' : 'Show'}</button>{on && <p>Secret</p>}</main>;
}`
  test.each<[string, string, Requirement, number]>([
    ['a button that renames itself is clicked again', toggle, { kind: 'after-click', role: 'button', name: 'Show', times: 3, text: 'Secret' }, 1],
    ['what a click hides is not shown', toggle, { kind: 'after-click', role: 'button', name: 'Show', times: 2, text: 'Secret' }, 0],
    ['a control that does not exist', toggle, { kind: 'after-click', role: 'button', name: 'Reveal', text: 'Secret' }, 0],
    ['a text that was there all along, on a page where clicking does nothing', 'export default function App() { return <main><button>Add</button><p>1</p></main> }', { kind: 'after-click', role: 'button', name: 'Add', text: '1' }, 0],
    ['a check box', `import { useState } from 'react';
export default function App() {
  const [on, setOn] = useState(false);
  return <label><input type="checkbox" checked={on} onChange={(event) => setOn(event.target.checked)} />Done {on ? 'yes' : 'no'}</label>;
}`, { kind: 'after-click', role: 'checkbox', name: 'Done no', text: 'yes' }, 1],
    ['a form that is sent', `import { useState } from 'react';
export default function App() {
  const [sent, setSent] = useState(false);
  return <form onSubmit={(event) => { event.preventDefault(); setSent(true) }}><button>Send</button>{sent && <p>Thanks</p>}</form>;
}`, { kind: 'after-click', role: 'button', name: 'Send', text: 'Thanks' }, 1],
    ['a disabled button does nothing', `import { useState } from 'react';
export default function App() {
  const [count, setCount] = useState(0);
  return <main><button disabled onClick={() => setCount(count + 1)}>Add</button><p>{count}</p></main>;
}`, { kind: 'after-click', role: 'button', name: 'Add', text: '1' }, 0],
    ['a text that comes after a while', `import { useState } from 'react';
export default function App() {
  const [text, setText] = useState('Start');
  return <button onClick={() => setTimeout(() => setText('Later'), 500)}>{text}</button>;
}`, { kind: 'after-click', role: 'button', name: 'Start', text: 'Later' }, 1],
    ['a click that throws', "export default function App() { return <button onClick={() => { throw new Error('no') }}>Add 1</button> }", { kind: 'after-click', role: 'button', name: 'Add 1', text: 'Add 1' }, 0],
    ['a click that never returns', "import { useState } from 'react';\nexport default function App() { const [n, set] = useState(0); return <button onClick={() => { set(1); for (;;) {} }}>Add {n}</button> }", { kind: 'after-click', role: 'button', name: 'Add 0', text: '1' }, 0],
  ])('%s', async (_name, text, requirement, expected) => {
    const scored = await score(text, withRequirements(requirement))
    expect(scored.stages.render).toBe(true)
    expect(scored.requirementScore).toBe(expected)
  })

  test('every after-click starts from a fresh application', async () => {
    const twice: Requirement = { kind: 'after-click', role: 'button', name: 'Add', times: 2, text: '2' }
    expect((await score(counter, withRequirements(twice, twice, requirements[2]!, twice))).requirementScore).toBe(1)
  })
  test('are graded by their share', async () => {
    expect((await score(counter, withRequirements(...requirements, { kind: 'text', text: 'Pears' }))).requirementScore).toBe(0.75)
  })
})

describe('the pool', () => {
  const texts = Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? counter : index % 3 === 1 ? counter.replace('Apples', `Apples ${index}`) : counter.replace('</p>', '')))
  const items = texts.map((text, index) => ({ id: String(index), row, text }))

  test('answers in order, and the same with one worker, two workers and one by one', async () => {
    const together = await pool.score(items)
    const two = createRewardPool({ workers: 2, config: rewardConfig() })
    try {
      expect(untimed(await two.score(items))).toEqual(untimed(together))
    } finally {
      two.dispose()
    }
    const single: ScoredCompletion[] = []
    for (const item of items) single.push(...(await pool.score([item])))
    expect(untimed(single)).toEqual(untimed(together))
    expect(together.map(({ requirementScore }) => requirementScore > 0.9)).toEqual(texts.map((_, index) => index % 3 === 0))
  })

  test('small batches that gather meanwhile get the same answers', async () => {
    const apart = await Promise.all(items.map((item) => pool.score([{ ...item, text: `${item.text}\n` }])))
    expect(apart.map(([scored]) => scored?.requirementScore)).toEqual((await pool.score(items)).map(({ requirementScore }) => requirementScore))
  })

  test('an empty batch is answered at once', async () => {
    expect(await pool.score([])).toEqual([])
  })

  test('a program that stalls the type checker costs only itself', async () => {
    // Each of these types counts to 990 by copying a tuple: a twentieth of a second of work or more, three thousand times.
    const heavy = Array.from({ length: 3000 }, (_, index) => `type T${index}<A extends unknown[] = []> = A['length'] extends 990 ? A : T${index}<[...A, ${index}]>;\nconst x${index}: T${index} = ${index};`).join('\n')
    const stalled = createRewardPool({ workers: 1, config: rewardConfig({ limits: { itemSeconds: 15, maximumCharacters: 2_000_000 } }) })
    try {
      const scored = await stalled.score([items[0]!, { id: 'heavy', row, text: `${heavy}\nexport default () => <p>{x0}</p>` }, items[1]!, items[2]!])
      expect(scored[1]?.stages.types).toBe(false)
      // Which limit ends it first depends on the machine: a fast one fills the worker's memory before the time is up.
      expect(scored[1]?.sources[0]?.failure).toMatch(/^(no answer for 15 s|the reward worker ended \(out of memory)/)
      const neighbours = [scored[0]!, scored[2]!, scored[3]!]
      expect(untimed(neighbours)).toEqual(untimed(await pool.score(items.slice(0, 3))))
    } finally {
      stalled.dispose()
    }
  })

  test('workers that cannot start are reported to the person', async () => {
    const hurried = createRewardPool({ workers: 1, config: rewardConfig({ limits: { startSeconds: 0.01 } }) })
    await expect(hurried.score([items[0]!])).rejects.toThrow(/reward workers cannot start.*no answer for 0.01 s.*satchel doctor/s)
    hurried.dispose()
  })

  test('disposing rejects what is still open', async () => {
    const short = createRewardPool({ workers: 1, config: rewardConfig() })
    const open = short.score([items[0]!])
    short.dispose()
    await expect(open).rejects.toThrow(/disposed/)
    await expect(short.score([items[0]!])).rejects.toThrow(/disposed/)
  })
})

describe('scoreRows', () => {
  const untyped = 'export default function App({ greet }) { return <p foo="1">{greet ?? "Hello"}</p> }'
  const misspelt = 'export default function App() {\n  return <p>{cuont}</p>\n}'

  test('follows its configuration: no type check, graded outcome, token rewards for given offsets', async () => {
    const offsets = { text: misspelt, starts: Int32Array.from([0, 32, 56]), ends: Int32Array.from([32, 56, 57]) }
    const progress: number[] = []
    const rows = [{ ...row, completion: untyped }, { ...row, completion: 'export default () => <p>' }, { ...row, completion: misspelt, offsets }]
    const scored = await scoreRows(rows, { config: rewardConfig({ typeCheck: false, gradedOutcome: true, windowLines: 0, ladder: { parse: -0.7 } }), onProgress: (done) => progress.push(done) })
    expect(scored[0]?.scored.stages.render).toBe(true)
    expect(scored[1]?.scored.outcome).toBe(-0.7)
    // Without the type check the unknown name is found only when it is rendered: no place, so G = -0.8 on every token.
    expect([...scored[2]!.tokens!.rewards]).toEqual([-0.8, -0.8, -0.8])
    expect(progress).toEqual([3])
    expect((await score(untyped)).stages).toMatchObject({ parse: true, types: false })
  })
  test('offsets of another text are refused', async () => {
    const offsets = { text: 'other', starts: new Int32Array(1), ends: new Int32Array(1) }
    await expect(scoreRows([{ ...row, completion: counter, offsets }], { config: rewardConfig() })).rejects.toThrow(/row apples.*another text/)
  })
})

import { fork } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import type { RenderedPage } from '../../../src-main/contract/rendered-document.ts'
import { bundleProgram } from '../../../src-main/engine/rewards/bundle.ts'
import { createRenderer, type Renderer } from '../../../src-main/engine/rewards/renderer.ts'
import { renderProcessOptions } from '../../../src-main/engine/rewards/sandbox-process.ts'
import { visibleText } from '../../../src-main/engine/rewards/rendered-text.ts'
import { bundleSandboxKit } from '../../../src-main/engine/rewards/sandbox-bundle.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'
import { buildForTests } from '../../support/build-entries.ts'

let renderer: Renderer
beforeAll(async () => {
  await buildForTests()
  renderer = createRenderer(await bundleSandboxKit(), rewardConfig({ limits: { scriptMilliseconds: 1_000 } }).limits)
})
afterAll(() => renderer.dispose())

async function open(code: string): Promise<RenderedPage> {
  const bundled = await bundleProgram(parseProgram(code, '0').file)
  if (!('script' in bundled)) throw new Error(bundled.errors[0]?.message)
  const opened = await renderer.open(bundled.script)
  if (!('page' in opened)) throw new Error(opened.failure)
  return opened.page
}
const shows = async (code: string): Promise<string> => visibleText((await open(code)).body)

describe('a page', () => {
  test('is the same every time it is opened: time and chance stand still', async () => {
    const code = 'export default () => <p>{Date.now()} {new Date().toISOString()} {Math.random()} {performance.now()}</p>'
    expect(await open(code)).toEqual(await open(code))
    expect(await shows(code)).toContain('2026-01-01T12:00:00.000Z')
  })
  test('is read after its effects, promises and timers have run', async () => {
    const code = `import { useEffect, useState } from 'react';
export default function App() {
  const [steps, setSteps] = useState<string[]>([]);
  useEffect(() => {
    const add = (step: string) => setSteps((before) => [...before, step]);
    Promise.resolve().then(() => add('promise'));
    setTimeout(() => add('timer'), 300);
    requestAnimationFrame(() => add('frame'));
  }, []);
  return <p>{steps.join(' ')}</p>;
}`
    expect(await shows(code)).toBe('promise frame timer')
  })
  test('with a clock that ticks on comes to rest', async () => {
    const code = `import { useEffect, useState } from 'react';
export default function App() {
  const [ticks, setTicks] = useState(0);
  useEffect(() => { const id = setInterval(() => setTicks((before) => before + 1), 250); return () => clearInterval(id) }, []);
  return <p>{ticks}</p>;
}`
    expect(Number(await shows(code))).toBeGreaterThanOrEqual(4)
  })
  test('supports what applications commonly use', async () => {
    const code = `import { createContext, forwardRef, memo, useContext, useId, useLayoutEffect, useMemo, useReducer, useRef, useState, Component, Fragment } from 'react';
class Old extends Component<{ name: string }, { n: number }> { state = { n: 1 }; render() { return <i>{this.props.name}{this.state.n}</i> } }
class Mine extends Error { constructor() { super('m'); this.name = 'Mine' } }
const Theme = createContext('light');
const Inner = memo(forwardRef<HTMLInputElement>((_, ref) => <input ref={ref} defaultValue={useContext(Theme)} />));
Inner.displayName = 'Inner';
export default function App() {
  const field = useRef<HTMLInputElement>(null);
  const [width, setWidth] = useState('');
  const [count] = useReducer((n: number) => n + 1, 2);
  const list = useMemo(() => [...new Set([3, 1, 2])].sort(), []);
  const id = useId();
  useLayoutEffect(() => { setWidth(field.current?.value ?? 'none'); localStorage.setItem('a', '1'); document.title = 'T' }, []);
  return <Theme.Provider value="dark"><Inner ref={field} /><Fragment key={id}>{list.join(',')} {count} {width} {new Mine().name} {localStorage.getItem('a')} <Old name="x" /><svg viewBox="0 0 1 1"><circle r={1} /></svg><b dangerouslySetInnerHTML={{ __html: 'a &amp; <u>b</u>' }} /></Fragment></Theme.Provider>;
}`
    expect(await shows(code)).toBe('1,2,3 2 dark Mine 1 x1 a & b')
  })
  test('logs errors and warnings, capped', async () => {
    const page = await open("export default () => { for (let n = 0; n < 50; n++) { console.error('e'.repeat(999)); console.warn('w', n) } return <p>x</p> }")
    expect([page.errors.length, page.warnings.length, page.errors[0]?.length, page.warnings[1]]).toEqual([20, 20, 300, 'w 1'])
  })
  test('does not leave anything behind for the next', async () => {
    await open("(globalThis as unknown as { left: number }).left = 1; localStorage.setItem('left', '1'); export default () => <p>x</p>")
    expect(await shows("export default () => <p>{String('left' in globalThis)} {String(localStorage.getItem('left'))}</p>")).toBe('false null')
  })
  test('keeps the number of an element while it is open', async () => {
    const page = await open("import { useState } from 'react'; export default () => { const [n, set] = useState(0); return <main>{n > 0 && <i>{n}</i>}<button onClick={() => set(n + 1)}>Add</button></main> }")
    const button = JSON.stringify(page).match(/\{"id":(\d+),"tag":"button"/)?.[1]
    const clicked = await renderer.click(Number(button))
    expect('page' in clicked && JSON.stringify(clicked.page).match(/\{"id":(\d+),"tag":"button"/)?.[1]).toBe(button)
    expect('page' in clicked && visibleText(clicked.page.body)).toBe('1 Add')
  })
  test('that is too large to read says so', async () => {
    await expect(open('export default () => <main>{Array.from({ length: 3000 }, (_, n) => <i key={n}>{n}</i>)}</main>')).rejects.toThrow('more than 2000 elements')
  })
  test('an element that is gone cannot be clicked', async () => {
    await open('export default () => <p>x</p>')
    expect(await renderer.click(99)).toEqual({ failure: 'the element to click is no longer there', starved: false })
  })
})

describe('after a crash', () => {
  test('the next program is served by another process', async () => {
    await expect(open('export default () => { const all = []; for (;;) all.push(new Array(1000).fill(all.length)) }')).rejects.toThrow(/ended|longer|kept/)
    expect(await shows('export default () => <p>x</p>')).toBe('x')
  })
})

describe('the render process', () => {
  test('has no files, children, workers, code from strings, or environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'satchel-render-'))
    try {
      const script = join(folder, 'probe.mjs')
      await writeFile(
        script,
        `import fs from 'node:fs'; import child from 'node:child_process'; import worker from 'node:worker_threads'
const tried = (work) => { try { work(); return 'allowed' } catch (error) { return error.code ?? error.name } }
process.send({
  read: tried(() => fs.readFileSync(process.execPath)),
  list: tried(() => fs.readdirSync(${JSON.stringify(folder)})),
  write: tried(() => fs.writeFileSync(${JSON.stringify(join(folder, 'written'))}, 'x')),
  spawn: tried(() => child.spawnSync(process.execPath, ['-v'])),
  worker: tried(() => new worker.Worker('1', { eval: true })),
  code: tried(() => new Function('return 1')()),
  environment: Object.keys(process.env).filter((name) => !/^(NODE_CHANNEL|TZ$|LANG$|SystemRoot$)/.test(name)),
})`,
      )
      const child = fork(script, [], renderProcessOptions(script, 64))
      const report = await new Promise((resolve, reject) => child.once('message', resolve).once('exit', reject))
      child.kill('SIGKILL')
      expect(report).toEqual({ read: 'ERR_ACCESS_DENIED', list: 'ERR_ACCESS_DENIED', write: 'ERR_ACCESS_DENIED', spawn: 'ERR_ACCESS_DENIED', worker: 'ERR_ACCESS_DENIED', code: 'EvalError', environment: [] })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

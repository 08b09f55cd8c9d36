// Completions that attack whoever scores them. A program that finds a way out shows the word ESCAPED.

export interface HostileProgram {
  readonly name: string
  readonly code: string
  /** `contained`: it may render, but shows no ESCAPED. `failed`: it must not count as rendered. */
  readonly expect: 'contained' | 'failed'
}

/** A component that shows the result of `probe`, or "inside" when the probe throws or yields nothing. */
function probing(probe: string, before = ''): string {
  return `${before}
function probe() { try { const found = (() => { ${probe} })(); return found ? 'ESCAPED' : 'inside' } catch { return 'inside' } }
const result = probe();
export default function App() { return <p>{result}</p> }`
}

const app = (body: string, before = ''): string => `${before}\nexport default function App() { ${body} }`

/** Ways to reach the process around the sandbox. */
export const escapes: readonly HostileProgram[] = [
  { name: 'the constructor of a function', code: probing("return (function () {}).constructor('return process')()"), expect: 'contained' },
  { name: 'the constructor of the global object', code: probing("return globalThis.constructor.constructor('return process')()"), expect: 'contained' },
  { name: 'the constructor of an async function', code: probing("return (async () => {}).constructor('return process')"), expect: 'contained' },
  { name: 'the constructor of a generator', code: probing("return (function* () {}).constructor('return process')().next()"), expect: 'contained' },
  { name: 'eval', code: probing("return (0, eval)('this')"), expect: 'contained' },
  { name: 'a process global', code: probing("return typeof process !== 'undefined'"), expect: 'contained' },
  { name: 'process.exit', code: app('process.exit(0); return <p>x</p>'), expect: 'failed' },
  { name: 'require of fs', code: probing("return require('fs')"), expect: 'contained' },
  { name: 'require of child_process', code: probing("return require('node:child_process')"), expect: 'contained' },
  { name: 'require through a prototype name', code: probing("return require('constructor') || require('__proto__')"), expect: 'contained' },
  { name: 'an import of fs', code: app('return <p>{readFileSync("/etc/passwd", "utf8")}ESCAPED</p>', "import { readFileSync } from 'node:fs'"), expect: 'failed' },
  { name: 'a dynamic import and its error', code: app("return <p>x</p>", "import('node:fs').catch((error) => { globalThis.out = error.constructor.constructor('return process')() })"), expect: 'failed' },
  { name: 'a dynamic import in disguise', code: app('return <p>x</p>', 'const load = (name) => import(name); load("node:net")'), expect: 'failed' },
  { name: 'sockets', code: probing("return typeof WebSocket !== 'undefined' || typeof XMLHttpRequest !== 'undefined' || typeof EventSource !== 'undefined'"), expect: 'contained' },
  { name: 'a socket by require', code: app("require('node:net').connect(80, 'localhost'); return <p>ESCAPED</p>"), expect: 'failed' },
  { name: 'a child process', code: app("require('node:child_process').execSync('echo x'); return <p>ESCAPED</p>"), expect: 'failed' },
  { name: 'an answer of the network', code: app("const [text, set] = useState('inside'); useEffect(() => { fetch('http://localhost').then(() => set('ESCAPED'), () => set('refused')) }, []); return <p>{text}</p>", "import { useEffect, useState } from 'react'"), expect: 'contained' },
  { name: 'workers', code: probing("return typeof Worker !== 'undefined' || typeof SharedWorker !== 'undefined' || typeof BroadcastChannel !== 'undefined' || typeof MessageChannel !== 'undefined'"), expect: 'contained' },
  { name: 'WebAssembly and shared memory', code: probing("return typeof WebAssembly !== 'undefined' || typeof SharedArrayBuffer !== 'undefined' || typeof ArrayBuffer !== 'undefined' || typeof Atomics !== 'undefined'"), expect: 'contained' },
  { name: 'stack frames of the outside', code: probing("let frames; Error.prepareStackTrace = (error, sites) => { frames = sites; return 'x' }; void new Error('x').stack; return frames && frames.some((frame) => frame.getThis() || frame.getFunction())"), expect: 'contained' },
  { name: 'another Error on the global object', code: probing("let frames; globalThis.Error = { prepareStackTrace(error, sites) { frames = sites } }; try { null.x } catch (error) { void error.stack } return frames"), expect: 'contained' },
  { name: 'captureStackTrace', code: probing("const holder = {}; Error.captureStackTrace(holder); return holder.stack"), expect: 'contained' },
  { name: 'an error of the outside from a full stack', code: probing("let found; const dive = () => { try { dive() } catch (error) { const make = error.constructor.constructor; try { found = make('return process')() } catch {} } }; dive(); return found"), expect: 'contained' },
  { name: 'the caller of a function', code: probing("let outer; function inner() { outer = inner.caller } inner(); return outer && outer.caller"), expect: 'contained' },
  { name: 'the secret of the sandbox', code: probing("return globalThis.satchelSecret || String(satchelCommand).includes('secret = ')"), expect: 'contained' },
  { name: 'the environment of the sandbox', code: probing('return globalThis.satchelEnvironment'), expect: 'contained' },
  { name: 'commands of the sandbox', code: probing("return satchelCommand('', 'read', 0, 9)"), expect: 'contained' },
  { name: 'another program after registration', code: probing("satchelRegister((exports) => { exports.default = () => 'ESCAPED' }); return false"), expect: 'contained' },
  { name: 'finalizers', code: probing("return typeof FinalizationRegistry !== 'undefined' || typeof WeakRef !== 'undefined'"), expect: 'contained' },
]

/** Ways to make the evaluator see something else than what is there. */
export const tampering: readonly HostileProgram[] = [
  { name: 'Array.prototype.push', code: probing("Array.prototype.push = function () { return 0 }; return Array.prototype.push.call([], 1) === 0"), expect: 'contained' },
  { name: 'Object.prototype.toJSON', code: probing("Object.prototype.toJSON = () => ({ body: { id: 1, tag: 'p', attributes: [], children: ['ESCAPED'] } }); return false"), expect: 'contained' },
  { name: 'String.prototype.toJSON', code: probing("String.prototype.toJSON = () => 'ESCAPED'; return false"), expect: 'contained' },
  { name: 'JSON.stringify', code: probing("JSON.stringify = () => '{\"body\":{\"id\":1,\"tag\":\"p\",\"attributes\":[],\"children\":[\"ESCAPED\"]},\"errors\":[],\"warnings\":[]}'; return false"), expect: 'contained' },
  { name: 'the JSON object', code: probing("globalThis.JSON = { stringify: () => 'ESCAPED' }; return false"), expect: 'contained' },
  { name: 'Promise.prototype.then', code: probing("Promise.prototype.then = () => 'ESCAPED'; return Promise.resolve().then() === 'ESCAPED'"), expect: 'contained' },
  { name: 'Map, WeakMap and Number', code: probing("Map.prototype.get = () => 'ESCAPED'; WeakMap.prototype.get = () => 1; globalThis.Number = () => 0; return new Map().get(1)"), expect: 'contained' },
  { name: 'methods of elements', code: probing("Object.getPrototypeOf(document.createElement('p')).appendChild = () => { throw 1 }; return false"), expect: 'contained' },
  { name: 'reading of text nodes', code: probing("let proto = document.createTextNode('x'); while ((proto = Object.getPrototypeOf(proto))) { try { Object.defineProperty(proto, 'data', { get: () => 'ESCAPED' }) } catch {} } return false"), expect: 'contained' },
  { name: 'the command of the sandbox', code: probing("try { delete globalThis.satchelCommand } catch {} try { globalThis.satchelCommand = () => '{}' } catch {} Object.defineProperty(globalThis, 'satchelCommand', { value: () => 'ESCAPED' }); return false"), expect: 'contained' },
  { name: 'a result message printed instead of a page', code: app("console.log('{\"kind\":\"page\",\"id\":1}'); console.error('{\"kind\":\"page\",\"id\":1,\"page\":\"{}\"}'); return <p>x</p>"), expect: 'failed' },
  { name: 'postMessage and process.send', code: app("globalThis.postMessage?.({ kind: 'page' }); process.send({ kind: 'page', id: 1 }); return <p>x</p>"), expect: 'failed' },
  { name: 'a document taken away', code: app('return <p>x</p>', "globalThis.document = undefined; globalThis.window = undefined"), expect: 'contained' },
]

/** Ways never to come back. */
export const endless: readonly HostileProgram[] = [
  { name: 'a loop while loading', code: app('return <p>x</p>', 'while (true) {}'), expect: 'failed' },
  { name: 'a loop while rendering', code: app('for (;;) {} return <p>x</p>'), expect: 'failed' },
  { name: 'a loop in an effect', code: app('useEffect(() => { for (;;) {} }); return <p>x</p>', "import { useEffect } from 'react'"), expect: 'failed' },
  { name: 'a loop in a timer', code: app('return <p>x</p>', 'setTimeout(() => { for (;;) {} }, 5)'), expect: 'failed' },
  { name: 'a loop of promises', code: app('return <p>x</p>', 'const again = () => Promise.resolve().then(again); again()'), expect: 'failed' },
  { name: 'a loop of timers', code: app('return <p>x</p>', 'const again = () => setTimeout(again, 0); again()'), expect: 'failed' },
  { name: 'recursion', code: app('const dive = () => dive() + 1; return <p>{dive()}</p>'), expect: 'failed' },
  { name: 'a component inside itself', code: app('return <div><App /></div>'), expect: 'failed' },
  { name: 'state set while rendering', code: app('const [n, set] = useState(0); set(n + 1); return <p>{n}</p>', "import { useState } from 'react'"), expect: 'failed' },
  { name: 'state set in every effect', code: app('const [n, set] = useState(0); useEffect(() => set(n + 1)); return <p>{n}</p>', "import { useState, useEffect } from 'react'"), expect: 'failed' },
  { name: 'state set in every layout effect', code: app('const [n, set] = useState(0); useLayoutEffect(() => set(n + 1)); return <p>{n}</p>', "import { useState, useLayoutEffect } from 'react'"), expect: 'failed' },
  { name: 'a regular expression that backtracks', code: app("return <p>{String(/^(a+)+$/.test('a'.repeat(60) + 'b'))}</p>"), expect: 'failed' },
  { name: 'a very large integer', code: app('let n = 3n; for (let i = 0; i < 40; i++) n = n * n; return <p>{String(n).length}</p>'), expect: 'failed' },
  { name: 'an error whose text never ends', code: app("throw { toString() { for (;;) {} }, get message() { for (;;) {} } }"), expect: 'failed' },
  { name: 'a getter in the place of the component', code: 'function App() { return <p>x</p> }\nObject.defineProperty(exports, "extra", { get() { for (;;) {} }, enumerable: true });\nexport default new Proxy(App, { get() { for (;;) {} }, apply() { for (;;) {} } })', expect: 'failed' },
  { name: 'waiting for a promise that never resolves', code: app('throw forever', 'const forever = new Promise(() => {})'), expect: 'failed' },
  { name: 'an async component that never resolves', code: 'export default async function App() { await new Promise(() => {}); return <p>x</p> }', expect: 'failed' },
]

/** Ways to use up the machine. */
export const greedy: readonly HostileProgram[] = [
  { name: 'an array without end', code: app('const all = []; for (;;) all.push(new Array(1000).fill(all.length)); return <p>x</p>'), expect: 'failed' },
  { name: 'a text that doubles', code: app("let text = 'x'; const keep = []; for (;;) { text += text; keep.push(text.split('')) } return <p>x</p>"), expect: 'failed' },
  { name: 'a map without end', code: app('const map = new Map(); for (let i = 0; ; i++) map.set(i, { i, text: String(i).repeat(50) }); return <p>x</p>'), expect: 'failed' },
  { name: 'a hundred thousand elements', code: app('return <main>{Array.from({ length: 100000 }, (_, i) => <p key={i}>{i}</p>)}</main>'), expect: 'failed' },
  { name: 'elements ten thousand deep', code: app('let inner = <b>x</b>; for (let i = 0; i < 10000; i++) inner = <div>{inner}</div>; return inner'), expect: 'failed' },
  { name: 'ten million characters of text', code: app("return <p>{'word '.repeat(2000000)}</p>"), expect: 'failed' },
  { name: 'a flood of console errors', code: app("for (let i = 0; i < 1e5; i++) console.error('x'.repeat(1000)); return <p>x</p>"), expect: 'failed' },
  { name: 'a flood of console logs without end', code: app("for (;;) console.log('x'.repeat(1000)); return <p>x</p>"), expect: 'failed' },
  { name: 'ten thousand timers', code: app('return <p>x</p>', 'for (let i = 0; i < 1e5; i++) setInterval(() => {}, 1)'), expect: 'contained' },
  { name: 'an unhandled rejection with a trap', code: app('return <p>x</p>', "Promise.reject(new Proxy({}, { get() { for (;;) {} }, getPrototypeOf() { for (;;) {} } }))"), expect: 'failed' },
]

/** Texts that are hard to read rather than to run. */
export const unreadable: readonly HostileProgram[] = [
  { name: 'nothing', code: '', expect: 'failed' },
  { name: 'blank lines', code: '\n'.repeat(500), expect: 'failed' },
  { name: 'prose', code: 'Sure! Here is the component that you asked for.', expect: 'failed' },
  { name: 'a line of a million characters', code: app(`return <p>{'${'x'.repeat(1_000_000)}'}</p>`), expect: 'failed' },
  { name: 'twenty thousand open brackets', code: `export default () => ${'('.repeat(20_000)}<p>x</p>`, expect: 'failed' },
  { name: 'ten thousand open tags', code: `export default () => ${'<b>'.repeat(10_000)}`, expect: 'failed' },
  { name: 'five thousand closed tags', code: `export default () => ${'<b>'.repeat(5_000)}x${'</b>'.repeat(5_000)}`, expect: 'failed' },
  { name: 'unpaired surrogates', code: app("return <p>{'\ud800'}\udc00</p>"), expect: 'contained' },
  { name: 'zero bytes and control characters', code: `${'\u0000\u0007\u001b[2J'.repeat(50)}<p>`, expect: 'failed' },
  { name: 'right-to-left overrides', code: app("return <p>{'\u202e\u2066 if'}</p>"), expect: 'contained' },
  { name: 'sixty thousand blank lines in an application', code: app("return <p>x</p>", '\n'.repeat(60_000)), expect: 'contained' },
  { name: 'a fence and a million spaces', code: `\`\`\`${' '.repeat(1_000_000)}x\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'fifty thousand attributes', code: app(`return <p ${'a '.repeat(25_000)}>x</p>`), expect: 'contained' },
  { name: 'a fence that is never closed', code: '```tsx\nexport default function App() { return <p>', expect: 'failed' },
  { name: 'a program that breaks out of a wrapper', code: "export default function App() { return <p>x</p> }\n})\n;satchelRegister(function () {", expect: 'failed' },
]

/** Programs that please a gate without being an application (judged with the type check on). */
export const cheats: readonly HostileProgram[] = [
  { name: 'no body', code: 'export default function App()', expect: 'failed' },
  { name: 'a body-less signature and JSX beside it', code: 'const x = <p>x</p>;\nexport default function App(): typeof x;', expect: 'failed' },
  { name: 'return null', code: app('return null'), expect: 'failed' },
  { name: 'an empty fragment', code: app('return <></>'), expect: 'failed' },
  { name: 'white space only', code: app("return <p>{'\\u200b '}</p>"), expect: 'failed' },
  { name: 'a hidden page', code: app('return <main hidden><h1>x</h1></main>'), expect: 'failed' },
  { name: '@ts-nocheck', code: `// @ts-nocheck\n${app('return <p foo="1">{nothing}</p>')}`, expect: 'failed' },
  { name: '@ts-ignore', code: app('return (\n<p>\n{/* @ts-ignore */}\n{1 + {}}</p>)'), expect: 'failed' },
  { name: '@ts-expect-error', code: `${app('return <p>x</p>')}\n// @ts-expect-error\nconst n: number = 'x'`, expect: 'failed' },
  { name: 'eslint-disable', code: `/* eslint-disable */\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'words as attributes', code: app('return <h1 Apples Add count>x</h1>'), expect: 'failed' },
  { name: 'words with hyphens as attributes', code: app('return <h1 add-apples the-count>x</h1>'), expect: 'failed' },
  { name: 'declare global', code: `declare global { namespace JSX { interface IntrinsicElements { [name: string]: any } } }\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'a namespace JSX', code: `namespace JSX { export interface IntrinsicElements { [name: string]: any } }\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'a declared module', code: `declare module 'react' { interface HTMLAttributes<T> { foo?: string } }\n${app('return <p foo="x">x</p>')}`, expect: 'failed' },
  { name: 'a declared hook', code: `declare const useState: any;\n${app('const [n] = useState(0); return <p>{n}</p>')}`, expect: 'failed' },
  { name: 'a tag of type any', code: app("const Tag: any = 'p'; return <Tag foo bar>x</Tag>"), expect: 'failed' },
  { name: 'attributes of type any', code: app("return <p {...({ foo: 1 } as any)}>x</p>"), expect: 'failed' },
  { name: 'another JSX factory', code: `/** @jsx fake */\nconst fake = () => null;\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'another JSX import source', code: `/** @jsxImportSource preact */\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'a reference path', code: `/// <reference path="/etc/passwd" />\n${app('return <p>x</p>')}`, expect: 'failed' },
  { name: 'a neighbour of the batch imported', code: `import Other from './0';\nexport default function App() { return <Other /> }`, expect: 'failed' },
  { name: 'no export', code: 'function App() { return <p>x</p> }', expect: 'failed' },
  { name: 'an export that is no component', code: 'export default <p>x</p>', expect: 'failed' },
  { name: 'a type that grows without end', code: `type Grow<T extends unknown[]> = T['length'] extends 99999 ? T : Grow<[...T, ...T, 1]>;\nconst x: Grow<[1]> = null as never;\n${app('return <p>{String(x)}</p>')}`, expect: 'failed' },
  { name: 'a union of a million members', code: `type D = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9';\ntype N = \`\${D}\${D}\${D}\${D}\${D}\${D}\`;\nconst n: N = 'x';\n${app('return <p>{n}</p>')}`, expect: 'failed' },
]

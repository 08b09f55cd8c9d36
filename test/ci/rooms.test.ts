// Proves that the house rules bite: every lint rule on a snippet that breaks it, every room's type-check project on a global it must not see.
import { ESLint } from 'eslint'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const root = projectRoot()
const eslint = new ESLint({ cwd: root })

/** Lints a snippet as if it stood in `file`, which exists so that the type-aware rules find its project. Returns `rule: message` lines. */
async function lint(file: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: join(root, file) })
  return result!.messages.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

const contract = 'src-main/contract/errors.ts'
const engine = 'src-main/engine/runtime/random.ts'
const runtime = 'src-main/engine/runtime/ort.ts'
const host = 'src-main/engine-host/reward-worker.ts'
const app = 'src-main/app/policies.ts'
const preload = 'src-main/preload/preload.ts'
const renderer = 'src-renderer/bridge/client.ts'
const test = 'test/support/evaluate.ts'
const kernels = 'native-kernels/build.mjs'

const use = (specifier: string): string => `import * as module from '${specifier}'\nexport { module }\n`

describe('imports', () => {
  it.each([
    ['contract', contract, 'react'],
    ['contract', contract, 'node:fs'],
    ['contract', contract, '../engine/runtime/random.ts'],
    ['native-kernels', kernels, '../src-main/contract/errors.ts'],
    ['native-kernels', kernels, 'esbuild'],
    ['engine', engine, 'electron'],
    ['engine', engine, 'onnxruntime-node'],
    ['engine', engine, '../../app/policies.ts'],
    ['engine', engine, '../../engine-host/reward-worker.ts'],
    ['engine', engine, '../../../src-renderer/bridge/client.ts'],
    ['engine', engine, '../../../test/support/evaluate.ts'],
    ['engine', engine, '../../../eslint.rooms.js'],
    ['engine-host', host, '../app/policies.ts'],
    ['engine-host', host, 'onnxruntime-node'],
    ['app', app, '../engine/runtime/random.ts'],
    ['app', app, '../engine-host/reward-worker.ts'],
    ['app', app, '../preload/preload.ts'],
    ['app', app, 'onnxruntime-node'],
    ['preload', preload, 'node:fs'],
    ['preload', preload, '../app/policies.ts'],
    ['preload', preload, 'zod'],
    ['renderer', renderer, 'node:path'],
    ['renderer', renderer, 'path'],
    ['renderer', renderer, 'electron'],
    ['renderer', renderer, '../../src-main/app/policies.ts'],
    ['renderer', renderer, '../../src-main/engine/runtime/random.ts'],
  ])('%s: %s may not import %s', async (_room, file, specifier) => {
    expect(await lint(file, use(specifier))).toContainEqual(expect.stringMatching(/^house\/imports: /))
  })

  it.each([
    [contract, 'zod'],
    [contract, './field.ts'],
    [engine, '../../contract/errors.ts'],
    [engine, '../../../native-kernels/build.mjs'],
    [engine, 'node:fs'],
    [runtime, 'onnxruntime-node'],
    [host, '../engine/runtime/random.ts'],
    [app, 'electron'],
    [app, '../contract/errors.ts'],
    [preload, 'electron'],
    [renderer, 'svelte'],
    [renderer, '../../src-main/contract/errors.ts'],
    [test, '../../src-main/engine/runtime/random.ts'],
    [test, 'node:net'],
  ])('%s may import %s', async (file, specifier) => {
    expect(await lint(file, use(specifier))).not.toContainEqual(expect.stringMatching(/^house\/imports: /))
  })

  it.each([
    ['a package that package.json does not name', use('left-pad'), 'left-pad is not in package.json'],
    ['a development package at run time', use('fast-check'), 'fast-check is needed at run time'],
  ])('%s is refused', async (_title, code, message) => {
    expect(await lint(engine, code)).toContainEqual(expect.stringContaining(message))
  })

  it.each([
    ['a re-export', "export * from 'electron'\n"],
    ['a named re-export', "export { app } from 'electron'\n"],
    ['a type', "export type App = import('electron').App\n"],
    ['a type-only import', "import type { App } from 'electron'\nexport type Mine = App\n"],
    ['a dynamic import', "export const load = () => import('electron')\n"],
    ['require', "import { createRequire } from 'node:module'\nconst require = createRequire(process.cwd())\nexport const electron: unknown = require('electron')\n"],
  ])('%s is an import as well', async (_title, code) => {
    expect(await lint(engine, code)).toContainEqual(expect.stringMatching(/^house\/imports: electron may be imported only in/))
  })
})

describe('sockets', () => {
  it.each(['net', 'node:net', 'node:http', 'node:https', 'node:http2', 'node:dgram', 'node:tls', 'node:dns', 'node:dns/promises', 'node:inspector', 'undici', 'ws'])('%s is imported by no room', async (specifier) => {
    for (const file of [engine, host, app, kernels]) expect(await lint(file, use(specifier)), file).toContainEqual(expect.stringMatching(/^house\/imports: .* opens sockets/))
  })

  it.each(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'WebTransport', 'RTCPeerConnection'])('the global %s is used by no room, under no name', async (name) => {
    for (const file of [contract, engine, host, app, preload, renderer]) {
      expect(await lint(file, `export const own: unknown = ${name}\n`), file).toContainEqual(expect.stringMatching(/^no-restricted-globals: /))
      expect(await lint(file, `export const own: unknown = globalThis.${name}\n`), file).toContainEqual(expect.stringMatching(/^no-restricted-globals: /))
    }
    expect(await lint(renderer, `export const own: unknown = window.${name}\n`)).toContainEqual(expect.stringMatching(/^no-restricted-globals: /))
  })

  it('two files have fetch, one of them the hub\'s client, and nothing else of the kind', async () => {
    const client = 'src-main/engine/models/hub-client.ts'
    expect(await lint(client, "import { listFiles } from '@huggingface/hub'\nexport const own: unknown[] = [fetch, listFiles]\n")).toEqual([])
    const judge = 'src-main/engine/rewards/judge/judge-client.ts'
    expect(await lint(judge, 'export const own: unknown = fetch\n')).toEqual([])
    for (const file of [client, judge]) {
      expect(await lint(file, use('node:https')), file).toContainEqual(expect.stringMatching(/opens sockets/))
      expect(await lint(file, 'export const own: unknown = WebSocket\n'), file).toContainEqual(expect.stringMatching(/^no-restricted-globals: /))
    }
    for (const file of [engine, host, app, judge]) expect(await lint(file, use('@huggingface/hub')), file).toContainEqual(expect.stringMatching(/^house\/imports: @huggingface\/hub may be imported only in src-main\/engine\/models\/hub-client\.ts/))
  })

  it('only a reward that names a server leads to the judge\'s client, and loads it then', async () => {
    for (const file of [engine, host]) {
      const up = file === host ? '../engine' : '..'
      for (const name of ['judge-client', 'server-judge']) expect(await lint(file, use(`${up}/rewards/judge/${name}.ts`)), file).toContainEqual(expect.stringMatching(/^house\/imports: .* leads to a socket/))
    }
    const opener = await readFile(join(root, 'src-main/engine/rewards/judge/open-rewards.ts'), 'utf8')
    expect([...opener.matchAll(/.*server-judge.*/g)].map(([line]) => line.trim())).toEqual(["const { openServerJudge } = await import('./server-judge.ts')"])
  })

  it('only the download command leads to that file, and loads it when it is asked for', async () => {
    for (const file of [engine, host]) {
      const up = file === host ? '../engine' : '..'
      for (const name of ['hub-client', 'hub-download']) expect(await lint(file, use(`${up}/models/${name}.ts`)), file).toContainEqual(expect.stringMatching(/^house\/imports: .* leads to a socket/))
    }
    const command = await readFile(join(root, 'src-main/engine-host/cli-download.ts'), 'utf8')
    expect([...command.matchAll(/.*hub-download.*/g)].map(([line]) => line.trim())).toEqual(["const { downloadModel } = await import('../engine/models/hub-download.ts')"])
  })

  it('no product file names what opens a socket, however it is written, but that one and those that take it away', async () => {
    // Globals are the linter's, which knows a local function of the same name from the real one.
    const suspicious = /['"`](?:node:)?(?:https?|http2|net|tls|dgram|dns|dns\/promises|inspector|undici|ws|@huggingface\/hub)['"`]/
    const named: string[] = []
    for (const folder of ['src-main', 'src-renderer', 'native-kernels']) {
      for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
        const file = join(entry.parentPath, entry.name)
        if (!entry.isFile() || !/\.(?:ts|mjs|svelte)$/.test(entry.name) || file.includes(`${sep}build${sep}`)) continue
        if (suspicious.test(await readFile(file, 'utf8'))) named.push(relative(root, file).replaceAll(sep, '/'))
      }
    }
    expect(named.toSorted()).toEqual(['src-main/engine-host/render-sandbox.ts', 'src-main/engine/models/hub-client.ts'])
  })

  it('other ways to a socket are closed too', async () => {
    expect(await lint(app, "import { net } from 'electron'\nexport const request = net\n")).toContainEqual(expect.stringMatching(/electron's net opens sockets/))
    expect(await lint(engine, "export const http: unknown = process.getBuiltinModule('node:http')\n")).toContainEqual(expect.stringMatching(/node:http opens sockets/))
    expect(await lint(renderer, "export const sent = navigator.sendBeacon('/')\n")).toContainEqual(expect.stringMatching(/^no-restricted-properties: /))
  })
})

describe('code rules', () => {
  it.each([
    ['any', '@typescript-eslint/no-explicit-any', 'export const value: any = 1\n'],
    ['a floating promise', '@typescript-eslint/no-floating-promises', 'export function start(): void {\n  Promise.resolve(1)\n}\n'],
    ['a promise where none is awaited', '@typescript-eslint/no-misused-promises', 'export function start(items: number[]): void {\n  items.forEach(async (item) => {\n    await Promise.resolve(item)\n  })\n}\n'],
    ['a switch that misses a case', '@typescript-eslint/switch-exhaustiveness-check', "export function name(kind: 'a' | 'b'): string | undefined {\n  switch (kind) {\n    case 'a':\n      return 'A'\n  }\n  return undefined\n}\n"],
    ['a type imported as a value', '@typescript-eslint/consistent-type-imports', "import { UserError } from '../../contract/errors.ts'\nexport type Mine = UserError\n"],
    ['a suppressed type error', '@typescript-eslint/ban-ts-comment', "// @ts-ignore\nexport const value: string = 1\n"],
    ['a comment that switches off nothing', 'null', '// eslint-disable-next-line no-restricted-globals\nexport const value = 1\n'],
    ['loose equality', 'eqeqeq', 'export const same = (a: number, b: number): boolean => a == b\n'],
    ['a file that has grown too long', 'max-lines', 'export {}\n'.repeat(451)],
  ])('%s is refused', async (_title, rule, code) => {
    expect(await lint(engine, code)).toContainEqual(expect.stringMatching(new RegExp(`^${rule.replace('/', '\\/')}: `)))
  })

  it('file names are kebab-case', async () => {
    expect(await lint('native-kernels/buildIt.mjs', 'export {}\n')).toContainEqual(expect.stringMatching(/^house\/file-name: /))
  })
})

/** Type errors of a snippet that stands for an existing file of a room, with everything else of the room in the program. */
function typeErrors(file: string, code: string): string[] {
  let folder = dirname(join(root, file))
  while (!ts.sys.fileExists(join(folder, 'tsconfig.json'))) folder = dirname(folder)
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as { config: unknown }
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const host = ts.createCompilerHost(options)
  const own = join(root, file).replaceAll('\\', '/')
  const read = host.readFile.bind(host)
  host.readFile = (path) => (path.replaceAll('\\', '/') === own ? code : read(path))
  const getSourceFile = host.getSourceFile.bind(host)
  host.getSourceFile = (path, version, ...rest) => (path.replaceAll('\\', '/') === own ? ts.createSourceFile(path, code, version) : getSourceFile(path, version, ...rest))
  const program = ts.createProgram(fileNames, options, host)
  return ts.getPreEmitDiagnostics(program, program.getSourceFile(own)).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

describe('type-check projects', () => {
  it.each([
    ['contract', contract, 'process.cwd()'],
    ['contract', contract, 'document.title'],
    ['engine', engine, 'document.title'],
    ['engine-host', host, 'document.title'],
    ['app', app, 'document.title'],
    ['renderer', renderer, 'process.cwd()'],
  ])('%s: %s has no %s', (_room, file, expression) => {
    const name = expression.split('.')[0]!
    expect(typeErrors(file, `export const value: unknown = ${expression}\n`)).toContainEqual(expect.stringMatching(new RegExp(`Cannot find name '${name}'`)))
  })

  it.each([
    ['engine', engine, 'process.cwd()'],
    ['renderer', renderer, 'document.title'],
    ['preload', preload, 'document.title'],
  ])('%s: %s has %s', (_room, file, expression) => {
    expect(typeErrors(file, `export const value: unknown = ${expression}\n`)).toEqual([])
  })
})

// The models of a machine from the command line: listed, added, verified, called by name.
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import type { Verification } from '../../src-main/engine/models/verify.ts'
import { fixture } from '../engine/models/fixtures.ts'
import { buildEntry } from '../support/build.ts'
import { run, start } from '../support/cli.ts'
import type { Ended } from '../support/cli.ts'
import { buildGguf, tinyMetadata, tinyTensors } from '../support/gguf-fixture.ts'
import { repository, sendSome, startHub } from '../support/hub-server.ts'
import type { HubServer } from '../support/hub-server.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

let cli = ''
let folder = ''
const inFolder = (...parts: string[]): string => join(folder, ...parts)

interface Listed {
  readonly bases: { readonly name: string; readonly found: boolean }[]
  readonly models: { readonly name: string; readonly source: string; readonly state: string; readonly path: string; readonly family?: string; readonly parameters?: number; readonly bytes: number }[]
  readonly hidden: number
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-models-'))
  cli = await buildEntry('src-main/engine-host/cli.ts')
  await writeTinyModel(inFolder('model'))
  const repository = inFolder('hub', 'models--lab--tiny')
  await mkdir(join(repository, 'refs'), { recursive: true })
  await mkdir(join(repository, 'snapshots'))
  await writeFile(join(repository, 'refs', 'main'), 'abc')
  await symlink(inFolder('model'), join(repository, 'snapshots', 'abc'), 'junction')
  await mkdir(inFolder('hub', 'models--lab--diffusion', 'snapshots', 'abc'), { recursive: true })
  await writeFile(inFolder('hub', 'models--lab--diffusion', 'snapshots', 'abc', 'config.json'), '{"architectures":["UNet"]}')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** With a home of its own, so that no cache of this machine is seen. */
const surroundings = (more: Record<string, string> = {}): { cwd: string; env: Record<string, string> } => ({ cwd: folder, env: { HOME: inFolder('home'), USERPROFILE: inFolder('home'), HF_HOME: '', HF_HUB_CACHE: inFolder('hub'), HUGGINGFACE_HUB_CACHE: '', XDG_CACHE_HOME: '', SATCHEL_MODELS: inFolder('library'), ...more } })

function satchel(...options: string[]): Promise<Ended> {
  return run(cli, options, surroundings())
}

describe('models list', () => {
  it('shows the base models as missing, the built-in one, and what a cache holds; other families only when asked', async () => {
    const listed = (await satchel('models', 'list', '--json')).json<Listed>()
    expect(listed.bases).toEqual(['Qwen2.5-3B', 'SmolLM3-3B', 'Phi-4-mini-reasoning'].map((name) => expect.objectContaining({ name, found: false, path: null }) as object))
    expect(listed.models.map(({ name, source, state }) => [name, source, state])).toEqual([['built-in', 'built-in', 'ready'], ['lab/tiny', 'hugging-face', 'ready']])
    expect(listed.models[1]).toMatchObject({ family: 'qwen2', path: inFolder('hub', 'models--lab--tiny', 'snapshots', 'abc') })
    expect(listed.hidden).toBe(1)
    const all = (await satchel('models', 'list', '--all', '--json')).json<Listed>()
    expect(all.models.map(({ name, state }) => [name, state])).toContainEqual(['lab/diffusion@abc', 'unsupported'])
    const text = (await satchel('models', 'list')).stdout
    expect(text).toContain('Qwen2.5-3B: missing (satchel models download Qwen/Qwen2.5-3B')
    expect(text).toContain('1 more in the caches of other tools')
  })
})

describe('models add', () => {
  it('remembers a path without copying; the model then answers to its name, and is forgotten again', async () => {
    const added = await satchel('models', 'add', 'model', '--name', 'mine', '--json')
    expect(added.code, added.stderr).toBe(0)
    expect(added.json()).toMatchObject({ name: 'mine', path: inFolder('model'), family: 'qwen2' })
    expect(await readdir(inFolder('library'))).toEqual(['library.json'])
    const generated = await satchel('generate', 'mine', '--prompt', 'Hello', '--max-tokens', '2', '--json')
    expect(generated.code, generated.stderr).toBe(0)
    expect((await satchel('models', 'add', 'model', '--name', 'mine')).code).toBe(3)
    expect((await satchel('models', 'remove', 'mine', '--json')).json()).toEqual({ removed: 'mine', path: inFolder('model') })
    expect((await satchel('generate', 'mine', '--prompt', 'Hello', '--json')).json()).toMatchObject({ error: { code: 'not-found', place: { file: 'mine' } } })
    expect(await readdir(inFolder('model'))).toContain('model.safetensors')
  })

  it('takes a .gguf file, and so does import, which copies it and keeps its ending', async () => {
    await writeFile(inFolder('tiny.gguf'), buildGguf(tinyMetadata(), tinyTensors()))
    for (const command of [['add', 'tiny.gguf'], ['import', 'tiny.gguf', '--name', 'copied']]) {
      const ended = await satchel('models', ...command, '--json')
      expect(ended.code, ended.stderr).toBe(0)
      expect(ended.json()).toMatchObject({ family: 'llama', storedType: 'F32' })
    }
    const listed = (await satchel('models', 'list', '--json')).json<Listed>().models
    expect(listed.map(({ name, path, state }) => [name, path, state])).toEqual(expect.arrayContaining([['copied.gguf', inFolder('library', 'copied.gguf'), 'ready'], ['tiny.gguf', inFolder('tiny.gguf'), 'ready']]))
  })

  it('refuses what is no model', async () => {
    await mkdir(inFolder('empty'))
    expect((await satchel('models', 'add', 'empty', '--json')).json()).toMatchObject({ error: { code: 'not-found', place: { file: join('empty', 'config.json') } } })
  })
})

describe('models verify', () => {
  it('says whether a model is usable, remembers its hashes, and tells a change the next time', async () => {
    await writeTinyModel(inFolder('verified'))
    const first = await satchel('models', 'verify', 'verified', '--json')
    expect(first.code, first.stderr).toBe(0)
    expect(first.json<Verification>()).toMatchObject({ usable: true, details: { family: 'qwen2' } })
    expect(first.json<Verification>().checks.at(-1)).toMatchObject({ name: 'generation', state: 'passed' })
    expect(first.stderr).toContain('model.safetensors')
    await appendFile(inFolder('verified', 'generation_config.json'), '\n')
    const second = await satchel('models', 'verify', 'verified', '--no-generate')
    expect(second.code).toBe(3)
    expect(second.stdout.trimEnd().split('\n').at(-1)).toMatch(/^Not usable: generation_config\.json: changed since the verification of \d{4}-\d\d-\d\d;/)
    expect((await satchel('models', 'verify', 'verified', '--no-generate', '--accept')).code).toBe(0)
    const third = (await satchel('models', 'verify', 'verified', '--no-generate', '--json')).json<Verification>()
    expect(third.checks.find(({ name }) => name === 'hashes')).toMatchObject({ state: 'passed' })
    expect(third.checks.at(-1)).toEqual({ name: 'generation', state: 'skipped', what: 'no generation was tried, as asked' })
  })

  it('knows the names models list shows', async () => {
    expect((await satchel('models', 'verify', 'built-in', '--no-generate', '--json')).json<Verification>().usable).toBe(true)
    expect((await satchel('models', 'verify', 'TINY', '--no-generate', '--json')).json<Verification>().path).toBe(inFolder('hub', 'models--lab--tiny', 'snapshots', 'abc'))
    expect((await satchel('models', 'verify', 'nothing', '--json')).json()).toMatchObject({ error: { code: 'not-found' } })
  })
})

describe('models plan', () => {
  it('says what a run needs, that it fits, and with too little memory what to change', async () => {
    const plan = (await satchel('models', 'plan', 'model', '--prompt-tokens', '16', '--new-tokens', '16', '--json')).json<{ fits: boolean; plan: { trainingPeak: number; weights: number } }>()
    expect(plan.fits).toBe(true)
    expect(plan.plan.trainingPeak).toBeGreaterThan(plan.plan.weights)
    const tight = (await satchel('models', 'plan', 'built-in', '--memory', '0.5')).stdout
    expect(tight).toMatch(/This does not fit into 512\.0 MiB: .* are missing/)
    expect(tight).toMatch(/training\.microBatchTokens 2048: /)
    expect(tight).toContain('taken to have up to 256 tokens')
  })

  it('reckons with the longest prompt of the data, and refuses data that cannot be read', async () => {
    await writeFile(inFolder('two.jsonl'), '{"prompt": "a"}\n{"prompt": "a button and a list"}\n')
    const inspected = (await satchel('data', 'inspect', 'two.jsonl', '--model', 'model', '--json')).json<{ promptTokens: { most: number } }>()
    const plan = (await satchel('models', 'plan', 'model', '--data', 'two.jsonl', '--new-tokens', '16', '--json')).json<{ lengths: { promptTokens: number }; promptTokensKnown: boolean }>()
    expect(plan).toMatchObject({ lengths: { promptTokens: inspected.promptTokens.most }, promptTokensKnown: true })
    expect((await satchel('models', 'plan', 'model', '--data', 'missing.jsonl')).stderr).toContain('missing.jsonl')
  })

  it('refuses lengths the model cannot hold, naming the option', async () => {
    const ended = await satchel('models', 'plan', 'model', '--prompt-tokens', '1000000')
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain('--prompt-tokens')
  })
})

describe('what does not belong together is refused, naming it', () => {
  it('a model that lacks a shard', async () => {
    await cp(fixture('qwen2-tied-sharded'), inFolder('sharded'), { recursive: true })
    await rm(inFolder('sharded', 'model-00002-of-00003.safetensors'))
    for (const command of [['generate', 'sharded', '--prompt', 'a'], ['models', 'add', 'sharded'], ['models', 'import', 'sharded', '--name', 'copy']]) {
      const ended = await satchel(...command, '--json')
      expect([ended.code, ended.json<{ error: ErrorEnvelope }>().error.place.file]).toEqual([3, join('sharded', 'model-00002-of-00003.safetensors')])
    }
    expect(existsSync(inFolder('library', 'copy'))).toBe(false)
  })

  it('an adapter for another base, by its shapes', async () => {
    const ended = await satchel('generate', fixture('llama-tied', 'adapter'), '--base', 'model', '--prompt', 'a', '--json')
    expect(ended.code).toBe(3)
    expect(ended.json<{ error: ErrorEnvelope }>().error).toMatchObject({ place: { file: fixture('llama-tied', 'adapter', 'adapter_model.safetensors') }, remedy: 'Choose an adapter that was trained from this base model.' })
  })
})

describe('models download', () => {
  let hub: HubServer
  beforeAll(async () => {
    hub = await startHub(inFolder('model'))
  })
  afterAll(() => hub.close())

  it('brings a model from a mirror into the models folder; it is listed, and verifies by the hashes of the hub', async () => {
    const downloaded = await satchel('models', 'download', repository, '--mirror', hub.url, '--json')
    expect(downloaded.code, downloaded.stderr).toBe(0)
    expect(downloaded.json()).toMatchObject({ name: 'tiny', path: inFolder('library', 'tiny'), repository, commit: hub.commit, family: 'qwen2' })
    expect((await satchel('models', 'list', '--json')).json<Listed>().models.map(({ name }) => name)).toContain('tiny')
    const verified = (await satchel('models', 'verify', inFolder('library', 'tiny'), '--no-generate', '--json')).json<Verification>()
    expect(verified.checks.find(({ name }) => name === 'hashes')?.what).toBe('5 of 5 files as the hub published them')
    expect((await satchel('models', 'download', repository, '--mirror', hub.url)).code).toBe(3)
  })

  it('takes the mirror the environment names, and tells a repository that is not there', async () => {
    const ended = await run(cli, ['models', 'download', 'lab/none', '--json'], surroundings({ HF_ENDPOINT: hub.url }))
    expect([ended.code, ended.json<{ error: { code: string } }>().error.code]).toEqual([3, 'not-found'])
  })

  it.skipIf(process.platform === 'win32')('(needs signals, which Windows has not) ends with code 4 at Ctrl-C and goes on later', async () => {
    hub.misbehave = ({ file, response, from }) => {
      if (file !== 'model.safetensors') return false
      hub.misbehave = () => false
      sendSome(response, hub.files.get(file)!, from, 30_000)
      return true
    }
    const running = start(cli, ['models', 'download', repository, '--mirror', hub.url, '--to', 'later', '--json'], surroundings())
    await vi.waitFor(async () => {
      const [unfinished] = (await readdir(inFolder('.later.download'))).filter((name) => name.endsWith('.part'))
      expect((await stat(inFolder('.later.download', unfinished!))).size).toBe(30_000)
    }, { timeout: 60_000, interval: 50 })
    running.interrupt()
    const stopped = await running.ended
    expect(stopped.code, stopped.stderr).toBe(4)
    expect(stopped.json()).toMatchObject({ error: { code: 'stopped' } })
    expect((await readdir(folder)).filter((name) => name.includes('later'))).toEqual(['.later.download'])
    hub.asked.length = 0
    expect((await satchel('models', 'download', repository, '--mirror', hub.url, '--to', 'later')).code).toBe(0)
    expect(hub.asked.filter((path) => path.includes('/resolve/'))).toEqual([`/${repository}/resolve/${hub.commit}/model.safetensors from 30000`])
  })
})

describe('without a network', () => {
  it('every other command works: nothing but a download opens a socket', async () => {
    await writeFile(inFolder('no-sockets.cjs'), "require('node:net').Socket.prototype.connect = () => { throw new Error('a socket was opened') }\nrequire('node:dns').lookup = () => { throw new Error('a name was looked up') }\n")
    const offline = surroundings({ NODE_OPTIONS: `--require ${JSON.stringify(inFolder('no-sockets.cjs').replaceAll('\\', '/'))}` })
    for (const options of [['models', 'list'], ['models', 'verify', 'built-in'], ['generate', 'built-in', '--prompt', 'Hello', '--max-tokens', '2']]) {
      const ended = await run(cli, options, offline)
      expect(`${ended.stdout}${ended.stderr}`, options.join(' ')).not.toMatch(/a socket was opened|a name was looked up/)
    }
    const download = start(cli, ['models', 'download', 'lab/tiny', '--to', 'never', '--mirror', 'http://127.0.0.1:50000'], offline)
    await download.said(/a socket was opened\); trying again/)
    download.child.kill('SIGKILL')
  })
})

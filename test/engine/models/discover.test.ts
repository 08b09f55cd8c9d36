import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { discoverModels, modelsNamed, usualCaches } from '../../../src-main/engine/models/discover.ts'
import type { FoundModel } from '../../../src-main/engine/models/discover.ts'
import { addToLibrary, readLibrary, recordVerification, removeFromLibrary } from '../../../src-main/engine/models/model-library.ts'
import { baseModels, detailsOf, findBase, summariseModel } from '../../../src-main/engine/models/model-summary.ts'
import { parseDecoderConfig } from '../../../src-main/engine/models/config.ts'
import { buildGguf, tinyMetadata, tinyTensors } from '../../support/gguf-fixture.ts'
import type { MetadataEntry } from '../../../src-main/engine/models/gguf/write.ts'
import { copyOfFixture, fixture, temporaryFolder, userError } from './fixtures.ts'
import { PHI_4_MINI, QWEN25_3B, SMOLLM3_3B } from './published-configs.ts'

const commit = 'a'.repeat(40)
const older = 'b'.repeat(40)

/** A Hugging Face cache with one repository; the snapshot of `main` links into blobs, or holds the files themselves. */
function huggingFaceCache(links: boolean): string {
  const cache = join(temporaryFolder(), 'hub')
  const repository = join(cache, 'models--org--tiny-llama')
  mkdirSync(join(repository, 'refs'), { recursive: true })
  writeFileSync(join(repository, 'refs', 'main'), commit)
  mkdirSync(join(repository, 'snapshots', older), { recursive: true })
  writeFileSync(join(repository, 'snapshots', older, 'config.json'), '{}')
  const snapshot = join(repository, 'snapshots', commit)
  if (!links) {
    cpSync(fixture('llama-tied'), snapshot, { recursive: true })
    return cache
  }
  mkdirSync(snapshot)
  mkdirSync(join(repository, 'blobs'))
  for (const [index, name] of ['config.json', 'model.safetensors'].entries()) {
    const blob = String(index).repeat(40)
    cpSync(fixture('llama-tied', name), join(repository, 'blobs', blob))
    symlinkSync(join('..', '..', 'blobs', blob), join(snapshot, name))
  }
  return cache
}

const found = (models: readonly FoundModel[], source: FoundModel['source']): { name: string; place: string }[] =>
  models.filter((model) => model.source === source).map(({ name, path }) => ({ name, place: basename(path) }))

describe('where caches usually lie', () => {
  const home = join('/', 'home', 'ada')

  test('below the home folder, unless the environment says otherwise', () => {
    expect(usualCaches({}, home).map(({ kind, folder }) => [kind, folder])).toEqual([
      ['hugging-face', join(home, '.cache', 'huggingface', 'hub')],
      ['lm-studio', join(home, '.lmstudio', 'models')],
      ['lm-studio', join(home, '.cache', 'lm-studio', 'models')],
    ])
  })

  test('the places the environment names come first, each once; an empty variable names none', () => {
    const named = (environment: Record<string, string>): string[] => usualCaches(environment, home).filter(({ kind }) => kind === 'hugging-face').map(({ folder }) => folder)
    const usual = join(home, '.cache', 'huggingface', 'hub')
    const disk = join('/', 'disk')
    expect(named({ HF_HUB_CACHE: disk, HF_HOME: join(disk, 'hf'), XDG_CACHE_HOME: join(disk, 'cache') })).toEqual([disk, join(disk, 'hf', 'hub'), join(disk, 'cache', 'huggingface', 'hub'), usual])
    expect(named({ HF_HUB_CACHE: '', HF_HOME: '~/.cache/huggingface', XDG_CACHE_HOME: ' ' })).toEqual([usual])
  })
})

describe('finding models', () => {
  const cases: boolean[] = process.platform === 'win32' ? [false] : [true, false]
  test.each(cases)('in a Hugging Face cache (links: %s): main under its repository, older commits beside it', async (links) => {
    const { models, problems } = await discoverModels(join(temporaryFolder(), 'none'), [{ kind: 'hugging-face', folder: huggingFaceCache(links) }])
    expect(found(models, 'hugging-face')).toEqual([{ name: 'org/tiny-llama', place: commit }, { name: `org/tiny-llama@${older.slice(0, 8)}`, place: older }])
    expect(problems).toEqual([])
    const whole = await summariseModel(models.find(({ name }) => name === 'org/tiny-llama')!)
    expect(whole).toMatchObject({ state: 'ready', problem: null, details: { family: 'llama', storedType: 'float32', base: null } })
    expect(whole.bytes).toBeGreaterThan(10_000)
  })

  test('in LM Studio folders: .gguf files by publisher and repository, first parts only, no projectors', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'lab', 'model'), { recursive: true })
    for (const name of ['model-Q8_0.gguf', 'mmproj-model.gguf', 'big-00001-of-00002.gguf', 'big-00002-of-00002.gguf', 'README.md']) writeFileSync(join(folder, 'lab', 'model', name), '')
    const { models } = await discoverModels(join(folder, 'none'), [{ kind: 'lm-studio', folder }])
    expect(found(models, 'lm-studio')).toEqual([{ name: 'lab/model/big-00001-of-00002.gguf', place: 'big-00001-of-00002.gguf' }, { name: 'lab/model/model-Q8_0.gguf', place: 'model-Q8_0.gguf' }])
  })

  test('in the models folder and where the person added them, without copying; a cache named twice is listed once', async () => {
    const folder = temporaryFolder()
    cpSync(fixture('qwen2-untied'), join(folder, 'copied'), { recursive: true })
    mkdirSync(join(folder, '.half.tmp'))
    const elsewhere = copyOfFixture('phi3-short')
    await addToLibrary(folder, 'mine', elsewhere)
    const cache = { kind: 'hugging-face', folder: huggingFaceCache(false) } as const
    const { models } = await discoverModels(folder, [cache, cache])
    expect(models.map(({ name, source }) => [name, source])).toEqual([['built-in', 'built-in'], ['copied', 'library'], ['mine', 'added'], ['org/tiny-llama', 'hugging-face'], [`org/tiny-llama@${older.slice(0, 8)}`, 'hugging-face']])
    expect(models.find(({ name }) => name === 'mine')?.path).toBe(elsewhere)
  })

  test('a cache that is a file is no problem, one that may not be read is told', async () => {
    const nowhere = join(temporaryFolder(), 'none')
    const file = join(temporaryFolder(), 'hub')
    writeFileSync(file, '')
    expect((await discoverModels(nowhere, [{ kind: 'hugging-face', folder: file }])).problems).toEqual([])
    const loop = join(temporaryFolder(), 'loop')
    symlinkSync(loop, loop, 'junction')
    const { problems } = await discoverModels(nowhere, [{ kind: 'hugging-face', folder: loop }])
    expect(problems).toEqual([expect.stringContaining(`${loop} cannot be read`)])
  })

  test('a name means exactly that, otherwise the last part in any case, and may be ambiguous', () => {
    const models = ['built-in', 'lab/Tiny', 'other/tiny', 'lab/model/x.gguf'].map((name): FoundModel => ({ name, source: 'added', path: name }))
    const named = (name: string): string[] => modelsNamed(models, name).map((model) => model.name)
    expect(named('lab/Tiny')).toEqual(['lab/Tiny'])
    expect(named('TINY')).toEqual(['lab/Tiny', 'other/tiny'])
    expect(named('X.gguf')).toEqual(['lab/model/x.gguf'])
    expect(named('none')).toEqual([])
  })
})

describe('what is wrong with a found model', () => {
  const summary = async (folder: string): Promise<unknown> => {
    const { state, problem, details } = await summariseModel({ name: 'x', source: 'added', path: folder })
    expect([problem === null, details !== null]).toEqual([state === 'ready', state === 'ready'])
    return state
  }

  test('is said in one word and a sentence', async () => {
    const without = copyOfFixture('llama-tied')
    writeFileSync(join(without, 'model.safetensors'), '')
    const other = copyOfFixture('llama-tied')
    writeFileSync(join(other, 'config.json'), '{"architectures": ["MambaForCausalLM"]}')
    const onlyConfig = temporaryFolder()
    const gguf = (name: string, metadata: MetadataEntry[]): string => {
      writeFileSync(join(onlyConfig, name), buildGguf(metadata, tinyTensors()))
      return join(onlyConfig, name)
    }
    expect(await summary(gguf('good.gguf', tinyMetadata()))).toBe('ready')
    expect(await summary(gguf('mamba.gguf', [{ key: 'general.architecture', type: 'string', value: 'mamba' }, ...tinyMetadata().slice(1)]))).toBe('unsupported')
    cpSync(fixture('llama-tied', 'config.json'), join(onlyConfig, 'config.json'))
    expect(await Promise.all([summary(fixture('smollm3')), summary(without), summary(other), summary(onlyConfig), summary(join(onlyConfig, 'none'))])).toEqual(['ready', 'damaged', 'unsupported', 'incomplete', 'incomplete'])
  })
})

describe('the three base models', () => {
  test.each([['Qwen2.5-3B', QWEN25_3B], ['SmolLM3-3B', SMOLLM3_3B], ['Phi-4-mini-reasoning', PHI_4_MINI]])('%s is recognised by its published numbers', (name, raw) => {
    expect(detailsOf({ config: parseDecoderConfig(raw, null), warnings: [] }).base).toBe(name)
  })

  test('of several with one geometry the one of its name serves', () => {
    const details = detailsOf({ config: parseDecoderConfig(QWEN25_3B, null), warnings: [] })
    const model = (name: string) => ({ name, source: 'added' as const, path: name, state: 'ready' as const, problem: null, bytes: 0, details })
    const base = baseModels[0]!
    expect(findBase(base, [model('Qwen/Qwen2.5-3B-Instruct'), model('qwen2.5-3b')])?.name).toBe('qwen2.5-3b')
    expect(findBase(base, [model('Qwen/Qwen2.5-3B-Instruct')])?.name).toBe('Qwen/Qwen2.5-3B-Instruct')
    expect(findBase(baseModels[1]!, [model('Qwen/Qwen2.5-3B')])).toBeUndefined()
  })
})

describe('the library file', () => {
  test('remembers added models and verifications, and forgets without touching files', async () => {
    const folder = join(temporaryFolder(), 'models')
    const model = copyOfFixture('llama-tied')
    await addToLibrary(folder, 'mine', model)
    await recordVerification(folder, model, { time: '2026-01-02T03:04:05.000Z', files: { 'config.json': { bytes: 3, sha256: 'c' } } })
    expect(await readLibrary(folder)).toEqual({ version: 1, added: [{ name: 'mine', path: model }], verified: { [model]: { time: '2026-01-02T03:04:05.000Z', files: { 'config.json': { bytes: 3, sha256: 'c' } } } } })
    expect((await userError(async () => addToLibrary(folder, 'mine', model))).what).toBe('there is a model named "mine" already')
    expect((await userError(async () => addToLibrary(folder, '../mine', model))).code).toBe('usage')
    expect(await removeFromLibrary(folder, 'mine')).toBe(model)
    expect((await summariseModel({ name: 'mine', source: 'added', path: model })).state).toBe('ready')
    expect((await userError(async () => removeFromLibrary(folder, 'mine'))).code).toBe('not-found')
  })

  test('that is damaged is named', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'library.json'), '{"version": 1, "added": [{}]}')
    expect(await userError(async () => readLibrary(folder))).toMatchObject({ code: 'bad-input', place: { file: join(folder, 'library.json'), field: 'added.0.name' } })
  })
})

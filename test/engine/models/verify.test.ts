import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import { hashFile, publishedHash, recordOf, verifyModel } from '../../../src-main/engine/models/verify.ts'
import type { Verification, VerifyOptions } from '../../../src-main/engine/models/verify.ts'
import { buildGguf, tinyMetadata, tinyTensors } from '../../support/gguf-fixture.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'
import { copyOfFixture, fixture, temporaryFolder, userError } from './fixtures.ts'

const writes: Pick<VerifyOptions, 'generate'> = { generate: () => Promise.resolve({ text: 'hi' }) }

async function tinyModel(): Promise<string> {
  const folder = join(temporaryFolder(), 'model')
  await writeTinyModel(folder)
  return folder
}

const states = ({ checks }: Verification): Record<string, string> => Object.fromEntries(checks.map(({ name, state }) => [name, state]))

function flipLastByte(file: string): void {
  const bytes = readFileSync(file)
  bytes[bytes.length - 1] = bytes.at(-1)! ^ 1
  writeFileSync(file, bytes)
}

describe('verifying a model', () => {
  test('that is in order says so in one sentence, with what it wrote', async () => {
    const seen: string[] = []
    const result = await verifyModel(await tinyModel(), { ...writes, onProgress: (file, done, total) => done === total && seen.push(file) })
    expect(result.usable).toBe(true)
    expect(states(result)).toEqual({ tensors: 'passed', tokenizer: 'passed', template: 'passed', hashes: 'skipped', generation: 'passed' })
    expect(result.sentence).toMatch(/^Usable: a qwen2 model of 0\.\d\d million parameters [^.]*; nothing says which hashes .*; it wrote "hi"\.$/)
    expect(seen).toEqual(result.files.map(({ name }) => name))
    expect(seen).toContain('model.safetensors')
  })

  test('passes over the generation with the reason it is given', async () => {
    const result = await verifyModel(await tinyModel(), { generate: () => Promise.resolve({ skipped: 'too large' }) })
    expect([result.usable, result.checks.at(-1)]).toEqual([true, { name: 'generation', state: 'skipped', what: 'too large' }])
  })

  test('that cannot write is not usable', async () => {
    const result = await verifyModel(await tinyModel(), { generate: () => Promise.reject(new UserError({ code: 'engine', what: 'the model\'s output is not finite' })) })
    expect([result.usable, result.sentence]).toEqual([false, 'Not usable: the model\'s output is not finite.'])
  })

  test.each<[string, (folder: string) => void, string, string]>([
    ['a missing shard', (folder) => rmSync(join(folder, 'model-00002-of-00003.safetensors')), 'tensors', 'model-00002-of-00003.safetensors'],
    ['a wrong architecture', (folder) => writeFileSync(join(folder, 'config.json'), '{"architectures": ["MambaForCausalLM"]}'), 'tensors', 'MambaForCausalLM'],
    ['no tokenizer', () => undefined, 'tokenizer', 'tokenizer.json'],
  ])('with %s names it; the files are hashed all the same, and nothing is generated', async (_name, damage, check, words) => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    damage(folder)
    const result = await verifyModel(folder, { generate: () => Promise.reject(new Error('must not be called')) })
    expect(result.usable).toBe(false)
    expect(states(result)[check]).toBe('failed')
    expect(result.sentence).toContain(words)
    expect(result.files.find(({ name }) => name === 'config.json')?.sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  test('whose tokenizer has more ids than the embedding has rows is not usable', async () => {
    const folder = await tinyModel()
    const file = join(folder, 'tokenizer.json')
    const json = JSON.parse(readFileSync(file, 'utf8')) as { added_tokens: object[] }
    json.added_tokens.push({ id: 9000, content: '<|far|>', special: true })
    writeFileSync(file, JSON.stringify(json))
    const result = await verifyModel(folder, writes)
    expect([result.usable, states(result)['tokenizer']]).toEqual([false, 'failed'])
    expect(result.sentence).toContain('its ids go up to 9000')
  })

  test('whose chat template cannot be parsed is not usable', async () => {
    const folder = await tinyModel()
    writeFileSync(join(folder, 'chat_template.jinja'), '{% for message in %}')
    expect(states(await verifyModel(folder, writes))['template']).toBe('failed')
  })

  test('that is a GGUF file is verified like a folder, its type named', async () => {
    const file = join(temporaryFolder(), 'tiny.gguf')
    writeFileSync(file, buildGguf(tinyMetadata(), tinyTensors()))
    const result = await verifyModel(file, writes)
    expect([result.usable, result.files.map(({ name }) => name), result.details?.storedType]).toEqual([true, ['tiny.gguf'], 'F32'])
    expect(states(result)).toMatchObject({ tensors: 'passed', tokenizer: 'passed', template: 'passed' })
    writeFileSync(file, readFileSync(file).subarray(0, -2000))
    expect((await verifyModel(file, writes)).sentence).toMatch(/^Not usable: .*tiny\.gguf, /)
  })

  test('that is not there is an error, one that is stopped as well', async () => {
    expect((await userError(async () => verifyModel(join(temporaryFolder(), 'none'), writes))).code).toBe('not-found')
    expect((await userError(async () => verifyModel(fixture('llama-tied'), { ...writes, signal: AbortSignal.abort() }))).code).toBe('stopped')
  })
})

describe('hashes', () => {
  test('are sha256 and git\'s own', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, 'hello\n')
    // sha256sum and git hash-object of the same six bytes.
    expect(await hashFile(file)).toEqual({ bytes: 6, sha256: '5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03', git: 'ce013625030ba8dba906f756967f9e9ca394464a' })
  })

  test('are read from tags of either kind, and from nothing else', () => {
    expect(publishedHash('AB'.repeat(32))).toEqual({ kind: 'sha256', hash: 'ab'.repeat(32), from: 'hub' })
    expect(publishedHash('ab'.repeat(20))).toEqual({ kind: 'git', hash: 'ab'.repeat(20), from: 'hub' })
    expect([publishedHash(''), publishedHash('W/"abc"'), publishedHash('g'.repeat(64))]).toEqual([null, null, null])
  })

  test.skipIf(process.platform === 'win32')('(needs symbolic links) of a cache are the names of its blobs: a shard with the wrong hash is found', async () => {
    const source = copyOfFixture('qwen2-tied-sharded')
    const repository = join(temporaryFolder(), 'models--org--qwen')
    const snapshot = join(repository, 'snapshots', 'c'.repeat(40))
    for (const folder of [snapshot, join(repository, 'blobs')]) mkdirSync(folder, { recursive: true })
    const shard = 'model-00002-of-00003.safetensors'
    for (const name of ['config.json', 'generation_config.json', 'model.safetensors.index.json', 'model-00001-of-00003.safetensors', shard, 'model-00003-of-00003.safetensors']) {
      const { sha256, git } = await hashFile(join(source, name))
      const blob = join(repository, 'blobs', name.endsWith('.json') ? git : sha256)
      if (name === shard) flipLastByte(join(source, name))
      cpSync(join(source, name), blob)
      symlinkSync(blob, join(snapshot, name))
    }
    const result = await verifyModel(snapshot, writes)
    expect(result.files.filter(({ matches }) => matches !== true).map(({ name }) => name)).toEqual([shard])
    expect(result.checks.find(({ name }) => name === 'hashes')).toMatchObject({ state: 'failed', what: expect.stringContaining(`${shard}: not the hash it was published with`) as string })
  })

  test('of a download are in its records', async () => {
    const folder = await tinyModel()
    const records = join(folder, '.cache', 'huggingface', 'download')
    mkdirSync(records, { recursive: true })
    const weights = createHash('sha256').update(readFileSync(join(folder, 'model.safetensors'))).digest('hex')
    writeFileSync(join(records, 'model.safetensors.metadata'), `${'d'.repeat(40)}\n${weights}\n1700000000.5\n`)
    expect((await verifyModel(folder, writes)).checks.find(({ name }) => name === 'hashes')).toMatchObject({ state: 'passed', what: '1 of 5 files as the hub published them' })
    flipLastByte(join(folder, 'model.safetensors'))
    const damaged = await verifyModel(folder, writes)
    expect([damaged.usable, damaged.sentence]).toEqual([false, expect.stringContaining('model.safetensors: not the hash it was published with')])
  })

  test('of an earlier verification tell a changed file and one that is gone', async () => {
    const folder = await tinyModel()
    const first = await verifyModel(folder, writes)
    const earlier = recordOf(first, '2026-01-02T03:04:05.000Z')
    expect((await verifyModel(folder, { ...writes, earlier })).checks.find(({ name }) => name === 'hashes')).toMatchObject({ state: 'passed', what: '5 of 5 files as they were verified on 2026-01-02' })
    flipLastByte(join(folder, 'model.safetensors'))
    const changed = await verifyModel(folder, { ...writes, earlier })
    expect([changed.usable, changed.sentence]).toEqual([false, expect.stringMatching(/^Not usable: model\.safetensors: changed since the verification of 2026-01-02; .*--accept\.$/)])
    rmSync(join(folder, 'generation_config.json'))
    flipLastByte(join(folder, 'model.safetensors'))
    expect((await verifyModel(folder, { ...writes, earlier })).sentence).toContain('generation_config.json: gone since')
  })
})

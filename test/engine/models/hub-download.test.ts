import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'
import { discoverModels } from '../../../src-main/engine/models/discover.ts'
import { downloadModel, partFolder } from '../../../src-main/engine/models/hub-download.ts'
import type { DownloadedModel, DownloadOptions } from '../../../src-main/engine/models/hub-download.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { verifyModel } from '../../../src-main/engine/models/verify.ts'
import { buildGguf, tinyMetadata, tinyTensors } from '../../support/gguf-fixture.ts'
import { listed, repository, sendBytes, sendJson, sendSome, startHub } from '../../support/hub-server.ts'
import type { HubRequest, HubServer } from '../../support/hub-server.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'
import { fixture, temporaryFolder } from './fixtures.ts'

const weights = 'model.safetensors'
let hub: HubServer
let folder = ''
let source = ''

beforeAll(async () => {
  source = mkdtempSync(join(tmpdir(), 'satchel-hub-'))
  await writeTinyModel(source)
})
afterAll(() => rmSync(source, { recursive: true, force: true }))
beforeEach(async () => {
  hub = await startHub(source)
  hub.files.set('README.md', Buffer.from('# Tiny'))
  hub.files.set('modeling_tiny.py', Buffer.from('import os'))
  hub.files.set('pytorch_model.bin', Buffer.from('PK'))
  folder = join(temporaryFolder(), 'models', 'tiny')
})
afterEach(() => hub.close())

const retries: string[] = []
function download(changes: Partial<DownloadOptions> = {}): Promise<DownloadedModel> {
  retries.length = 0
  return downloadModel({ repository, mirror: hub.url, folder, signal: new AbortController().signal, waitMilliseconds: 1, stallMilliseconds: 5_000, onRetry: (message) => retries.push(message), ...changes })
}

async function failure(changes: Partial<DownloadOptions> = {}): Promise<ErrorEnvelope> {
  const error: unknown = await download(changes).then(() => undefined, (thrown: unknown) => thrown)
  if (!(error instanceof UserError)) throw new Error('a UserError was expected', { cause: error })
  expect(existsSync(folder)).toBe(false)
  return error.envelope
}

/** Only requests for one file. */
const of = (name: string, answer: (request: HubRequest) => boolean) => (request: HubRequest): boolean => request.file === name && answer(request)
/** Sends a file in pieces and drops the connection when a piece has arrived, the first `times` times. */
function dropping(bytes: number, times: number): { misbehave: (request: HubRequest) => boolean; onProgress: (file: string, done: number) => void } {
  let drop = (): void => undefined
  let end = 0
  return {
    misbehave: ({ response, file, from, before }) => {
      if (before >= times) return false
      end = from + bytes
      drop = () => response.destroy()
      sendSome(response, hub.files.get(file!)!, from, bytes)
      return true
    },
    onProgress: (file, done) => {
      if (file === weights && done === end) drop()
    },
  }
}

const requestsFor = (name: string): string[] => hub.asked.filter((path) => path.includes(`/${name}`)).map((path) => path.slice(path.indexOf(name)))

describe('a download', () => {
  test('brings what a model needs and nothing else, opens, and verifies by the hashes of the hub', async () => {
    const { commit, files } = await download()
    expect([commit, files[0]?.name]).toEqual([hub.commit, 'config.json'])
    expect(readdirSync(folder).toSorted()).toEqual(['.cache', 'config.json', 'generation_config.json', weights, 'tokenizer.json', 'tokenizer_config.json'])
    for (const { name } of files) expect(readFileSync(join(folder, name))).toEqual(readFileSync(join(source, name)))
    expect(readdirSync(join(folder, '..'))).toEqual(['tiny'])
    await (await openModelFolder(folder)).close()
    const verified = await verifyModel(folder, { generate: () => Promise.resolve({ skipped: '' }) })
    expect(verified.checks.find(({ name }) => name === 'hashes')?.what).toBe('5 of 5 files as the hub published them')
    expect(hub.asked.filter((path) => /README|modeling|pytorch/.test(path))).toEqual([])
  })

  test('takes the shards of a sharded model, not a second copy in one file', async () => {
    for (const name of readdirSync(fixture('qwen2-tied-sharded')).filter((file) => /\.(json|safetensors)$/.test(file))) hub.files.set(name, readFileSync(fixture('qwen2-tied-sharded', name)))
    hub.files.delete(weights)
    hub.files.delete('generation_config.json')
    const { files } = await download()
    expect(files.map(({ name }) => name).filter((name) => name.endsWith('.safetensors'))).toHaveLength(3)
    await (await openModelFolder(folder)).close()
  })

  test('of one GGUF file brings just that, opened before it counts', async () => {
    hub.files.set('tiny.Q8_0.gguf', Buffer.from(buildGguf(tinyMetadata(), tinyTensors())))
    hub.files.set('broken.gguf', Buffer.from('GGUF'))
    const { path, files } = await download({ file: 'tiny.Q8_0.gguf' })
    expect([path, files.map(({ name }) => name), readdirSync(folder).toSorted()]).toEqual([join(folder, 'tiny.Q8_0.gguf'), ['tiny.Q8_0.gguf'], ['.cache', 'tiny.Q8_0.gguf']])
    await (await openModelFolder(path)).close()
    expect((await discoverModels(join(folder, '..'), [])).models.map(({ name }) => name)).toEqual(['built-in', 'tiny/tiny.Q8_0.gguf'])
    folder = join(temporaryFolder(), 'other')
    expect(await failure({ file: 'none.gguf' })).toMatchObject({ code: 'not-found', expected: 'one of tiny.Q8_0.gguf, broken.gguf' })
    expect((await failure({ file: 'README.md' })).code).toBe('not-found')
    expect((await failure({ file: 'broken.gguf' })).code).toBe('bad-input')
  })

  test('asks for the revision it is told, and everything after that from its commit', async () => {
    await download({ revision: 'main' })
    expect(hub.asked.slice(0, 2)).toEqual([`/api/models/${repository}/revision/main`, `/api/models/${repository}/tree/${hub.commit}`])
    expect(hub.asked.slice(2).every((path) => path.startsWith(`/${repository}/resolve/${hub.commit}/`))).toBe(true)
  })

  test('tells its progress to the last byte', async () => {
    const last = new Map<string, readonly [number, number]>()
    await download({ onProgress: (file, done, total) => last.set(file, [done, total]) })
    expect(last.get(weights)).toEqual([statSync(join(source, weights)).size, statSync(join(source, weights)).size])
  })
})

describe('a server that', () => {
  test('drops the connection half way is asked for the rest only', async () => {
    const { misbehave, onProgress } = dropping(50_000, 3)
    hub.misbehave = of(weights, misbehave)
    await download({ onProgress })
    expect(requestsFor(weights)).toEqual([weights, `${weights} from 50000`, `${weights} from 100000`, `${weights} from 150000`])
    expect(readFileSync(join(folder, weights))).toEqual(readFileSync(join(source, weights)))
    expect(retries[0]).toMatch(/^model\.safetensors: .*; trying again$/)
  })

  test('cannot begin in the middle sends everything once more, and the file is right all the same', async () => {
    const { misbehave, onProgress } = dropping(50_000, 1)
    hub.misbehave = of(weights, (request) => {
      if (!misbehave(request)) sendBytes(request.response, hub.files.get(weights)!, 0)
      return true
    })
    await download({ onProgress })
    expect(requestsFor(weights)).toEqual([weights, `${weights} from 50000`])
    expect(readFileSync(join(folder, weights))).toEqual(readFileSync(join(source, weights)))
  })

  test('sends wrong bytes is asked once more from the beginning, then given up on; nothing of the file is kept', async () => {
    const wrong = Buffer.from(hub.files.get(weights)!)
    wrong[wrong.length - 5]! ^= 1
    hub.misbehave = of(weights, ({ response, from }) => {
      sendBytes(response, wrong, from)
      return true
    })
    expect(await failure()).toMatchObject({ code: 'bad-input', place: { file: weights }, what: expect.stringContaining('another file than the hub lists') as string })
    expect(requestsFor(weights)).toEqual([weights, weights])
    expect(readdirSync(partFolder(folder)).filter((name) => name.includes('safetensors'))).toEqual([])
  })

  test('sends wrong bytes once and right ones then is forgiven', async () => {
    hub.misbehave = of('tokenizer.json', ({ response, before }) => {
      if (before > 0) return false
      sendBytes(response, Buffer.from(hub.files.get('tokenizer.json')!.map((byte) => byte ^ 1)), 0)
      return true
    })
    await download()
    expect(retries).toEqual(['tokenizer.json: it does not have its hash; fetching it once more from the beginning'])
  })

  test('stalls in the middle is left after the time-out, and what came is kept', async () => {
    hub.misbehave = of(weights, ({ response, from, before }) => {
      if (before > 0) return false
      response.writeHead(200, { 'content-length': hub.files.get(weights)!.length })
      response.write(hub.files.get(weights)!.subarray(from, 60_000))
      return true
    })
    await download({ stallMilliseconds: 1000 })
    expect(retries).toEqual(['model.safetensors: nothing came for 1 seconds; trying again'])
    expect(requestsFor(weights)).toEqual([weights, `${weights} from 60000`])
  })

  test('never answers is given up on', async () => {
    hub.misbehave = () => true
    expect(await failure({ stallMilliseconds: 30 })).toMatchObject({ code: 'network', place: { file: hub.url }, what: expect.stringMatching(/nothing came for 0\.03 seconds, 6 times in a row/) as string })
    expect(hub.asked).toHaveLength(6)
  })

  test('sends more than it listed is cut off, and the file is right', async () => {
    hub.misbehave = of(weights, ({ response }) => {
      response.writeHead(200)
      response.write(hub.files.get(weights)!)
      response.end(Buffer.alloc(1 << 20))
      return true
    })
    await download()
    expect(statSync(join(folder, weights)).size).toBe(statSync(join(source, weights)).size)
  })

  test.each([
    ['promises more than it sends', { 'content-length': 400_000 }],
    ['sends less than it listed, politely', {}],
  ])('%s is given up on after tries that bring nothing', async (_name, headers) => {
    hub.misbehave = of('config.json', ({ response }) => {
      response.writeHead(200, headers)
      response.write('{')
      setTimeout(() => ('content-length' in headers ? response.destroy() : response.end()), 20)
      return true
    })
    expect((await failure()).code).toBe('network')
    expect(requestsFor('config.json').length).toBeLessThanOrEqual(7)
  })

  test('answers a range with other bytes than asked is not believed', async () => {
    const { misbehave, onProgress } = dropping(50_000, 1)
    hub.misbehave = of(weights, (request) => {
      const { response, from } = request
      const content = hub.files.get(weights)!
      if (misbehave(request)) return true
      response.writeHead(206, { 'content-range': `bytes ${from + 7}-${content.length - 1}/${content.length}` })
      response.end(content.subarray(from + 7))
      return true
    })
    expect(await failure({ onProgress })).toMatchObject({ code: 'network', what: expect.stringContaining('it sends others') as string })
  })

  test('is busy is asked again, after the time it names', async () => {
    hub.misbehave = ({ path, response, before }) => {
      if (before > 0 || !path.startsWith('/api')) return false
      response.writeHead(before === 0 ? 429 : 503, { 'retry-after': '0' })
      response.end()
      return true
    }
    await download()
    expect(retries[0]).toBe('lab/tiny: the server answered 429; trying again')
  })

  test.each([
    [404, 'not-found', 'no such repository'],
    [401, 'bad-input', 'without an account'],
    [403, 'bad-input', 'without an account'],
    [418, 'network', 'it answered 418'],
  ])('answers %i is asked once', async (status, code, words) => {
    hub.misbehave = ({ response }) => {
      sendJson(response, { error: 'no' }, status)
      return true
    }
    expect(await failure()).toMatchObject({ code, what: expect.stringContaining(words) as string })
    expect(hub.asked).toHaveLength(1)
  })

  test('redirects to another place is followed there; one that redirects in circles is not for ever', async () => {
    const other = await startHub(source)
    onTestFinished(() => other.close())
    const { misbehave, onProgress } = dropping(50_000, 1)
    hub.misbehave = of(weights, (request) => {
      if (misbehave(request)) return true
      request.response.writeHead(302, { location: `${other.url}${request.path}` })
      request.response.end()
      return true
    })
    await download({ onProgress })
    // The wish to begin in the middle goes along.
    expect(other.asked).toEqual([`/${repository}/resolve/${hub.commit}/${weights} from 50000`])
    hub.misbehave = of(weights, ({ response, path }) => {
      response.writeHead(302, { location: path })
      response.end()
      return true
    })
    folder = join(temporaryFolder(), 'circle')
    expect(await failure()).toMatchObject({ code: 'network', what: expect.stringContaining('redirect count exceeded') as string })
  })

  test('is no hub is said to be none', async () => {
    hub.misbehave = ({ response }) => {
      response.end('<html>')
      return true
    }
    expect(await failure()).toMatchObject({ code: 'network', what: expect.stringContaining('not that of a hub') as string })
    hub.misbehave = ({ response }) => {
      sendJson(response, { id: repository, sha: '../../etc' })
      return true
    }
    expect(await failure()).toMatchObject({ code: 'network', what: expect.stringContaining('names no commit') as string })
  })

  test('lists endlessly is left', async () => {
    hub.misbehave = ({ path, request, response }) => {
      if (!path.includes('/tree/')) return false
      response.setHeader('link', `<${hub.url}${request.url ?? ''}>; rel="next"`)
      sendJson(response, Array.from({ length: 3000 }, () => listed('config.json', Buffer.from('{}'))))
      return true
    }
    expect(await failure()).toMatchObject({ code: 'network', what: expect.stringContaining('more than 10000 files') as string })
  })

  test('goes on at another host for the list is not followed there', async () => {
    hub.misbehave = ({ path, response }) => {
      if (!path.includes('/tree/')) return false
      response.setHeader('link', '<http://127.0.0.2:9/api>; rel="next"')
      sendJson(response, [])
      return true
    }
    expect(await failure()).toMatchObject({ code: 'network', what: expect.stringContaining('goes on at another host') as string })
  })

  test('is not there is told with its address', async () => {
    await hub.close()
    expect(await failure()).toMatchObject({ code: 'network', place: { file: hub.url }, what: expect.stringContaining('ECONNREFUSED') as string })
  })
})

describe('a stopped download', () => {
  test('keeps what has come, and the next one goes on from there', async () => {
    const controller = new AbortController()
    hub.misbehave = of(weights, ({ response, from, before }) => {
      if (before > 0) return false
      response.writeHead(200, { 'content-length': hub.files.get(weights)!.length })
      response.write(hub.files.get(weights)!.subarray(from, 40_000))
      return true
    })
    const onProgress = (file: string, done: number): void => {
      if (file === weights && done === 40_000) controller.abort()
    }
    expect(await failure({ signal: controller.signal, onProgress })).toMatchObject({ code: 'stopped', remedy: 'The same command goes on from there.' })
    hub.asked.length = 0
    await download()
    expect(hub.asked.filter((path) => path.includes('/resolve/')).map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual([`${weights} from 40000`])
  })

  test('that is stopped before it begins asks for nothing', async () => {
    expect((await failure({ signal: AbortSignal.abort() })).code).toBe('stopped')
    expect(hub.asked).toEqual([])
  })

  test('does not go on with a beginning of another version of the file', async () => {
    hub.misbehave = of(weights, ({ response, before }) => {
      if (before > 6) return false
      response.destroy()
      return true
    })
    expect((await failure()).code).toBe('network')
    const part = partFolder(folder)
    const beginning = join(part, `${weights}.${'0'.repeat(16)}.part`)
    writeFileSync(beginning, 'old')
    writeFileSync(join(part, 'tokenizer.json'), 'damaged meanwhile')
    hub.asked.length = 0
    hub.misbehave = () => false
    await download()
    expect([existsSync(beginning), requestsFor(weights), requestsFor('tokenizer.json')]).toEqual([false, [weights], ['tokenizer.json']])
  })
})

describe('what cannot be used is refused before it is fetched', () => {
  test('a model of another family, after its configuration', async () => {
    hub.files.set('config.json', Buffer.from('{"architectures": ["MambaForCausalLM"]}'))
    expect((await failure()).what).toContain('MambaForCausalLM')
    expect(hub.asked.filter((path) => path.includes('/resolve/'))).toHaveLength(1)
  })

  test.each([
    ['without safetensors', weights, 'the repository holds no safetensors weights'],
    ['without a configuration', 'config.json', 'the repository holds no config.json'],
  ])('a repository %s', async (_name, file, words) => {
    hub.files.delete(file)
    expect(await failure()).toMatchObject({ code: 'bad-input', what: words })
  })

  test('a list that names places outside the folder fetches nothing of them', async () => {
    for (const name of ['../config.json', 'sub/config.json', '..\\config.json', '/etc/config.json']) hub.files.set(name, Buffer.from('x'))
    const { files } = await download()
    expect(files).toHaveLength(5)
  })

  test('weights larger than the disk', async () => {
    hub.misbehave = ({ path, response }) => {
      if (!path.includes('/tree/')) return false
      const large = { type: 'file', path: weights, size: 1e17, oid: 'a'.repeat(40), lfs: { oid: 'a'.repeat(64), size: 1e17, pointerSize: 1 } }
      sendJson(response, [listed('config.json', hub.files.get('config.json')!), large])
      return true
    }
    // 1e17 is no safe integer plus something: the list is not believed beyond 9e15.
    expect((await failure()).code).toBe('bad-input')
    const size = 9e15
    hub.misbehave = ({ path, response }) => {
      if (!path.includes('/tree/')) return false
      sendJson(response, [listed('config.json', hub.files.get('config.json')!), { type: 'file', path: weights, size, oid: 'a'.repeat(40), lfs: { oid: 'a'.repeat(64), size, pointerSize: 1 } }])
      return true
    }
    expect(await failure()).toMatchObject({ code: 'storage', what: expect.stringContaining('the disk is too full: 9000000.00 GB are still to come') as string })
  })

  test('a taken folder, a name that is none, an address that is none', async () => {
    for (const name of ['', '../x', 'a/b/c', 'a b', 'lab/', 'datasets/x/y']) expect((await failure({ repository: name })).code).toBe('usage')
    for (const mirror of ['', 'huggingface.co', 'file:///etc', 'ftp://x', `${hub.url}?a=b`]) expect(await failure({ mirror })).toMatchObject({ code: 'usage', place: { field: '--mirror' } })
    expect(hub.asked).toEqual([])
    await download()
    hub.asked.length = 0
    await expect(download()).rejects.toThrow('the folder already holds files')
    expect(hub.asked).toEqual([])
  })
})

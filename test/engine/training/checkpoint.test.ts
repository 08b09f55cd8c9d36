import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { newestCheckpoint, readCheckpoint, restoreParameters, writeCheckpoint } from '../../../src-main/engine/training/checkpoint.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { buildEntry } from '../../support/build.ts'
import { contentOf } from '../../support/checkpoint-writer.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()
const keep = { keep: 3 }

/** A run folder with checkpoints of these steps, oldest first. */
async function withCheckpoints(...steps: number[]): Promise<string> {
  const directory = await temporaryFolder()
  for (const step of steps) await writeCheckpoint({ directory }, step, contentOf(step, 'lora'), { keep: 10 })
  return directory
}

const checkpointFile = (directory: string, step: number, name = ''): string => join(directory, 'checkpoints', String(step).padStart(6, '0'), name)

describe('a checkpoint', () => {
  it.each(['lora', 'full'] as const)('of a %s policy gives back every bit', async (kind) => {
    const directory = await temporaryFolder()
    const content = contentOf(120, kind)
    content.policy.trainable[0]?.data.set([0.1, -0, 1e-42, Number.MAX_VALUE])
    const path = await writeCheckpoint({ directory }, 120, content, { ...keep, baseModel: 'base', baseHash: 'abc' })
    expect(path).toBe(checkpointFile(directory, 120).replace(/[/\\]$/, ''))
    const read = await readCheckpoint(path)
    expect(read.step).toBe(120)
    expect([...read.tensors.keys()].toSorted()).toEqual(content.policy.trainable.map(({ name }) => name).toSorted())
    for (const { name, data } of content.policy.trainable) expect(Buffer.from(read.tensors.get(name)!.buffer).equals(Buffer.from(data.buffer))).toBe(true)
    expect(read.optimizer.updates).toBe(120)
    expect(read.optimizer.m).toEqual(content.optimizer.m)
    expect(read.optimizer.v).toEqual(content.optimizer.v)
    expect(read.state).toEqual(content.state)
    const restored = contentOf(1, kind).policy
    restoreParameters(restored, read)
    expect(restored.trainable.map(({ data }) => data)).toEqual(content.policy.trainable.map(({ data }) => data))
  })

  it('of a LoRA policy is an adapter that PEFT loads', async () => {
    const directory = await withCheckpoints(7)
    const config = JSON.parse(await readFile(checkpointFile(directory, 7, 'adapter_config.json'), 'utf8')) as object
    expect(config).toMatchObject({ peft_type: 'LORA', r: 2, lora_alpha: 4, target_modules: ['q_proj'] })
    expect(await readdir(checkpointFile(directory, 7))).toContain('adapter_model.safetensors')
  })

  it('of another model or adapter is not put into a policy', async () => {
    const read = await readCheckpoint(checkpointFile(await withCheckpoints(3), 3))
    expect(() => restoreParameters(contentOf(1, 'full').policy, read)).toThrow('lacks this parameter')
    expect(() => restoreParameters(contentOf(1, 'lora', 3).policy, read)).toThrow(/holds 8 values, the policy has 12/)
  })

  it('of a newer version is refused', async () => {
    const directory = await withCheckpoints(3)
    await writeFile(checkpointFile(directory, 3, 'complete.json'), JSON.stringify({ version: 9, step: 3, files: {} }))
    await expect(readCheckpoint(checkpointFile(directory, 3))).rejects.toThrow(/newer Satchel \(format 9\)/)
  })
})

describe('old checkpoints', () => {
  it('beyond those to keep are removed, never the newest', async () => {
    const directory = await withCheckpoints(1, 2, 3)
    await writeCheckpoint({ directory }, 4, contentOf(4, 'lora'), { keep: 2 })
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000003', '000004'])
    await writeCheckpoint({ directory }, 5, contentOf(5, 'lora'), { keep: 0 })
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000005'])
  })

  it('stay when a new one cannot be written', async () => {
    const directory = await withCheckpoints(1)
    const broken = { ...contentOf(2, 'lora'), state: { circle: 0n } }
    await expect(writeCheckpoint({ directory }, 2, broken, { keep: 1 })).rejects.toThrow()
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000001'])
  })

  it('of the same step are replaced', async () => {
    const directory = await withCheckpoints(1)
    await writeCheckpoint({ directory }, 1, { ...contentOf(1, 'lora'), state: 'again' }, keep)
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000001'])
    expect((await readCheckpoint(checkpointFile(directory, 1))).state).toBe('again')
  })
})

describe('the newest checkpoint', () => {
  it('is found by looking; none is not an error', async () => {
    expect(await newestCheckpoint(await temporaryFolder())).toBeUndefined()
    const directory = await withCheckpoints(2, 10)
    expect(await newestCheckpoint(directory)).toMatchObject({ step: 10, warnings: [] })
  })

  it.each<[string, (directory: string) => Promise<void>, string]>([
    ['a changed byte', async (directory) => flipByte(checkpointFile(directory, 10, 'optimizer.safetensors')), 'content of optimizer.safetensors has changed'],
    ['a shortened file', async (directory) => truncate(checkpointFile(directory, 10, 'adapter_model.safetensors'), 20), 'adapter_model.safetensors has 20 bytes'],
    ['a missing file', async (directory) => rm(checkpointFile(directory, 10, 'state.json')), 'state.json cannot be read (ENOENT)'],
    ['no completion mark', async (directory) => rm(checkpointFile(directory, 10, 'complete.json')), 'complete.json is missing'],
    ['half a completion mark', async (directory) => truncate(checkpointFile(directory, 10, 'complete.json'), 30), 'complete.json is missing or cannot be read'],
    ['the content of another step', async (directory) => {
      await rm(checkpointFile(directory, 10), { recursive: true })
      await rename(checkpointFile(directory, 1), checkpointFile(directory, 10))
    }, 'complete.json says step 1'],
  ])('with %s is passed over with a warning, and the one before is used', async (_, damage, words) => {
    const directory = await withCheckpoints(1, 2, 10)
    await damage(directory)
    const found = await newestCheckpoint(directory)
    expect(found?.step).toBe(2)
    expect(found?.warnings).toHaveLength(1)
    expect(found?.warnings[0]).toContain(words)
  })

  it('is an error when all are damaged', async () => {
    const directory = await withCheckpoints(1)
    await appendFile(checkpointFile(directory, 1, 'state.json'), ' ')
    await expect(newestCheckpoint(directory)).rejects.toThrow(/no checkpoint of this run is whole.*step 1/)
  })

  it('is still found when the process died while it was being replaced', async () => {
    const directory = await withCheckpoints(4)
    await rename(checkpointFile(directory, 4), `${checkpointFile(directory, 4).replace(/[/\\]$/, '')}.replaced`)
    await mkdir(join(directory, 'checkpoints', '.000004.abc.tmp'))
    expect((await newestCheckpoint(directory))?.step).toBe(4)
    await writeCheckpoint({ directory }, 5, contentOf(5, 'lora'), { keep: 1 })
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000005'])
  })
})

describe('a process killed while it writes checkpoints', () => {
  it('leaves a whole newest one, at whatever moment it dies', async () => {
    const writer = await buildEntry('test/support/checkpoint-writer.ts')
    const directory = await temporaryFolder()
    const stream = createStream(1, 'kill moments')
    let reached = 0
    for (let round = 0; round < 12; round += 1) {
      const child = spawn(process.execPath, [writer, directory, String(reached)], { stdio: ['ignore', 'pipe', 'inherit'] })
      let told = reached
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        told = Number(text.trim().split('\n').at(-1))
      })
      await once(child.stdout, 'data')
      await sleep(stream.uniform() * 120)
      child.kill('SIGKILL')
      await once(child, 'close')
      const found = await newestCheckpoint(directory)
      expect(found, `round ${round}`).toBeDefined()
      // What was told as written is there, or something newer; nothing damaged was met on the way.
      expect(found!.step).toBeGreaterThanOrEqual(told)
      expect(found!.warnings).toEqual([])
      const read = await readCheckpoint(found!.path)
      const expected = contentOf(found!.step, 'lora', 4096)
      expect(read.tensors).toEqual(new Map(expected.policy.trainable.map(({ name, data }) => [name, data])))
      expect(read.optimizer).toEqual(expected.optimizer)
      expect(read.state).toEqual(expected.state)
      reached = found!.step
    }
    expect((await readdir(join(directory, 'checkpoints'))).length).toBeLessThanOrEqual(5)
  })
})

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path)
  bytes[bytes.length - 1] = bytes[bytes.length - 1]! ^ 1
  await writeFile(path, bytes)
}

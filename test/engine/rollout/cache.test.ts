// The host cache: what rows hold stays theirs while rows move, leave, join and grow.
import { describe, expect, it } from 'vitest'
import { cacheNames } from '../../../src-main/engine/models/attention.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { createCacheFactory, type KeyValueCache } from '../../../src-main/engine/rollout/cache.ts'
import type { Tensor } from '../../../src-main/engine/runtime/ort.ts'
import { cpu } from '../../support/evaluate.ts'
import { parityFolder } from '../../support/parity.ts'

const folder = await openModelFolder(parityFolder('qwen2-tied-sharded'))
const policy = await createPolicyWeights(await cpu(), folder.config, (name) => folder.readTensor(name), { kind: 'full' }, 1)
await folder.close()
const factory = await createCacheFactory(await cpu(), policy)
const { kvHeads, headSize, layers } = policy.config
const names = Array.from({ length: layers }, (_, layer) => cacheNames(layer)).flatMap((layer) => [
  { past: layer.pastKey, present: layer.presentKey },
  { past: layer.pastValue, present: layer.presentValue },
])

/** A number that tells owner, position, tensor, head and place inside the head apart. */
const mark = (owner: number, position: number, tensor: number, head: number, at: number): number => owner * 10000 + position * 100 + tensor * 20 + head * 10 + at / headSize

/** New keys and values of one position for each owner, in the order of rows. */
async function step(owners: readonly number[], positions: readonly number[]): Promise<Record<string, Tensor>> {
  const device = await cpu()
  return Object.fromEntries(names.map(({ present }, tensor) => {
    const data = Float32Array.from({ length: owners.length * kvHeads * headSize }, (_, index) => {
      const [row, head] = [Math.floor(index / (kvHeads * headSize)), Math.floor(index / headSize) % kvHeads]
      return mark(owners[row]!, positions[row]!, tensor, head, index % headSize)
    })
    return [present, device.tensor(data, [owners.length, kvHeads * headSize])]
  }))
}

function expectHeld(cache: KeyValueCache, owners: readonly number[], lengths: readonly number[]): void {
  const feeds = cache.feeds()
  names.forEach(({ past }, tensor) => {
    const { data, dims } = feeds[past]!
    expect(dims).toEqual([owners.length, kvHeads, cache.capacity, headSize])
    owners.forEach((owner, row) => {
      for (let head = 0; head < kvHeads; head++) {
        for (let position = 0; position < lengths[row]!; position++) {
          const from = ((row * kvHeads + head) * cache.capacity + position) * headSize
          expect((data as Float32Array).slice(from, from + headSize)).toEqual(Float32Array.from({ length: headSize }, (_, at) => mark(owner, position, tensor, head, at)))
        }
      }
    })
  })
}

/** A cache of prompts as a prefill leaves it. */
async function prompts(owners: readonly number[], length: number): Promise<KeyValueCache> {
  const cache = await factory.create(factory.promptCapacity(length, 100), owners.length, owners.length)
  for (let position = 0; position < length; position++) cache.append!(await step(owners, owners.map(() => position)), owners.map(() => position))
  return cache
}

describe('the host cache', () => {
  it('has room for little more than its longest row, and keeps every row while it grows', async () => {
    const cache = await factory.create(100, 3, 0)
    await cache.rearrange([], await prompts([1, 2], 3), [0, 1, 1])
    const [owners, lengths] = [[1, 2, 2], [3, 3, 3]]
    for (let time = 0; time < 40; time++) {
      cache.append!(await step(owners, lengths), lengths)
      lengths.forEach((length, row) => (lengths[row] = length + 1))
      expect(cache.capacity).toBeGreaterThanOrEqual(lengths[0]!)
      expect(cache.capacity).toBeLessThan(lengths[0]! + 16)
    }
    expectHeld(cache, owners, lengths)
  })

  it('takes in prompts longer and shorter than the rows it holds', async () => {
    const cache = await factory.create(100, 4, 0)
    await cache.rearrange([], await prompts([1, 2], 5), [0, 1])
    await cache.rearrange([1], await prompts([3], 40), [0])
    expectHeld(cache, [2, 3], [5, 40])
    await cache.rearrange([0, 1], await prompts([4], 2), [0])
    expectHeld(cache, [2, 3, 4], [5, 40, 2])
    await expect(async () => cache.rearrange([0, 1, 2], await prompts([5, 6], 2), [0, 1])).rejects.toThrow('3 + 2 rows exceed')
  })
})

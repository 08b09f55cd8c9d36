// The key/value cache of the rows being decoded: [rows, kvHeads, capacity, headSize] for keys and values of every layer.
// On the CPU rows move inside host arrays, which hold only as many positions a row as the longest row needs: attention reads all of them
// in every step. Elsewhere the cache stays on the device.
import { cacheNames } from '../models/attention.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import type { Device, Program, Tensor } from '../runtime/ort.ts'
import { rearrangeProgram } from './programs.ts'

export interface KeyValueCache {
  /** Rows in use. */
  readonly rows: number
  /** Positions a row has room for now; a host cache grows as its rows do. */
  readonly capacity: number
  /** Feeds and output targets of the sampling program for the rows in use. */
  feeds(): Record<string, Tensor>
  /** Where the program may write its caches; undefined where it must make new ones. */
  targets(): Record<string, Tensor> | undefined
  /** Takes over the caches a prompt or a decode step returned. */
  accept(outputs: Readonly<Record<string, Tensor>>): void
  /** Host caches only: puts one new key and value of every layer and row at position `lengths[row]`. */
  append?(outputs: Readonly<Record<string, Tensor>>, lengths: readonly number[]): void
  /** Row `at` becomes what row `kept[at]` (>= at) was; then appends rows of `fresh` (a prompt prefilled once may serve several rows). */
  rearrange(kept: readonly number[], fresh: KeyValueCache | undefined, freshRows: readonly number[]): Promise<void>
  dispose(): void
}

/** Every cache tensor as (input name, output name). */
function pairs(policy: PolicyWeights): { past: string; present: string }[] {
  return Array.from({ length: policy.config.layers }, (_, layer) => cacheNames(layer)).flatMap((names) => [
    { past: names.pastKey, present: names.presentKey },
    { past: names.pastValue, present: names.presentValue },
  ])
}

/** Attention kernels like capacities in blocks. */
const block = 16
const inBlocks = (positions: number): number => Math.ceil(positions / block) * block

type HostCache = KeyValueCache & { readonly arrays: readonly Float32Array[] }

/** A cache whose rows live in host memory, up to `maxRows` of up to `largest` positions. `rows` start in use, zeroed and with all the room. */
function createHostCache(device: Device, policy: PolicyWeights, largest: number, maxRows: number, rows: number): HostCache {
  const { kvHeads, headSize } = policy.config
  const names = pairs(policy)
  const arrays = names.map(() => new Float32Array(maxRows * kvHeads * inBlocks(largest) * headSize))
  let used = rows
  let room = rows === 0 ? block : inBlocks(largest)
  const tensors = (select: (pair: { past: string; present: string }) => string): Record<string, Tensor> =>
    Object.fromEntries(names.map((pair, index) => [select(pair), device.tensor((arrays[index] as Float32Array).subarray(0, used * kvHeads * room * headSize), [used, kvHeads, room, headSize])]))
  /** Moves the heads of all rows apart, the last one first. What lies behind a row's own tokens is never read: the mask hides it. */
  const makeRoom = (positions: number): void => {
    const [from, to] = [room * headSize, inBlocks(positions) * headSize]
    if (to <= from) return
    for (const array of arrays) for (let head = used * kvHeads - 1; head > 0; head--) array.copyWithin(head * to, head * from, (head + 1) * from)
    room = inBlocks(positions)
  }
  return {
    arrays,
    get capacity() {
      return room
    },
    get rows() {
      return used
    },
    feeds: () => tensors((pair) => pair.past),
    targets: () => tensors((pair) => pair.present),
    accept() {
      // The program wrote into the arrays themselves.
    },
    append(outputs, lengths) {
      makeRoom(Math.max(...lengths) + 1)
      names.forEach(({ present }, index) => {
        const array = arrays[index] as Float32Array
        const fresh = (outputs[present] as Tensor).data as Float32Array
        for (let row = 0, from = 0; row < used; row++) {
          for (let head = 0; head < kvHeads; head++, from += headSize) {
            const to = ((row * kvHeads + head) * room + (lengths[row] as number)) * headSize
            for (let i = 0; i < headSize; i++) array[to + i] = fresh[from + i] as number
          }
        }
      })
    },
    rearrange(kept, fresh, freshRows) {
      if (kept.length + freshRows.length > maxRows) throw new Error(`${kept.length} + ${freshRows.length} rows exceed the cache's ${maxRows}`)
      const source = fresh as HostCache | undefined
      makeRoom(source?.capacity ?? 0)
      const rowSize = kvHeads * room * headSize
      const part = (source?.capacity ?? 0) * headSize
      arrays.forEach((array, index) => {
        kept.forEach((row, at) => {
          if (row !== at) array.copyWithin(at * rowSize, row * rowSize, (row + 1) * rowSize)
        })
        const prompts = source?.arrays[index] as Float32Array
        freshRows.forEach((row, at) => {
          for (let head = 0; head < kvHeads; head++) {
            const from = (row * kvHeads + head) * part
            array.set(prompts.subarray(from, from + part), (kept.length + at) * rowSize + head * room * headSize)
          }
        })
      })
      used = kept.length + freshRows.length
      return Promise.resolve()
    },
    dispose: () => device.discard(Object.values(tensors((pair) => pair.past))),
  }
}

/** A cache that stays on the device; rows are rearranged by a small program there. */
export async function createDeviceCache(device: Device, policy: PolicyWeights, capacity: number, rows: number, rearranger: Program): Promise<KeyValueCache> {
  const { kvHeads, headSize } = policy.config
  const names = pairs(policy)
  const dims = [rows, kvHeads, capacity, headSize]
  const zero = new Float32Array(dims.reduce((product, dim) => product * dim, 1))
  let used = rows
  let tensors = await Promise.all(names.map(() => device.upload(zero, dims)))
  const replace = (next: Tensor[]): void => {
    for (const tensor of tensors) tensor.dispose()
    tensors = next
  }
  return {
    capacity,
    get rows() {
      return used
    },
    feeds: () => Object.fromEntries(names.map(({ past }, index) => [past, tensors[index] as Tensor])),
    targets: () => undefined,
    accept(outputs) {
      replace(names.map(({ present }) => outputs[present] as Tensor))
    },
    async rearrange(kept, fresh, freshRows) {
      const index = BigInt64Array.from([...kept, ...freshRows.map((row) => used + row)], (row) => BigInt(row))
      const freshFeeds = fresh?.feeds()
      const next: Tensor[] = []
      for (const [at, { past }] of names.entries()) {
        const current = tensors[at] as Tensor
        const outputs = await rearranger.run({ current, fresh: freshFeeds?.[past] ?? current, index: device.tensor(index, [index.length]) })
        next.push(outputs['arranged'] as Tensor)
      }
      replace(next)
      used = index.length
    },
    dispose: () => replace([]),
  }
}

/** Makes caches for a device; host and device caches of one factory may be mixed with each other only. */
export interface CacheFactory {
  /** `rows` of up to `maxRows` start in use, zeroed. */
  create(capacity: number, maxRows: number, rows: number): Promise<KeyValueCache>
  /** The capacity a cache of prompts needs so that its rows can join one of `capacity`. */
  promptCapacity(longest: number, capacity: number): number
  release(): Promise<void>
}

export async function createCacheFactory(device: Device, policy: PolicyWeights): Promise<CacheFactory> {
  if (device.kind === 'cpu') {
    return {
      create: (capacity, maxRows, rows) => Promise.resolve(createHostCache(device, policy, capacity, maxRows, rows)),
      promptCapacity: inBlocks,
      release: () => Promise.resolve(),
    }
  }
  const rearranger = await device.compile(rearrangeProgram(policy), { resident: ['arranged'] })
  return {
    create: (capacity, _maxRows, rows) => createDeviceCache(device, policy, inBlocks(capacity), rows, rearranger),
    promptCapacity: (_longest, capacity) => capacity,
    release: () => rearranger.release(),
  }
}

// The key/value cache of the rows being decoded: [rows, kvHeads, capacity, headSize] for keys and values of every layer.
// On the CPU rows move inside host arrays and the attention writes in place; elsewhere the cache stays on the device.
import { cacheNames } from '../models/attention.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import type { Device, Program, Tensor } from '../runtime/ort.ts'
import { rearrangeProgram } from './programs.ts'

export interface KeyValueCache {
  /** Rows in use. */
  readonly rows: number
  /** Positions a row has room for. */
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

/** A cache whose rows live in host memory; `rows` start in use (zeroed), up to `maxRows`. */
export function createHostCache(device: Device, policy: PolicyWeights, capacity: number, maxRows: number, rows: number): KeyValueCache & { readonly arrays: readonly Float32Array[] } {
  const { kvHeads, headSize } = policy.config
  const rowSize = kvHeads * capacity * headSize
  const names = pairs(policy)
  const arrays = names.map(() => new Float32Array(maxRows * rowSize))
  let used = rows
  const tensors = (select: (pair: { past: string; present: string }) => string): Record<string, Tensor> =>
    Object.fromEntries(names.map((pair, index) => [select(pair), device.tensor((arrays[index] as Float32Array).subarray(0, used * rowSize), [used, kvHeads, capacity, headSize])]))
  return {
    arrays,
    capacity,
    get rows() {
      return used
    },
    feeds: () => tensors((pair) => pair.past),
    targets: () => tensors((pair) => pair.present),
    accept() {
      // The program wrote into the arrays themselves.
    },
    append(outputs, lengths) {
      names.forEach(({ present }, index) => {
        const array = arrays[index] as Float32Array
        const fresh = (outputs[present] as Tensor).data as Float32Array
        for (let row = 0, from = 0; row < used; row++) {
          for (let head = 0; head < kvHeads; head++, from += headSize) {
            const to = row * rowSize + (head * capacity + (lengths[row] as number)) * headSize
            for (let i = 0; i < headSize; i++) array[to + i] = fresh[from + i] as number
          }
        }
      })
    },
    rearrange(kept, fresh, freshRows) {
      if (kept.length + freshRows.length > maxRows) throw new Error(`${kept.length} + ${freshRows.length} rows exceed the cache's ${maxRows}`)
      const source = (fresh as { arrays?: readonly Float32Array[] } | undefined)?.arrays
      arrays.forEach((array, index) => {
        kept.forEach((row, at) => {
          if (row !== at) array.copyWithin(at * rowSize, row * rowSize, (row + 1) * rowSize)
        })
        freshRows.forEach((row, at) => array.set((source?.[index] as Float32Array).subarray(row * rowSize, (row + 1) * rowSize), (kept.length + at) * rowSize))
      })
      used = kept.length + freshRows.length
      return Promise.resolve()
    },
    dispose() {
      // Host memory is the collector's.
    },
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
  create(capacity: number, maxRows: number, rows: number): Promise<KeyValueCache>
  release(): Promise<void>
}

export async function createCacheFactory(device: Device, policy: PolicyWeights): Promise<CacheFactory> {
  if (device.kind === 'cpu') {
    return { create: (capacity, maxRows, rows) => Promise.resolve(createHostCache(device, policy, capacity, maxRows, rows)), release: () => Promise.resolve() }
  }
  const rearranger = await device.compile(rearrangeProgram(policy), { resident: ['arranged'] })
  return { create: (capacity, _maxRows, rows) => createDeviceCache(device, policy, capacity, rows, rearranger), release: () => rearranger.release() }
}

// Runs a graph once with plain arrays.
import { createDevice, type Device, type HostArray } from '../../src-main/engine/runtime/ort.ts'
import type { Graph } from '../../src-main/engine/graph/index.ts'

export type Feed = readonly [data: HostArray, dims: readonly number[]]

let shared: Promise<Device> | undefined
/** One CPU device with one thread for all tests of a file. */
export function cpu(): Promise<Device> {
  return (shared ??= createDevice('cpu', { threads: 1 }))
}

/** Runs the graph once; on the CPU unless another device is given. */
export async function evaluate(graph: Graph, feeds: Readonly<Record<string, Feed>>, on?: Device): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>> {
  const device = on ?? (await cpu())
  const program = await device.compile(graph)
  const tensors = Object.fromEntries(program.inputNames.map((name) => {
    const feed = feeds[name]
    if (feed === undefined) throw new Error(`no feed for ${name}`)
    return [name, device.tensor(feed[0], feed[1])]
  }))
  const outputs = await program.run(tensors)
  const result = Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, { data: tensor.data as Float32Array, dims: tensor.dims }]))
  await program.release()
  return result
}

/** Deterministic numbers in (-1, 1) without any library: a small linear congruential generator. */
export function numbers(count: number, seed: number): Float32Array {
  let state = (seed * 2654435761) >>> 0
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state / 2 ** 31 - 1) * 0.999
  })
}

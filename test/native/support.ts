// The implementations that the kernel tests hold against each other. Where no C++ compiler is, only TypeScript is left, and
// build.test.ts says so (and fails when CI=true).
import { build } from '../../native-kernels/build.mjs'
import { kernelsOf, loadBinary, typescriptKernels } from '../../src-main/engine/runtime/kernels.ts'
import type { Kernels } from '../../src-main/engine/runtime/kernels.ts'

export const buildOutcome = build()
export const loaded = loadBinary()

/** Name and kernels of everything that exists here; the naive reference comes last. */
export const implementations: [string, Kernels][] = [['typescript', typescriptKernels]]
if (loaded.binary !== undefined) implementations.push(['native', kernelsOf(loaded.binary)], ['native reference', kernelsOf(loaded.binary, true)])

/** Largest |a - b| / max(1, |b|) over two arrays of one length; NaN when one has a NaN the other has not. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.NaN
  let largest = 0
  for (let i = 0; i < a.length; i++) {
    if (Object.is(a[i], b[i])) continue
    largest = Math.max(largest, Math.abs(a[i]! - b[i]!) / Math.max(1, Math.abs(b[i]!)))
  }
  return largest
}

/** Whether two results (objects of typed arrays and numbers) are equal bit by bit; much faster than toEqual on long arrays. */
export function sameBits(a: object, b: object): boolean {
  const other = new Map(Object.entries(b))
  return Object.entries(a).every(([name, value]: [string, unknown]) => {
    const against: unknown = other.get(name)
    return ArrayBuffer.isView(value) && ArrayBuffer.isView(against) ? bytesOf(value).equals(bytesOf(against)) : Object.is(value, against)
  })
}

function bytesOf(view: ArrayBufferView): Buffer {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

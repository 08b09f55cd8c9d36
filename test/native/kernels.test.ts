import { afterEach, describe, expect, it, vi } from 'vitest'
import { loaded } from './support.ts'

type KernelsModule = typeof import('../../src-main/engine/runtime/kernels.ts')

/** The module as a fresh process with these variables would see it. */
async function fresh(environment: Record<string, string>): Promise<KernelsModule> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  vi.resetModules()
  return import('../../src-main/engine/runtime/kernels.ts')
}

afterEach(() => vi.unstubAllEnvs())

describe('the choice of kernels', () => {
  it('takes the binary when it is there and says so in one line', async () => {
    const { kernelBackend, kernelReport } = await fresh({ SATCHEL_KERNELS: '', SATCHEL_KERNEL_THREADS: '3' })
    expect(kernelBackend()).toBe(loaded.binary === undefined ? 'typescript' : 'native')
    expect(kernelReport()).toBe(loaded.binary === undefined ? `kernels: TypeScript (same results, slower), because ${loaded.problem}` : 'kernels: native, 3 threads')
    loaded.binary?.setThreadCount(0)
  })

  it('is TypeScript under SATCHEL_KERNELS=typescript, with working kernels', async () => {
    const kernels = await fresh({ SATCHEL_KERNELS: 'typescript' })
    expect(kernels.kernelBackend()).toBe('typescript')
    expect(kernels.kernelReport()).toContain('SATCHEL_KERNELS=typescript')
    expect(kernels.squaredNorm(Float32Array.of(3, 4))).toBe(25)
    expect(() => kernels.setKernelThreads(2)).not.toThrow()
    expect(() => kernels.setKernelThreads(-1)).toThrow(RangeError)
  })

  it('falls back to TypeScript where nothing was built, and tells how to build it', async () => {
    const { kernelBackend, kernelReport } = await fresh({ SATCHEL_ROOT: '/satchel-is-not-here' })
    expect(kernelBackend()).toBe('typescript')
    expect(kernelReport()).toMatch(/^kernels: TypeScript .*no binary was built.*native-kernels\/build\.mjs/)
    expect(kernelReport()).not.toContain('\n')
  })

  it.runIf(loaded.binary !== undefined)('refuses a thread count that is no whole number', async () => {
    const { kernelBackend } = await fresh({ SATCHEL_KERNELS: '', SATCHEL_KERNEL_THREADS: 'many' })
    expect(() => kernelBackend()).toThrow(/SATCHEL_KERNEL_THREADS is many/)
  })
})

describe.runIf(loaded.binary !== undefined)('the border of the binary', () => {
  const binary = loaded.binary!
  const floats = new Float32Array(4)

  it('refuses arrays of another kind or too short for what it would read or write', () => {
    expect(() => binary.squaredNorm(new Float64Array(4) as unknown as Float32Array, false)).toThrow(/argument 0 is a typed array of another kind/)
    expect(() => binary.squaredNorm([1, 2] as unknown as Float32Array, false)).toThrow(/argument 0 is not a typed array/)
    expect(() => binary.adamW(floats, floats, floats, new Float32Array(3), new Float64Array(8), false)).toThrow(/argument 3 has 3 elements, expected at least 4/)
    expect(() => binary.adamW(floats, floats, floats, floats, new Float64Array(7), false)).toThrow(/argument 4/)
    const lengths = Int32Array.of(2, 3)
    const call = (rewards: number, out: number, sizes = Int32Array.of(2), ends = 0): void =>
      binary.advantages(new Float64Array(rewards), lengths, sizes, new Float64Array(2), new Uint8Array(2), new Uint8Array(ends), new Float64Array(10), new Float64Array(out), new Uint8Array(2), new Float64Array(6), false)
    expect(() => call(5, 5)).not.toThrow()
    expect(() => call(4, 5)).toThrow(/argument 0 has 4 elements, expected at least 5/)
    expect(() => call(5, 4)).toThrow(/argument 7/)
    expect(() => call(5, 5, Int32Array.of(2), 4)).toThrow(/argument 5 has 4 elements, expected at least 5/)
    expect(() => call(5, 5, Int32Array.of(3))).toThrow(/argument 1/)
    expect(() => call(5, 5, Int32Array.of(-1))).toThrow(/negative/)
  })

  it('reads a view at its own offset', () => {
    expect(binary.squaredNorm(Float32Array.of(9, 3, 4, 9).subarray(1, 3), false)).toBe(25)
  })
})

// The heavy loops of the engine: native where native-kernels/build.mjs has made a binary, TypeScript otherwise. Both have the same
// semantics (1e-12 where results are doubles, 1e-6 where they are floats). Arrays are checked here, once for both.
//
//   SATCHEL_KERNELS=typescript      never loads the binary
//   SATCHEL_KERNEL_THREADS=N        threads of the native kernels; 0 or absent: one a processor
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { EstimatorConfig } from '../../contract/run-config.ts'
import { advantageRules, advantageSettings, readsScores } from '../policy/advantage-settings.ts'
import type { AdvantageSettings } from '../policy/advantage-settings.ts'
import { advantagesTypeScript, statisticsColumns } from '../policy/advantages.ts'
import type { AdvantageBatch, AdvantageResult } from '../policy/advantages.ts'
import { adamWTypeScript, biasCorrections, squaredNormTypeScript } from './adamw.ts'
import type { AdamWOptions } from './adamw.ts'
import { projectRoot } from './paths.ts'
import { dequantizeTypeScript, quantizationBlock, quantizeTypeScript, widenTypeScript, type HalfFormat, type QuantizedBlocks } from './quantization.ts'
import { sampleTypeScript } from './sampling.ts'
import type { SamplingBatch, SamplingResult } from './sampling.ts'

export type { AdamWOptions, SamplingResult }

/** One implementation of every kernel. Arrays are trusted: call the functions below instead, which check them. */
export interface Kernels {
  advantages(settings: AdvantageSettings, batch: AdvantageBatch, result: AdvantageResult): void
  sample(batch: SamplingBatch, result: SamplingResult): void
  adamW(parameter: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, options: AdamWOptions): void
  squaredNorm(values: Float32Array): number
  quantize(values: Float32Array, result: QuantizedBlocks): void
  dequantize(blocks: QuantizedBlocks, values: Float32Array): void
  widen(bits: Uint16Array, format: HalfFormat, values: Float32Array): void
}

/** What binding.cpp exports. */
interface NativeBinary {
  readonly interfaceNumber: number
  advantages(
    rewards: Float64Array, lengths: Int32Array, groupSizes: Int32Array, outcomes: Float64Array, masked: Uint8Array, stepEnds: Uint8Array, settings: Float64Array,
    advantages: Float64Array, kept: Uint8Array, statistics: Float64Array, reference: boolean,
  ): void
  sample(
    logits: Float32Array, rows: number, vocabulary: number, sampleLimit: number, temperature: Float64Array, topK: Int32Array, topP: Float64Array, minP: Float64Array, uniform: Float64Array,
    ids: Int32Array, logProbability: Float32Array, fullLogProbability: Float32Array, entropy: Float32Array, reference: boolean,
  ): void
  adamW(parameter: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, settings: Float64Array, reference: boolean): void
  squaredNorm(values: Float32Array, reference: boolean): number
  quantizeBlocks(values: Float32Array, bits: number, packed: Uint8Array, scales: Float32Array, reference: boolean): void
  dequantizeBlocks(packed: Uint8Array, bits: number, scales: Float32Array, values: Float32Array, reference: boolean): void
  widenHalf(bits: Uint16Array, bfloat16: boolean, values: Float32Array, reference: boolean): void
  setThreadCount(count: number): void
  threadCount(): number
}

const supportedInterface = 4
const flatGroupNumbers = { keep: 0, 'mean-only': 1, skip: 2, 'sigma-floor': 3 } as const

export const typescriptKernels: Kernels = {
  advantages: advantagesTypeScript,
  sample: sampleTypeScript,
  adamW: adamWTypeScript,
  squaredNorm: squaredNormTypeScript,
  quantize: quantizeTypeScript,
  dequantize: dequantizeTypeScript,
  widen: widenTypeScript,
}

/** The kernels of a loaded binary; `reference` selects the naive form that stands beside each fast one. */
export function kernelsOf(binary: NativeBinary, reference = false): Kernels {
  return {
    advantages(settings, batch, result) {
      const { rule, flatGroups, deviation, pooled, epsilon, sigmaFloor, flatTolerance, clip, temperature, discount } = settings
      const numbers = Float64Array.of(advantageRules.indexOf(rule), flatGroupNumbers[flatGroups], Number(deviation === 'sample'), Number(pooled), epsilon, sigmaFloor, flatTolerance, clip, temperature, discount)
      const { rewards, lengths, groupSizes, outcomes, masked, stepEnds = new Uint8Array() } = batch
      binary.advantages(rewards, lengths, groupSizes, outcomes, masked, stepEnds, numbers, result.advantages, result.kept, result.statistics, reference)
    },
    sample(batch, result) {
      const { logits, rows, vocabulary, sampleLimit, temperature, topK, topP, minP, uniform } = batch
      const { ids, logProbability, fullLogProbability, entropy } = result
      binary.sample(logits, rows, vocabulary, sampleLimit, temperature, topK, topP, minP, uniform, ids, logProbability, fullLogProbability, entropy, reference)
    },
    adamW(parameter, gradient, m, v, options) {
      const { learningRate, beta1, beta2, epsilon, weightDecay, gradientScale } = options
      binary.adamW(parameter, gradient, m, v, Float64Array.of(learningRate, beta1, beta2, epsilon, weightDecay, gradientScale, ...biasCorrections(options)), reference)
    },
    squaredNorm: (values) => binary.squaredNorm(values, reference),
    quantize: (values, { bits, packed, scales }) => binary.quantizeBlocks(values, bits, packed, scales, reference),
    dequantize: ({ bits, packed, scales }, values) => binary.dequantizeBlocks(packed, bits, scales, values, reference),
    widen: (bits, format, values) => binary.widenHalf(bits, format === 'bfloat16', values, reference),
  }
}

export type LoadedBinary = { readonly binary: NativeBinary; readonly problem?: undefined } | { readonly binary?: undefined; readonly problem: string }

/** Loads `native-kernels/build/satchel_kernels.node`, or says in half a sentence why not. */
export function loadBinary(path = join(projectRoot(), 'native-kernels', 'build', 'satchel_kernels.node')): LoadedBinary {
  if (!existsSync(path)) return { problem: 'no binary was built (node native-kernels/build.mjs builds it where a C++ compiler is)' }
  try {
    const binary = createRequire(join(projectRoot(), 'package.json'))(path) as NativeBinary
    if (binary.interfaceNumber === supportedInterface) return { binary }
    return { problem: `the binary is of another version (interface ${binary.interfaceNumber}, expected ${supportedInterface}); node native-kernels/build.mjs renews it` }
  } catch (error) {
    return { problem: `the binary cannot be loaded: ${error instanceof Error ? error.message : String(error)}` }
  }
}

interface Active {
  readonly kernels: Kernels
  readonly binary: NativeBinary | undefined
  readonly report: string
}

let active: Active | undefined

function current(): Active {
  active ??= choose()
  return active
}

function choose(): Active {
  const asked = process.env['SATCHEL_KERNELS'] ?? ''
  if (asked === 'typescript') return { kernels: typescriptKernels, binary: undefined, report: 'kernels: TypeScript, because SATCHEL_KERNELS=typescript' }
  const { binary, problem } = loadBinary()
  if (binary === undefined) return { kernels: typescriptKernels, binary: undefined, report: `kernels: TypeScript (same results, slower), because ${problem}` }
  const threads = Number(process.env['SATCHEL_KERNEL_THREADS'] ?? 0)
  if (!Number.isInteger(threads) || threads < 0) {
    throw new UserError({ code: 'usage', what: `SATCHEL_KERNEL_THREADS is ${process.env['SATCHEL_KERNEL_THREADS']}`, expected: 'a whole number, 0 for one thread a processor' })
  }
  binary.setThreadCount(threads)
  return { kernels: kernelsOf(binary), binary, report: `kernels: native, ${binary.threadCount()} threads` }
}

/** Which implementation serves this process. */
export function kernelBackend(): 'native' | 'typescript' {
  return current().binary === undefined ? 'typescript' : 'native'
}

/** One line for a person: which kernels serve and why. */
export function kernelReport(): string {
  return current().report
}

/** Threads of the native kernels from now on, 0 for one a processor. Results do not depend on it. */
export function setKernelThreads(count: number): void {
  if (!Number.isInteger(count) || count < 0) throw new RangeError(`kernel threads: ${count} is not a whole number`)
  current().binary?.setThreadCount(count)
}

/** Arrays for the results of `batch`, to be used again for batches of the same shape. */
export function allocateAdvantages(batch: AdvantageBatch): AdvantageResult {
  return {
    advantages: new Float64Array(sumOf('lengths', batch.lengths)),
    kept: new Uint8Array(batch.lengths.length),
    statistics: new Float64Array(batch.groupSizes.length * statisticsColumns),
  }
}

/**
 * Advantages of a batch of groups; see policy/advantages.ts.
 * @param result filled and returned; allocated where left out
 * @throws Error when an array does not have the length that groupSizes and lengths demand
 */
export function computeAdvantages(config: EstimatorConfig, batch: AdvantageBatch, result: AdvantageResult = allocateAdvantages(batch)): AdvantageResult {
  const settings = advantageSettings(config)
  const rollouts = sumOf('groupSizes', batch.groupSizes)
  const tokens = sumOf('lengths', batch.lengths)
  expectLength('lengths', batch.lengths, rollouts)
  expectLength('outcomes', batch.outcomes, rollouts)
  expectLength('masked', batch.masked, rollouts)
  expectLength('rewards', batch.rewards, readsScores(settings.rule) ? rollouts : tokens)
  if (batch.stepEnds !== undefined) expectLength('stepEnds', batch.stepEnds, tokens)
  expectLength('advantages', result.advantages, tokens)
  expectLength('kept', result.kept, rollouts)
  expectLength('statistics', result.statistics, batch.groupSizes.length * statisticsColumns)
  current().kernels.advantages(settings, batch, result)
  return result
}

export interface SampleRequest {
  /** [B, V] logits as the model gives them. */
  readonly logits: Float32Array
  readonly rows: number
  readonly vocabulary: number
  /** Ids from here on are never sampled; V where left out. */
  readonly sampleLimit?: number
  /** One number for all rows, or [B]. */
  readonly temperature: number | ArrayLike<number>
  readonly topK?: number | ArrayLike<number>
  readonly topP?: number | ArrayLike<number>
  readonly minP?: number | ArrayLike<number>
  /** [B] in [0, 1), one number of each row's own stream. */
  readonly uniform: ArrayLike<number>
}

/**
 * Samples one id a row; see runtime/sampling.ts for the law. The id is -1 where the logits of a row hold NaN or +infinity, or no finite
 * number below `sampleLimit`: the caller knows which prompt that was and says so.
 * @throws RangeError for a setting outside its range, Error when an array does not have the length that rows and vocabulary demand
 */
export function sampleTokens(request: SampleRequest): SamplingResult {
  const { rows, vocabulary } = request
  const batch: SamplingBatch = {
    logits: request.logits,
    rows,
    vocabulary,
    sampleLimit: request.sampleLimit ?? vocabulary,
    temperature: perRow('temperature', Float64Array, request.temperature, rows, (value) => value === 0 || (value >= 1e-6 && value < Infinity)),
    topK: perRow('topK', Int32Array, request.topK ?? 0, rows, (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31),
    topP: perRow('topP', Float64Array, request.topP ?? 1, rows, (value) => value > 0 && value <= 1),
    minP: perRow('minP', Float64Array, request.minP ?? 0, rows, (value) => value >= 0 && value <= 1),
    uniform: perRow('uniform', Float64Array, request.uniform, rows, (value) => value >= 0 && value < 1),
  }
  expectLength('logits', batch.logits, rows * vocabulary)
  if (!(batch.sampleLimit >= 1 && batch.sampleLimit <= vocabulary)) throw new RangeError(`sampling: sampleLimit ${batch.sampleLimit} is not between 1 and the vocabulary size ${vocabulary}`)
  const result: SamplingResult = { ids: new Int32Array(rows), logProbability: new Float32Array(rows), fullLogProbability: new Float32Array(rows), entropy: new Float32Array(rows) }
  current().kernels.sample(batch, result)
  return result
}

/**
 * One AdamW update in place; see runtime/adamw.ts.
 * @throws Error when the arrays differ in length, RangeError when step is not a positive integer
 */
export function adamW(parameter: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, options: AdamWOptions): void {
  expectLength('gradient', gradient, parameter.length)
  expectLength('m', m, parameter.length)
  expectLength('v', v, parameter.length)
  if (!Number.isInteger(options.step) || options.step < 1) throw new RangeError(`AdamW: step ${options.step} is not a positive integer`)
  current().kernels.adamW(parameter, gradient, m, v, options)
}

/** Sum of squares in double precision; the norm of several tensors is the root of the sum of theirs. */
export function squaredNorm(values: Float32Array): number {
  return current().kernels.squaredNorm(values)
}

/**
 * Rounds a matrix of frozen weights to blocks of 32 with a scale each; see runtime/quantization.ts.
 * @throws RangeError when the number of values does not divide into blocks, Error when one of them is not finite
 */
export function quantize(values: Float32Array, bits: 4 | 8): QuantizedBlocks {
  if (values.length % quantizationBlock !== 0) throw new RangeError(`quantisation: ${values.length} values do not divide into blocks of ${quantizationBlock}`)
  const result: QuantizedBlocks = { bits, packed: new Uint8Array((values.length / 8) * bits), scales: new Float32Array(values.length / quantizationBlock) }
  current().kernels.quantize(values, result)
  const bad = result.scales.findIndex((scale) => !Number.isFinite(scale))
  if (bad >= 0) throw new Error(`quantisation: one of the values ${bad * quantizationBlock} to ${(bad + 1) * quantizationBlock - 1} is not finite`)
  return result
}

/** The values that quantised blocks stand for, into `values`. */
export function dequantize(blocks: QuantizedBlocks, values: Float32Array): void {
  expectLength('packed', blocks.packed, (values.length / 8) * blocks.bits)
  expectLength('scales', blocks.scales, values.length / quantizationBlock)
  current().kernels.dequantize(blocks, values)
}

/** Exact float32 values of float16 or bfloat16 bit patterns, into `values`. */
export function widen(bits: Uint16Array, format: HalfFormat, values: Float32Array): void {
  expectLength('values', values, bits.length)
  current().kernels.widen(bits, format, values)
}

function sumOf(name: string, values: Int32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) {
    if (values[i]! < 0) throw new RangeError(`kernels: ${name}[${i}] is ${values[i]}`)
    sum += values[i]!
  }
  return sum
}

function expectLength(name: string, array: ArrayLike<number>, length: number): void {
  if (array.length !== length) throw new Error(`kernels: ${name} has ${array.length} elements, expected ${length}`)
}

/** A typed array with one valid value a row. */
function perRow<T extends Float64Array | Int32Array>(name: string, kind: new (length: number) => T, value: number | ArrayLike<number>, rows: number, valid: (value: number) => boolean): T {
  const array = new kind(rows)
  if (typeof value !== 'number') expectLength(name, value, rows)
  for (let row = 0; row < rows; row++) {
    const own = typeof value === 'number' ? value : value[row]!
    if (!valid(own)) throw new RangeError(`sampling: ${name} of row ${row} is ${own}`)
    array[row] = own
  }
  return array
}

// The native kernels against their TypeScript forms and against copying the same memory. Every ratio is taken inside one run:
// the two sides take turns, and the median of many turns counts.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { estimatorConfigSchema } from '../../src-main/contract/run-config.ts'
import { advantageRules, advantageSettings, readsScores } from '../../src-main/engine/policy/advantage-settings.ts'
import type { AdvantageSettings } from '../../src-main/engine/policy/advantage-settings.ts'
import type { AdvantageBatch, AdvantageResult } from '../../src-main/engine/policy/advantages.ts'
import { allocateAdvantages, kernelsOf, loadBinary, typescriptKernels } from '../../src-main/engine/runtime/kernels.ts'
import type { AdamWOptions, Kernels } from '../../src-main/engine/runtime/kernels.ts'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import type { SamplingBatch, SamplingResult } from '../../src-main/engine/runtime/sampling.ts'
import type { BenchmarkRow } from './rows.ts'

/** Median milliseconds of each side; the sides take turns so that a disturbance meets all of them. */
function medians(sides: Record<string, () => void>, turns: number): Record<string, number> {
  const times = new Map(Object.keys(sides).map((name) => [name, [] as number[]]))
  for (let turn = -2; turn < turns; turn++) {
    for (const [name, side] of Object.entries(sides)) {
      const start = performance.now()
      side()
      if (turn >= 0) times.get(name)!.push(performance.now() - start)
    }
  }
  return Object.fromEntries([...times].map(([name, list]) => [name, list.sort((a, b) => a - b)[list.length >> 1]!]))
}

/** Lines of ten tokens: what a step is where an estimator has steps. */
const stepTokens = 10

function advantageRows(native: Kernels | undefined, quick: boolean): BenchmarkRow[] {
  const stream = createStream(1, 'bench advantages')
  const rollouts = 64 * 8
  const tokens = 1024
  const rewards = Float64Array.from({ length: rollouts * tokens }, () => stream.normal())
  const scores = rewards.slice(0, rollouts)
  const batch: AdvantageBatch = {
    rewards,
    lengths: new Int32Array(rollouts).fill(tokens),
    groupSizes: new Int32Array(64).fill(8),
    outcomes: Float64Array.from({ length: rollouts }, (_, k) => k % 2),
    masked: new Uint8Array(rollouts),
  }
  const stepEnds = Uint8Array.from(rewards, (_, t) => Number(t % stepTokens === stepTokens - 1))
  const result: AdvantageResult = allocateAdvantages(batch)
  const copied = new Float64Array(rewards.length)
  return advantageRules.flatMap((rule): BenchmarkRow[] => {
    const settings: AdvantageSettings = { ...advantageSettings(estimatorConfigSchema.parse({})), rule, temperature: 0.1, discount: 1 }
    const own: AdvantageBatch = { ...batch, ...(readsScores(rule) ? { rewards: scores } : {}), ...(rule === 'grpo-process' || rule === 'pure' ? { stepEnds } : {}) }
    const time = medians(
      {
        copy: () => copied.set(rewards),
        typescript: () => typescriptKernels.advantages(settings, own, result),
        ...(native === undefined ? {} : { native: () => native.advantages(settings, own, result) }),
      },
      quick ? 5 : 41,
    )
    const name = `advantages 64 x 8 x 1,024, ${rule}`
    const measured: BenchmarkRow = { name: `${name}: TypeScript`, value: time['typescript']!, unit: 'ms' }
    if (time['native'] === undefined) return [measured]
    const gain = time['typescript']! / time['native']
    const overCopy = time['native'] / time['copy']!
    return [
      measured,
      { name: `${name}: native`, value: time['native'], unit: 'ms' },
      { name: `${name}: TypeScript / native`, value: gain, unit: 'ratio', goal: 'at least 5', met: gain >= 5 },
      ...(rule === 'bot-grpo' ? [{ name: `${name}: native / copy of the rewards`, value: overCopy, unit: 'ratio', goal: 'at most 3', met: overCopy <= 3 }] : []),
    ]
  })
}

const laws: [string, { topK: number; topP: number }][] = [
  ['softmax', { topK: 0, topP: 1 }],
  ['top-p .95', { topK: 0, topP: 0.95 }],
  ['top-k 50', { topK: 50, topP: 1 }],
]

function samplingRows(native: Kernels | undefined, quick: boolean): BenchmarkRow[] {
  const stream = createStream(1, 'bench sampling')
  const rows = quick ? 8 : 64
  const vocabulary = 151936
  const logits = new Float32Array(rows * vocabulary)
  for (let i = 0; i < logits.length; i++) logits[i] = 6 * (stream.uniform() + stream.uniform() + stream.uniform() - 1.5) // about normal, deviation 3
  const result: SamplingResult = { ids: new Int32Array(rows), logProbability: new Float32Array(rows), fullLogProbability: new Float32Array(rows), entropy: new Float32Array(rows) }
  const uniform = Float64Array.from({ length: rows }, () => stream.uniform())
  return laws.flatMap(([law, { topK, topP }]) => {
    const batch: SamplingBatch = {
      logits, rows, vocabulary, sampleLimit: vocabulary, uniform,
      temperature: new Float64Array(rows).fill(1), topK: new Int32Array(rows).fill(topK), topP: new Float64Array(rows).fill(topP), minP: new Float64Array(rows),
    }
    const time = medians({ typescript: () => typescriptKernels.sample(batch, result), ...(native === undefined ? {} : { native: () => native.sample(batch, result) }) }, quick ? 1 : 5)
    return pair(`sampling ${rows} x 151,936, ${law}`, time)
  })
}

function adamWRows(native: Kernels | undefined, quick: boolean): BenchmarkRow[] {
  const count = quick ? 1_000_000 : 10_000_000
  const turns = quick ? 3 : 7
  const size = count.toLocaleString('en-US')
  const options: AdamWOptions = { learningRate: 1e-4, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.01, gradientScale: 0.5, step: 3 }
  const [parameter, gradient, m, v] = [1, 0.01, 0.001, 1e-4].map((value) => new Float32Array(count).fill(value)) as [Float32Array, Float32Array, Float32Array, Float32Array]
  const sides = (kernels: Kernels) => () => kernels.adamW(parameter, gradient, m, v, options)
  const norms = (kernels: Kernels) => () => void kernels.squaredNorm(gradient)
  const update = medians({ typescript: sides(typescriptKernels), ...(native === undefined ? {} : { native: sides(native) }) }, turns)
  const norm = medians({ typescript: norms(typescriptKernels), ...(native === undefined ? {} : { native: norms(native) }) }, turns)
  return [...pair(`AdamW, ${size} parameters`, update), ...pair(`squared norm, ${size} numbers`, norm)]
}

function pair(name: string, time: Record<string, number>): BenchmarkRow[] {
  const typescript: BenchmarkRow = { name: `${name}: TypeScript`, value: time['typescript']!, unit: 'ms' }
  if (time['native'] === undefined) return [typescript]
  return [typescript, { name: `${name}: native`, value: time['native'], unit: 'ms' }, { name: `${name}: TypeScript / native`, value: time['typescript']! / time['native'], unit: 'ratio' }]
}

/** All rows; where no binary can be built only the TypeScript times. `quick` proves that it runs, with fewer and smaller turns. */
export function benchmarkKernels(quick: boolean): Promise<BenchmarkRow[]> {
  spawnSync(process.execPath, [join(projectRoot(), 'native-kernels', 'build.mjs')], { stdio: 'ignore' })
  const { binary } = loadBinary()
  const native = binary === undefined ? undefined : kernelsOf(binary)
  return Promise.resolve([...advantageRows(native, quick), ...samplingRows(native, quick), ...adamWRows(native, quick)])
}

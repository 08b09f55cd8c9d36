// Training step, decoding, memory and cost of the engine, as ratios taken inside one process.
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { Graph, op } from '../../src-main/engine/graph/index.ts'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { initialWeights } from '../../src-main/engine/models/initial-weights.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { parameterCount } from '../../src-main/engine/models/weights.ts'
import { createSampler } from '../../src-main/engine/rollout/sampler.ts'
import { createDevice, type Device, type Tensor } from '../../src-main/engine/runtime/ort.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { createPass, gradientArrays, packMicroBatches, type MicroBatch } from '../../src-main/engine/training/passes.ts'
import { medianOf, medianSeconds, type BenchmarkRow } from './rows.ts'

export const benchmarkConfig: DecoderConfig = {
  family: 'qwen2', vocabularySize: 1024, hiddenSize: 256, intermediateSize: 704, layers: 4, heads: 8, kvHeads: 2, headSize: 32,
  rmsEpsilon: 1e-6, ropeTheta: 10000, rotaryDimensions: 32, ropeScaling: null, noRopeLayers: [], slidingWindow: null, maxPositions: 512,
  tieWordEmbeddings: true, packedProjections: false, qkvBias: true, outputBias: false, mlpBias: false, torchDtype: 'float32', bosId: null, eosIds: [0], padId: 0,
}

async function freshPolicy(device: Device, config: DecoderConfig): Promise<PolicyWeights> {
  const weights = initialWeights(config, 1)
  return createPolicyWeights(device, config, (name) => weights.get(name) as Float32Array, { kind: 'full' }, 1)
}

/** `batch` sequences of `length` random tokens, all positions predicted. */
export function randomBatch(config: DecoderConfig, batch: number, length: number): MicroBatch {
  const stream = createStream(1, 'benchmark')
  const sequences = Array.from({ length: batch }, () => ({ ids: Array.from({ length }, () => stream.integer(config.vocabularySize)), from: 1, columns: { weight: new Float32Array(length - 1).fill(1 / (batch * length)) } }))
  return packMicroBatches(sequences, batch * length)[0]!.batch
}

/** Every matrix product of a training step: [m, k, n, how often], forward, input gradient and weight gradient. */
function products(config: DecoderConfig, tokens: number): [m: number, k: number, n: number, transposeA: boolean, transposeB: boolean, times: number][] {
  const { hiddenSize: d, intermediateSize: f, heads, kvHeads, headSize, layers, vocabularySize: v } = config
  const shapes: [inSize: number, outSize: number, times: number][] = [[d, heads * headSize, layers], [d, kvHeads * headSize, 2 * layers], [heads * headSize, d, layers], [d, f, 2 * layers], [f, d, layers], [d, v, 1]]
  return shapes.flatMap(([i, o, times]): [number, number, number, boolean, boolean, number][] => [
    [tokens, i, o, false, true, times],
    [tokens, o, i, false, false, times],
    [o, tokens, i, true, false, times],
  ])
}

/** Floating-point operations a second that onnxruntime reaches on the step's own products, each run alone. */
async function productRate(device: Device, config: DecoderConfig, tokens: number): Promise<number> {
  let seconds = 0
  let operations = 0
  for (const [m, k, n, transposeA, transposeB, times] of products(config, tokens)) {
    const graph = new Graph('product')
    const aShape = transposeA ? [k, m] : [m, k]
    const bShape = transposeB ? [n, k] : [k, n]
    graph.output('c', op.matMul(graph.input('a', 'float32', aShape), graph.input('b', 'float32', bShape), { transposeA, transposeB }))
    const program = await device.compile(graph)
    const feeds = { a: device.tensor(new Float32Array(m * k).fill(0.5), aShape), b: device.tensor(new Float32Array(n * k).fill(0.5), bShape) }
    seconds += times * (await medianSeconds(() => program.run(feeds), 7))
    operations += times * 2 * m * k * n
    await program.release()
  }
  return operations / seconds
}

/** Model FLOPs of a step (forward and backward, recomputation not counted): 6 per weight and token, 12 per layer, head dimension and position pair. */
export function stepOperations(config: DecoderConfig, batch: number, length: number): number {
  const matrices = parameterCount(config)
  return 6 * matrices * batch * length + 12 * config.layers * config.heads * config.headSize * batch * length * length
}

export async function benchmarkTrainingStep(quick: boolean): Promise<BenchmarkRow[]> {
  const [batch, length] = [32, 128]
  const device = await createDevice('cpu')
  const policy = await freshPolicy(device, benchmarkConfig)
  const pass = createPass(device, policy, { layout: 'whole', temperature: 1, loss: { kind: 'supervised' }, maxLength: 512, headChunkTokens: 4096 })
  const gradients = gradientArrays(policy)
  const micro = randomBatch(benchmarkConfig, batch, length)
  // Both sides take turns, so that a noisy neighbour slows both.
  const rates: number[] = []
  const steps: number[] = []
  for (let round = 0; round < (quick ? 1 : 5); round++) {
    rates.push(await productRate(device, benchmarkConfig, batch * length))
    steps.push(await medianSeconds(() => pass.backward(micro, gradients), quick ? 1 : 5))
  }
  await pass.release()
  const rate = rates.sort((a, b) => a - b)[rates.length >> 1] as number
  const seconds = steps.sort((a, b) => a - b)[steps.length >> 1] as number
  const reached = stepOperations(benchmarkConfig, batch, length) / seconds
  return [
    { name: 'training step, hidden 256, 4 layers, 32 x 128 tokens', value: seconds, unit: 's' },
    { name: 'matrix products of that step alone', value: rate / 1e9, unit: 'GFLOP/s' },
    { name: 'training step, model FLOPs', value: reached / 1e9, unit: 'GFLOP/s' },
    { name: 'training step / matrix products', value: reached / rate, unit: 'ratio', goal: 'at least 0.7', met: reached / rate >= 0.7 },
  ]
}

const adapterRank = 16

/**
 * Decoding at batch 64 of the built-in model, split into its parts, against its matrix products alone: once as the base model, once
 * with adapters on every projection as a run has them.
 */
export async function benchmarkDecode(quick: boolean): Promise<BenchmarkRow[]> {
  const rows: BenchmarkRow[] = []
  for (const rank of [0, adapterRank]) rows.push(...(await decodeRows(rank, quick)))
  return rows
}

async function decodeRows(rank: number, quick: boolean): Promise<BenchmarkRow[]> {
  const device = await createDevice('cpu')
  const folder = await openModelFolder(resourcePath('demo', 'model'))
  const { config } = folder
  const targets = rank === 0 ? [] : (['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const)
  const policy = await createPolicyWeights(device, config, (name) => folder.readTensor(name), { kind: 'lora', rank: Math.max(1, rank), alpha: 32, dropout: 0, targets: [...targets] }, 1)
  await folder.close()
  const sampler = await createSampler(device, policy, config.maxPositions)
  const maxNewTokens = quick ? 8 : 96
  // As long as the demo's: 24 prompt tokens and up to 96 more; no id stops, so that the batch stays full.
  const requests = Array.from({ length: 8 }, (_, prompt) => ({ promptIds: Array.from({ length: 24 }, (_, t) => 40 + ((7 * t + prompt) % 200)), streams: Array.from({ length: 8 }, (_, rollout) => createStream(1, 'benchmark', prompt, rollout)) }))
  /** One batch to its end; seconds of its median step. */
  const generate = async (): Promise<number> => {
    const marks: number[] = []
    await sampler.generate(requests, { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens, slots: 64, stopIds: new Set(), sampleLimit: config.vocabularySize, onStep: () => void marks.push(performance.now()) })
    // The first stretch holds the prefill.
    return medianOf(marks.slice(2).map((mark, index) => (mark - (marks[index + 1] as number)) / 1000))
  }
  // Both sides take turns, so that a noisy neighbour slows both, and a step is compared with the products of its own turn.
  const turns: { step: number; times: typeof sampler.times; products: number }[] = []
  await generate()
  for (let turn = 0; turn < (quick ? 1 : 10); turn++) turns.push({ step: await generate(), times: { ...sampler.times }, products: await decodeProducts(device, config, rank) })
  await sampler.release()
  const middle = (pick: (turn: (typeof turns)[number]) => number): number => medianOf(turns.map(pick))
  // The parts are known as sums over a turn; its median step is divided in their proportion.
  const part = (pick: (times: typeof sampler.times) => number): number => middle(({ step, times }) => (step * pick(times)) / (times.total - times.prefill))
  const products = middle((turn) => turn.products)
  const ratio = middle((turn) => turn.step / turn.products)
  const name = rank === 0 ? 'base model' : `adapters of rank ${rank}`
  return [
    { name: `decode, batch 64, ${name}`, value: middle(({ times }) => times.tokens / times.total), unit: 'tokens/s' },
    { name: `  a step, ${name}`, value: middle(({ step }) => step) * 1000, unit: 'ms' },
    { name: '    matrix products (measured alone)', value: products * 1000, unit: 'ms' },
    { name: '    attention, cache, norms, the runtime itself', value: (part(({ decode }) => decode) - products) * 1000, unit: 'ms' },
    { name: '    sampling', value: part(({ sampling }) => sampling) * 1000, unit: 'ms' },
    { name: '    JavaScript', value: part(({ total, prefill, decode, sampling }) => total - prefill - decode - sampling) * 1000, unit: 'ms' },
    { name: `  step / matrix products, ${name}`, value: ratio, unit: 'ratio', goal: 'at most 2.5', met: ratio <= 2.5 },
  ]
}

/** Median seconds of one decode step's products, batch 64, as one program: frozen weights inside it, adapters as inputs, as decoding has them. */
async function decodeProducts(device: Device, config: DecoderConfig, rank: number): Promise<number> {
  const { hiddenSize: d, intermediateSize: f, heads, kvHeads, headSize, layers, vocabularySize: v } = config
  const graph = new Graph('products')
  const inputs = new Map([...new Set([d, f, heads * headSize])].map((size) => [size, graph.input(`x${size}`, 'float32', ['B', size])]))
  const adapters: [name: string, rows: number, columns: number][] = []
  const shapes: [inSize: number, outSize: number, times: number, adapted: boolean][] = [[d, heads * headSize, layers, true], [d, kvHeads * headSize, 2 * layers, true], [heads * headSize, d, layers, true], [d, f, 2 * layers, true], [f, d, layers, true], [d, v, 1, false]]
  shapes.forEach(([i, o, times, adapted], kind) => {
    for (let time = 0; time < times; time++) {
      const x = inputs.get(i)!
      const name = `${kind}.${time}`
      let y = op.matMul(x, graph.initializer(`w${name}`, [o, i], new Float32Array(o * i).fill(0.01)), { transposeB: true })
      if (adapted && rank > 0) {
        adapters.push([`a${name}`, rank, i], [`b${name}`, o, rank])
        const low = op.matMul(x, graph.input(`a${name}`, 'float32', [rank, i]), { transposeB: true })
        y = op.matMul(low, graph.input(`b${name}`, 'float32', [o, rank]), { transposeB: true, addend: y })
      }
      // Only a column leaves the program, so that no output buffer is measured.
      graph.output(`y${name}`, op.slice(y, 1, 0, 1))
    }
  })
  const program = await device.compile(graph)
  const feeds = Object.fromEntries([
    ...[...inputs].map(([size]): [string, Tensor] => [`x${size}`, device.tensor(new Float32Array(64 * size).fill(0.5), [64, size])]),
    ...adapters.map(([name, rows, columns]): [string, Tensor] => [name, device.tensor(new Float32Array(rows * columns).fill(0.01), [rows, columns])]),
  ])
  const seconds = await medianSeconds(() => program.run(feeds), 60)
  await program.release()
  return seconds
}

/** Seconds and tokens a second of a training step over sequence length and batch. */
export async function benchmarkCost(quick: boolean): Promise<BenchmarkRow[]> {
  const device = await createDevice('cpu')
  const policy = await freshPolicy(device, benchmarkConfig)
  const pass = createPass(device, policy, { layout: 'whole', temperature: 1, loss: { kind: 'supervised' }, maxLength: 512, headChunkTokens: 4096 })
  const gradients = gradientArrays(policy)
  const rows: BenchmarkRow[] = []
  for (const length of quick ? [64] : [64, 128, 256, 512]) {
    for (const batch of quick ? [4] : [4, 16]) {
      const micro = randomBatch(benchmarkConfig, batch, length)
      const seconds = await medianSeconds(() => pass.backward(micro, gradients), quick ? 1 : 3)
      rows.push({ name: `training step, ${batch} x ${length} tokens`, value: (batch * length) / seconds, unit: 'tokens/s' })
    }
  }
  await pass.release()
  return rows
}

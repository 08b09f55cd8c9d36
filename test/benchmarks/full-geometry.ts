// `npm run bench:geometry [-- NAME ...] [--stream] [--json FILE]`: the three base models at their full size with random weights, in 4 bits
// (with --stream: bf16 layers left in their file): written, opened, planned, 4 rollouts of 16 tokens, one LoRA step of 256 tokens. Every model is measured in a process of its own, so that its peak
// memory is its own. The weights lie in a temporary folder (up to 8 GB, one model at a time; TMPDIR says where) and are removed.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import { readDecoderConfig } from '../../src-main/engine/models/config.ts'
import { openFrozenLayers } from '../../src-main/engine/models/frozen-layers.ts'
import { openModelFolder, writeModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { expectedTensors } from '../../src-main/engine/models/weights.ts'
import { createSampler } from '../../src-main/engine/rollout/sampler.ts'
import { kernelReport } from '../../src-main/engine/runtime/kernels.ts'
import { createDevice, runtimeVersions } from '../../src-main/engine/runtime/ort.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { planMemory } from '../../src-main/engine/training/memory-plan.ts'
import { createOptimizer } from '../../src-main/engine/training/optimizer.ts'
import { createPass, gradientArrays, packMicroBatches } from '../../src-main/engine/training/passes.ts'
import { PHI_4_MINI, QWEN25_3B, SMOLLM3_3B } from '../engine/models/published-configs.ts'

const models: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { 'qwen2.5-3b': QWEN25_3B, 'smollm3-3b': SMOLLM3_3B, 'phi-4-mini': PHI_4_MINI }
const rollouts = 4
const newTokens = 16
const promptTokens = 48
const trainedTokens = 256
const writeFlag = '--write'
const measureFlag = '--measure'
const streamFlag = '--stream'

/** A bf16 checkpoint of full size. Values repeat after a million: they only have to be of the right size. */
async function writeRandomModel(name: string, folder: string): Promise<void> {
  const raw = models[name] as Readonly<Record<string, unknown>>
  const described = join(folder, 'config')
  mkdirSync(described, { recursive: true })
  writeFileSync(join(described, 'config.json'), JSON.stringify(raw))
  const { config } = await readDecoderConfig(described)
  const stream = createStream(1, name)
  const pattern = Float32Array.from({ length: 1_000_003 }, () => stream.uniform() * 2 - 1)
  const shapes = new Map(expectedTensors(config).map((tensor) => [tensor.name, tensor.shape]))
  let at = 0
  await writeModelFolder(join(folder, 'model'), {
    config,
    rawConfig: raw,
    tensors(tensor) {
      const shape = shapes.get(tensor) as readonly number[]
      const values = new Float32Array(shape.reduce((product, size) => product * size, 1))
      if (shape.length === 1 && !tensor.endsWith('.bias')) return values.fill(1)
      const bound = Math.sqrt(3 / (shape.at(-1) as number))
      for (let i = 0; i < values.length; i++, at++) values[i] = (pattern[at % pattern.length] as number) * bound
      return values
    },
  })
}

interface Measurement {
  readonly seconds: Readonly<Record<string, number>>
  /** Of these, on reading and widening layers. */
  readonly layerSeconds: Readonly<Record<string, number>>
  readonly peakBytes: Readonly<Record<string, number>>
  readonly planned: Readonly<Record<string, number>>
}

const peak = (): number => process.resourceUsage().maxRSS * 1024

async function measure(model: string, stream: boolean): Promise<Measurement> {
  const seconds: Record<string, number> = {}
  const layerSeconds: Record<string, number> = {}
  let layers = (): number => 0
  const peakBytes: Record<string, number> = {}
  const timed = async <Result>(part: string, run: () => Promise<Result>): Promise<Result> => {
    const before = performance.now()
    const layersBefore = layers()
    const result = await run()
    seconds[part] = (performance.now() - before) / 1000
    layerSeconds[part] = layers() - layersBefore
    peakBytes[part] = peak()
    return result
  }
  const run = runConfigSchema.parse({
    model, data: { prompts: '-' }, weights: stream ? { precision: 'stored', streamLayers: true } : { precision: 'int4' }, adapter: { kind: 'lora' },
    rollout: { promptsPerStep: 1, groupSize: rollouts, maxNewTokens: newTokens, slots: rollouts }, training: { microBatchTokens: trainedTokens, headChunkTokens: trainedTokens },
  })
  const device = await createDevice('cpu')
  const folder = await openModelFolder(model)
  const policy = await timed('open', async () => {
    const layers = await openFrozenLayers(folder.config, folder, run.weights)
    return createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), run.adapter, 1, layers)
  })
  layers = () => policy.layerSeconds()
  const { trainingPeak } = planMemory(folder.config, run, { promptTokens, longest: trainedTokens })
  const ids = (count: number, key: number): number[] => Array.from({ length: count }, (_, i) => 100 + ((i * 7919 + key * 104_729) % 50_000))
  const sampler = await createSampler(device, policy, trainedTokens)
  const samples = await timed('generate', () => sampler.generate([{ promptIds: ids(promptTokens, 1), streams: Array.from({ length: rollouts }, (_, index) => createStream(1, 'rollout', index)) }],
    { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens: newTokens, slots: rollouts, stopIds: new Set(), sampleLimit: folder.config.vocabularySize }))
  if (samples.some((sample) => sample.ids.length !== newTokens || sample.logprobs.some((value) => !Number.isFinite(value)))) throw new Error('a rollout is not what was asked for')
  await timed('train', async () => {
    const pass = createPass(device, policy, { layout: 'layered', temperature: 1, loss: { kind: 'supervised' }, maxLength: trainedTokens, headChunkTokens: trainedTokens })
    const gradients = gradientArrays(policy)
    const [packed] = packMicroBatches([{ ids: ids(trainedTokens, 2), from: 1, columns: { weight: new Float32Array(trainedTokens - 1).fill(1 / (trainedTokens - 1)) } }], trainedTokens)
    const { loss } = await pass.backward(packed!.batch, gradients)
    const { applied } = createOptimizer(policy, run.optimizer, 1).update(gradients)
    if (!applied || !Number.isFinite(loss)) throw new Error(`the step was not taken: the loss is ${loss}`)
    await pass.release()
  })
  await sampler.release()
  await folder.close()
  return { seconds, layerSeconds, peakBytes, planned: { train: trainingPeak } }
}

function child(...options: string[]): string {
  const run = spawnSync(process.execPath, [process.argv[1] as string, ...options], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (run.status !== 0) throw new Error(`${options.join(' ')} ended with ${run.status ?? run.signal ?? 'no status'}`)
  return run.stdout
}

async function main(options: readonly string[]): Promise<void> {
  const [first, name, folder] = options
  if (first === writeFlag) return writeRandomModel(name as string, folder as string)
  if (first === measureFlag) return void process.stdout.write(JSON.stringify(await measure(name as string, options.includes(streamFlag))))
  const jsonAt = options.indexOf('--json')
  const stream = options.includes(streamFlag)
  const named = options.filter((option, index) => !option.startsWith('--') && (jsonAt < 0 || index !== jsonAt + 1))
  const machine = { processor: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), platform: `${process.platform}-${process.arch}`, node: process.versions.node, onnxruntime: runtimeVersions().onnxruntime, kernels: kernelReport() }
  process.stdout.write(`${Object.entries(machine).map(([key, value]) => `${key} ${value}`).join(', ')}\n`)
  const results: Record<string, Measurement> = {}
  for (const model of named.length > 0 ? named : Object.keys(models)) {
    if (models[model] === undefined) throw new Error(`there is no model ${model}; there are ${Object.keys(models).join(', ')}`)
    const place = mkdtempSync(join(tmpdir(), 'satchel-geometry-'))
    try {
      child(writeFlag, model, place)
      const result = JSON.parse(child(measureFlag, join(place, 'model'), ...(stream ? [streamFlag] : []))) as Measurement
      results[model] = result
      process.stdout.write(`\n${model}: ${stream ? 'bf16 layers streamed' : 'int4'}, LoRA rank 16, ${rollouts} rollouts of ${newTokens} tokens, one step of ${trainedTokens} tokens\n`)
      for (const [part, time] of Object.entries(result.seconds)) {
        const planned = result.planned[part]
        const bytes = result.peakBytes[part] as number
        process.stdout.write(`  ${part.padEnd(9)} ${time.toFixed(1).padStart(7)} s, ${((100 * (result.layerSeconds[part] ?? 0)) / time).toFixed(0).padStart(2)} % of it on fetching layers   peak memory so far ${(bytes / 2 ** 30).toFixed(2).padStart(6)} GiB${planned === undefined ? '' : `   planned ${(planned / 2 ** 30).toFixed(2)} GiB, planned / measured ${(planned / bytes).toFixed(2)}`}\n`)
      }
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  }
  const file = options[jsonAt + 1]
  if (jsonAt >= 0 && file !== undefined) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify({ machine, results }, null, 2)}\n`)
  }
}

await main(process.argv.slice(2))

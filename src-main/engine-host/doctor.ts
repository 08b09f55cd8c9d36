// What this machine can do, each thing tried: a real training step on every device, each in a process of its own, because a
// device that fails may take its process along.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { arch, availableParallelism, cpus, freemem, release, totalmem } from 'node:os'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import { rewardConfig, type RewardConfig } from '../contract/reward-config.ts'
import type { DecoderConfig } from '../engine/models/config.ts'
import { createPolicyWeights } from '../engine/models/policy-weights.ts'
import { expectedTensors } from '../engine/models/weights.ts'
import { withOpenJudges } from '../engine/rewards/judge/open-rewards.ts'
import { scoreRows } from '../engine/rewards/score.ts'
import { openCamera } from '../engine/rewards/screenshots/camera.ts'
import { kernelBackend, kernelReport } from '../engine/runtime/kernels.ts'
import { createDevice, runtimeVersions } from '../engine/runtime/ort.ts'
import type { DeviceKind } from '../engine/runtime/ort.ts'
import { resourcePath } from '../engine/runtime/paths.ts'
import { createStream } from '../engine/runtime/random.ts'
import { createPass, gradientArrays, packMicroBatches } from '../engine/training/passes.ts'
import { satchelVersion } from '../engine/training/run-folder.ts'
import { readReward } from './cli-options.ts'
import { bytes, table } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'

/** One thing that was tried. */
export interface Trial {
  readonly ok: boolean
  /** A sentence: what it did, or why it failed. */
  readonly what: string
}

export interface TrialOptions {
  readonly before?: (name: string, done: number, total: number) => void
  readonly signal?: AbortSignal
  readonly reward?: RewardConfig
}

const probeSchema = z.object({ milliseconds: z.number(), difference: z.number() })
const probeSeconds = 120
const devices: readonly DeviceKind[] = ['cpu', 'webgpu']
/** Log-probabilities of two devices differ by rounding; more than this is a broken kernel. */
const largestDifference = 1e-3

/**
 * Runs every trial, one after the other.
 * @param options `before` hears what comes next, `signal` ends it between two trials, `reward` is one whose judges are asked for an answer
 */
export async function runTrials({ before, signal, reward }: TrialOptions = {}): Promise<{ readonly ok: boolean; readonly trials: Readonly<Record<string, Trial>> }> {
  const { backends } = runtimeVersions()
  const all: readonly (readonly [name: string, attempt: () => Promise<Trial>])[] = [
    ['node', async () => tryNode()],
    ...devices.map((device) => [device, () => tryDevice(device, backends.find(({ name }) => name === device)?.bundled ?? false)] as const),
    ['rewards', tryRewards],
    ['browser', tryBrowser],
    ...(reward === undefined ? [] : [['judge', () => tryJudge(reward)] as const]),
    ['built-in model', async () => (existsSync(resourcePath('demo', 'model', 'model.safetensors')) ? { ok: true, what: 'is there' } : { ok: false, what: `resources/demo/model/model.safetensors is missing: install Satchel again` })],
  ]
  const trials: Record<string, Trial> = {}
  for (const [at, [name, attempt]] of all.entries()) {
    if (signal?.aborted === true) throw new UserError({ code: 'stopped', what: 'the trials were stopped' })
    before?.(name, at, all.length)
    trials[name] = await attempt()
  }
  return { ok: ['node', 'cpu', 'rewards'].every((name) => trials[name]?.ok ?? false), trials }
}

/** Runs every trial. The exit code is 5 when training is impossible here. */
export async function doctor({ reward }: { readonly reward?: string } = {}): Promise<CommandResult> {
  const { onnxruntime, backends } = runtimeVersions()
  const disk = await statfs(process.cwd())
  const { ok, trials } = await runTrials(reward === undefined ? {} : { reward: await readReward(reward) })
  const json = {
    ok,
    satchel: satchelVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${arch()} ${release()}`,
    processor: { model: cpus()[0]?.model ?? 'unknown', threads: availableParallelism() },
    memory: { total: totalmem(), free: freemem() },
    disk: { folder: process.cwd(), free: disk.bavail * disk.bsize },
    onnxruntime,
    backends,
    kernels: { backend: kernelBackend(), report: kernelReport() },
    trials,
  }
  const facts = table([
    ['Satchel', json.satchel], ['Node', json.node], ['platform', json.platform], ['processor', `${json.processor.model}, ${json.processor.threads} threads`],
    ['memory', `${bytes(json.memory.free)} free of ${bytes(json.memory.total)}`], ['disk', `${bytes(json.disk.free)} free in ${json.disk.folder}`],
    ['onnxruntime', `${onnxruntime} (bundled: ${backends.filter(({ bundled }) => bundled).map(({ name }) => name).join(', ')})`],
  ].map(([name, value]) => [`${(name as string).padEnd(14)} ${value as string}`]))
  const verdicts = Object.entries(json.trials).map(([name, { ok, what }]) => `${ok ? 'ok    ' : 'FAILS '} ${name}: ${what}`)
  const end = json.ok ? 'Training works on this machine.' : 'Training does not work on this machine; see what fails above.'
  return { json, text: [facts, json.kernels.report, '', ...verdicts, '', end].join('\n'), exitCode: json.ok ? 0 : 5 }
}

function tryNode(): Trial {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 20 || (major === 20 && minor >= 19)
  return { ok, what: ok ? `${process.versions.node} is new enough` : `${process.versions.node} is too old: install Node 20.19 or newer` }
}

async function tryRewards(): Promise<Trial> {
  const completion = "export default function App() {\n  return <h1>Hello</h1>;\n}"
  const begun = performance.now()
  try {
    const [verdict] = await scoreRows([{ id: 'probe', prompt: 'Say hello.', completion, requirements: [{ kind: 'role', role: 'heading', name: 'Hello' }] }], { config: rewardConfig() })
    const ok = verdict !== undefined && verdict.scored.stages.render && verdict.scored.requirementScore === 1
    return ok ? { ok, what: `a small program was type-checked, bundled and rendered in a locked-down process in ${seconds(performance.now() - begun)}` } : { ok, what: `a correct program was refused: ${verdict?.scored.spans[0]?.message ?? verdict?.scored.sources.map(({ failure }) => failure).join(' ') ?? 'no verdict'}` }
  } catch (error) {
    return { ok: false, what: error instanceof Error ? error.message : String(error) }
  }
}

/** Pictures are not needed for training, so a machine without a browser is none that fails. */
async function tryBrowser(): Promise<Trial> {
  const begun = performance.now()
  const opened = await openCamera(rewardConfig().limits)
  if ('unavailable' in opened) return { ok: false, what: `pages are judged without pictures (reward.screenshots): ${opened.unavailable}` }
  opened.camera.dispose()
  return { ok: true, what: `a page was shown and a picture of it taken (reward.screenshots) in ${seconds(performance.now() - begun)}` }
}

async function tryJudge(reward: RewardConfig): Promise<Trial> {
  const begun = performance.now()
  try {
    return await withOpenJudges(reward, async (judges) => {
      if (judges.length === 0) return { ok: true, what: 'this reward asks none' }
      return { ok: true, what: `${judges.map(({ source, by }) => `${source} is answered by ${by.model}`).join(', ')}, after ${seconds(performance.now() - begun)}` }
    })
  } catch (error) {
    return { ok: false, what: error instanceof UserError ? error.message : String(error) }
  }
}

async function tryDevice(device: DeviceKind, bundled: boolean): Promise<Trial> {
  if (!bundled) return { ok: false, what: 'onnxruntime carries no such device on this system' }
  const { stdout, ending } = await runProbe(device)
  const line = stdout.trim().split('\n').at(-1) ?? ''
  const probe = probeSchema.safeParse(line.startsWith('{') ? JSON.parse(line) : undefined)
  if (!probe.success) return { ok: false, what: ending }
  const { milliseconds, difference } = probe.data
  if (!(difference <= largestDifference)) return { ok: false, what: `it computes, but wrongly: log-probabilities differ from the CPU's by ${difference.toExponential(1)}` }
  return { ok: true, what: device === 'cpu' ? `a small training step took ${seconds(milliseconds)}` : `a small training step took ${seconds(milliseconds)}; log-probabilities differ from the CPU's by ${difference.toExponential(1)}` }
}

/** Starts this program again as a probe and hears what becomes of it. */
function runProbe(device: DeviceKind): Promise<{ stdout: string; ending: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [process.argv[1] as string, 'probe', device], { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
    let stdout = ''
    let stderr = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), probeSeconds * 1000)
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-8192)))
    child.on('error', (error) => resolve({ stdout, ending: `the trial could not be started: ${error.message}` }))
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ stdout, ending: describeEnding(device, code, signal, stderr) })
    })
  })
}

/** Why a probe failed, in words. */
export function describeEnding(device: DeviceKind, code: number | null, signal: NodeJS.Signals | null, stderr: string): string {
  const lines = stderr.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('at '))
  const words = (lines.findLast((line) => /error|fail|could not|cannot|unsupported/i.test(line)) ?? lines.at(-1) ?? '')
    .replace(/^satchel: /, '')
    // onnxruntime puts a source file and a condition before the sentence that says what happened.
    .replace(/\S*onnxruntime_src\S*.*? was false\. /, '')
    .slice(0, 400)
    .replace(/[^.]$/, '$&.')
  const noAdapter = device === 'webgpu' && /adapter|vulkan|dawn|webgpu/i.test(stderr) ? ' There is no usable graphics driver (Vulkan, Metal or Direct3D 12); the CPU is used instead.' : ''
  if (signal === 'SIGKILL') return `it did not answer within ${probeSeconds} seconds, or ran out of memory.${noAdapter}`
  if (signal !== null) return `the process was ended by ${signal}, which a faulty driver causes.${noAdapter}`
  return `${words === '' ? `the trial ended with code ${code ?? 'unknown'}` : words}${noAdapter}`
}

const probeModel: DecoderConfig = {
  family: 'llama', vocabularySize: 256, hiddenSize: 64, intermediateSize: 128, layers: 2, heads: 4, kvHeads: 2, headSize: 16, rmsEpsilon: 1e-5, ropeTheta: 1e4, rotaryDimensions: 16, ropeScaling: null,
  noRopeLayers: [], slidingWindow: null, maxPositions: 64, tieWordEmbeddings: true, packedProjections: false, qkvBias: false, outputBias: false, mlpBias: false, torchDtype: 'float32', bosId: null, eosIds: [0], padId: null,
}

/** The probe itself: one training step of a small random model; log-probabilities are compared with the CPU's. */
export async function probe(kind: DeviceKind): Promise<CommandResult> {
  const own = await trainingStep(kind)
  const reference = kind === 'cpu' ? own : await trainingStep('cpu')
  const difference = own.logprob.reduce((most, value, index) => Math.max(most, Math.abs(value - (reference.logprob[index] as number))), 0)
  if (!own.logprob.every(Number.isFinite)) throw new Error('the device computed numbers that are not finite')
  const json = { milliseconds: own.milliseconds, difference }
  return { json, text: JSON.stringify(json) }
}

async function trainingStep(kind: DeviceKind): Promise<{ milliseconds: number; logprob: Float32Array }> {
  const device = await createDevice(kind)
  const shapes = new Map(expectedTensors(probeModel).map(({ name, shape }) => [name, shape]))
  const readTensor = (name: string): Float32Array => {
    const shape = shapes.get(name) ?? []
    const stream = createStream(1, 'probe', [...shapes.keys()].indexOf(name))
    const size = shape.reduce((product, dimension) => product * dimension, 1)
    return Float32Array.from({ length: size }, () => (shape.length === 1 ? 1 : (stream.uniform() - 0.5) / 8))
  }
  const policy = await createPolicyWeights(device, probeModel, readTensor, { kind: 'full' }, 1)
  const pass = createPass(device, policy, { layout: 'layered', temperature: 1, loss: { kind: 'supervised' }, maxLength: 64, headChunkTokens: 64 })
  const stream = createStream(1, 'probe sequences')
  const sequences = Array.from({ length: 4 }, () => Array.from({ length: 32 }, () => stream.integer(probeModel.vocabularySize)))
  const packed = packMicroBatches(sequences.map((ids) => ({ ids, from: 1, columns: { weight: new Float32Array(31).fill(1 / 124) } })), 4096)
  const { batch } = packed[0] as (typeof packed)[number]
  const gradients = gradientArrays(policy)
  await pass.backward(batch, gradients)
  const begun = performance.now()
  const { logprob } = await pass.backward(batch, gradients)
  const milliseconds = performance.now() - begun
  await pass.release()
  await device.dispose()
  return { milliseconds, logprob }
}

function seconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

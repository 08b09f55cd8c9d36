// What a run needs in memory, by formula and before anything is loaded: `satchel models plan` shows it, every run compares it with its peak.
// Each number is what this engine really allocates; the comments say where. Bytes throughout.
import { totalmem } from 'node:os'
import type { RunConfig } from '../../contract/run-config.ts'
import type { DecoderConfig } from '../models/config.ts'
import { layerMatrices } from '../models/frozen-layers.ts'
import { packsFrozenWeights } from '../models/policy-weights.ts'
import { expectedTensors } from '../models/weights.ts'
import { quantizationBlock } from '../runtime/quantization.ts'

export interface SequenceLengths {
  /** Tokens of the longest prompt. */
  readonly promptTokens: number
  /** Tokens of the longest prompt plus completion. */
  readonly longest: number
}

/** Bytes by part; a part that a phase does not need counts in the other phase only. */
export interface MemoryPlan {
  readonly layout: 'whole' | 'layered'
  /** The process itself: Node, onnxruntime, tokenizer, compiled programs. */
  readonly process: number
  /** Frozen and trained weights as the engine holds them. */
  readonly weights: number
  /** Second and third copies of frozen weights inside compiled programs, where they are packed for speed. */
  readonly programs: number
  /** The one layer that is widened to float32 at a time, and layers being read ahead. */
  readonly layerInUse: number
  readonly adapters: number
  readonly gradients: number
  readonly optimizer: number
  readonly cache: number
  /** Logits and activations of generation. */
  readonly generation: number
  /** Activations that the backward pass needs. */
  readonly activations: number
  /** Logits of the rows the loss looks at together. */
  readonly logits: number
  /** The browser that takes pictures of pages: processes of their own, so the peaks leave it out. See {@link machinePeaks}. */
  readonly browser: number
  /** Peaks of the engine's process in the machine's own memory. */
  readonly generationPeak: number
  readonly trainingPeak: number
  readonly resumePeak: number
  /** Peak of the graphics card's memory where the run is on one; null on the CPU. */
  readonly devicePeak: number | null
}

const FLOAT = 4
/** Resident size of an engine process that has loaded nothing but a tiny model (measured, Linux x64, Node 20). */
const PROCESS = 190 * 2 ** 20

/** Electron that shows pages one after another: its processes, shared pages by share (231 to 299 MiB measured, Linux x64, Electron 33, drawn in software). */
const BROWSER = 300 * 2 ** 20

const elements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1)

interface Sizes {
  /** Elements of all layers' matrices, of those of one layer, and of everything else. */
  readonly layers: number
  readonly layer: number
  readonly rest: number
  readonly trained: number
}

function sizesOf(model: DecoderConfig, adapter: RunConfig['adapter']): Sizes {
  const matrices = [...layerMatrices(model)]
  const layer = matrices.reduce((sum, [, shape]) => sum + elements(shape), 0)
  const all = expectedTensors(model).reduce((sum, { shape }) => sum + elements(shape), 0)
  if (adapter.kind === 'full') return { layers: layer * model.layers, layer, rest: all - layer * model.layers, trained: all }
  const adapted = matrices.filter(([name]) => adapter.targets.includes('all-linear') || adapter.targets.some((target) => name.endsWith(`.${target}.weight`)))
  const inLayer = adapted.reduce((sum, [, [outSize, inSize]]) => sum + adapter.rank * (outSize + inSize), 0)
  const head = adapter.targets.includes('lm_head') ? adapter.rank * (model.vocabularySize + model.hiddenSize) : 0
  return { layers: layer * model.layers, layer, rest: all - layer * model.layers, trained: inLayer * model.layers + head }
}

/** Bytes an element of a frozen layer takes. */
function bytesPerElement(model: DecoderConfig, { precision, streamLayers }: RunConfig['weights']): number {
  const scale = FLOAT / quantizationBlock
  if (precision === 'int4') return 0.5 + scale
  if (precision === 'int8') return 1 + scale
  return precision === 'stored' || streamLayers ? (model.torchDtype === 'float32' ? FLOAT : 2) : FLOAT
}

/**
 * Activations a layer keeps for its backward pass, per token, in floats: x, rms, two inverse-rms, q, k, v and their rotated or transposed
 * forms, attended values twice, gate, up, sigmoid, silu, product, and per query head T scores and T probabilities.
 */
function layerActivations(model: DecoderConfig, tokens: number, length: number): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headSize } = model
  return tokens * FLOAT * (4 * hiddenSize + 4 * heads * headSize + 6 * kvHeads * headSize + 5 * intermediateSize + 2 * heads * length)
}

/** Whether a step runs a layer at a time: where layers are not float32 in memory, or one program's activations would not fit. */
export function planLayout(model: DecoderConfig, run: Pick<RunConfig, 'weights' | 'training'>, memory = totalmem()): 'whole' | 'layered' {
  const { recompute, microBatchTokens } = run.training
  if (run.weights.precision !== 'fp32' || run.weights.streamLayers) return 'layered'
  if (recompute !== 'auto') return recompute === 'layer' ? 'layered' : 'whole'
  return model.layers * layerActivations(model, microBatchTokens, Math.min(model.maxPositions, microBatchTokens)) < memory / 2 ? 'whole' : 'layered'
}

/**
 * The plan of a run. On the CPU everything lies in the machine's memory; on WebGPU the card holds weights, adapters, cache and activations, and
 * the machine keeps its own copy of the weights, the optimizer's numbers and the gradients.
 * @param memory of the machine, which decides the layout and whether weights are packed
 */
export function planMemory(model: DecoderConfig, run: RunConfig, lengths: SequenceLengths, memory = totalmem()): MemoryPlan {
  const sizes = sizesOf(model, run.adapter)
  const full = run.adapter.kind === 'full'
  const asFloat = run.weights.precision === 'fp32' && !run.weights.streamLayers
  const layout = planLayout(model, run, memory)
  const perElement = bytesPerElement(model, run.weights)
  const held = run.weights.streamLayers ? 0 : sizes.layers * perElement
  // A policy that is trained whole is held against a frozen copy of where it began.
  const weights = (sizes.rest * FLOAT + held) * (full && run.loss.klCoefficient > 0 ? 2 : 1)
  const frozen = full ? 0 : (sizes.rest + sizes.layers) * FLOAT
  // A packed weight lies in a program twice, as data and as the form the product wants. Prompt and token programs, and the step's.
  const withReference = run.loss.klCoefficient > 0
  const copies = 4 + (layout === 'whole' ? (withReference ? 4 : 2) : 0)
  const onCard = run.device === 'webgpu'
  const packed = asFloat && !onCard && packsFrozenWeights(frozen, memory) ? frozen * copies : 0
  const blocks = run.weights.precision === 'int4' && !onCard ? held : 0
  const layerInUse = asFloat ? 0 : sizes.layer * FLOAT + (run.weights.streamLayers ? 2 * sizes.layer * perElement : 0)
  const adapters = full ? 0 : sizes.trained * FLOAT
  const gradients = sizes.trained * FLOAT
  const optimizer = 2 * sizes.trained * FLOAT
  const { slots, promptsPerStep, groupSize } = run.rollout
  const evaluated = run.evaluation.every === 0 ? 0 : run.evaluation.prompts
  const rows = Math.min(slots, Math.max(promptsPerStep * groupSize, evaluated * run.evaluation.samples))
  // Prompts that are run together: those of a step, or in an evaluation as many as there is room for.
  const prompts = Math.max(Math.min(promptsPerStep, slots), Math.min(evaluated, Math.ceil(slots / run.evaluation.samples)))
  const capacity = Math.ceil(lengths.longest / 16) * 16
  const perPosition = 2 * model.layers * model.kvHeads * model.headSize * FLOAT
  const cache = (rows + prompts) * capacity * perPosition
  // Logits twice: onnxruntime's output, and the copy rows of one prompt share. A prompt's activations are one layer's, without a backward pass.
  const promptBatch = prompts * lengths.promptTokens
  const generation = 2 * rows * model.vocabularySize * FLOAT + layerActivations(model, promptBatch, lengths.promptTokens) / 2
  const length = Math.min(lengths.longest, run.training.microBatchTokens)
  const sequences = Math.max(1, Math.floor(run.training.microBatchTokens / length))
  const tokens = Math.min(promptsPerStep * groupSize, sequences) * length
  const one = layerActivations(model, tokens, length)
  const activations = layout === 'whole' ? model.layers * one : model.layers * tokens * model.hiddenSize * FLOAT + 2 * one
  const chunk = layout === 'whole' ? tokens : Math.min(tokens, run.training.headChunkTokens)
  const logits = 4 * chunk * model.vocabularySize * FLOAT
  const always = PROCESS + weights + packed + blocks + layerInUse + adapters + gradients + optimizer
  const parts = { layout, process: PROCESS, weights, programs: packed + blocks, layerInUse, adapters, gradients: full ? 2 * gradients : gradients, optimizer, cache, generation, activations, logits, browser: takesPictures(run.reward) ? BROWSER : 0 }
  const resumePeak = always + 3 * sizes.trained * FLOAT
  if (onCard) {
    const layers = asFloat ? sizes.layers : sizes.layer
    // What the card computes comes back through the machine: logits while generating, gradients while training.
    return { ...parts, generationPeak: always + generation, trainingPeak: always + generation + gradients, resumePeak, devicePeak: (sizes.rest + layers) * FLOAT + adapters + gradients + cache + generation + activations + logits }
  }
  // Programs keep the memory they once used: generation's counts while training as well.
  return { ...parts, generationPeak: always + cache + generation, trainingPeak: always + cache + generation + activations + logits, resumePeak, devicePeak: null }
}

function takesPictures(reward: RunConfig['reward']): boolean {
  return reward.recipe === 'react' && reward.screenshots.mode !== 'off'
}

/** Peaks of everything that a run starts, bytes: the engine and the browser beside it. */
export function machinePeaks({ generationPeak, trainingPeak, resumePeak, browser }: MemoryPlan): { readonly generation: number; readonly training: number; readonly resume: number } {
  return { generation: generationPeak + browser, training: trainingPeak + browser, resume: resumePeak + browser }
}

/** Largest share by which the plan may miss the measured peak before a run says so. */
export const PLAN_TOLERANCE = 0.2

/** Most memory this process has had resident so far, bytes. */
export function peakResidentBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}

/** One sentence that compares the plan with what a run took; says so where it was off by more than {@link PLAN_TOLERANCE}. */
export function planVerdict(plannedGib: number, measuredGib: number): string {
  const ratio = plannedGib / measuredGib
  const numbers = `planned ${plannedGib.toFixed(2)} GiB, measured peak ${measuredGib.toFixed(2)} GiB (planned / measured ${ratio.toFixed(2)})`
  return Math.abs(ratio - 1) <= PLAN_TOLERANCE ? `Memory: ${numbers}.` : `Memory: the plan was wrong by more than ${100 * PLAN_TOLERANCE} %: ${numbers}.`
}

/** A change that would lower the peak, and by how much. */
export interface MemoryAdvice {
  readonly change: string
  readonly trainingPeak: number
}

/** What to change where a run does not fit: each change alone, those that help most first. */
export function adviseMemory(model: DecoderConfig, run: RunConfig, lengths: SequenceLengths, memory = totalmem()): MemoryAdvice[] {
  const { rollout, training, weights, adapter } = run
  const lora: RunConfig['adapter'] = { kind: 'lora', rank: 16, alpha: 32, dropout: 0, targets: ['all-linear'] }
  const variants: [change: string, variant: RunConfig, lengths?: SequenceLengths][] = []
  if (adapter.kind === 'full') variants.push(['adapter.kind lora with rank 16', { ...run, adapter: lora }])
  else {
    if (weights.precision !== 'int4' && !weights.streamLayers) variants.push(['weights.precision int4', { ...run, weights: { precision: 'int4', streamLayers: false } }])
    if (weights.precision === 'fp32' && !weights.streamLayers) variants.push(['weights.precision int8', { ...run, weights: { precision: 'int8', streamLayers: false } }])
    if (!weights.streamLayers) variants.push(['weights.streamLayers true with precision stored (slower)', { ...run, weights: { precision: 'stored', streamLayers: true } }])
    if (adapter.rank > 4) variants.push([`adapter.rank ${Math.ceil(adapter.rank / 2)}`, { ...run, adapter: { ...adapter, rank: Math.ceil(adapter.rank / 2) } }])
  }
  if (planLayout(model, run, memory) === 'whole') variants.push(['training.recompute layer', { ...run, training: { ...training, recompute: 'layer' } }])
  variants.push([`training.microBatchTokens ${Math.ceil(training.microBatchTokens / 2)}`, { ...run, training: { ...training, microBatchTokens: Math.ceil(training.microBatchTokens / 2) } }])
  if (training.headChunkTokens > 64) variants.push([`training.headChunkTokens ${Math.ceil(training.headChunkTokens / 4)}`, { ...run, training: { ...training, headChunkTokens: Math.ceil(training.headChunkTokens / 4) } }])
  if (rollout.slots > 1) variants.push([`rollout.slots ${Math.ceil(rollout.slots / 2)}`, { ...run, rollout: { ...rollout, slots: Math.ceil(rollout.slots / 2) } }])
  const shorter = Math.ceil(rollout.maxNewTokens / 2)
  variants.push([`rollout.maxNewTokens ${shorter}`, { ...run, rollout: { ...rollout, maxNewTokens: shorter } }, { ...lengths, longest: lengths.longest - rollout.maxNewTokens + shorter }])
  const now = planMemory(model, run, lengths, memory).trainingPeak
  return variants
    .map(([change, variant, own]) => ({ change, trainingPeak: planMemory(model, variant, own ?? lengths, memory).trainingPeak }))
    .filter(({ trainingPeak }) => trainingPeak < now * 0.99)
    .toSorted((a, b) => a.trainingPeak - b.trainingPeak)
}

// What the pages that prepare a run show: models, a dataset with its report, completions that were scored.
import type { CallResponse } from '../../../src-main/contract/calls.ts'
import type { DatasetReport } from '../../../src-main/contract/calls/datasets.ts'
import type { ModelEntry, ModelList } from '../../../src-main/contract/calls/models.ts'
import type { RewardReport, RewardSample, ScoredSample } from '../../../src-main/contract/calls/rewards.ts'
import { prompts, rolloutAt } from './sample-runs.ts'

const details: NonNullable<ModelEntry['details']> = { family: 'Qwen2', parameters: 3_085_938_688, storedType: 'BF16', contextTokens: 32_768, base: 'Qwen2.5-3B', warnings: [], thinking: 'never', chat: true }

export function modelOf(name: string, part: Partial<ModelEntry> = {}): ModelEntry {
  return { name, source: 'added', path: `/home/ada/models/${name}`, state: 'ready', problem: null, bytes: 6_183_000_000, details, licence: 'Apache 2.0', verified: null, ...part }
}

const builtIn = modelOf('Demo', { source: 'built-in', path: '/opt/satchel/resources/demo/model', bytes: 15_900_000, details: { ...details, family: 'Llama', parameters: 3_940_000, storedType: 'F32', contextTokens: 512, base: null }, verified: '2026-01-05T09:00:00.000Z' })

export const modelList: ModelList = {
  folder: '/home/ada/Satchel/models', hidden: 3, problems: [], partial: [{ repository: 'HuggingFaceTB/SmolLM3-3B', bytes: 2_100_000_000 }],
  bases: [
    { name: 'Qwen2.5-3B', repository: 'Qwen/Qwen2.5-3B-Instruct', licence: 'Qwen Research', bytes: 6_183_000_000, parameters: 3_085_938_688, what: 'A general model of 3 billion parameters, good at code; the one of the React recipe.', thinking: 'never', path: '/home/ada/models/Qwen2.5-3B' },
    { name: 'SmolLM3-3B', repository: 'HuggingFaceTB/SmolLM3-3B', licence: 'Apache 2.0', bytes: 6_160_000_000, parameters: 3_075_098_624, what: 'A general model of 3 billion parameters that can think before it answers.', thinking: 'switch', path: null },
    { name: 'Phi-4-mini-reasoning', repository: 'microsoft/Phi-4-mini-reasoning', licence: 'MIT', bytes: 7_690_000_000, parameters: 3_836_021_760, what: 'A reasoning model of 3.8 billion parameters for mathematics.', thinking: 'always', path: null },
  ],
  models: [
    builtIn,
    modelOf('Qwen2.5-3B', { verified: '2026-01-05T09:00:00.000Z' }),
    modelOf('qwen2.5-coder-1.5b-q4_k_m.gguf', { path: '/home/ada/Downloads/qwen2.5-coder-1.5b-q4_k_m.gguf', bytes: 1_120_000_000, details: { ...details, parameters: 1_543_714_304, storedType: 'Q4_K', base: null, warnings: ['Quantised weights: training starts from what they round to.'] } }),
    modelOf('TinyLlama-1.1B', { source: 'hugging-face', state: 'incomplete', problem: 'model-00002-of-00002.safetensors is missing.', details: null, licence: '' }),
  ],
}

export const plan: CallResponse<'models.plan'> = {
  model: 'Demo', promptTokens: 48, promptsRead: true, layout: 'whole', memory: 16_000_000_000, fits: true, advice: [], peaks: { generation: 610_000_000, training: 940_000_000, resume: 700_000_000 },
  parts: [{ part: 'weights', label: 'Weights', bytes: 15_800_000 }, { part: 'adapter', label: 'Adapter and optimizer', bytes: 9_200_000 }, { part: 'cache', label: 'Key and value cache', bytes: 210_000_000 }, { part: 'activations', label: 'Activations', bytes: 480_000_000 }, { part: 'logits', label: 'Logits', bytes: 130_000_000 }, { part: 'runtime', label: 'Runtime', bytes: 95_000_000 }],
}

export const tooLarge: CallResponse<'models.plan'> = {
  ...plan, fits: false, peaks: { generation: 17_900_000_000, training: 24_600_000_000, resume: 21_000_000_000 },
  parts: [{ part: 'weights', label: 'Weights', bytes: 12_300_000_000 }, { part: 'activations', label: 'Activations', bytes: 9_400_000_000 }, { part: 'logits', label: 'Logits', bytes: 2_500_000_000 }, { part: 'runtime', label: 'Runtime', bytes: 400_000_000 }],
  advice: [{ change: 'weights.precision: int4', trainingPeak: 11_800_000_000 }, { change: 'weights.streamLayers: true', trainingPeak: 9_100_000_000 }, { change: 'training.microBatchTokens: 1024', trainingPeak: 19_200_000_000 }],
}

const lengths = (least: number, most: number): DatasetReport['characters'] => ({ least, median: (least + most) / 3, most, edges: Array.from({ length: 25 }, (_, at) => least + (at * (most - least)) / 24), counts: Array.from({ length: 24 }, (_, at) => Math.round(4_000 * Math.exp(-((at - 7) ** 2) / 22))), measured: 48_210 })

export const report: DatasetReport = {
  rows: 48_213, good: 48_210, badRows: 3, train: 38_571, heldout: 9_639, ownSplit: false, withAnswer: 48_210, withRequirements: 0, withTests: 0, duplicates: 2, nearDuplicates: 1,
  problems: [{ line: 812, field: 'prompt', what: 'The prompt is empty.' }, { line: 9_440, field: '', what: 'This line is no JSON: Unexpected end of input.' }, { line: 30_001, field: 'answer', what: 'A number or a text is expected; this is a list.' }],
  duplicateExamples: [{ line: 77, before: 12, text: 'What is 3 times 4?' }], nearExamples: [{ heldoutLine: 120, trainLine: 44, similarity: 0.94, heldout: 'What is the sum of 12 and 30?', train: 'What is the sum of 12 and 31?' }],
  characters: lengths(14, 620), tokens: lengths(30, 240),
}

export const samples: RewardSample[] = [0, 1, 2, 5].map((index) => {
  const { prompt, text } = rolloutAt(1, index)
  return { id: String(index), name: index % 4 === 1 ? 'a bracket lost' : index === 0 ? 'the reference' : 'another text', prompt: index === 5 ? prompts[1] as string : prompt, completion: text, row: {}, tokens: null }
})

export const scored: ScoredSample[] = samples.map(({ id }) => {
  const rollout = rolloutAt(1, Number(id))
  const passes = rollout.outcome === 1
  const local = rollout.tokenRewards.map((value) => (passes ? 0 : Math.min(0, value + 0.9)))
  return {
    id, global: passes ? 2 : -1.1, outcome: rollout.outcome, stages: rollout.stages, requirementScore: rollout.requirementScore, audit: { passed: true, failures: [] }, spans: rollout.spans,
    sources: [{ source: 'compiler', global: passes ? 0 : -1, part: passes ? 0 : -1, milliseconds: 61 }, { source: 'linter', global: 0, part: passes ? 0 : -0.1, milliseconds: 12 }, { source: 'requirements', global: passes ? 1 : 0, part: passes ? 2 : 0, milliseconds: 18 }],
    starts: rollout.starts, ends: rollout.ends, tokenRewards: rollout.tokenRewards, localBySource: { compiler: local },
  }
})

export const rewardReport: RewardReport = {
  completions: samples.length, groups: 2, flatGroups: 0, outcomeMean: 0, passed: 0.5, hackRate: 0, overturned: 0, scorings: 1,
  warnings: ['The known cheat “junk attributes” scores -1.40, near an honest attempt that failed (-1.52).'], honest: { name: 'a bracket lost', reward: -1.52 }, cheats: [{ name: 'an empty component', reward: -1.61 }, { name: 'junk attributes', reward: -1.4 }],
  sources: ['compiler', 'linter', 'requirements'].map((source, at) => ({ source, mean: [-0.5, -0.05, 0.5][at] as number, spreadInside: 0.4, spreadBetween: 0.1, boundHits: 0, sparsity: 0.9, noisy: 0, outcomeCorrelation: 0.8, milliseconds: [61, 12, 18][at] as number, failures: 0 })),
}

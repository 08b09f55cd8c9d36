// The whole configuration of a run. `run.json` stores it with every default spelled out, so a run explains itself.
import { z } from 'zod'
import { chatConfigSchema } from './chat-config.ts'
import { estimatorConfigSchema } from './estimator-config.ts'
import { field } from './field.ts'
import { lossConfigSchema } from './loss-config.ts'
import { findConflicts, withMethodDefaults } from './methods.ts'
import { rewardConfigSchema } from './reward-config.ts'

const count = z.number().int().positive()
const share = z.number().min(0).max(1)

/** How many completions each prompt of a step gets. Every way of it looks at outcomes, never at the spread of token rewards. */
export const groupsConfigSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fixed') }),
  z.strictObject({
    kind: z.literal('dynamic'),
    maxRefills: field(z.number().int().min(1).max(16).default(3), 'rounds', 'Satchel', 'How often groups whose outcomes are all the same are thrown away and other prompts sampled in their place.'),
  }),
  z.strictObject({
    kind: z.literal('vigor'),
    rounds: field(z.number().int().min(2).max(8).default(4), 'rounds', 'VIGOR', 'All prompts begin with 2 completions; after each round the half with the most varied outcomes goes on and doubles. A step costs promptsPerStep times groupSize completions as always.'),
  }),
])

export const rolloutConfigSchema = z.strictObject({
  promptsPerStep: field(count.default(8), 'prompts', 'BoT-GRPO, React recipe', 'How many different prompts one step samples.'),
  groupSize: field(z.number().int().min(2).default(8), 'rollouts', 'BoT-GRPO, React recipe', 'How many completions are drawn for each prompt; they are compared with each other.'),
  maxNewTokens: field(count.default(160), 'tokens', 'Satchel', 'A completion longer than this is cut off and counted as truncated.'),
  temperature: field(z.number().positive().default(1), '', 'GRPO', 'Divides the logits in sampler and trainer alike; 1 samples the model as it is.'),
  topK: field(z.number().int().nonnegative().default(0), 'ids', 'Satchel', 'Keep only the K most likely ids; 0 keeps all. Anything but 0 changes the sampling law the gradient assumes.'),
  topP: field(z.number().gt(0).max(1).default(1), 'probability', 'Satchel', 'Keep the smallest set of ids with this much probability; 1 keeps all.'),
  minP: field(share.default(0), 'ratio', 'Satchel', 'Drop ids less likely than this share of the likeliest id; 0 keeps all.'),
  slots: field(count.default(64), 'rows', 'Satchel', 'How many completions are decoded side by side; a finished one makes room for the next.'),
  groups: groupsConfigSchema.default({ kind: 'fixed' }),
  overlongShare: field(share.default(0), 'share', 'DAPO takes 0.2', 'Over the last part of maxNewTokens, this share of it, the score falls linearly by up to 1; 0 leaves length alone.'),
})

/** Projections by PEFT's names. A family has either the separate or the packed (qkv, gate_up) ones; 'all-linear' means all it has. 'lm_head' is asked for by name: it adapts the output projection (dropout leaves it alone). */
export const loraTargets = ['all-linear', 'q_proj', 'k_proj', 'v_proj', 'qkv_proj', 'o_proj', 'gate_proj', 'up_proj', 'gate_up_proj', 'down_proj', 'lm_head'] as const
export type LoraTarget = (typeof loraTargets)[number]

export const adapterConfigSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('full') }),
  z.strictObject({
    kind: z.literal('lora'),
    rank: field(count.default(16), '', 'LoRA', 'Width of the low-rank update; larger learns more and costs more memory.'),
    alpha: field(z.number().positive().default(32), '', 'LoRA', 'The update is scaled by alpha / rank.'),
    dropout: field(share.default(0), 'probability', 'Satchel', 'Share of adapter inputs zeroed while training; 0 keeps sampler and trainer equal.'),
    targets: field(z.array(z.enum(loraTargets)).min(1).default(['all-linear']), '', 'PEFT all-linear', 'Which projections get an adapter; lm_head, asked for by name, lets a small model sharpen its choices quickly.'),
  }),
])

export const weightsConfigSchema = z.strictObject({
  precision: field(z.enum(['fp32', 'stored', 'int8', 'int4']).default('fp32'), '', 'Satchel', 'How the frozen matrices of the layers lie in memory under LoRA: float32, as the file has them (fp16 or bf16), or in blocks of 32 with 8 or 4 bits. Embedding and output projection stay float32.'),
  streamLayers: field(z.boolean().default(false), '', 'Satchel', 'Read each layer from the model file when it is needed: the model may be larger than the memory, and everything takes longer.'),
})

export const optimizerConfigSchema = z.strictObject({
  learningRate: field(z.number().positive().default(1e-3), '', 'Satchel', 'Step size of AdamW after warm-up.'),
  beta1: field(z.number().min(0).lt(1).default(0.9), '', 'Adam', 'Decay of the first moment.'),
  beta2: field(z.number().min(0).lt(1).default(0.99), '', 'Satchel', 'Decay of the second moment.'),
  epsilon: field(z.number().positive().default(1e-8), '', 'Adam', 'Added to the root of the second moment.'),
  weightDecay: field(z.number().nonnegative().default(0), '', 'Satchel', 'Decoupled weight decay.'),
  clipNorm: field(z.number().positive().default(1), '', 'TRL', 'The gradient is scaled down to this norm.'),
  warmupSteps: field(z.number().int().nonnegative().default(0), 'updates', 'Satchel', 'The learning rate grows linearly over this many updates.'),
  schedule: field(z.enum(['constant', 'linear', 'cosine']).default('constant'), '', 'Satchel', 'How the learning rate falls after warm-up.'),
})

export const trainingConfigSchema = z.strictObject({
  steps: field(count.default(80), 'steps', 'Satchel', 'How many times: sample, reward, advantage, update.'),
  miniBatches: field(count.default(1), '', 'PPO', 'Into how many optimizer updates the rollouts of a step are divided.'),
  epochs: field(count.default(1), '', 'PPO', 'How often the rollouts of a step are gone through.'),
  microBatchTokens: field(count.default(4096), 'tokens', 'Satchel', 'Largest padded size of one forward and backward pass; gradients add up over passes.'),
  headChunkTokens: field(count.default(1024), 'tokens', 'Satchel', 'Logits exist for at most this many tokens at a time.'),
  recompute: field(z.enum(['auto', 'layer', 'none']).default('auto'), '', 'Satchel', 'Recompute each layer in the backward pass to save memory; auto decides by size.'),
  checkpointEvery: field(count.default(1), 'steps', 'Satchel', 'A checkpoint is written after every so many steps and at the end; a killed run goes back to the newest one.'),
  keepCheckpoints: field(count.default(3), '', 'Satchel', 'Older checkpoints are removed.'),
  badStepsBeforeStop: field(count.default(3), 'steps', 'Satchel', 'After so many steps in a row without a finite gradient the run goes back and stops.'),
})

export const evaluationConfigSchema = z.strictObject({
  every: field(z.number().int().nonnegative().default(20), 'steps', 'Satchel', 'Held-out evaluation after every so many steps, and before the first and after the last; 0 leaves it out.'),
  prompts: field(count.default(48), 'prompts', 'Satchel', 'How many held-out prompts are used.'),
  samples: field(count.default(2), 'rollouts', 'Satchel', 'Completions drawn for each held-out prompt.'),
  k: field(z.array(count).default([1, 2]), '', 'Codex', 'pass@k is reported for these k.'),
  temperature: field(z.number().positive().default(1), '', 'Satchel', 'Temperature of the evaluation.'),
  shown: field(count.default(3), 'prompts', 'Satchel', 'Of so many held-out prompts, spread over the file, the first completion is kept with every evaluation.'),
})

const runConfigObject = z.strictObject({
  version: z.literal(1).default(1),
  name: field(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/).default('run'), '', 'Satchel', 'Name of the run and of its folder.'),
  model: field(z.string().min(1), '', '', 'Folder of the base model.'),
  data: z.strictObject({
    prompts: field(z.string().min(1), '', '', 'JSONL file of prompts.'),
    heldoutShare: field(share.default(0.2), 'share', 'BoT-GRPO', 'Share of prompts kept for evaluation where rows carry no split of their own.'),
  }),
  seed: field(z.number().int().nonnegative().default(1), '', 'Satchel', 'All random streams of the run start from this number.'),
  device: field(z.enum(['auto', 'cpu', 'webgpu']).default('auto'), '', 'Satchel', 'Where the arithmetic runs.'),
  threads: field(z.number().int().nonnegative().default(0), 'threads', 'Satchel', 'Processor threads; 0 uses all cores.'),
  rewardWorkers: field(count.default(1), 'processes', 'Satchel', 'Processes that score completions beside generation, each with up to a processor core and reward.limits.workerMegabytes of memory. 2 are worth it where steps wait for scores, as the Monitor says.'),
  adapter: adapterConfigSchema.default({ kind: 'lora', rank: 16, alpha: 32, dropout: 0, targets: ['all-linear'] }),
  weights: weightsConfigSchema.prefault({}),
  chat: chatConfigSchema.prefault({}),
  rollout: rolloutConfigSchema.prefault({}),
  reward: rewardConfigSchema.prefault({}),
  estimator: estimatorConfigSchema.prefault({}),
  loss: lossConfigSchema.prefault({}),
  optimizer: optimizerConfigSchema.prefault({}),
  training: trainingConfigSchema.prefault({}),
  evaluation: evaluationConfigSchema.prefault({}),
})

/** Fields that are left out take the defaults of the estimator's method (methods.ts), then their own; combinations that make no sense are refused. */
export const runConfigSchema = z.preprocess(
  withMethodDefaults,
  runConfigObject.superRefine((config, context) => {
    for (const { path, message } of findConflicts(config)) context.addIssue({ code: 'custom', path: [...path], message })
  }),
)

export type RunConfig = z.infer<typeof runConfigSchema>
export type RunConfigInput = z.input<typeof runConfigObject>
export type RolloutConfig = z.infer<typeof rolloutConfigSchema>
export type AdapterConfig = z.infer<typeof adapterConfigSchema>
export type WeightsConfig = z.infer<typeof weightsConfigSchema>
export type GroupsConfig = z.infer<typeof groupsConfigSchema>
export type OptimizerConfig = z.infer<typeof optimizerConfigSchema>
export type TrainingConfig = z.infer<typeof trainingConfigSchema>
export type EvaluationConfig = z.infer<typeof evaluationConfigSchema>

export { estimatorConfigSchema, type EstimatorConfig } from './estimator-config.ts'
export { lossConfigSchema, type LossConfig } from './loss-config.ts'

// The whole configuration of a run. `run.json` stores it with every default spelled out, so a run explains itself.
import { z } from 'zod'
import { field } from './field.ts'
import { rewardConfigSchema } from './reward-config.ts'

const count = z.number().int().positive()
const share = z.number().min(0).max(1)

export const rolloutConfigSchema = z.strictObject({
  promptsPerStep: field(count.default(8), 'prompts', 'BoT-GRPO, React recipe', 'How many different prompts one step samples.'),
  groupSize: field(z.number().int().min(2).default(8), 'rollouts', 'BoT-GRPO, React recipe', 'How many completions are drawn for each prompt; they are compared with each other.'),
  maxNewTokens: field(count.default(160), 'tokens', 'Satchel', 'A completion longer than this is cut off and counted as truncated.'),
  temperature: field(z.number().positive().default(1), '', 'GRPO', 'Divides the logits in sampler and trainer alike; 1 samples the model as it is.'),
  topK: field(z.number().int().nonnegative().default(0), 'ids', 'Satchel', 'Keep only the K most likely ids; 0 keeps all. Anything but 0 changes the sampling law the gradient assumes.'),
  topP: field(z.number().gt(0).max(1).default(1), 'probability', 'Satchel', 'Keep the smallest set of ids with this much probability; 1 keeps all.'),
  minP: field(share.default(0), 'ratio', 'Satchel', 'Drop ids less likely than this share of the likeliest id; 0 keeps all.'),
  slots: field(count.default(64), 'rows', 'Satchel', 'How many completions are decoded side by side; a finished one makes room for the next.'),
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

export const estimatorConfigSchema = z.strictObject({
  name: field(z.enum(['bot-grpo', 'grpo']).default('bot-grpo'), '', 'BoT-GRPO', 'How rewards become advantages.'),
  epsilon: field(z.number().nonnegative().default(1e-6), '', 'Satchel', 'Added to the standard deviation.'),
  flatGroups: field(z.enum(['keep', 'mean-only', 'skip', 'sigma-floor']).default('keep'), '', 'BoT-GRPO keeps them', 'What to do with a group whose outcomes are all the same.'),
  sigmaFloor: field(z.number().positive().default(0.3), 'reward', 'Satchel', 'Smallest standard deviation used when flatGroups is sigma-floor.'),
  flatTolerance: field(z.number().nonnegative().default(1e-9), 'reward', 'Satchel', 'Outcomes closer than this count as the same.'),
  clipAdvantage: field(z.number().positive().nullable().default(null), '', 'Satchel', 'Largest absolute advantage; empty leaves advantages as they are.'),
  maskTruncated: field(z.boolean().default(false), '', 'DAPO', 'Truncated completions teach nothing when on.'),
})

export const lossConfigSchema = z.strictObject({
  clipLow: field(z.number().positive().default(0.2), 'ratio', 'PPO', 'The probability ratio is not rewarded below 1 minus this.'),
  clipHigh: field(z.number().positive().default(0.2), 'ratio', 'PPO', 'The probability ratio is not rewarded above 1 plus this.'),
  aggregation: field(z.enum(['token-then-rollout', 'all-tokens', 'constant-length']).default('token-then-rollout'), '', 'BoT-GRPO', 'How token losses become one number.'),
  constantLength: field(count.default(256), 'tokens', 'Dr.GRPO', 'The divisor when aggregation is constant-length.'),
  correction: field(z.enum(['none', 'truncated', 'masked']).default('none'), '', 'TRL', 'What to do where the law completions were drawn from (top-k, top-p, min-p) is not the policy itself: nothing, weigh tokens by the ratio up to a cap, or leave tokens outside a band out.'),
  correctionCap: field(z.number().positive().default(2), 'ratio', 'TRL', 'Largest weight when correction is truncated.'),
  correctionLow: field(z.number().nonnegative().default(0.5), 'ratio', 'IcePop', 'Lower end of the band when correction is masked.'),
  correctionHigh: field(z.number().positive().default(5), 'ratio', 'IcePop', 'Upper end of the band when correction is masked.'),
  klCoefficient: field(z.number().nonnegative().default(0), '', 'Satchel', 'Weight of the distance to the reference model; 0 leaves it out.'),
  klEstimator: field(z.enum(['k1', 'k2', 'k3']).default('k3'), '', 'GRPO', 'Which estimate of the KL divergence is added to the loss.'),
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
})

export const runConfigSchema = z.strictObject({
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
  rewardWorkers: field(count.default(1), 'processes', 'Satchel', 'Processes that score completions beside generation.'),
  adapter: adapterConfigSchema.default({ kind: 'lora', rank: 16, alpha: 32, dropout: 0, targets: ['all-linear'] }),
  weights: weightsConfigSchema.prefault({}),
  rollout: rolloutConfigSchema.prefault({}),
  reward: rewardConfigSchema.prefault({}),
  estimator: estimatorConfigSchema.prefault({}),
  loss: lossConfigSchema.prefault({}),
  optimizer: optimizerConfigSchema.prefault({}),
  training: trainingConfigSchema.prefault({}),
  evaluation: evaluationConfigSchema.prefault({}),
})

export type RunConfig = z.infer<typeof runConfigSchema>
export type RunConfigInput = z.input<typeof runConfigSchema>
export type RolloutConfig = z.infer<typeof rolloutConfigSchema>
export type AdapterConfig = z.infer<typeof adapterConfigSchema>
export type WeightsConfig = z.infer<typeof weightsConfigSchema>
export type EstimatorConfig = z.infer<typeof estimatorConfigSchema>
export type LossConfig = z.infer<typeof lossConfigSchema>
export type OptimizerConfig = z.infer<typeof optimizerConfigSchema>
export type TrainingConfig = z.infer<typeof trainingConfigSchema>
export type EvaluationConfig = z.infer<typeof evaluationConfigSchema>

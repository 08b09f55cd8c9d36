// The longest case, tried before a run: every prompt of the step is the longest there is, every completion goes on to rollout.maxNewTokens whatever
// the model would like, then one update. What that took in memory and time is measured; nothing is kept.
import { totalmem } from 'node:os'
import { UserError } from '../../contract/errors.ts'
import type { Phase } from '../../contract/events.ts'
import { rewardConfig } from '../../contract/reward-config.ts'
import type { PromptRow, ScoredCompletion } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import { trainStep } from './loop.ts'
import { peakResidentBytes } from './memory-plan.ts'
import { createOptimizer } from './optimizer.ts'
import { gradientArrays } from './passes.ts'
import type { Scorer } from './sample-groups.ts'
import { promptsPerStep } from './sample-step.ts'
import { openTrainingSession, type TrainingSession } from './session.ts'

export interface DryRun {
  readonly rollouts: number
  /** Tokens of the longest prompt, and of each completion. */
  readonly promptTokens: number
  readonly newTokens: number
  /** Seconds: opening model and prompts, writing the completions, the updates, and the whole step. Scoring is no part of it. */
  readonly seconds: { readonly load: number; readonly generate: number; readonly update: number; readonly step: number }
  /** Updates the step made. */
  readonly updates: number
  /** Peak of this process's resident memory, bytes; what the reward processes take comes on top. */
  readonly peakBytes: number
  /** What the plan foretold, bytes; null where there is no plan (devices other than the CPU). */
  readonly plannedBytes: number | null
  /** Memory of this machine, bytes. */
  readonly memoryBytes: number
}

export interface DryRunOptions {
  readonly signal?: AbortSignal
  /** Called between two calls into the runtime. */
  readonly onProgress?: (phase: Phase, done: number, total: number) => void
}

/**
 * Tries one step of the longest case.
 * @throws UserError `stopped` when the signal was aborted, and whatever opening the run would throw
 */
export async function dryRun(config: RunConfig, { signal, onProgress }: DryRunOptions = {}): Promise<DryRun> {
  const started = performance.now()
  onProgress?.('load', 0, 1)
  // Evaluation has the same lengths and no update: the step is the longest case.
  const session = await openTrainingSession({ ...config, evaluation: { ...config.evaluation, every: 0 } })
  try {
    refuseStopped(signal)
    const opened = performance.now()
    const longest = longestRow(session)
    const { metrics } = await trainStep(machineryOf(session, (phase, done, total) => {
      refuseStopped(signal)
      onProgress?.(phase, done, total)
    }), sameRow(longest.row, promptsPerStep(config)), 1)
    const value = (name: string): number => metrics.values[name] ?? 0
    return {
      rollouts: Math.round(value('num_tokens') / config.rollout.maxNewTokens),
      promptTokens: longest.tokens,
      newTokens: config.rollout.maxNewTokens,
      seconds: { load: (opened - started) / 1000, generate: value('time/generate'), update: value('time/update'), step: value('time/step') },
      updates: value('updates'),
      peakBytes: peakResidentBytes(),
      plannedBytes: session.device.kind === 'cpu' ? Math.max(session.plan.generationPeak, session.plan.trainingPeak) : null,
      memoryBytes: totalmem(),
    }
  } finally {
    await session.close()
  }
}

function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new UserError({ code: 'stopped', what: 'the dry run was stopped; nothing was kept' })
}

function longestRow({ train, heldout, encodePrompt }: TrainingSession): { row: PromptRow; tokens: number } {
  return [...train, ...heldout].map((row) => ({ row, tokens: encodePrompt(row).length })).reduce((most, one) => (one.tokens > most.tokens ? one : most))
}

function sameRow(row: PromptRow, count: number): PromptRow[] {
  return Array.from({ length: count }, (_, index) => ({ ...row, id: `${row.id}#${index}` }))
}

/** The step's own machinery, but for what would make it shorter: ids that end a completion, masks for those cut off, groups that teach nothing. */
function machineryOf(session: TrainingSession, between: (phase: Phase, done: number, total: number) => void): Parameters<typeof trainStep>[0] {
  const { policy } = session
  const config: RunConfig = {
    ...session.config,
    // Weights of a schedule would be laid over verdicts that have no sources.
    reward: rewardConfig({ recipe: 'custom', file: '-' }),
    estimator: { ...session.config.estimator, maskTruncated: false },
  }
  return {
    config,
    source: { ...session.source, config, scorer: alternating, stopIds: new Set() },
    policy,
    pass: session.pass,
    reference: session.reference,
    optimizer: createOptimizer(policy, config.optimizer, 1),
    gradients: gradientArrays(policy),
    checkpointForCommands: (phase, done, total) => Promise.resolve(between(phase, done, total)),
  }
}

/** Every other completion is a good one, so that every group has something to teach. */
const alternating: Scorer = {
  score: (items) => Promise.resolve(items.map(({ id }): ScoredCompletion => {
    const good = Number(id.split('.').at(-1)) % 2 === 0
    return { global: Number(good), outcome: Number(good), spans: [], sources: [], stages: { parse: good, types: good, bundle: good, render: good }, requirementScore: Number(good), audit: { passed: true, failures: [] } }
  })),
}

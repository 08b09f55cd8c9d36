// The arithmetic of batches, done for the person: what a step samples, how often it updates, how many passes that takes.
import type { RunConfig } from '../../../src-main/contract/run-config.ts'
import { plural } from '../../state/number-format.ts'

const grouped = (value: number): string => Math.round(value).toLocaleString('en-GB').replaceAll(',', '\u202f')

export interface BatchWords {
  readonly lines: readonly string[]
  /** What cannot work, with a way out; empty when all is well. */
  readonly problems: readonly string[]
}

/** @param rows prompts to train on, where known */
export function batchWords({ rollout, training, evaluation }: RunConfig, rows?: number): BatchWords {
  const { promptsPerStep, groupSize, maxNewTokens, slots } = rollout
  const { steps, miniBatches, epochs, microBatchTokens } = training
  const rollouts = promptsPerStep * groupSize
  const updates = miniBatches * epochs
  const perUpdate = rollouts / miniBatches
  const perPass = Math.max(1, Math.floor(microBatchTokens / maxNewTokens))
  const passes = Math.ceil(perUpdate / perPass)
  const evaluations = evaluation.every === 0 ? 0 : 1 + Math.ceil(steps / evaluation.every)
  const seen = rows === undefined || rows === 0 ? '' : ` Each of the ${grouped(rows)} prompts is seen about ${((steps * promptsPerStep) / rows).toFixed(1)} times.`
  return {
    lines: [
      `A step samples ${plural(promptsPerStep, 'prompt')} × ${groupSize} = ${grouped(rollouts)} completions of up to ${grouped(maxNewTokens)} tokens, ${Math.min(slots, rollouts)} side by side.`,
      `It makes ${plural(updates, 'update')} of ${Number.isInteger(perUpdate) ? '' : 'about '}${grouped(perUpdate)} completions, each in at most ${plural(passes, 'pass').replace('passs', 'passes')} of ${grouped(microBatchTokens)} tokens.`,
      `${plural(steps, 'step')} sample ${grouped(steps * rollouts)} completions, at most ${grouped(steps * rollouts * maxNewTokens)} tokens.${seen}`,
      evaluations === 0 ? 'There is no held-out evaluation.' : `${plural(evaluations, 'evaluation')} of ${grouped(evaluation.prompts)} × ${evaluation.samples} = ${grouped(evaluation.prompts * evaluation.samples)} held-out completions.`,
    ],
    problems: [
      ...(miniBatches > rollouts ? [`A step of ${rollouts} completions cannot be divided into ${miniBatches} updates: set training.miniBatches to ${rollouts} or less.`] : []),
      ...(maxNewTokens > microBatchTokens ? [`A completion of ${grouped(maxNewTokens)} tokens does not fit into one pass of ${grouped(microBatchTokens)}: set training.microBatchTokens to ${grouped(maxNewTokens)} or more.`] : []),
      ...(Math.max(...evaluation.k) > evaluation.samples && evaluation.every > 0 ? [`pass@${Math.max(...evaluation.k)} needs at least as many samples: set evaluation.samples to ${Math.max(...evaluation.k)}, or leave that k out.`] : []),
    ],
  }
}

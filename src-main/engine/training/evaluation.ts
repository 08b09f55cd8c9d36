// Held-out evaluation: samples, scores, and says how sure it is.
import type { EvaluationResult } from '../../contract/events.ts'
import type { PromptRow, ScoredCompletion } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import { sampleGroups, type RolloutSource, type ScoredRollout } from './sample-groups.ts'

/** Share of successes with its 95 % Wilson interval (Wilson 1927); n = 0 gives the whole interval. */
export function wilson(successes: number, n: number): { rate: number; low: number; high: number; n: number } {
  if (n === 0) return { rate: 0, low: 0, high: 1, n }
  const z = 1.959963984540054
  const rate = successes / n
  const centre = (rate + (z * z) / (2 * n)) / (1 + (z * z) / n)
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n))
  return { rate, low: Math.max(0, centre - half), high: Math.min(1, centre + half), n }
}

/** Unbiased pass@k of one problem: 1 - C(n-c, k)/C(n, k) (Chen et al. 2021, eq. 1). n=8, c=2: k=1 .25, k=2 .464286, k=4 .785714, k=8 1. */
export function passAtK(n: number, correct: number, k: number): number {
  if (k > n) throw new RangeError(`pass@${k} needs at least ${k} samples a problem, there are ${n}`)
  if (n - correct < k) return 1
  let fail = 1
  for (let i = 0; i < k; i++) fail *= (n - correct - i) / (n - i)
  return 1 - fail
}

export const compiles = (scored: ScoredCompletion): boolean => scored.stages.parse && scored.stages.types && scored.stages.bundle && scored.stages.render
/** Passes the reward: compiles and meets every requirement. */
export const passes = (scored: ScoredCompletion): boolean => compiles(scored) && scored.requirementScore >= 1
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length)

/** Summary of scored samples, grouped by prompt. `step` 0 is the base model. */
export function summarise(step: number, config: RunConfig, groups: readonly { readonly row: PromptRow; readonly rollouts: readonly ScoredRollout[] }[]): EvaluationResult {
  const all = groups.flatMap(({ rollouts }) => rollouts)
  const share = (test: (rollout: ScoredRollout) => boolean, among = all): ReturnType<typeof wilson> => wilson(among.filter(test).length, among.length)
  const ks = config.evaluation.k.filter((k) => groups.every(({ rollouts }) => rollouts.length >= k))
  return {
    step,
    prompts: groups.length,
    samples: config.evaluation.samples,
    temperature: config.evaluation.temperature,
    stages: {
      parse: share(({ scored }) => scored.stages.parse),
      types: share(({ scored }) => scored.stages.types),
      bundle: share(({ scored }) => scored.stages.bundle),
      render: share(({ scored }) => scored.stages.render),
    },
    compile: share(({ scored }) => compiles(scored)),
    requirementScore: mean(all.map(({ scored }) => scored.requirementScore)),
    // Among all samples, not among the passing ones: a policy that rarely passes has little room to cheat in.
    hackRate: share(({ scored }) => compiles(scored) && !scored.audit.passed),
    passAtK: Object.fromEntries(ks.map((k) => [String(k), mean(groups.map(({ rollouts }) => passAtK(rollouts.length, rollouts.filter(({ scored }) => passes(scored)).length, k)))])),
    reward: mean(all.map(({ scored }) => scored.global)),
    meanLength: mean(all.map(({ rollout }) => rollout.ids.length)),
    // Spread over the prompt file, whose neighbours tend to be of one kind.
    samplesShown: spreadOver(groups, config.evaluation.shown).map(({ row, rollouts }) => {
      const [first] = rollouts
      return { promptId: row.id, prompt: row.prompt, text: first?.offsets.text ?? '', compiles: first !== undefined && compiles(first.scored), requirementScore: first?.scored.requirementScore ?? 0 }
    }),
  }
}

/** `count` of the items, or all, at equal distances. */
function spreadOver<T>(items: readonly T[], count: number): T[] {
  const kept = Math.min(count, items.length)
  return Array.from({ length: kept }, (_, index) => items[Math.floor((index * items.length) / kept)] as T)
}

/**
 * Evaluates the policy on held-out prompts. The random streams depend on prompt and sample alone, so two evaluations of a run differ by
 * the policy and not by luck.
 */
export async function evaluate(source: RolloutSource, config: RunConfig, heldout: readonly PromptRow[], step: number, onStep?: (done: number, total: number) => void | Promise<void>): Promise<EvaluationResult> {
  const rows = heldout.slice(0, config.evaluation.prompts)
  const groups = await sampleGroups(source, rows, {
    rolloutsPerPrompt: config.evaluation.samples,
    streamKey: (prompt, rollout) => ['evaluate', prompt, rollout],
    law: { temperature: config.evaluation.temperature, topK: 0, topP: 1, minP: 0 },
    ...(onStep === undefined ? {} : { onStep }),
  })
  return summarise(step, config, groups.map((rollouts, index) => ({ row: rows[index] as PromptRow, rollouts })))
}

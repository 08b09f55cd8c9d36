// Which estimator goes with which loss, as the table of the README: asked of the configuration itself.
//
//   node test/support/run-typescript.mjs test/support/estimator-table.ts      prints it
import { pathToFileURL } from 'node:url'
import { estimatorNames, rewardForm } from '../../src-main/contract/estimator-config.ts'
import { surrogates } from '../../src-main/contract/loss-config.ts'
import { methodDefaults } from '../../src-main/contract/methods.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import type { RunConfigInput } from '../../src-main/contract/run-config.ts'

const accepts = (input: Partial<RunConfigInput>): boolean => runConfigSchema.safeParse({ model: 'm', data: { prompts: 'p' }, ...input }).success
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
const reads = { score: 'one score a rollout', token: 'a reward a token', step: 'a reward a step', return: 'penalties a step, the score last' }

/** ● the method's own, ○ possible, empty where it is refused. */
function mark(possible: boolean, own: boolean): string {
  return own ? '●' : possible ? '○' : ''
}

/** Both tables, as Markdown. */
export function estimatorTables(): string {
  const estimators = estimatorNames.map((name) => {
    const { loss, rollout } = methodDefaults(name)
    const own = loss.surrogate ?? 'token'
    // Aggregation and clip of a foreign surrogate are its own: the question here is the pair alone.
    const pairs = surrogates.map((surrogate) => mark(accepts({ estimator: { name }, loss: { surrogate, aggregation: 'token-then-rollout' } }), surrogate === own))
    const inReward = accepts({ estimator: { name }, loss: { klCoefficient: 0.1, klPlace: 'reward' } })
    return [`\`${name}\``, reads[rewardForm(name)], ...pairs, loss.aggregation ?? 'token-then-rollout', rollout.groups?.kind ?? 'fixed', mark(inReward, false)]
  })
  const losses = surrogates.map((surrogate) => {
    const name = estimatorNames.find((candidate) => methodDefaults(candidate).loss.surrogate === surrogate) ?? 'grpo'
    const withLoss = (loss: RunConfigInput['loss']): boolean => accepts({ estimator: { name }, loss: { surrogate, ...loss } })
    const aggregations = (['token-then-rollout', 'all-tokens', 'constant-length'] as const).map((aggregation) => mark(withLoss({ aggregation }), false))
    const dropout = accepts({ estimator: { name }, loss: { surrogate }, adapter: { kind: 'lora', dropout: 0.1 } })
    return [`\`${surrogate}\``, ...aggregations, mark(withLoss({ dualClip: 3 }), false), mark(withLoss({ clipReferenceLength: 1000 }), false), mark(withLoss({ carmEpsilon: 0.1 }), false), mark(withLoss({ correction: 'truncated' }), false), mark(withLoss({ klCoefficient: 0.1 }), false), mark(dropout, false)]
  })
  return [
    table(['estimator', 'reads', ...surrogates.map((surrogate) => `\`${surrogate}\``), 'aggregation', 'groups', 'KL in the reward'], estimators),
    table(['surrogate', 'token-then-rollout', 'all-tokens', 'constant-length', 'dual clip', 'clip by length', 'CARM', 'correction', 'KL in the loss', 'adapter dropout'], losses),
  ].join('\n\n')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) console.log(estimatorTables())

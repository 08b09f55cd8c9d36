// What a kernel needs to know of an estimator: which of the seven rules, and its numbers.
import type { EstimatorConfig } from '../../contract/run-config.ts'

/** Rules of advantages. DAPO, GSPO, CISPO and SAPO differ from GRPO, and GSPO-token from BoT-GRPO, in the loss alone. */
export const advantageRules = ['bot-grpo', 'grpo', 'dr-grpo', 'rloo', 'grpo-process', 'pure', 'reinforce++'] as const
export type AdvantageRule = (typeof advantageRules)[number]

/** Numbers that a rule does not read are 0. */
export interface AdvantageSettings {
  readonly rule: AdvantageRule
  readonly flatGroups: 'keep' | 'mean-only' | 'skip' | 'sigma-floor'
  readonly deviation: 'population' | 'sample'
  /** bot-grpo: tokens weigh the same, not rollouts. */
  readonly pooled: boolean
  readonly epsilon: number
  readonly sigmaFloor: number
  readonly flatTolerance: number
  /** Infinity: none. */
  readonly clip: number
  /** PURE */
  readonly temperature: number
  /** REINFORCE++ */
  readonly discount: number
}

/** The rule behind an estimator's name, with its numbers. */
export function advantageSettings(config: EstimatorConfig): AdvantageSettings {
  const { flatGroups, flatTolerance } = config
  const base = { flatGroups, flatTolerance, deviation: 'population' as const, pooled: false, epsilon: 0, sigmaFloor: 0, clip: config.clipAdvantage ?? Infinity, temperature: 0, discount: 0 }
  switch (config.name) {
    case 'bot-grpo':
    case 'gspo-token':
      return { ...base, ...spread(config), rule: 'bot-grpo', pooled: config.pooling === 'token' }
    case 'grpo':
    case 'dapo':
    case 'gspo':
    case 'cispo':
    case 'sapo':
      return { ...base, ...spread(config), rule: 'grpo' }
    case 'grpo-process':
      return { ...base, ...spread(config), rule: 'grpo-process' }
    case 'dr-grpo':
    case 'rloo':
      return { ...base, rule: config.name }
    case 'pure':
      return { ...base, rule: 'pure', temperature: config.temperature }
    case 'reinforce++':
      return { ...base, rule: 'reinforce++', deviation: config.deviation, epsilon: config.epsilon, discount: config.discount }
  }
}

function spread({ deviation, epsilon, sigmaFloor }: Pick<AdvantageSettings, 'deviation' | 'epsilon' | 'sigmaFloor'>): Pick<AdvantageSettings, 'deviation' | 'epsilon' | 'sigmaFloor'> {
  return { deviation, epsilon, sigmaFloor }
}

/** Whether a rule reads one score a rollout instead of a reward a token. */
export function readsScores(rule: AdvantageRule): boolean {
  return rule === 'grpo' || rule === 'dr-grpo' || rule === 'rloo'
}

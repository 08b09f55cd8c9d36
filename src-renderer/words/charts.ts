// The words of charts: titles, units, and what the legend calls each line, in the order of its metrics (features/charts/chart-catalogue.ts).

interface PlanWords {
  readonly title: string
  readonly unit: string
  readonly lines: readonly string[]
}

type PlanName = 'spread' | 'flat' | 'advantage' | 'kl' | 'entropy' | 'ratio' | 'clip' | 'gradient' | 'rate' | 'length' | 'truncated' | 'stages' | 'time' | 'speed' | 'memory' | 'temperature'

export const chartWords = {
  shown: 'Steps shown', steps: 'Steps', to: 'to', first: 'First step shown', last: 'Last step shown', whole: 'Whole run', wholeHint: 'Show the whole run again (double click, or 0)', zoomHint: 'Drag over a chart to look closer',
  closed: (count: number): string => `${count} charts`,
  csv: (title: string): string => `${title} as CSV`, csvHint: 'Save the numbers as CSV', table: (title: string): string => `${title} as a table`, tableHint: 'Show the numbers as a table', chartHint: 'Show the chart', tableOf: (title: string): string => `${title}, table`,
  step: 'Step', atStep: (step: number): string => `step ${step}`, changed: (step: number, text: string): string => ` Changed at step ${step}: ${text}.`, pointed: (step: number, values: string): string => `Step ${step}. ${values}.`, unknown: 'unknown',
  groups: { learning: 'Learning', groups: 'Groups', policy: 'Policy', completions: 'Completions', machine: 'Machine', rest: 'Everything else' },
  plans: {
    spread: { title: 'Spread of rewards', unit: 'standard deviation', lines: ['Inside groups', 'Between prompts'] },
    flat: { title: 'Flat groups', unit: '% of groups', lines: ['All outcomes the same', 'Left out'] },
    advantage: { title: 'Largest advantage', unit: 'absolute', lines: ['Largest'] },
    kl: { title: 'KL divergence', unit: 'nats', lines: ['To the reference', 'Within the step'] },
    entropy: { title: 'Entropy', unit: 'nats a token', lines: ['Mean'] },
    ratio: { title: 'Probability ratio', unit: 'new to old', lines: ['Mean'] },
    clip: { title: 'Clipped tokens', unit: '% of tokens', lines: ['Clipped', 'Below', 'Above'] },
    gradient: { title: 'Gradient norm', unit: 'before clipping', lines: ['Norm'] },
    rate: { title: 'Learning rate', unit: '', lines: ['Rate'] },
    length: { title: 'Completion length', unit: 'tokens', lines: ['Mean', 'Longest'] },
    truncated: { title: 'Cut off', unit: '% of completions', lines: ['Cut off'] },
    stages: { title: 'Stages in training', unit: '% of completions', lines: ['All stages', 'Third', 'Second', 'First'] },
    time: { title: 'Time of a step', unit: 'seconds by phase', lines: ['Whole step', 'Generate', 'Wait for scores', 'Update', 'Layers'] },
    speed: { title: 'Generation speed', unit: 'tokens a second', lines: ['Generate'] },
    memory: { title: 'Memory against plan', unit: 'GiB', lines: ['Resident', 'Peak', 'Planned peak'] },
    temperature: { title: 'Temperature', unit: '°C', lines: ['Processor', 'Graphics card'] },
  } satisfies Record<PlanName, PlanWords>,
  reward: { title: 'Reward', unit: 'mean of a step, by source' },
  heldOut: { title: 'Held-out score', unit: '% of completions, by stage' },
  hacks: { alone: 'Hacks and pass@k', with: (detail: string): string => `${detail}, and hacks`, unit: '% held out', rate: 'Hack rate' },
  sourceTime: { title: 'Time of rewards', unit: 'milliseconds a completion' },
  sourceFailures: { title: 'Rewards that failed', unit: '% of completions' },
  everyStep: 'A point for every step.', everyEvaluation: 'A point for every evaluation.', beforeFirst: 'The first evaluation runs before the first step.',
  spoken: {
    none: (label: string): string => `${label}: no values yet.`,
    one: (label: string, value: string, step: number): string => `${label}: ${value} at step ${step}.`,
    went: (label: string, [first, from]: readonly [string, number], [last, to]: readonly [string, number]): string => `${label}: from ${first} at step ${from} to ${last} at step ${to}.`,
  },
} as const

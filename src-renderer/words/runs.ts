// The sentences of the pages about runs: Run setup, Monitor, Rollouts, Compare, Try it, Export and report.
import type { LogEntry, RolloutQuery } from '../../src-main/contract/calls/run-data.ts'
import type { Phase, RunState } from '../../src-main/contract/events.ts'
import type { ExportFormatName } from '../../src-main/contract/calls/runs.ts'
import type { Measure } from '../features/rollouts/diverging-scale.ts'
import type { SortKey } from '../features/rollouts/rollout-order.ts'
import type { HealthLevel } from '../features/run/health.ts'
import { plural } from '../state/number-format.ts'
import { chartWords } from './charts.ts'

const phases: Readonly<Record<Phase, string>> = { load: 'loading the model', evaluate: 'evaluating on held-out prompts', generate: 'generating completions', score: 'scoring completions', update: 'updating the weights', checkpoint: 'writing a checkpoint' }

export const runWords = {
  runs: {
    interrupted: (step: number, steps: number) => `It was stopped when Satchel was closed, at step ${step} of ${steps}, with a checkpoint.`,
    resume: 'Resume',
    states: { starting: 'Starting', running: 'Training', paused: 'Paused', stopping: 'Stopping', stopped: 'Stopped', done: 'Done', failed: 'Failed' } satisfies Record<RunState, string>,
    status: {
      engine: 'Starting the engine.', left: (time: string): string => `About ${time} left.`, stepDone: (step: number, steps: number): string => `Step ${step} of ${steps} is done.`,
      /** What goes on: in which step, where it is in one, and how far it is, where that is counted. */
      doing: (phase: Phase, step: number | null, steps: number, counted: readonly [done: number, total: number] | null): string => {
        const sentence = `${step === null ? '' : `Step ${step} of ${steps}: `}${phases[phase]}${counted === null ? '' : `, ${counted[0]} of ${counted[1]}`}.`
        return sentence.charAt(0).toUpperCase() + sentence.slice(1)
      },
      result: (subject: string, first: string, last: string): string => `Held-out ${subject} went from ${first} to ${last}.`, paused: (step: number, steps: number): string => `Paused after step ${step} of ${steps}. Resume goes on from here.`, allDone: (steps: number): string => `All ${steps} steps are done.`,
    },
    reading: 'Reading the runs folder…', unreadable: 'The runs folder could not be read', unchanged: 'Nothing in the folder was changed.',
    outside: 'outside the runs folder, only looked at', none: 'No run yet', setUp: 'Set up a run', openFolder: 'Open a run folder…',
    /** What a page will show, while there is no run. */
    promises: {
      monitor: 'Curves, health and log of a run appear here as soon as it has begun: one you start, one the command line starts, or one copied from another machine.',
      rollouts: 'What the model wrote in every step appears here, each token painted by what it was worth.',
      compare: 'Two or more runs can be laid over each other here, seeds together with their median and range.',
      try: 'Base model and trained model answer your prompts side by side here.',
      export: 'A run’s model in every format other programs read, and a report about it, come from here.',
    },
  },
  setup: {
    title: 'Run setup',
    lead: 'Every field has a default that works. What you change is marked; the engine checks the same rules before anything starts.',
    import: 'Import…', export: 'Export…', clear: 'Clear', clearHint: 'Forget everything said here', read: 'Configuration read.', saved: 'Configuration saved.',
    refused: 'The run could not start.', glance: 'The run at a glance',
    beginWith: 'Begin with', demo: 'Demo', demoHint: 'The built-in model and prompts; minutes on a processor', paper: 'Paper', paperHint: (estimator: string): string => `Estimator and loss as ${estimator} has them at its source`,
    safe: 'Safe', safeHint: 'Guards against flat groups, runaway advantages and drift', everything: 'Show every field',
    arithmetic: 'Arithmetic', amounts: 'What it amounts to', on: 'on', noModel: 'no model yet',
    start: 'Start the run', missing: 'Something is missing or wrong; it is marked at the field', correct: 'Correct what is marked.',
    busy: 'Another run is in progress. If it was started here, this one waits for its turn.', waits: 'The run waits for its turn.', waitsText: 'It starts when the run in progress has ended.',
    sections: { base: 'Model and data', reward: 'Reward', method: 'Estimator and loss', rollout: 'Rollouts', learning: 'What is trained, and how fast', schedule: 'Schedule and evaluation', machine: 'Machine', rest: 'More' },
    noneChosen: 'none chosen', known: 'Known ones', chooseOne: 'Choose one…', elsewhere: 'another place',
    problems: {
      noModel: 'Choose a base model.', noPrompts: 'Choose a prompt file.', unknown: 'There is no such field.', number: 'Must be a number.', whole: 'Must be a whole number.',
      least: (least: number): string => `Must be ${least} or more.`, above: (limit: number): string => `Must be more than ${limit}.`, most: (most: number): string => `Must be ${most} or less.`, below: (limit: number): string => `Must be less than ${limit}.`,
    },
    field: { empty: 'empty', noDefault: 'no default', default: (value: string): string => `default ${value}`, reset: 'Back to the default' },
    plan: {
      title: 'Memory plan', advice: 'Each of these alone would lower the peak to:', choose: 'Choose a base model to see what the run would need.',
      correct: 'Correct the fields to see what the run would need.', working: 'Working it out…',
    },
    dryRun: {
      title: 'Longest case', lead: 'Before hours are spent: one step with the longest prompt and completions of full length, measured and thrown away.',
      opening: 'Opening the model…', progress: 'Dry run of the longest case', stop: 'Stop it', outdated: 'The form has changed since.', hint: 'It takes as long as the longest step of the run', start: 'Dry run', again: 'Dry run again',
    },
  },
  monitor: {
    title: 'Monitor', newRun: 'New run', saved: 'Numbers saved.',
    controls: {
      title: 'Run controls', pauseHint: 'Pause between two calls of the engine', notTraining: 'It is not training',
      restart: 'Start the engine again from the newest checkpoint', proceed: 'Go on from where it paused', nothingToResume: 'Nothing is paused, stopped or failed, or another run is in progress',
      checkpoint: 'Checkpoint', checkpointHint: 'Write a checkpoint after the step in progress', change: 'Change…', changeHint: 'Change the learning rate or weights of the reward from the next step on', nothingToChange: 'There is no step left to change',
      stop: 'Stop after step', stopHint: 'Finish the step, write a checkpoint and stop', stopNow: 'Stop now', stopNowHint: 'Drop the step in progress and stop at once', nothingToStop: 'Nothing to stop',
    },
    change: {
      title: 'Change rates and weights', lead: (when: string): string => `Takes effect ${when}, and leaves a mark in the log and on every curve. Evaluation keeps the weights the run began with.`,
      nextStep: 'from the next step on', resumed: 'from where the run is resumed', close: 'Close the changes', number: 'number', now: (field: string, unit: string, value: number): string => `${field} (${unit}), now ${value}`,
      apply: (when: string): string => `Apply ${when}`, same: 'Nothing differs from what it is', noNumbers: (fields: string): string => `${fields}: not a number.`,
      asked: 'Asked for.', askedText: (when: string): string => `The change holds ${when}; the log says so when the engine has taken it up.`,
    },
    log: {
      title: 'Log', empty: 'Nothing has happened yet.', list: 'Events, newest first', step: (step: number): string => `step ${step}`, all: (count: number): string => `Show all ${count}`,
      kinds: { state: 'State', checkpoint: 'Checkpoint', evaluation: 'Evaluation', export: 'Export', change: 'Change', warning: 'Warning', error: 'Error' } satisfies Record<LogEntry['kind'], string>,
    },
    health: { title: 'Health', levels: { good: 'healthy', watch: 'worth a look', alarm: 'alarming' } satisfies Record<HealthLevel, string>, allGood: 'All within healthy ranges:', good: 'Healthy:' },
    problems: { notStarted: 'The run could not start.', interrupted: 'The run was interrupted.', resumeFrom: (step: number): string => `Resume from step ${step}`, note: 'Note.' },
    queue: {
      title: 'Waiting runs', waiting: (count: number): string => `${plural(count, 'run')} waiting`, removeHint: 'Take it out of the queue', startNow: 'Start the first now',
      closed: 'They waited when Satchel was closed.', next: 'The next one starts when the run in progress has ended.',
    },
    hints: {
      nats: (value: string): string => `${value} nats`, tokens: (value: string): string => `${value} tokens`,
      flat: { label: 'Flat groups', good: 'Most groups tell good completions from bad ones.', alarm: 'Nearly all completions of a group have the same outcome, so these groups teach nothing. Easier or harder prompts, or a graded reward, would help.' },
      gradient: { label: 'Gradient norm', alarm: 'Steps this large undo what was learned. Lower the learning rate.', large: 'Above 1; the gradient is clipped.', small: 'Hardly anything is learned: below 0.001.', good: 'Between 0.001 and 1.' },
      entropy: { label: 'Entropy', alarm: 'The model always writes the same; it has nothing left to choose from.', small: 'Few choices are left: below 0.05.', large: 'Much chance: above 0.5.', good: 'Between 0.05 and 0.5.' },
      kl: { label: 'KL divergence', alarm: 'The model is far from where it began; it may have forgotten what it knew.', watch: 'Above 0.5: it moves away from the base model.', good: 'Below 0.5.' },
      clip: { label: 'Clipped tokens', alarm: 'A third of the tokens is beyond the clip: updates are too large.', watch: 'Above 10 %: updates are on the large side.', good: 'Below 10 %.' },
      truncated: { label: 'Cut off', alarm: 'Nearly all completions are cut off before their end. Allow more tokens.', watch: 'More than 30 % are cut off.', good: 'Below 30 %.' },
      reward: { label: 'Reward', good: (risen: string): string => `It has changed by ${risen} since the start.`, watch: 'It should be above 0.15, or have risen by as much, after 20 steps. Look at the rollouts: does the reward ever tell two of them apart?' },
      spread: { label: 'Spread inside groups', good: 'Completions of a prompt differ in reward: there is something to learn from.', alarm: 'On most steps all completions of a prompt have the same reward.' },
      length: { label: 'Length', alarm: (limit: number): string => `It rises steadily towards the limit of ${limit}: the model may be gaming the reward by writing more.`, good: (limit: number): string => `Away from the limit of ${limit}.` },
      hacks: { label: 'Hacks', alarm: 'Many completions pass the reward and fail the audit: the model has found a way around what you mean. Read some under Rollouts, and mend the reward.', watch: 'Some completions pass the reward and fail the audit. Read some under Rollouts.', good: 'Hardly anything passes the reward and fails the audit.' },
      skipped: { label: 'Skipped steps', value: (skipped: number, all: number): string => `${skipped} of the last ${all}`, alarm: 'Their loss or gradient was not finite; nothing was learned from them. Lower the learning rate.' },
      mismatch: { label: 'Sampler against trainer', alarm: 'The policy that samples is not the one that is trained. Finer weights (weights.precision) or another device should bring this below 0.05.' },
      waiting: { label: 'Waiting for scores', value: (share: string): string => `${share} of a step`, watch: 'The model has written and waits for its rewards. In the next run rewardWorkers 2 scores two completions at a time, which helps where a processor core is free for it.' },
    },
    numbers: {
      notEvaluated: 'not evaluated yet', before: (count: number): string => `before training, n ${count}`, since: (step: number, first: string): string => `step ${step}, was ${first} before`, noStep: 'no step yet',
      heldOut: (rate: string): string => `Held-out ${rate}`, ofHeldOut: 'of held-out prompts', hackRate: 'Hack rate', hacks: 'pass reward, fail audit', reward: 'Mean reward', spread: (spread: string): string => `spread ${spread}`,
      length: 'Mean length', tokens: 'tokens', cutOff: (share: string): string => `${share} cut off`, entropy: 'Entropy', nats: 'nats', flat: (share: string): string => `${share} of groups are flat`,
    },
    readouts: 'Newest numbers', stepsDone: 'Steps done', partOfStep: 'Part of the present step',
  },
  charts: chartWords,
  rollouts: {
    title: 'Rollouts', waiting: 'Rollouts appear here after the first step.', none: 'No rollout is like that.', unreadable: 'This step could not be read.', looking: 'Looking…', across: 'Same prompt across steps', pageTitle: 'The page', pageOf: 'The page of this rollout',
    rolloutName: (number: number, step: number): string => `rollout ${number} of step ${step}`,
    found: (hits: number, looked: number, steps: number): string => `${hits} found in ${looked} of ${steps} steps`, further: 'Look further', searchEnded: 'The search ended.',
    step: { title: 'Step', slider: 'Step, as a slider', following: 'follows the newest', held: 'held', heldOf: (newest: number): string => `held; newest is ${newest}`, hold: 'Hold', holdHint: 'Keep this step on the screen', follow: 'Follow', followHint: 'Show the newest step, and the next ones as they come' },
    filters: {
      text: 'Text to look for', textHint: 'Text to find', kind: 'Kind', kinds: { all: 'All', passed: 'Passed', failed: 'Failed', hacks: 'Pass, but fail the audit', 'cut-off': 'Cut off' } satisfies Record<RolloutQuery['only'], string>,
      here: 'This step only', hereHint: 'Show the rollouts of one step again', everywhere: 'Search all steps', everywhereHint: (steps: number): string => `Look through the files of all ${steps} steps (Enter)`,
      sorts: { prompt: 'Prompt', reward: 'Reward', advantage: 'Advantage', length: 'Length', entropy: 'Entropy', flags: 'Flagged lines' } satisfies Record<SortKey, string>,
      sort: 'Sort', ascending: 'Smallest first', descending: 'Largest first', ascendingHint: 'Smallest first; press for largest first', descendingHint: 'Largest first; press for smallest first',
    },
    list: {
      step: 'step', reward: 'reward', stages: 'stages', mean: 'mean', same: 'same outcome', sameHint: 'Every rollout of this group has the same outcome, so only their token rewards differ', cutOff: 'Cut off at the largest length', more: (left: number): string => `Show more (${left} left)`,
      beside: { advantage: 'advantage', entropy: 'entropy', flags: 'flags', tokens: 'tokens' }, deviations: (value: string): string => `${value} σ`, nats: (value: string): string => `${value} nats`, flags: (count: number): string => plural(count, 'flag'),
    },
    detail: { step: 'step', reward: 'reward', audit: 'audit', passed: 'passed', failed: 'failed', cutOff: 'cut off at the largest length', paintBy: 'Paint tokens by', noRatio: 'No ratio was kept: the step made one update, whose ratio is 1, or this rollout was left out of it.', pointAt: 'Point at a token, or choose one with Tab and the arrow keys, to read its numbers.' },
    measures: {
      advantage: { label: 'Advantage', unit: 'standard deviations of the group' },
      reward: { label: 'Reward', unit: 'reward a token' },
      probability: { label: 'Probability', unit: 'strong where the token was unlikely' },
      entropy: { label: 'Entropy', unit: 'nats; strong where there was much to choose from' },
      ratio: { label: 'Ratio', unit: 'last mini-batch over draw, as a logarithm' },
    } satisfies Record<Measure, { label: string; unit: string }>,
    legend: { belowOne: 'below 1 underlined', belowZero: 'below zero underlined' },
    stages: { passed: 'passed', failed: 'failed', 'not-reached': 'not reached' },
    tokens: { title: 'Tokens of the completion', column: (column: number): string => `column ${column}` },
    gallery: { title: 'The same prompt across steps', back: 'Back to the list', looking: 'Looking through the steps…', lookingFurther: 'Looking through earlier steps…', none: 'This prompt was sampled in no other step.', step: (step: number): string => `Step ${step}`, name: (step: number): string => `the rollout of step ${step}` },
  },
  picture: {
    blank: 'Nothing can be seen', larger: 'Show it larger', errors: 'Errors of the page', of: (name: string): string => `The page of ${name}`, failed: (reason: string): string => `It cannot be shown: ${reason}.`, drawing: 'A browser is drawing it…', show: 'Show the page',
  },
  compare: {
    title: 'Compare',
    curvesTitle: 'Curves', shareMet: 'Share met', changed: (before: string, to: number, step: number): string => `${before}, ${to} from step ${step}`, seeds: (count: number): string => `${count} seeds`, andMore: (name: string, more: number): string => `${name} and ${more} more`,
    curves: {
      heldOut: { title: 'Held-out score', unit: '% pass all stages' }, requirements: { title: 'Requirements met', unit: '% of held-out completions' }, hacks: { title: 'Hack rate', unit: '% of held-out completions' }, reward: { title: 'Reward', unit: 'mean of a step' },
      spread: { title: 'Spread inside groups', unit: 'standard deviation' }, entropy: { title: 'Entropy', unit: 'nats a token' }, kl: { title: 'KL divergence', unit: 'nats' }, length: { title: 'Completion length', unit: 'tokens' }, gradient: { title: 'Gradient norm', unit: 'before clipping' }, time: { title: 'Time of a step', unit: 'seconds' },
    },
    again: 'Read again', againHint: 'Read the runs again', report: 'Report about these', chooseTwo: 'Choose at least two runs.',
    together: 'Seeds together, as median and range', noRepeats: 'no two of these runs differ in their seed alone', saved: 'Numbers saved.',
    runs: 'Runs to compare', chosen: (count: number, most: number): string => `${count} chosen, at most ${most}`, seed: (seed: number): string => `, seed ${seed}`,
    differences: 'Differences of configuration', differencesTable: 'Differences, table', field: 'Field', same: 'These runs have the same configuration, the same data and the same versions.',
    thresholds: 'Steps to a held-out score', run: 'Run', notReached: 'not reached', ofSeeds: (steps: string, reached: number, seeds: number): string => `${steps} (${reached} of ${seeds})`,
    thresholdsText: 'By the evaluations that were made; a run that is evaluated rarely gets there late on paper.', thresholdsSeeds: 'For seeds: the median of those that got there.',
    samples: 'The same prompt, side by side', prompt: 'Prompt', noSamples: 'These runs kept no samples of the same held-out prompts.', atStep: (step: number, verdict: string): string => `step ${step}; ${verdict}`,
    blind: 'Blind preference', judged: (votes: number, pairs: number): string => `${votes} of ${pairs} judged. The sides change in the order ABBA.`, beginAgain: 'Begin again',
    noPairs: 'The first two runs share no samples of held-out prompts.', left: 'Left completion', right: 'Right completion', question: 'Which is better?',
    choices: { left: 'Left is better', none: 'No difference', right: 'Right is better' }, key: (key: number): string => `Key ${key}`, enough: 'Enough', enoughHint: 'Show who wrote what',
    neither: 'You preferred neither.', chance: (share: string): string => `A split this uneven has a chance of ${share} when neither is better.`, leftSide: (left: number, decided: number): string => `You preferred the left side in ${left} of ${decided}.`,
  },
  try: {
    title: 'Try it', lead: 'The same prompt and the same random numbers for both: what differs was learned.', noCheckpoint: 'This run has no checkpoint yet.',
    prompt: 'Prompt', promptHint: 'What should both answer?', heldOut: 'Held-out prompts', seed: 'Seed', temperature: 'Temperature', maxTokens: 'Most tokens', ask: 'Ask both', askHint: 'Ctrl+Enter',
    answering: { base: 'The base model is answering…', trained: 'The trained model is answering…' }, empty: 'Ask something. At temperature 0 both give their likeliest answer.',
    facts: (tokens: number, sure: string | null, cutOff: boolean): string => `${plural(tokens, 'token')}${sure === null ? '' : `, mean probability ${sure}`}${cutOff ? ', cut off' : ''}`,
    settings: (seed: number, temperature: number, tokens: number): string => `seed ${seed}, temperature ${temperature}, at most ${tokens} tokens`, stopped: 'Stopped.', answersTo: (prompt: string): string => `Answers to ${prompt}`,
    base: 'Base model', trained: (step: number): string => `Trained, step ${step}`, pages: { base: 'what the base model wrote', trained: 'what the trained model wrote' }, waiting: 'Answering…', turn: 'Waits for its turn.',
  },
  export: {
    title: 'Export and report', lead: 'The newest checkpoint as files for other programs. Each is opened again after it was written, and compared with the run.', showFolder: 'Show the run folder',
    beside: (runs: number): string => `${plural(runs, 'run')} beside each other`, thisRun: 'This run', nothingMeasured: 'Nothing has been measured yet.', later: 'What it is trained to be can be exported as soon as there is one.',
    history: 'Exported so far', note: (type: string, step: number): string => `${type}, step ${step}`, show: 'Show',
    formats: {
      adapter: { title: 'Adapter', what: 'The LoRA files alone, a few megabytes over the base model.', readers: 'PEFT, and Satchel itself' },
      merged: { title: 'Whole model', what: 'The base model with what was learned merged in, in its own layout (safetensors).', readers: 'transformers, vLLM, SGLang' },
      gguf: { title: 'GGUF', what: 'One file with weights, tokenizer and template.', readers: 'llama.cpp, Ollama, LM Studio' },
      onnx: { title: 'ONNX', what: 'A folder with graph, weights and tokenizer.', readers: 'onnxruntime-genai, transformers.js' },
    } satisfies Record<ExportFormatName, { title: string; what: string; readers: string }>,
    checked: ({ tokens, texts, mean, largest, equal, continuations, length }: { tokens: number; texts: number; mean: string; largest: string; equal: number; continuations: number; length: number }): string =>
      `Opened again and compared with the run on ${plural(tokens, 'token')} of ${plural(texts, 'text')}: log-probabilities differ by ${mean} on average, ${largest} at most. ${equal} of ${continuations} greedy continuations of ${length} tokens are the same.`,
    readBy: (readers: string): string => `Read by ${readers}.`, storedAs: 'Stored as', nearBase: 'near the base', export: 'Export', starting: 'Starting…', exporting: (title: string): string => `${title} is being exported`,
    same: 'The files answer as the run does.', differ: 'The files differ from the run by more than rounding.',
    report: {
      title: 'Report', text: (about: string): string => `${about}: configuration, environment, hashes of data and model, curves, intervals, samples, audit, plan against measurement. One file without scripts that opens on any machine, offline.`,
      write: 'Write the report', again: 'Write again', first: 'Write the report first', open: 'Open', openHint: 'In the browser of this system', pdf: 'Save as PDF…', pdfSaved: 'Report saved as PDF.',
    },
  },
} as const

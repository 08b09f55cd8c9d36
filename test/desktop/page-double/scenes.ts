// States of the whole app, each a set of answers of the double: nothing there yet, everything in use, answers that do not come, answers that
// fail, and more than fits. The browser shows one of them by the name in its address.
import type { Answers } from '../../../src-renderer/bridge/bridge-double.ts'
import { calls } from '../../../src-main/contract/calls.ts'
import { settingsSchema } from '../../../src-main/contract/calls/settings.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import { modelList, modelOf, plan, report, rewardReport, samples, scored, tooLarge } from './sample-library.ts'
import { description, headersAt, heldOutAt, rolloutAt, runOf, summaryOf } from './sample-runs.ts'
import { templateText } from './sample-template.ts'
import { usual } from './usual.ts'

const settings = { settings: { ...settingsSchema.parse({}), theme: 'light' as const }, folders: { runs: '/home/ada/Satchel/runs', models: '/home/ada/Satchel/models', exports: '' }, file: '/home/ada/.config/Satchel/settings.json', problem: '' }
const facts = { satchel: '0.1.0', node: '22.11.0', onnxruntime: '1.30.0', platform: 'Linux x64', processor: { model: 'AMD Ryzen 7 7840U', threads: 16 }, memory: { total: 32e9, free: 19e9 }, disk: { folder: '/home/ada/Satchel/runs', free: 412e9 } }
const trials = {
  ok: true, time: '2026-01-05T09:00:00.000Z', kernels: 'native',
  trials: [{ name: 'cpu', ok: true, what: 'A training step of the built-in model took 0.4 s.' }, { name: 'webgpu', ok: false, what: 'No adapter was found: the graphics driver offers no Vulkan device.' }, { name: 'pages', ok: true, what: 'Chromium shows pages of rollouts.' }],
}
const mapping = { prompt: 'question', system: null, answer: 'result', requirements: null, tests: null, entry: null, tags: null, id: null, split: null }
const dataset = { path: '/home/ada/data/sums.jsonl', name: 'sums.jsonl', format: 'jsonl' as const, bytes: 7_400_000, rows: 48_213 }

const empty: Answers = {
  'settings.read': () => settings,
  'machine.facts': () => facts,
  'machine.lastTrials': () => null,
  'machine.try': () => trials,
  'runs.list': () => [],
  'runs.queue': () => [],
  'runs.interrupted': () => [],
  'models.list': () => ({ ...modelList, models: modelList.models.slice(0, 1), bases: modelList.bases.map((base) => ({ ...base, path: null })), hidden: 0, partial: [] }),
  'datasets.list': () => [],
  'rewards.samples': () => ({ samples: [], skipped: 0, note: '' }),
}

const runs = [summaryOf('demo-2', 'running', 86), summaryOf('demo-1', 'done', 120, { seed: 2 }), summaryOf('sums-grpo', 'failed', 61, { estimator: 'grpo' }), summaryOf('first-try', 'stopped', 12, { estimator: 'dr-grpo' }), summaryOf('demo-1', 'done', 120, { directory: '/media/stick/demo-1', outside: true })]

const filled: Answers = {
  ...empty,
  'machine.lastTrials': () => trials,
  'runs.list': () => runs,
  'runs.open': ({ directory }) => runOf(runs.find((run) => run.directory === directory) ?? summaryOf('demo-2', 'running', 86)),
  'runs.rollouts': ({ step }) => headersAt(step),
  'runs.rollout': ({ step, order }) => rolloutAt(step, order),
  'runs.search': ({ from }) => ({ hits: [86, 64, 48, 32, 16, 1].map((step) => headersAt(step)[step % 5] ?? headersAt(step, 1)[0]).flatMap((header) => header ?? []), looked: from ?? 86, next: null }),
  'runs.evaluation': ({ step }) => heldOutAt(step),
  'runs.metrics': ({ directory }) => runOf(runs.find((run) => run.directory === directory) ?? summaryOf('demo-2', 'running', 86)).series,
  'runs.demoConfig': () => ({ config: { ...description, name: 'demo' } }),
  'runs.try': ({ who }) => {
    const { text, ids, logprobs } = rolloutAt(1, who === 'base' ? 1 : 0)
    return { text, ids, logprobs, finish: 'stop' }
  },
  'runs.report': () => ({ file: '/home/ada/Satchel/runs/demo-1/report.html' }),
  'models.list': () => modelList,
  'models.plan': () => plan,
  'models.verify': ({ path }) => ({ path, usable: true, sentence: 'Everything was read and answers as it should.', checks: [{ name: 'tensors', state: 'passed', what: '27 tensors with the names and shapes of the family' }, { name: 'hashes', state: 'passed', what: 'as published' }, { name: 'generation', state: 'skipped', what: 'not asked for' }], files: [] }),
  'datasets.list': () => [{ ...dataset, mapping, opened: '2026-01-05T09:00:00.000Z', missing: false }, { ...dataset, path: '/media/stick/react-prompts', name: 'react-prompts', format: 'folder', bytes: 220_000, rows: null, mapping, opened: '2025-12-20T09:00:00.000Z', missing: true }],
  'datasets.inspect': () => ({ ...dataset, files: [dataset.name], fileCount: 1, guess: mapping, columns: [{ name: 'question', kinds: ['text'], filled: 1, example: 'What is 3 times 4?' }, { name: 'result', kinds: ['number'], filled: 1, example: '12' }, { name: 'source', kinds: ['text'], filled: 0.4, example: 'book' }] }),
  'datasets.rows': ({ offset, count }) => ({ total: dataset.rows, rows: Array.from({ length: Math.min(count, dataset.rows - offset) }, (_, at) => ({ index: offset + at, line: offset + at + 1, cells: [`What is ${offset + at} times ${at + 2}?`, String((offset + at) * (at + 2)), at % 3 === 0 ? 'book' : ''], problem: '' })) }),
  'datasets.count': () => ({ rows: dataset.rows }),
  'datasets.remember': () => ({}),
  'datasets.check': () => report,
  'datasets.template': ({ index }) => ({ row: `{"prompt": "What is ${index} times 2?"}`, problem: '', count: 12, tokens: ['<|user|>', '\n', 'What', ' is', ` ${index}`, ' times', ' 2', '?', '<|end|>', '\n', '<|assistant|>', '\n'].map((text, id) => ({ id, text, special: text.startsWith('<|') })) }),
  'datasets.prepare': () => ({ prompts: '/home/ada/Satchel/datasets/sums.jsonl', rows: 48_210, skipped: 3, train: 38_571, heldout: 9_639 }),
  'rewards.samples': () => ({ samples, skipped: 0, note: '' }),
  'rewards.score': ({ samples: asked, scorings }) => ({ scored: scored.filter(({ id }) => asked.some((sample) => sample.id === id)), report: { ...rewardReport, scorings, completions: asked.length } }),
  'rewards.template': () => ({ text: templateText }),
  'rewards.check': ({ text }) => {
    const at = text.indexOf('completion.size')
    return { problems: at < 0 ? [] : [{ start: at + 11, end: at + 15, row: text.slice(0, at).split('\n').length, message: "Property 'size' does not exist on type 'string'." }] }
  },
  'rewards.replay': () => ({ left: 0, steps: [1, 2, 3].map((step) => ({ step, rollouts: 64, before: { reward: 0.4, rootMeanSquare: 1, flatGroups: 0.125 }, after: { reward: 0.3 + step / 10, rootMeanSquare: 1.1, flatGroups: 0.25 }, change: 0.3, correlation: 0.91, flippedTokens: 0.04, flippedRollouts: 0.02 })) }),
  'pages.render': () => ({ state: 'unavailable', picture: '', reason: 'No browser was found on this machine.', errors: [], text: '', elements: 0 }),
  'settings.change': ({ threads, ...part }) => {
    if (threads === 13) throw new UserError({ code: 'bad-input', what: 'this number is refused', expected: 'an even number of threads', remedy: 'Choose another.' })
    return { ...settings, settings: settingsSchema.parse({ ...settings.settings, ...part, ...(threads === undefined ? {} : { threads }) }) }
  },
  'runs.export': ({ directory, format, type }) => ({ format, folder: `${directory}/export/${format}`, storedType: type ?? 'float32', comparison: { sequences: 8, tokens: 412, largestDifference: 2e-6, meanDifference: 3e-7, greedy: { prompts: 4, tokens: 128, equal: 128 } }, expectedMeanDifference: 1e-5, notes: [] }),
  'runs.openReport': () => ({}),
  'judge.try': () => ({ model: 'qwen2.5-7b-instruct', seconds: 2.4 }),
}

/** Long names, long lists, long sentences, numbers out of proportion. */
const longName = 'qwen2.5-3b-react-vigor-groups-of-sixteen-with-a-judge-and-graded-outcomes-seed-1'
const many = Array.from({ length: 60 }, (_, at) => summaryOf(at === 0 ? longName : `sweep-${String(at).padStart(3, '0')}-learning-rate-3e-5`, at === 0 ? 'running' : 'done', at === 0 ? 98_765 : 120, at === 0 ? { totalSteps: 100_000 } : {}))
const warned = runOf({ ...(many[0] as (typeof many)[number]), step: 119 }, { message: 'It is running.' })
const overfull: Answers = {
  ...filled,
  'runs.list': () => many,
  'runs.queue': () => [1, 2, 3].map((at) => ({ id: String(at), name: `${longName}-${at}`, what: 'start', detail: '4,000 steps of bot-grpo on Phi-4-mini-reasoning' })),
  'runs.open': () => ({ ...warned, summary: many[0] as (typeof many)[number], log: Array.from({ length: 90 }, (_, at) => ({ time: '2026-01-05T09:00:00.000Z', step: at, kind: at % 9 === 0 ? 'warning' : 'checkpoint', text: at % 9 === 0 ? `Step ${at} was skipped: its gradient was not finite. ${'The batch was kept for replay. '.repeat(4)}` : `Checkpoint of step ${at} written.` })) }),
  'runs.rollouts': ({ step }) => headersAt(step, 400),
  'models.list': () => ({ ...modelList, models: [...modelList.models, ...Array.from({ length: 24 }, (_, at) => modelOf(`${longName}-merged-${at}`, at % 3 === 0 ? { state: 'unsupported', problem: 'Its architecture, Gemma4ForConditionalGeneration, is of no family Satchel computes: Llama, Qwen2, Qwen3, SmolLM3, Phi3 and Mistral are.', details: null } : {}))], problems: ['/media/stick/models could not be read: permission denied.'] }),
  'models.plan': () => tooLarge,
  'datasets.list': () => Array.from({ length: 30 }, (_, at) => ({ ...dataset, path: `/home/ada/data/a/long/way/down/${longName}-${at}.jsonl`, name: `${longName}-${at}.jsonl`, bytes: 4.2e10, rows: 123_456_789, mapping, opened: '2026-01-05T09:00:00.000Z', missing: at % 7 === 3 })),
  'datasets.inspect': () => ({ ...dataset, name: `${longName}.jsonl`, files: [dataset.name], fileCount: 1, guess: mapping, columns: [{ name: 'question', kinds: ['text'], filled: 1, example: 'What?' }, ...Array.from({ length: 23 }, (_, at) => ({ name: `meta.annotation.of.reviewer_${at}`, kinds: ['text' as const], filled: 0.2, example: 'x'.repeat(80) }))] }),
  'datasets.rows': ({ offset, count }) => ({ total: dataset.rows, rows: Array.from({ length: Math.min(count, dataset.rows - offset) }, (_, at) => ({ index: offset + at, line: offset + at + 1, cells: Array.from({ length: 24 }, () => 'A very long cell that does not fit into its column '.repeat(3)), problem: '' })) }),
  'rewards.samples': () => ({ samples: Array.from({ length: 120 }, (_, at) => ({ ...(samples[at % samples.length] as (typeof samples)[number]), id: `${at}`, name: `${longName} ${at}` })), skipped: 40, note: 'The prompts of this run are no longer there, so requirements cannot be asked of its completions.' }),
}

/** Every call by one answer. */
function answeredBy(answer: () => never | Promise<never>): Answers {
  return Object.fromEntries(Object.keys(calls).map((name) => [name, answer]))
}

const failing: Answers = {
  ...answeredBy(() => {
    throw new UserError({ code: 'storage', what: 'The folder cannot be read: permission denied.', place: { file: '/home/ada/Satchel/runs' }, expected: 'a folder this user may read', remedy: 'Give yourself the right to read it, or choose another folder in Settings.' })
  }),
  'settings.read': () => settings,
}

/** A run that failed, on a machine where nothing works. */
const failedRun: Answers = {
  ...filled,
  'machine.lastTrials': () => ({ ...trials, ok: false, trials: trials.trials.map((trial) => ({ ...trial, ok: false, what: 'The process ended with signal SIGILL: the processor lacks an instruction.' })) }),
  'runs.list': () => [runs[2] as (typeof runs)[number], ...runs.slice(0, 2).map((run) => ({ ...run, state: 'done' as const })), ...runs.slice(3)],
  'runs.open': ({ directory }) => runOf(runs.find((run) => run.directory === directory) ?? (runs[0] as (typeof runs)[number]), directory !== runs[2]?.directory ? {} : { message: 'The engine was ended by the system (signal SIGKILL), most likely for memory. The newest checkpoint is of step 60.', checkpoints: [40, 60] }),
  'models.plan': failing['models.plan'] as NonNullable<Answers['models.plan']>,
  'runs.rollouts': failing['runs.rollouts'] as NonNullable<Answers['runs.rollouts']>,
  'rewards.score': failing['rewards.score'] as NonNullable<Answers['rewards.score']>,
}

/** Begun, and nothing measured yet. */
const begun: Answers = { ...filled, 'runs.list': () => [summaryOf('demo-3', 'starting', 0, { spark: [] })], 'runs.open': () => runOf(summaryOf('demo-3', 'starting', 0), { evaluations: [], log: [] }) }

const loading: Answers = { ...answeredBy(() => new Promise<never>(() => undefined)), 'settings.read': () => settings }

export const scenes = { usual, empty, filled, overfull, failing, failedRun, begun, loading } satisfies Record<string, Answers>
export type SceneName = keyof typeof scenes

/** The answers of a scene; the usual ones where nobody names another. */
export function sceneOf(name: string | null): Answers {
  return scenes[(name ?? 'usual') as SceneName] ?? usual
}


// A small run and a dataset of a million rows: what most tests of the page look at.
import type { Answers } from '../../../src-renderer/bridge/bridge-double.ts'
import { settingsSchema } from '../../../src-main/contract/calls/settings.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import { curvesOf, headerOf, rolloutOf, snapshotOf } from '../../renderer/samples.ts'

const steps = 120
const datasetRows = 1_000_000
const pieces = ['const ', 'a', ' = ', '1', ';\n', 'retrun', ' a', ';']
const advantages = [0.1, 0.2, 0, 0.5, 1.5, -2, -0.4, 0.05]
const rollout = rolloutOf(pieces, {
  step: steps, advantages, tokenRewards: advantages.map((value) => value / 2), logprobs: pieces.map((_, at) => -0.1 * at), reward: -0.4, outcome: -1, stages: { parse: false, types: false, bundle: false, render: false },
  spans: [{ start: 15, end: 21, value: -1, source: 'compiler', message: 'Unexpected keyword or identifier.' }],
})
const summary = { ...snapshotOf('done').summary, step: steps, totalSteps: steps }
const dataset = '/data/numbers.jsonl'
const noMapping = { prompt: 'question', system: null, answer: null, requirements: null, tests: null, entry: null, tags: null, id: null, split: null }

export const usual: Answers = {
  'settings.read': () => ({ settings: { ...settingsSchema.parse({}), theme: 'light' }, folders: { runs: '/runs', models: '/models', exports: '' }, file: '/settings.json', problem: '' }),
  'machine.facts': () => ({ satchel: '0', node: '20', onnxruntime: '1', platform: 'test', processor: { model: 'none', threads: 2 }, memory: { total: 8e9, free: 4e9 }, disk: { folder: '/', free: 1e9 } }),
  'machine.lastTrials': () => ({ ok: true, time: '2026-01-01T00:00:00.000Z', kernels: 'none', trials: [] }),
  'runs.list': () => [summary],
  'runs.queue': () => [],
  'runs.interrupted': () => [],
  'runs.open': () => snapshotOf('done', {
    summary, rolloutSteps: [[1, steps]],
    ...curvesOf(Array.from({ length: steps }, (_, at) => ({ step: at + 1, values: { reward: at / 100 - 0.5, entropy: 1 / (at + 1), grad_norm: 0.25 } }))),
  }),
  'runs.rollouts': () => [headerOf({ step: steps, reward: -0.4, stages: rollout.stages, tokens: pieces.length, flags: 1 })],
  'runs.rollout': () => rollout,
  'runs.saveCsv': () => null,
  'models.list': () => ({ folder: '/models', bases: [], models: [], hidden: 0, problems: [], partial: [] }),
  'datasets.list': () => [{ path: dataset, name: 'numbers.jsonl', format: 'jsonl', bytes: 5e7, rows: datasetRows, mapping: noMapping, opened: '2026-01-01T00:00:00.000Z', missing: false }],
  'datasets.inspect': () => ({
    path: dataset, name: 'numbers.jsonl', format: 'jsonl', bytes: 5e7, files: ['numbers.jsonl'], fileCount: 1, guess: noMapping, rows: datasetRows,
    columns: [{ name: 'question', kinds: ['text'], filled: 1, example: 'What is 0?' }, { name: 'result', kinds: ['number'], filled: 1, example: '0' }],
  }),
  'datasets.rows': ({ offset, count }) => ({
    rows: Array.from({ length: Math.max(0, Math.min(count, datasetRows - offset)) }, (_, at) => ({ index: offset + at, line: offset + at + 1, cells: [`What is ${offset + at}?`, String(offset + at)], problem: '' })),
    total: datasetRows,
  }),
  'datasets.count': () => ({ rows: datasetRows }),
  'datasets.remember': () => ({}),
  'models.plan': () => {
    throw new UserError({ code: 'engine', what: 'No plan can be made here.', remedy: 'Nothing.' })
  },
}

// Small made-up runs for tests of everything that reads or writes run folders.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { EvaluationResult, RolloutRecord } from '../../src-main/contract/events.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import { describeRun } from '../../src-main/engine/training/run-folder.ts'
import type { RunDescription } from '../../src-main/engine/training/run-folder-reading.ts'

/** A folder that is removed after the test. */
export function useTemporaryFolder(): () => Promise<string> {
  const made: string[] = []
  afterEach(async () => {
    for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true })
  })
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'satchel-test-'))
    made.push(folder)
    return folder
  }
}

export function exampleDescription(): RunDescription {
  return describeRun(runConfigSchema.parse({ name: 'example', model: 'model', data: { prompts: 'prompts.jsonl' }, training: { steps: 4 } }), { model: 'a'.repeat(64), data: 'b'.repeat(64) }, '1.30.0')
}

export function exampleRollout(step: number, index: number): RolloutRecord {
  const compiles = index % 2 === 0
  return {
    step, promptId: 'counter-01', prompt: 'Make a counter <b>"A"</b>.', index, text: `text ${index} < & "`, ids: [5, 6], starts: [0, 4], ends: [4, 6],
    logprobs: [-0.5, -0.25], entropies: [0.5, 0.25], tokenRewards: [1, 1], advantages: [0.5, -0.5], reward: compiles ? 1 : -1, outcome: compiles ? 0 : -1, finish: 'stop',
    stages: { parse: compiles, types: compiles, bundle: compiles, render: compiles }, requirementScore: compiles ? 1 : 0, auditPassed: compiles,
    sources: [{ source: 'compiler', global: compiles ? 0 : -1 }], spans: compiles ? [] : [{ start: 0, end: 4, value: -1, source: 'compiler', message: 'unexpected token' }],
  }
}

export function exampleEvaluation(step: number, successes: number): EvaluationResult {
  const n = 20
  const rate = { rate: successes / n, low: 0, high: 1, n }
  return {
    step, prompts: 10, samples: 2, temperature: 1, stages: { parse: rate, types: rate, bundle: rate, render: rate }, compile: rate, requirementScore: successes / n,
    hackRate: { rate: 0, low: 0, high: 0.16, n }, passAtK: { 1: successes / n, 2: successes / n }, reward: successes / n, meanLength: 42,
    samplesShown: [{ promptId: 'counter-01', prompt: 'Make a counter.', text: 'export default function App() {}', compiles: successes > 10, requirementScore: 0 }],
  }
}

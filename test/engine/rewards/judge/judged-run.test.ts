// Training with a judge, on a tiny random model: what it said is there again after a stop, and its silence stops nothing.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { EngineCommand, EngineEvent, MetricsRow } from '../../../../src-main/contract/events.ts'
import type { RunConfigInput } from '../../../../src-main/contract/run-config.ts'
import { runTraining } from '../../../../src-main/engine/training/run.ts'
import { buildForTests } from '../../../support/build-entries.ts'
import { startJudgeServer, type JudgeServer, type JudgeServerOptions } from '../../../support/judge-server.ts'
import { writeTinyModel } from '../../../support/tiny-model.ts'

let home = ''
let server: JudgeServer
beforeAll(async () => {
  await buildForTests()
  home = await mkdtemp(join(tmpdir(), 'satchel-judged-run-'))
  await writeTinyModel(join(home, 'model'))
  await writeFile(join(home, 'prompts.jsonl'), Array.from({ length: 4 }, (_, index) => `${JSON.stringify({ id: `p${index}`, prompt: `Number ${index}.` })}\n`).join(''))
  await writeFile(join(home, 'own.js'), 'export default ({ completion }) => completion.length / 100\n')
})
afterEach(() => server.close())
afterAll(() => rm(home, { recursive: true, force: true }))

async function configWith(options: JudgeServerOptions, judge: { timeoutSeconds?: number } = {}): Promise<RunConfigInput> {
  server = await startJudgeServer(options)
  return {
    model: join(home, 'model'),
    data: { prompts: join(home, 'prompts.jsonl') },
    device: 'cpu',
    threads: 1,
    rollout: { promptsPerStep: 2, groupSize: 3, maxNewTokens: 8, slots: 4 },
    adapter: { kind: 'lora', rank: 4, alpha: 8 },
    reward: { recipe: 'custom', file: join(home, 'own.js'), judge: { kind: 'server', url: server.url, ...judge } },
    training: { steps: 3, checkpointEvery: 2, microBatchTokens: 96 },
    evaluation: { every: 0 },
  }
}

/** Stops the run at once when `when` says so. */
function watched(when: (event: EngineEvent) => boolean) {
  const pending: EngineCommand[] = []
  return {
    commands: { take: () => pending.shift(), wait: () => new Promise<void>((resolve) => setTimeout(resolve, 5)) },
    onEvent(event: EngineEvent) {
      if (when(event)) pending.push({ type: 'stop-now' })
    },
  }
}
const undisturbed = watched(() => false)

const metricsOf = async (run: string): Promise<MetricsRow[]> => (await readFile(join(run, 'metrics.jsonl'), 'utf8')).trim().split('\n').map((line) => JSON.parse(line) as MetricsRow)
const rolloutsOf = async (run: string, step: number): Promise<string> => gunzipSync(await readFile(join(run, 'rollouts', `00000${step}.jsonl.gz`))).toString()

it('a step that has to be done again hears from a fickle judge what it heard before', async () => {
  // Never says the same twice.
  const config = await configWith({ reply: (_question, index) => `SCORE: ${(index * 0.37) % 10}` })
  const run = join(home, 'fickle')
  expect(await runTraining({ start: { config }, runDirectory: run, ...watched((event) => event.type === 'metrics' && event.row.step === 1) })).toEqual({ state: 'stopped' })
  const before = { rollouts: await rolloutsOf(run, 1), mean: (await metricsOf(run))[0]?.values['rewards/answerJudge/mean'], questions: server.questions.length }
  expect(before.questions).toBeGreaterThan(1)
  expect(await runTraining({ start: { resume: true }, runDirectory: run, ...undisturbed })).toEqual({ state: 'done' })
  const rows = await metricsOf(run)
  expect(rows.map(({ step }) => step)).toEqual([1, 2, 3])
  expect(rows[0]?.values['rewards/answerJudge/mean']).toBe(before.mean)
  expect(await rolloutsOf(run, 1)).toBe(before.rollouts)
  const asked = server.questions.map(({ messages }) => JSON.stringify(messages))
  expect(new Set(asked).size).toBe(asked.length)
})

it('a judge that never answers costs its source and a little time, and the share of its failures is a metric', async () => {
  const config = await configWith({ reply: () => () => undefined }, { timeoutSeconds: 0.3 })
  const run = join(home, 'silent')
  expect(await runTraining({ start: { config }, runDirectory: run, ...undisturbed })).toEqual({ state: 'done' })
  const rows = await metricsOf(run)
  expect(rows.map(({ values }) => [values['rewards/answerJudge/failures'], values['rewards/answerJudge/mean'], values['rewards/custom/failures']])).toEqual([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
})

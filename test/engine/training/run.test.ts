// Whole runs on a tiny random model with the real reward processes: resumed runs are bit-equal, commands are obeyed, inputs are held to.
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EngineCommand, EngineEvent } from '../../../src-main/contract/events.ts'
import type { RunConfigInput } from '../../../src-main/contract/run-config.ts'
import { readChanges, readRunDescription } from '../../../src-main/engine/training/run-folder-reading.ts'
import type { CommandSource } from '../../../src-main/engine/training/run-commands.ts'
import { runTraining } from '../../../src-main/engine/training/run.ts'
import { buildForTests } from '../../support/build-entries.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'

let home: string
beforeAll(async () => {
  await buildForTests()
  home = await mkdtemp(join(tmpdir(), 'satchel-run-'))
  await writeTinyModel(join(home, 'model'))
  const rows = Array.from({ length: 6 }, (_, index) => ({ id: `p${index}`, prompt: `Make a card titled Number ${index}.`, requirements: [{ kind: 'text', text: `Number ${index}` }], split: index < 4 ? 'train' : 'heldout' }))
  await writeFile(join(home, 'prompts.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}, 120_000)
afterAll(() => rm(home, { recursive: true, force: true }))

const config = (extra: Partial<RunConfigInput> = {}): RunConfigInput => ({
  model: join(home, 'model'),
  data: { prompts: join(home, 'prompts.jsonl') },
  seed: 5,
  device: 'cpu',
  threads: 1,
  rollout: { promptsPerStep: 2, groupSize: 3, maxNewTokens: 12, slots: 4 },
  adapter: { kind: 'lora', rank: 4, alpha: 8, dropout: 0.1, targets: ['q_proj', 'v_proj', 'down_proj'] },
  loss: { klCoefficient: 0.05 },
  optimizer: { learningRate: 0.01 },
  training: { steps: 4, miniBatches: 2, epochs: 2, checkpointEvery: 2, microBatchTokens: 96 },
  evaluation: { every: 4, prompts: 2, samples: 2, k: [1, 2] },
  ...extra,
})

/** Commands are given when `when` says so for an event. */
function commanded(when: (event: EngineEvent) => EngineCommand | undefined): { commands: CommandSource; onEvent: (event: EngineEvent) => void; events: EngineEvent[] } {
  const pending: EngineCommand[] = []
  const events: EngineEvent[] = []
  return {
    events,
    commands: { take: () => pending.shift(), wait: () => new Promise((resolve) => setTimeout(resolve, 5)) },
    onEvent(event) {
      events.push(event)
      const command = when(event)
      if (command !== undefined) pending.push(command)
    },
  }
}
const quiet = () => commanded(() => undefined)

/** Everything of a run that must not depend on how often it was stopped. */
async function content(run: string): Promise<Record<string, unknown>> {
  const checkpoint = join(run, 'checkpoints', '000004')
  const files = Object.fromEntries(await Promise.all((await readdir(checkpoint)).filter((name) => name.endsWith('.safetensors')).map(async (name): Promise<[string, string]> => [name, (await readFile(join(checkpoint, name))).toString('base64')])))
  const metrics = (await readFile(join(run, 'metrics.jsonl'), 'utf8')).trim().split('\n').map((line) => {
    const row = JSON.parse(line) as { step: number; values: Record<string, number> }
    const timeless = Object.entries(row.values).filter(([name]) => !/^(time|memory|temperature|tokens_per_second)|milliseconds$/.test(name))
    return { step: row.step, values: Object.fromEntries(timeless) }
  })
  const rollouts = await Promise.all([1, 2, 3, 4].map(async (step) => gunzipSync(await readFile(join(run, 'rollouts', `00000${step}.jsonl.gz`))).toString()))
  return { files, metrics, rollouts }
}

describe('a run', () => {
  it.each([
    ['LoRA with dropout, KL, mini-batches and epochs', {}],
    ['full parameters', { adapter: { kind: 'full' as const } }],
    ['frozen layers in 4 bits', { weights: { precision: 'int4' as const } }],
    ['layers streamed from their file', { weights: { streamLayers: true } }],
    ['GSPO, groups of different sizes, rollouts that drifted left out', { estimator: { name: 'gspo' as const }, adapter: { kind: 'lora' as const, rank: 4, alpha: 8 }, loss: { carmEpsilon: 0.01 }, rollout: { promptsPerStep: 2, groupSize: 3, maxNewTokens: 12, slots: 4, groups: { kind: 'vigor' as const, rounds: 2 } } }],
  ])('resumed after a stop is bit-equal to one that never stopped: %s', async (title, extra) => {
    const [straight, broken] = [join(home, `straight ${title}`), join(home, `broken ${title}`)]
    expect(await runTraining({ start: { config: config(extra) }, runDirectory: straight, ...quiet() })).toEqual({ state: 'done' })
    // Once after a whole step, and once in the middle of one.
    expect(await runTraining({ start: { config: config(extra) }, runDirectory: broken, ...quiet(), stepLimit: 1 })).toEqual({ state: 'stopped' })
    const inTheMiddle = commanded((event) => (event.type === 'metrics' && event.row.step === 3 ? { type: 'stop-now' } : undefined))
    expect(await runTraining({ start: { resume: true }, runDirectory: broken, ...inTheMiddle })).toEqual({ state: 'stopped' })
    expect(await runTraining({ start: { resume: true }, runDirectory: broken, ...quiet() })).toEqual({ state: 'done' })
    expect(await content(broken)).toEqual(await content(straight))
  }, 180_000)

  it('tells its story: states, metrics with known names, evaluations before and after', async () => {
    const told = quiet()
    await runTraining({ start: { config: config({ evaluation: { every: 2, prompts: 2, samples: 2, k: [1] }, training: { steps: 2 } }) }, runDirectory: join(home, 'story'), ...told })
    expect(told.events.filter((event) => event.type === 'evaluation').map((event) => event.result.step)).toEqual([0, 2])
    const [row] = told.events.flatMap((event) => (event.type === 'metrics' ? [event.row] : []))
    expect(Object.keys(row!.values)).toEqual(expect.arrayContaining(['reward', 'reward_std', 'frac_reward_zero_std', 'completions/mean_length', 'entropy', 'kl', 'grad_norm', 'learning_rate', 'sampler_mismatch/max']))
    expect(row!.values['sampler_mismatch/max']).toBeLessThan(1e-4)
    expect(told.events.at(-1)).toMatchObject({ type: 'state', state: 'done', step: 2 })
    const [first] = told.events.flatMap((event) => (event.type === 'rollouts' ? event.rollouts : []))
    expect(first!.ids.length).toBe(first!.advantages.length)
    expect(first!.starts.length).toBe(first!.tokenRewards.length)
  }, 120_000)

  it.each(['stored', 'int8', 'int4'] as const)('with frozen layers held as %s: the sampler is the trainer, and the time layers took is told', async (precision) => {
    const told = quiet()
    await runTraining({ start: { config: config({ weights: { precision }, adapter: { kind: 'lora', rank: 4, alpha: 8, targets: ['all-linear'] }, evaluation: { every: 0 }, training: { steps: 2 } }) }, runDirectory: join(home, `held ${precision}`), ...told })
    const rows = told.events.flatMap((event) => (event.type === 'metrics' ? [event.row.values] : []))
    expect(rows).toHaveLength(2)
    for (const values of rows) {
      expect(values['sampler_mismatch/max']).toBeLessThan(1e-4)
      expect(values['time/layers']).toBeGreaterThan(0)
      expect(values['memory/planned_gib']).toBeGreaterThan(0)
    }
  }, 120_000)

  it.each([
    ['weights that are trained', { adapter: { kind: 'full' as const }, weights: { precision: 'int8' as const } }, /weights: weights that are trained themselves/],
    ['streamed layers in 4 bits', { weights: { precision: 'int4' as const, streamLayers: true } }, /weights\.streamLayers: weights\.streamLayers reads layers as the file has them/],
    ['one program over 4-bit layers', { weights: { precision: 'int4' as const }, training: { recompute: 'none' as const } }, /training\.recompute: .*needs all layers in float32/],
  ])('refuses %s before anything is loaded', async (title, extra, message) => {
    await expect(runTraining({ start: { config: config(extra) }, runDirectory: join(home, `refused ${title}`), ...quiet() })).rejects.toThrow(message)
  })

  it('pauses and goes on without a different result', async () => {
    const paused = commanded((event) => {
      if (event.type === 'metrics' && event.row.step === 1) return { type: 'pause' }
      return event.type === 'state' && event.state === 'paused' ? { type: 'resume' } : undefined
    })
    const [plain, held] = [join(home, 'plain'), join(home, 'held')]
    await runTraining({ start: { config: config() }, runDirectory: plain, ...quiet() })
    await runTraining({ start: { config: config() }, runDirectory: held, ...paused })
    expect(paused.events.filter((event) => event.type === 'state').map((event) => event.state)).toContain('paused')
    expect(await content(held)).toEqual(await content(plain))
  }, 180_000)

  it('takes rates and weights of the reward from the next step on; the same changes at the same steps, stopped or not, give the same run', async () => {
    const [live, again, broken, plain] = [join(home, 'live'), join(home, 'again'), join(home, 'live broken'), join(home, 'unchanged')]
    const settings = [{ field: 'optimizer.learningRate', value: 0.002 }, { field: 'reward.globalWeight', value: 2 }, { field: 'reward.requirementWeight', value: 3 }]
    const changed = commanded((event) => (event.type === 'metrics' && event.row.step === 1 ? { type: 'set', settings } : undefined))
    await runTraining({ start: { config: config() }, runDirectory: live, ...changed })
    const marks = (await readChanges(live)).values
    expect(marks.map(({ step, field, from, to }) => [step, field, from, to])).toEqual([[2, 'optimizer.learningRate', 0.01, 0.002], [2, 'reward.globalWeight', 1, 2], [2, 'reward.requirementWeight', 1, 3]])
    expect(changed.events.flatMap((event) => (event.type === 'changed' ? event.changes : []))).toEqual(marks)
    const rates = changed.events.flatMap((event) => (event.type === 'metrics' ? [event.row.values['learning_rate']] : []))
    expect(rates).toEqual([0.01, 0.002, 0.002, 0.002])
    expect((await readRunDescription(live)).config.optimizer.learningRate).toBe(0.01)

    await runTraining({ start: { config: config(), changes: marks }, runDirectory: again, ...quiet() })
    expect(await content(again)).toEqual(await content(live))
    const inTheMiddle = commanded((event) => (event.type === 'metrics' && event.row.step === 3 ? { type: 'stop-now' } : undefined))
    await runTraining({ start: { config: config(), changes: marks }, runDirectory: broken, ...inTheMiddle })
    await runTraining({ start: { resume: true }, runDirectory: broken, ...quiet() })
    expect(await content(broken)).toEqual(await content(live))

    await runTraining({ start: { config: config() }, runDirectory: plain, ...quiet() })
    const [with_, without] = [await content(live), await content(plain)]
    expect((with_['rollouts'] as string[])[0]).toBe((without['rollouts'] as string[])[0])
    expect((with_['rollouts'] as string[])[1]).not.toBe((without['rollouts'] as string[])[1])
  }, 240_000)

  it('explains what cannot be changed on the way, and goes on', async () => {
    const wrong = commanded((event) => (event.type === 'metrics' && event.row.step === 1 ? { type: 'set', settings: [{ field: 'rollout.groupSize', value: 4 }] } : undefined))
    const run = join(home, 'refused change')
    await runTraining({ start: { config: config({ training: { steps: 2 }, evaluation: { every: 0 } }) }, runDirectory: run, ...wrong })
    expect(wrong.events.flatMap((event) => (event.type === 'warning' && event.message.startsWith('Nothing was changed') ? [event.message] : []))).toEqual([expect.stringMatching(/rollout\.groupSize: this field cannot be changed while a run is in progress/)])
    expect((await readChanges(run)).values).toEqual([])
  }, 120_000)

  it('refuses to go on when the prompts changed', async () => {
    const run = join(home, 'changed')
    const prompts = join(home, 'prompts-to-change.jsonl')
    await writeFile(prompts, await readFile(join(home, 'prompts.jsonl')))
    await runTraining({ start: { config: config({ data: { prompts } }) }, runDirectory: run, ...quiet(), stepLimit: 1 })
    await writeFile(prompts, `${JSON.stringify({ id: 'other', prompt: 'Something else.' })}\n`, { flag: 'a' })
    await expect(runTraining({ start: { resume: true }, runDirectory: run, ...quiet() })).rejects.toThrow(/prompts-to-change\.jsonl: the prompt file has changed since this run began/)
  }, 120_000)
})

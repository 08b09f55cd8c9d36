import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import type { RunConfig } from '../../src-main/contract/run-config.ts'
import { parseSetting, withChanges } from '../../src-main/engine-host/config-settings.ts'
import type { Setting } from '../../src-main/engine-host/config-settings.ts'

const base = { model: 'm', data: { prompts: 'p' } }
const settings = (...texts: string[]): Setting[] => texts.reduce<Setting[]>((before, text) => parseSetting(text, before), [])
const changed = (value: object, ...texts: string[]): RunConfig => runConfigSchema.parse(withChanges(value, { set: settings(...texts) }))

describe('--set', () => {
  it('reads JSON where it is JSON, and text otherwise', () => {
    expect(settings('loss.clipHigh=0.28', 'name=two=three', 'evaluation.k=[1,2]', 'estimator.clipAdvantage=null')).toEqual([
      { path: ['loss', 'clipHigh'], value: 0.28 },
      { path: ['name'], value: 'two=three' },
      { path: ['evaluation', 'k'], value: [1, 2] },
      { path: ['estimator', 'clipAdvantage'], value: null },
    ])
  })

  it.each(['loss.clipHigh', '=3', 'loss..clipHigh=3', '__proto__.x=1'])('refuses %s', (text) => {
    expect(() => parseSetting(text)).toThrow(/field and its value/)
  })

  it('changes one field and leaves its neighbours', () => {
    const config = changed({ ...base, loss: { klCoefficient: 0.05 } }, 'loss.clipHigh=0.3', 'training.steps=5')
    expect(config).toMatchObject({ loss: { klCoefficient: 0.05, clipHigh: 0.3 }, training: { steps: 5 } })
  })

  it('turns a block into one of another kind', () => {
    expect(changed({ ...base, adapter: { kind: 'lora', rank: 4 } }, 'adapter.kind=full').adapter).toEqual({ kind: 'full' })
    expect(changed({ ...base, adapter: { kind: 'lora', rank: 4 } }, 'adapter.kind=lora').adapter).toMatchObject({ rank: 4 })
  })

  it('takes paths as the command line means them', () => {
    expect(changed(base, 'data.prompts=other.jsonl').data.prompts).toBe(resolve('other.jsonl'))
  })

  it('brings another estimator with its fields and its method, also over a configuration that is spelled out', () => {
    const dapo = runConfigSchema.parse({ ...base, estimator: { name: 'dapo', epsilon: 0.1 }, loss: { klCoefficient: 0.05 } })
    const gspo = changed(dapo, 'estimator.name=gspo')
    expect(gspo).toEqual(runConfigSchema.parse({ ...base, estimator: { name: 'gspo' }, loss: { klCoefficient: 0.05 } }))
    expect(changed(gspo, 'estimator.name=dr-grpo').loss).toMatchObject({ surrogate: 'token', clipLow: 0.2, clipReferenceLength: null, aggregation: 'constant-length' })
  })

  it('keeps what a person changed when the estimator changes', () => {
    const grpo = runConfigSchema.parse({ ...base, estimator: { name: 'grpo' }, loss: { clipHigh: 0.5 } })
    expect(changed(grpo, 'estimator.name=dapo').loss).toMatchObject({ clipHigh: 0.5, aggregation: 'all-tokens' })
  })
})

describe('--preset', () => {
  it('overrules the file and is overruled by --set', () => {
    const value = { ...base, estimator: { name: 'rloo' }, loss: { klCoefficient: 0.9, clipHigh: 0.5 } }
    const config = runConfigSchema.parse(withChanges(value, { preset: 'paper', set: settings('loss.klEstimator=k2') }))
    expect(config.loss).toMatchObject({ surrogate: 'sequence-sum', klCoefficient: 0.05, klPlace: 'reward', klEstimator: 'k2', clipHigh: 0.2 })
  })

  it('safe guards BoT-GRPO against its hazards', () => {
    expect(runConfigSchema.parse(withChanges(base, { preset: 'safe' }))).toMatchObject({ estimator: { name: 'bot-grpo', flatGroups: 'sigma-floor', clipAdvantage: 5 }, loss: { dualClip: 3 } })
  })
})

// What a card says in each state a model can be in; rendered to markup against the bridge double.
import { render } from 'svelte/server'
import { describe, expect, it } from 'vitest'
import type { BaseEntry, ModelEntry } from '../../../src-main/contract/calls/models.ts'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import type { Answers } from '../../../src-renderer/bridge/bridge-double.ts'
import ModelCard from '../../../src-renderer/features/models/model-card.svelte'
import type { AppState } from '../../../src-renderer/state/app-state.svelte.ts'
import { createModelsState } from '../../../src-renderer/state/models-state.svelte.ts'
import { createNotices } from '../../../src-renderer/state/notices.svelte.ts'

const details: NonNullable<ModelEntry['details']> = { family: 'smollm3', parameters: 3_075_098_624, storedType: 'bfloat16', contextTokens: 65_536, base: 'SmolLM3-3B', warnings: [], thinking: 'switch', chat: true }
const model: ModelEntry = { name: 'SmolLM3-3B', source: 'added', path: '/models/SmolLM3-3B', state: 'ready', problem: null, bytes: 6_150_000_000, details, licence: 'Apache-2.0', verified: null }
const base: BaseEntry = { name: 'SmolLM3-3B', repository: 'HuggingFaceTB/SmolLM3-3B', licence: 'Apache-2.0', bytes: 6_150_197_248, parameters: 3_075_098_624, what: 'A chat model.', thinking: 'switch', path: null }
const usable = { path: model.path, usable: true, sentence: 'Usable.', checks: [{ name: 'tensors' as const, state: 'passed' as const, what: 'all are there' }], files: [] }

/** The visible text of a card, runs of spaces as one. */
function textOf(properties: { model?: ModelEntry; base?: BaseEntry }, models = createModelsState(createBridgeDouble({}), createNotices())): string {
  const app = { models, draft: { chooseModel: () => undefined } } as unknown as AppState
  const { body } = render(ModelCard, { props: { app, onlocate: () => undefined, ...properties } })
  return body.replace(/<!--.*?-->/g, '').replace(/<[^>]+>/g, ' ').replaceAll('\u202f', ' ').replace(/\s+/g, ' ')
}

async function after(answers: Answers, act: (models: ReturnType<typeof createModelsState>) => Promise<void>): Promise<ReturnType<typeof createModelsState>> {
  const models = createModelsState(createBridgeDouble({ 'models.list': () => ({ folder: '', bases: [], models: [model], hidden: 0, problems: [], partial: [] }), ...answers }), createNotices())
  await act(models)
  return models
}

describe('the card', () => {
  it('of a base model that is not here offers to locate or download it, and says how much that is', () => {
    expect(textOf({ base })).toMatch(/SmolLM3-3B Not here .*6\.2 GB.*on or off.*Apache-2\.0.*Locate….*Download 6\.2 GB/)
  })

  it('of a download that was begun goes on from there', async () => {
    const models = await after({ 'models.list': () => ({ folder: '', bases: [base], models: [], hidden: 0, problems: [], partial: [{ repository: base.repository, bytes: 2_000_000_000 }] }) }, (state) => state.refresh())
    expect(textOf({ base }, models)).toMatch(/Go on downloading \(2\.0 GB of 6\.2 GB\)/)
  })

  it('of a model that was found offers everything', () => {
    expect(textOf({ model })).toMatch(/Found .*Added by you\. .*3\.08 B.*bfloat16.*65,536.*Use in a run.*Verify.*Plan memory.*Remove/)
  })

  it('of a verified model says since when', () => {
    expect(textOf({ model: { ...model, verified: '2026-01-02T10:00:00Z' } })).toMatch(/Verified .* Verify /)
  })

  it('of a damaged model says why, and offers no run', () => {
    const text = textOf({ model: { ...model, state: 'damaged', problem: 'model.safetensors is cut off.', details: null } })
    expect(text).toMatch(/Damaged .*model\.safetensors is cut off\./)
    expect(text).not.toMatch(/Use in a run|Plan memory/)
  })

  it('shows what a verification found, also when it failed', async () => {
    expect(textOf({ model }, await after({ 'models.verify': () => usable }, (state) => state.verify(model.path)))).toMatch(/Tensors ok all are there/)
    const failed = { ...usable, usable: false, checks: [{ name: 'hashes' as const, state: 'failed' as const, what: 'config.json: changed since the verification of 2026-01-01' }] }
    expect(textOf({ model }, await after({ 'models.verify': () => failed }, (state) => state.verify(model.path)))).toMatch(/Failed verification .*Hashes failed config\.json.*Take the changed files as they are/)
  })

  it('shows a plan that does not fit, with what to change', async () => {
    const plan = { model: model.path, promptTokens: 256, promptsRead: false, layout: 'layered' as const, parts: [{ part: 'weights', label: 'weights', bytes: 12 * 2 ** 30 }], peaks: { generation: 2 ** 30, training: 20 * 2 ** 30, resume: 2 ** 30 }, memory: 16 * 2 ** 30, fits: false, advice: [{ change: 'weights.precision int4', trainingPeak: 6 * 2 ** 30 }] }
    expect(textOf({ model }, await after({ 'models.plan': () => plan }, (state) => state.plan(model.path, 'fp32')))).toMatch(/20\.0 GiB.*4\.0 GiB more than this machine has.*weights\.precision int4 6\.0 GiB.*weights 12\.0 GiB/)
  })
})

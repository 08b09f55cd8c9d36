import { describe, expect, it } from 'vitest'
import { dryRunWords, planLength } from '../../../src-renderer/features/setup/plan-words.ts'
import { formOf } from '../../../src-main/contract/form.ts'
import { estimatorNames } from '../../../src-main/contract/estimator-config.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { batchWords } from '../../../src-renderer/features/setup/batch-words.ts'
import { readControl, writeControl } from '../../../src-renderer/features/setup/control-text.ts'
import { checkDraft, estimatorOf, valueAt, withoutValue, withPreset, withValue, withVariant } from '../../../src-renderer/features/setup/draft.ts'
import type { Draft } from '../../../src-renderer/features/setup/draft.ts'
import { formSections, isBasic, labelOf } from '../../../src-renderer/features/setup/sections.ts'
import { rememberedSetup } from '../../../src-renderer/features/setup/setup-memory.svelte.ts'

const enough: Draft = { model: '/models/a', data: { prompts: '/data/a.jsonl' } }

describe('a draft', () => {
  it('holds only what was said, and forgets it again, empty blocks included', () => {
    const said = withValue(enough, ['rollout', 'groupSize'], 4)
    expect(valueAt(said, ['rollout', 'groupSize'])).toBe(4)
    expect(withoutValue(said, ['rollout', 'groupSize'])).toEqual(enough)
    expect(withoutValue(said, ['rollout', 'topK'])).toEqual(said)
    expect(withoutValue(enough, ['absent', 'deep'])).toEqual(enough)
  })

  it('is complete with its defaults before anything is chosen, but not ready', () => {
    const { complete, problems, ready } = checkDraft({})
    expect(complete.rollout.groupSize).toBe(8)
    expect([...problems.keys()]).toEqual(['model', 'data.prompts'])
    expect(ready).toBe(false)
    expect(checkDraft(enough)).toMatchObject({ ready: true, complete: { model: '/models/a' } })
  })

  it('says at which field something is wrong, and completes the rest', () => {
    const { complete, problems, ready } = checkDraft({ ...enough, rollout: { groupSize: 1, temperature: 'hot', promptsPerStep: 4 }, training: { steps: 5 } })
    expect([...problems.keys()].sort()).toEqual(['rollout.groupSize', 'rollout.temperature'])
    expect(complete).toMatchObject({ rollout: { groupSize: 8, temperature: 1, promptsPerStep: 4 }, training: { steps: 5 } })
    expect(ready).toBe(false)
  })

  it('names fields that do not exist, and combinations that make no sense', () => {
    expect(checkDraft({ ...enough, rollout: { groupsize: 4 } }).problems.get('rollout.groupsize')).toBe('There is no such field.')
    const conflict = checkDraft({ ...enough, estimator: { name: 'gspo' }, loss: { surrogate: 'token' } })
    expect(conflict.problems.get('loss.surrogate')).toMatch(/is nothing without/)
    expect(conflict.ready).toBe(false)
  })

  it('takes the defaults of another estimator along, and drops what the one before had of its own', () => {
    const draft = withVariant({ ...enough, estimator: { name: 'bot-grpo', sigmaFloor: 0.5 } }, ['estimator'], 'name', 'dapo')
    expect(estimatorOf(draft)).toBe('dapo')
    expect(checkDraft(draft)).toMatchObject({ ready: true, complete: { loss: { clipHigh: 0.28 }, rollout: { groups: { kind: 'dynamic' } } } })
  })

  it('stays ready under every preset of every estimator', () => {
    for (const name of estimatorNames) {
      for (const preset of ['paper', 'safe'] as const) {
        const { problems } = checkDraft(withPreset({ ...enough, estimator: { name }, training: { steps: 7 } }, preset))
        expect([...problems], `${name} ${preset}`).toEqual([])
      }
    }
  })

  it('ends with its defaults, whatever was imported', () => {
    for (const broken of [{ estimator: 5 }, { loss: [] }, { rollout: { groups: { kind: 'none' } } }, { reward: { recipe: 'dance' } }, { version: 9 }, { unheard: { of: 1 } }]) {
      const { complete, ready } = checkDraft({ ...enough, ...broken })
      expect(ready, JSON.stringify(broken)).toBe(false)
      expect(complete.training.steps).toBe(80)
    }
  })
})

describe('the form', () => {
  const nodes = formOf(runConfigSchema)

  it('places every block in a section, none twice', () => {
    const sections = formSections(nodes)
    expect(sections.flatMap((section) => section.nodes).length).toBe(nodes.length)
    expect(sections.every((section) => section.nodes.some(isBasic))).toBe(true)
    expect(sections.map(({ id }) => id)).not.toContain('rest')
  })

  it('calls fields what people call them', () => {
    expect([['rollout', 'promptsPerStep'], ['loss', 'klCoefficient'], ['rollout', 'topK'], ['evaluation', 'k']].map(labelOf)).toEqual(['Prompts per step', 'KL coefficient', 'Top-k', 'Pass@k for k'])
  })
})

describe('a control', () => {
  it('reads numbers in the ways they are written, and leaves what is none for the schema to refuse', () => {
    const read = (text: string, nullable = false): unknown => readControl({ kind: 'number' }, nullable, text)
    expect([read('1e-3'), read(' 5 '), read('0,5'), read('−2'), read('many'), read(''), read('', true)]).toEqual([0.001, 5, 0.5, -2, 'many', '', null])
  })

  it('reads lists and structures, and writes back what it reads', () => {
    expect(readControl({ kind: 'list' }, false, '1, 2 4')).toEqual([1, 2, 4])
    expect(readControl({ kind: 'json' }, true, '{"from":1}')).toEqual({ from: 1 })
    expect(writeControl({ kind: 'list' }, [1, 2])).toBe('1, 2')
    expect(writeControl({ kind: 'json' }, { from: 1 })).toBe('{"from":1}')
    expect(writeControl({ kind: 'number' }, null)).toBe('')
  })
})

describe('the arithmetic', () => {
  const words = (draft: Draft, rows?: number): ReturnType<typeof batchWords> => batchWords(checkDraft({ ...enough, ...draft }).complete, rows)

  it('says what a step samples, how it updates and how long all of it is', () => {
    const { lines, problems } = words({ rollout: { promptsPerStep: 4, groupSize: 8, maxNewTokens: 100, slots: 16 }, training: { steps: 10, miniBatches: 2, epochs: 2, microBatchTokens: 400 }, evaluation: { every: 5, prompts: 20, samples: 2 } }, 80)
    expect(lines).toEqual([
      'A step samples 4 prompts × 8 = 32 completions of up to 100 tokens, 16 side by side.',
      'It makes 4 updates of 16 completions, each in at most 4 passes of 400 tokens.',
      '10 steps sample 320 completions, at most 32\u202f000 tokens. Each of the 80 prompts is seen about 0.5 times.',
      '3 evaluations of 20 × 2 = 40 held-out completions.',
    ])
    expect(problems).toEqual([])
  })

  it('refuses what cannot be divided, with a suggestion', () => {
    const { problems } = words({ rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 500 }, training: { miniBatches: 3, microBatchTokens: 400 }, evaluation: { samples: 1, k: [1, 4] } })
    expect(problems).toEqual([expect.stringMatching(/miniBatches to 2 or less/), expect.stringMatching(/microBatchTokens to 500 or more/), expect.stringMatching(/evaluation.samples to 4/)])
  })
})

describe('what was measured of the longest case', () => {
  it('is told with the prompts it was made for', () => {
    expect(planLength({ promptTokens: 61, promptsRead: true })).toBe('For the longest of its prompts, 61 tokens.')
    expect(planLength({ promptTokens: 256, promptsRead: false })).toMatch(/^For prompts of up to 256 tokens, until/)
  })

  const measured = { rollouts: 64, promptTokens: 90, newTokens: 160, seconds: { load: 3, generate: 20, update: 10, step: 30 }, updates: 1, peakBytes: 2 * 2 ** 30, plannedBytes: 3 * 2 ** 30, memoryBytes: 16 * 2 ** 30 }
  it('stands beside the plan, which is told to be wrong where it is', () => {
    expect(dryRunWords(measured, 80)).toEqual([
      'Memory: 2.0 GiB at most, planned 3.0 GiB (50 % too high).',
      'A step: 30.0 s at most, 20.0 s of it writing, 10.0 s updating; scoring comes beside it. 80 steps: at most 40 minutes.',
      '64 completions of 160 tokens after 90 of prompt. Nothing was kept.',
    ])
    expect(dryRunWords({ ...measured, plannedBytes: 2.2 * 2 ** 30 }, 80)[0]).toBe('Memory: 2.0 GiB at most, planned 2.2 GiB.')
    expect(dryRunWords({ ...measured, plannedBytes: null }, 80)[0]).toBe('Memory: 2.0 GiB at most.')
  })
})

describe('prompts from the page of datasets', () => {
  it('bring the recipe they are made for, unless the person has said another', () => {
    rememberedSetup.change({})
    rememberedSetup.takePrompts('/sums.jsonl', 'maths')
    expect(rememberedSetup.draft).toEqual({ data: { prompts: '/sums.jsonl' }, reward: { recipe: 'maths' } })
    rememberedSetup.takePrompts('/functions.jsonl', 'code')
    expect(rememberedSetup.draft).toEqual({ data: { prompts: '/functions.jsonl' }, reward: { recipe: 'code' } })
    rememberedSetup.change({ reward: { recipe: 'custom', file: '/mine.ts' } })
    rememberedSetup.takePrompts('/sums.jsonl', 'maths')
    expect(rememberedSetup.draft).toMatchObject({ reward: { recipe: 'custom', file: '/mine.ts' } })
  })
})

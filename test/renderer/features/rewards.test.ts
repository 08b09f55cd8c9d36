// The Rewards page below its markup: compositions, words, scores that follow what is composed.
import { describe, expect, it } from 'vitest'
import type { RewardReport, RewardSample, ScoredSample } from '../../../src-main/contract/calls/rewards.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import type { FormNode } from '../../../src-main/contract/form.ts'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import { cheatLadder, paintedSample, sourceRows, summaryWords, tokenRewardFacts, verdictWords } from '../../../src-renderer/features/rewards/bench-words.ts'
import { checkComposition, compositionOf, formGroups, isSource, recipes, scoredReward, weightWords } from '../../../src-renderer/features/rewards/composition.ts'
import { createLiveScore } from '../../../src-renderer/features/rewards/live-score.svelte.ts'
import { pastedSample } from '../../../src-renderer/features/rewards/pasted-sample.ts'
import { replayCharts, replaySentence } from '../../../src-renderer/features/rewards/replay-words.ts'
import { createSamples } from '../../../src-renderer/features/rewards/samples.svelte.ts'
import { unknown } from '../../../src-renderer/state/number-format.ts'

const sample: RewardSample = { id: '1 a', name: 'the reference', prompt: 'Sum?', completion: 'one two', row: { answer: '3' }, tokens: null }
const scored: ScoredSample = {
  id: '1 a', global: 1.5, outcome: 1, stages: { parse: true, types: true, bundle: true, render: false }, requirementScore: 0, audit: { passed: true, failures: [] },
  sources: [{ source: 'answer', global: 1, part: 1.5, milliseconds: 2 }], spans: [{ start: 4, end: 7, value: -1, source: 'steps', message: 'wrong' }],
  starts: [0, 3], ends: [3, 7], tokenRewards: [1.5, -0.5], localBySource: { steps: [0, -1] },
}
const report: RewardReport = {
  completions: 4, groups: 2, flatGroups: 0.5, outcomeMean: 0, passed: 0.25, hackRate: 1, overturned: 0, scorings: 1, warnings: ['careful'],
  cheats: [{ name: 'nothing at all', reward: -2 }, { name: 'junk', reward: 0.5 }], honest: { name: 'the last step wrong', reward: 0 },
  sources: [{ source: 'answer', mean: 0.25, spreadInside: 0.4, spreadBetween: 0, boundHits: 0, sparsity: 1, noisy: 0, outcomeCorrelation: null, milliseconds: 2, failures: 0 }],
}

function fieldsOf(nodes: readonly FormNode[]): string[] {
  return nodes.flatMap((node) => (node.kind === 'field' ? [node.path.join('.')] : node.kind === 'block' ? fieldsOf(node.children) : [...new Set(node.options.flatMap(({ children }) => fieldsOf(children)))]))
}

describe('a composition', () => {
  it.each(recipes)('of %s shows every field of its recipe once, but for the file of a function', (recipe) => {
    const shown = formGroups(recipe).flatMap(({ nodes }) => fieldsOf(nodes))
    expect(new Set(shown).size).toBe(shown.length)
    expect(shown).toContain('reward.windowLines')
    expect(shown).not.toContain('reward.file')
    expect(formGroups(recipe).find(({ name }) => name === 'sources')?.nodes.length).toBeGreaterThan(0)
  })

  it('is checked as the engine checks it, and what a run needs besides is no problem', () => {
    expect(checkComposition(compositionOf({ recipe: 'react' })).ready).toBe(true)
    expect(checkComposition(compositionOf({ recipe: 'custom' })).ready).toBe(true)
    const wrong = checkComposition(compositionOf({ recipe: 'maths', localBound: -1, answer: { globalWeight: 'much' } }))
    expect([...wrong.problems.keys()].sort()).toEqual(['reward.answer.globalWeight', 'reward.localBound'])
    expect(wrong.ready).toBe(false)
  })

  it('is scored without its file, because the function goes along as text', () => {
    expect(scoredReward(compositionOf({ recipe: 'custom', file: '/a.ts', passAt: 2 }))).toEqual({ recipe: 'custom', passAt: 2 })
  })

  it('says of a source what it weighs, or that it is off', () => {
    const blocks = formGroups('code').flatMap(({ nodes }) => nodes.filter(isSource))
    const compiler = blocks.find(({ path }) => path.at(-1) === 'compiler')
    if (compiler === undefined) throw new Error('code has no compiler')
    expect(weightWords(compiler, checkComposition(compositionOf({ recipe: 'code', compiler: { globalWeight: -2 } })).complete)).toBe('G \u22122 · S 1')
    expect(weightWords(compiler, checkComposition(compositionOf({ recipe: 'code', compiler: { enabled: false } })).complete)).toBe('off')
  })
})

describe('the words of the bench', () => {
  it('name the gate a completion stopped at as its recipe calls it', () => {
    expect(verdictWords('maths', scored)).toBe('fails at: it is right')
    expect(verdictWords('code', { stages: { ...scored.stages, render: true } })).toBe('passes every case')
  })

  it('paint all together or one source, with its own flags', () => {
    expect(paintedSample(sample, scored, { by: 'total' })).toMatchObject({ tokenRewards: [1.5, -0.5], spans: [{ source: 'steps' }] })
    expect(paintedSample(sample, scored, { by: 'source', source: 'steps' }).tokenRewards).toEqual([0, -1])
    expect(paintedSample(sample, scored, { by: 'source', source: 'answer' })).toMatchObject({ tokenRewards: [0, 0], spans: [] })
  })

  it('tell a word every number it has', () => {
    expect(tokenRewardFacts(paintedSample(sample, scored, { by: 'total' }), scored, 1, false)).toEqual([
      { label: 'Word', value: '2 of 2' }, { label: 'Text', value: '·two', written: true }, { label: 'Reward', value: '\u22120.500' }, { label: 'steps', value: '\u22121.000' },
    ])
  })

  it('leave repeatability open until everything was scored again', () => {
    expect(sourceRows(report)[0]?.cells[5]).toBe(unknown)
    expect(sourceRows({ ...report, scorings: 3 })[0]?.cells[5]).toBe('0\u202f%')
  })

  it('put cheats and honesty on one ladder, and mark the cheat that pays more', () => {
    expect(cheatLadder(report).map(({ name, kind }) => [name, kind])).toEqual([['junk', 'better'], ['the last step wrong', 'honest'], ['nothing at all', 'cheat']])
    expect(summaryWords(report).replaceAll('\u202f', ' ')).toBe('4 completions of 2 prompts: 25 % pass, 100 % of these fail the audit, 50 % of the groups flat')
  })
})

describe('a pasted completion', () => {
  it('is a sample with the fields of its row', () => {
    expect(pastedSample({ prompt: 'Sum?', completion: '3', fields: '{"answer": "3"}' }, 2)).toEqual({ sample: { id: 'pasted 3', name: 'pasted 3', prompt: 'Sum?', completion: '3', row: { answer: '3' }, tokens: null } })
  })
  it.each([['', '', /prompt/], ['Sum?', 'no json', /JSON/], ['Sum?', '[1]', /JSON/]] as const)('without a prompt or with other fields says what is missing (%j, %j)', (prompt, fields, expected) => {
    const made = pastedSample({ prompt, completion: '', fields }, 0)
    expect('problem' in made ? made.problem : '').toMatch(expected)
  })
})

describe('a replay', () => {
  const side = { reward: 1, rootMeanSquare: 1, flatGroups: 0.5 }
  const step = { step: 1, rollouts: 4, before: side, after: { ...side, flatGroups: 0 }, change: 0.2, correlation: 1, flippedTokens: 0.25, flippedRollouts: 0 }
  it('says in a sentence what would have been different', () => {
    expect(replaySentence([step]).replaceAll('\u202f', ' ')).toBe('In 1 step, 25 % of the tokens and 0 % of the rollouts would have been pushed the other way; 50 % of the groups were flat, 0 % would have been.')
    expect(replaySentence([{ ...step, change: 0 }])).toMatch(/Nothing would have been different/)
  })
  it('draws both sides of every curve', () => {
    expect(replayCharts([step]).find(({ id }) => id === 'replayed-flat')?.series.map(({ points }) => points)).toEqual([[{ x: 1, y: 50 }], [{ x: 1, y: 0 }]])
  })
})

describe('live scores', () => {
  const settle = (milliseconds = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
  const answer = { scored: [scored], report }
  const question = (weight: number) => ({ reward: { recipe: 'maths', globalWeight: weight }, code: null, samples: [sample] })

  it('ask for the newest composition alone, and not twice for the same', async () => {
    const bridge = createBridgeDouble({ 'rewards.score': () => answer })
    const live = createLiveScore(bridge, 5)
    for (const weight of [1, 2, 3]) live.follow(question(weight))
    await settle()
    live.follow(question(3))
    await settle()
    expect(bridge.made.map(({ request }) => request)).toMatchObject([{ reward: { globalWeight: 3 }, scorings: 1 }])
    expect(live.current).toBe(true)
    expect(live.answer?.scored[0]?.global).toBe(1.5)
  })

  it('end what is on its way when something newer is composed; the old answer stays until then', async () => {
    let stop: (() => void) | undefined
    let slow = false
    const bridge = createBridgeDouble({
      'rewards.score': async () => {
        if (!slow) return answer
        slow = false
        await new Promise<void>((resolve) => (stop = resolve))
        throw new UserError({ code: 'stopped', what: 'stopped' })
      },
      'tasks.cancel': () => {
        stop?.()
        return {}
      },
    })
    const live = createLiveScore(bridge, 1)
    live.follow(question(1))
    await settle()
    slow = true
    live.follow(question(2))
    await settle()
    expect([live.current, live.answer === null, live.task.running]).toEqual([false, false, true])
    live.follow(question(3))
    await settle(60)
    expect([live.current, live.problem]).toEqual([true, null])
    expect(bridge.made.filter(({ name }) => name === 'rewards.score').map(({ request }) => request)).toMatchObject([1, 2, 3].map((globalWeight) => ({ reward: { globalWeight } })))
  })

  it('say why there are none', async () => {
    const live = createLiveScore(createBridgeDouble({
      'rewards.score': () => {
        throw new UserError({ code: 'bad-input', what: 'the row has no answer' })
      },
    }), 1)
    live.follow(question(1))
    await settle()
    expect(live.problem?.what).toBe('the row has no answer')
    live.follow(question(2))
    expect(live.problem).toBeNull()
  })

  it('are asked several times over on demand', async () => {
    const bridge = createBridgeDouble({ 'rewards.score': () => answer })
    const live = createLiveScore(bridge, 1)
    live.follow(question(1))
    await settle()
    live.repeat(3)
    await settle()
    expect(bridge.made.at(-1)?.request).toMatchObject({ scorings: 3, reward: { globalWeight: 1 } })
  })
})

describe('samples', () => {
  it('of another recipe replace those before at once, and count what held nothing', async () => {
    const samples = createSamples(createBridgeDouble({ 'rewards.samples': ({ recipe }) => ({ samples: [{ ...sample, id: recipe }], skipped: 2, note: '' }) }))
    await samples.read('maths', { kind: 'built-in' })
    expect([samples.current[0]?.id, samples.note]).toEqual(['maths', '2 rows hold nothing to score.'])
    const reading = samples.read('code', { kind: 'built-in' })
    expect(samples.current).toEqual([])
    await reading
    expect(samples.current[0]?.id).toBe('code')
  })
})

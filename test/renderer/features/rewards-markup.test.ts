// What the parts of the Rewards page say; rendered to markup.
import { render } from 'svelte/server'
import { describe, expect, it } from 'vitest'
import type { RewardReport, RewardSample, ScoredSample } from '../../../src-main/contract/calls/rewards.ts'
import type { FormNode } from '../../../src-main/contract/form.ts'
import Composer from '../../../src-renderer/features/rewards/composer.svelte'
import { checkComposition, compositionOf, formGroups, recipes } from '../../../src-renderer/features/rewards/composition.ts'
import SampleDetail from '../../../src-renderer/features/rewards/sample-detail.svelte'
import SampleList from '../../../src-renderer/features/rewards/sample-list.svelte'
import SourceTable from '../../../src-renderer/features/rewards/source-table.svelte'

const nothing = (): undefined => undefined

/** The visible text of a component, runs of spaces as one. */
function textOf(body: string): string {
  return body.replace(/<!--.*?-->/g, '').replace(/<[^>]+>/g, ' ').replaceAll('\u202f', ' ').replaceAll('&amp;', '&').replace(/\s+/g, ' ')
}

function compose(reward: Record<string, unknown>): string {
  const draft = compositionOf(reward)
  const recipe = recipes.find((one) => one === reward['recipe']) ?? 'react'
  return render(Composer, { props: { recipe, draft, checked: checkComposition(draft), onset: nothing, onreset: nothing, onvariant: nothing, onchoosemodel: nothing } }).body
}

function helps(nodes: readonly FormNode[]): string[] {
  return nodes.flatMap((node) => (node.kind === 'field' ? [node.meta.help] : node.kind === 'block' ? helps(node.children) : []))
}

describe('the composer', () => {
  it.each(recipes)('of %s shows every field with its sentence', (recipe) => {
    const text = textOf(compose({ recipe })).replaceAll('&#39;', "'")
    for (const help of helps(formGroups(recipe).flatMap(({ nodes }) => nodes))) expect(text).toContain(help)
    expect(text).toMatch(/w_s: weight of the local signal S_t in a token reward\. default 0\.5 factor · [\w, -]+ factor/)
  })

  it('opens a source that holds a mistake, and says what is wrong at the field', () => {
    const body = compose({ recipe: 'react', linter: { globalWeight: 1_000 } })
    expect(body).toMatch(/<details[^>]* open[^>]*>(?:(?!<\/details>)[\s\S])*Linter[\s\S]*reward\.linter\.globalWeight-problem/)
    expect(textOf(body)).toContain('Must be 100 or less.')
  })

  it('shows a schedule as four numbers, and leaves them out where weights stay', () => {
    expect(textOf(compose({ recipe: 'react' }))).not.toContain('factor before')
    const body = compose({ recipe: 'react', linter: { schedule: { from: 0.25, to: 1, startStep: 1, endStep: 40 } } })
    expect(textOf(body)).toContain('factor before')
    expect(body).toMatch(/value="0\.25"/)
  })
})

const sample: RewardSample = { id: '1', name: 'the reference', prompt: 'Sum?', completion: '1 + 1 = 3', row: {}, tokens: null }
const scored: ScoredSample = {
  id: '1', global: -1.25, outcome: 0, stages: { parse: true, types: true, bundle: true, render: false }, requirementScore: 0, audit: { passed: false, failures: ['a guess'] },
  sources: [{ source: 'answer', global: 0, part: -1.25, milliseconds: 1 }, { source: 'steps', global: 0, part: 0, milliseconds: 1, failure: 'ran out of time' }],
  spans: [{ start: 8, end: 9, value: -1, source: 'steps', message: '1 + 1 is 2' }], starts: [0, 1, 3, 5, 7], ends: [1, 3, 5, 7, 9], tokenRewards: [-1, -1, -1, -1, -1.5], localBySource: { steps: [0, 0, 0, 0, -1] },
}
const report: RewardReport = {
  completions: 1, groups: 1, flatGroups: 0, outcomeMean: 0, passed: 0, hackRate: 0, overturned: 0, scorings: 1, warnings: ['The source steps is noisy.'],
  cheats: [{ name: 'many guesses', reward: 1 }], honest: { name: 'the last step wrong', reward: 0 },
  sources: [{ source: 'steps', mean: 0.5, spreadInside: 0.25, spreadBetween: 0, boundHits: 0.1, sparsity: 0.5, noisy: 0.5, outcomeCorrelation: 0.5, milliseconds: 3, failures: 0 }],
}

describe('the bench', () => {
  it('lists what each sample is worth and how far it came', () => {
    const { body } = render(SampleList, { props: { recipe: 'maths', samples: [sample], scored: new Map([['1', scored]]), chosen: '1', onchoose: nothing } })
    expect(textOf(body)).toMatch(/Sum\? the reference \u22121\.25 fails at: it is right · fails the audit/)
  })

  it('shows a sample by source, its failures, its flagged lines, and every word with its numbers', () => {
    const { body } = render(SampleDetail, { props: { sample, scored, stale: false } })
    const text = textOf(body)
    expect(text).toMatch(/G \u22121\.250 answer \u22121\.250 steps failed fails the audit: a guess steps: ran out of time/)
    expect(text).toMatch(/steps \u22121\.00 1 \+ 1 is 2 column 9/)
    expect(body).toContain('aria-label="Word 5 of 5, Text ·3, Reward \u22121.500, steps \u22121.000"')
  })

  it('says what would go wrong, what is not known yet, and which cheat pays', () => {
    const text = textOf(render(SourceTable, { props: { report, busy: false, stale: false, onrepeat: nothing } }).body)
    expect(text).toContain('The source steps is noisy.')
    expect(text).toMatch(/steps 0\.5 0\.25 0 10 % 50 % \u2013 0\.5 3 ms 0 %/)
    expect(text).toContain('nothing is known of repeatability yet')
    expect(text).toMatch(/many guesses \+1\.000 the last step wrong \(an honest attempt that failed\) 0\.000/)
  })
})

import { describe, expect, it } from 'vitest'
import { computeAdvantages } from '../../src-main/engine-host/cli-advantages.ts'

const paper = { estimator: 'bot-grpo', epsilon: 0, flatGroups: 'keep', sigmaFloor: 0.3, flatTolerance: 1e-9 } as const

interface Answer {
  readonly advantages: number[][]
  readonly stats: { readonly mu: number; readonly sigma: number; readonly kept: number; readonly dropped: number; readonly flat: boolean; readonly fates: string[] }
}

function advantages(options: Parameters<typeof computeAdvantages>[0], group: object): Answer {
  return computeAdvantages(options, JSON.stringify(group)).json as Answer
}

describe('satchel advantages', () => {
  it('gives the golden values of the paper\'s formula', () => {
    // mu = 5/12, sigma^2 = 53/144, computed by hand from [[1],[0.5,0],[1,0,-1,0]] with each rollout weighing the same.
    const { advantages: rows, stats } = advantages(paper, { rewards: [[1], [0.5, 0], [1, 0, -1, 0]] })
    const expected = [[0.961523948], [0.137360564, -0.68680282], [0.961523948, -0.68680282, -2.335129587, -0.68680282]]
    expect(rows.map((row) => row.length)).toEqual([1, 2, 4])
    rows.forEach((row, k) => row.forEach((value, t) => expect(value).toBeCloseTo(expected[k]![t]!, 8)))
    expect(stats.mu).toBeCloseTo(5 / 12, 12)
    expect(stats.sigma ** 2).toBeCloseTo(53 / 144, 12)
  })

  it('takes one number a rollout, which makes both estimators one', () => {
    // Mean 1/3 and population deviation sqrt(2)/3 of [1, 0, 0].
    const group = { rewards: [1, 0, 0] }
    const bot = advantages(paper, group).advantages
    expect(bot[0]![0]).toBeCloseTo(Math.SQRT2, 12)
    expect(bot[1]![0]).toBeCloseTo(-Math.SQRT1_2, 12)
    expect(advantages({ ...paper, estimator: 'grpo' }, group).advantages).toEqual(bot)
  })

  it('drops a rollout whose reward is not finite, written as null', () => {
    const { advantages: rows, stats } = advantages(paper, { rewards: [[1], [null], [0]] })
    expect(rows).toEqual([[1], [0], [-1]])
    expect(stats).toMatchObject({ kept: 2, dropped: 1, fates: ['taught', 'dropped', 'taught'] })
  })

  it('obeys outcomes, truncation and the options of the estimator', () => {
    const group = { rewards: [[0.1], [-0.1]], outcomes: [0, 0] }
    expect(advantages(paper, group).stats.flat).toBe(true)
    expect(advantages({ ...paper, flatGroups: 'skip' }, group).advantages).toEqual([[0], [0]])
    expect(advantages({ ...paper, flatGroups: 'mean-only' }, group).advantages).toEqual([[0.1], [-0.1]])
    expect(advantages({ ...paper, clip: 0.5 }, group).advantages).toEqual([[0.5], [-0.5]])
    expect(advantages({ ...paper, maskTruncated: true }, { ...group, truncated: [true, false] }).advantages[0]).toEqual([0])
  })

  it.each([
    ['rewards', { rewards: [] }],
    ['rewards.0', { rewards: ['high'] }],
    ['outcomes', { rewards: [1, 2], outcomes: [1] }],
    ['', { rewards: [1], colour: 'red' }],
  ])('refuses a wrong %s', (field, group) => {
    expect(() => advantages(paper, group)).toThrow(field === '' ? 'stdin' : `stdin, ${field}`)
  })
})

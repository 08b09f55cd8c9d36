// A blind comparison of two runs: pairs of completions of the same prompt, their sides in ABBA order so that neither side is favoured, and a
// tally that is shown when the person is done. Pure.

export interface Sample {
  readonly promptId: string
  readonly prompt: string
  readonly text: string
}

export interface BlindPair {
  readonly prompt: string
  readonly left: string
  readonly right: string
  /** Which run stands on the left. */
  readonly leftIs: 'a' | 'b'
}

/** The first sample of each prompt that all have answered, in the order of the first. */
export function sharedPrompts<Shown extends Pick<Sample, 'promptId'>>(columns: readonly (readonly Shown[])[]): Shown[] {
  const [first = [], ...others] = columns
  return first.filter(({ promptId }, index) => first.findIndex((other) => other.promptId === promptId) === index && others.every((column) => column.some((other) => other.promptId === promptId)))
}

/** Pairs of the prompts both runs have answered, in ABBA order: a left, b left, b left, a left, and so on. */
export function blindPairs(a: readonly Sample[], b: readonly Sample[]): BlindPair[] {
  const order = ['a', 'b', 'b', 'a'] as const
  const shared = sharedPrompts([a, b]).flatMap((one) => {
    const other = b.find(({ promptId }) => promptId === one.promptId)
    return other === undefined ? [] : [{ prompt: one.prompt, a: one.text, b: other.text }]
  })
  return shared.map((pair, index): BlindPair => {
    const leftIs = order[index % order.length] as 'a' | 'b'
    return { prompt: pair.prompt, left: pair[leftIs], right: pair[leftIs === 'a' ? 'b' : 'a'], leftIs }
  })
}

export type Vote = 'left' | 'right' | 'none'

export interface Tally {
  readonly a: number
  readonly b: number
  readonly none: number
  /** How often the left side was preferred: far from half of the decided votes, the person has a side. */
  readonly left: number
}

export function tally(pairs: readonly BlindPair[], votes: readonly Vote[]): Tally {
  const counts = { a: 0, b: 0, none: 0, left: 0 }
  for (const [index, vote] of votes.entries()) {
    const pair = pairs[index]
    if (pair === undefined) continue
    if (vote === 'none') counts.none += 1
    else {
      const right = pair.leftIs === 'a' ? 'b' : 'a'
      counts[vote === 'left' ? pair.leftIs : right] += 1
      if (vote === 'left') counts.left += 1
    }
  }
  return counts
}

/** Chance of a split at least this uneven when neither is better: two-sided binomial test over the decided votes. */
export function chanceOf({ a, b }: Pick<Tally, 'a' | 'b'>): number {
  const n = a + b
  if (n === 0) return 1
  let term = 0.5 ** n
  let sum = 0
  const least = Math.min(a, b)
  for (let k = 0; k <= least; k += 1) {
    sum += term
    term *= (n - k) / (k + 1)
  }
  return Math.min(1, 2 * sum)
}

// An example: a completion should mention every word of `data.words` once, and use no exclamation marks.
import type { RewardFunction } from 'satchel'

const score: RewardFunction = ({ completion, row }) => {
  const words = Array.isArray(row.data?.['words']) ? row.data['words'].map(String) : []
  const counts = words.map((word) => completion.split(word).length - 1)
  const found = counts.filter((count) => count > 0).length
  const spans = [...completion.matchAll(/!+/g)].map(({ index, 0: marks }) => ({ start: index, end: index + marks.length, value: -1, message: 'an exclamation mark' }))
  return {
    global: words.length === 0 ? 0 : found / words.length,
    spans,
    audit: counts.some((count) => count > 3) ? ['repetition'] : [],
  }
}

export default score

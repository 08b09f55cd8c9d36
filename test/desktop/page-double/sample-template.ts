/** What the app gives a person to begin a reward function with, shortened. */
export const templateText = `import type { RewardFunction } from 'satchel'

/** Short answers that name the number are worth more. */
const score: RewardFunction = ({ completion, row }) => {
  const named = completion.includes(String(row.data))
  return { global: named ? 1 - completion.length / 1000 : -1, passed: named }
}
export default score
`

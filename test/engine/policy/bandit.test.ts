// Every method with its own loss on the smallest task there is: a policy of four logits writes three tokens, one of the four is rewarded.
// Advantages, surrogates, clips and aggregations have to work together, in the right direction.
import { expect, it } from 'vitest'
import { estimatorNames } from '../../../src-main/contract/estimator-config.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { groupAdvantages } from '../../../src-main/engine/policy/group-advantages.ts'
import { aggregationWeights, policyLoss } from '../../../src-main/engine/policy/losses.ts'
import { placeRewards } from '../../../src-main/engine/policy/reward-placement.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'

const [actions, length, rollouts, rewarded] = [4, 3, 16, 2]

function softmax(logits: readonly number[]): number[] {
  const weights = logits.map(Math.exp)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

it.each(estimatorNames)('%s makes what is rewarded more likely, over several updates a batch', (name) => {
  const { estimator, loss } = runConfigSchema.parse({ model: 'm', data: { prompts: 'p' }, estimator: { name }, loss: { constantLength: length } })
  const stream = createStream(1, 'bandit', estimatorNames.indexOf(name))
  const logits = new Array<number>(actions).fill(0)
  for (let step = 0; step < 60; step++) {
    const probabilities = softmax(logits)
    const draw = (): number => {
      let left = stream.uniform()
      return probabilities.findIndex((probability, action) => (left -= probability) < 0 || action === actions - 1)
    }
    const taken = Array.from({ length: rollouts }, () => Array.from({ length }, draw))
    const placed = taken.map((tokens) => {
      const score = tokens.filter((action) => action === rewarded).length / length
      return placeRewards(estimator, { tokenRewards: Float64Array.from(tokens, (action) => Number(action === rewarded)), score, lineEnds: new Uint8Array(length).fill(1) })
    })
    const group = { tokenRewards: placed.map(({ rewards }) => rewards), scores: placed.map(({ score }) => score), outcomes: placed.map(({ score }) => score), truncated: taken.map(() => false) }
    const advantages = groupAdvantages(estimator, [group]).advantages.flat().flatMap((own) => [...own])
    const flat = taken.flat()
    const old = flat.map((action) => Math.log(probabilities[action]!))
    for (let update = 0; update < 3; update++) {
      const now = softmax(logits)
      const lengths = new Array<number>(rollouts).fill(length)
      const { derivatives } = policyLoss(loss, { lengths, weights: aggregationWeights(loss, lengths), logProbabilities: flat.map((action) => Math.log(now[action]!)), oldLogProbabilities: old, advantages })
      // d log p(a) / d logit_i = [a = i] - p_i, at a step of 1.
      flat.forEach((action, t) => logits.forEach((_, i) => (logits[i]! -= derivatives[t]! * (Number(action === i) - now[i]!))))
    }
  }
  expect(softmax(logits)[rewarded]).toBeGreaterThan(0.8)
})

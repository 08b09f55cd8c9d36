// Mistakes that a parse error hides are flagged all the same, and change nothing but the lines.
import { beforeAll, expect, test } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import type { ScoredCompletion } from '../../../src-main/contract/rewards.ts'
import { createRewardPool } from '../../../src-main/engine/rewards/reward-pool.ts'
import { buildForTests } from '../../support/build-entries.ts'

const hidden = `import { useState } from 'react';

export default function App() {
  const [count, setCount] = useState(0;
  return (
    <main>
      <h1>Tickets</h1>
      <p>{coutn}</p>
    </main>
  );
}
`

async function score(checkBroken: boolean, text: string): Promise<ScoredCompletion> {
  const pool = createRewardPool({ workers: 1, config: rewardConfig({ checkBroken }) })
  try {
    const [scored] = await pool.score([{ id: 'one', row: { id: 'one', prompt: '' }, text }])
    return scored!
  } finally {
    pool.dispose()
  }
}

const flaggedLines = ({ spans }: ScoredCompletion, text: string): number[] => [...new Set(spans.filter(({ source, value }) => source === 'compiler' && value !== 0).map(({ start }) => text.slice(0, start).split('\n').length))]

beforeAll(buildForTests, 300_000)

test('a misspelt name beside a lost bracket is flagged; the outcome stays that of a program that does not parse', async () => {
  const [without, thorough] = [await score(false, hidden), await score(true, hidden)]
  expect(flaggedLines(without, hidden)).toEqual([4])
  expect(flaggedLines(thorough, hidden)).toEqual([4, 8])
  expect(thorough).toMatchObject({ global: without.global, outcome: without.outcome, stages: without.stages, audit: without.audit })
}, 120_000)

test('a program that parses is judged the same either way', async () => {
  const text = hidden.replace('useState(0;', 'useState(0);')
  const [without, thorough] = [await score(false, text), await score(true, text)]
  expect(flaggedLines(thorough, text)).toEqual([8])
  expect(thorough.spans).toEqual(without.spans)
}, 120_000)

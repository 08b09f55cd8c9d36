// Every hostile program is scored in one batch between honest neighbours: it must be contained, and they must not notice.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewardConfig } from '../../src-main/contract/reward-config.ts'
import type { PromptRow, ScoredCompletion } from '../../src-main/contract/rewards.ts'
import { createRewardPool, type RewardPool } from '../../src-main/engine/rewards/reward-pool.ts'
import { buildForTests } from '../support/build-entries.ts'
import { cheats, endless, escapes, greedy, tampering, unreadable, type HostileProgram } from './hostile-programs.ts'

const honest = (name: string): string => `import { useState } from 'react';
export default function App() {
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>${name}</h1>
      <p>{count}</p>
      <button onClick={() => setCount(count + 1)}>Add</button>
    </main>
  );
}
`

const honestRow = (name: string): PromptRow => ({
  id: name,
  prompt: name,
  requirements: [
    { kind: 'role', role: 'heading', name },
    { kind: 'after-click', role: 'button', name: 'Add', times: 2, text: '2' },
  ],
})

const hostileRow: PromptRow = { id: 'hostile', prompt: '', requirements: [{ kind: 'text', text: 'ESCAPED' }] }

/** Scores hostile and honest programs in turn, all in one batch of one worker. */
async function scoreAmongNeighbours(pool: RewardPool, programs: readonly HostileProgram[]): Promise<{ hostile: ScoredCompletion[]; neighbours: ScoredCompletion[] }> {
  const items = programs.flatMap((program, index) => [
    { id: program.name, row: hostileRow, text: program.code },
    { id: `honest ${index}`, row: honestRow(`Neighbour ${index}`), text: honest(`Neighbour ${index}`) },
  ])
  const scored = await pool.score(items)
  return { hostile: scored.filter((_, index) => index % 2 === 0), neighbours: scored.filter((_, index) => index % 2 === 1) }
}

function expectContained(program: HostileProgram, scored: ScoredCompletion): void {
  expect(scored.requirementScore, `${program.name} showed ESCAPED`).toBe(0)
  if (program.expect === 'failed') expect(scored.stages.render, program.name).toBe(false)
}

describe.each([
  ['sandbox alone (type check off)', false, { escapes, tampering, endless, greedy, unreadable }],
  ['all gates', true, { cheats }],
] as const)('hostile completions: %s', (_title, typeCheck, groups) => {
  let pool: RewardPool
  beforeAll(async () => {
    await buildForTests()
    pool = createRewardPool({ workers: 1, config: rewardConfig({ typeCheck, limits: { scriptMilliseconds: 1_000, itemSeconds: 30 } }) })
    await pool.warmUp()
  }, 300_000)
  afterAll(() => pool.dispose())

  test('a program that did find a way out would be noticed', async () => {
    const [scored] = await pool.score([{ id: 'control', row: hostileRow, text: 'export default function App() { return <p>ESCAPED</p> }' }])
    expect(scored?.requirementScore).toBe(1)
  })

  describe.each(Object.entries(groups))('%s', (_group, programs) => {
    let scored: { hostile: ScoredCompletion[]; neighbours: ScoredCompletion[] }
    beforeAll(async () => {
      scored = await scoreAmongNeighbours(pool, programs)
    }, 300_000)

    test.each(programs.map((program, index) => [program.name, program, index] as const))('%s', (_name, program, index) => {
      expectContained(program, scored.hostile[index]!)
    })

    test('no neighbour notices', () => {
      for (const [index, neighbour] of scored.neighbours.entries()) {
        expect(neighbour.stages, `neighbour of ${programs[index]!.name}`).toEqual({ parse: true, types: true, bundle: true, render: true })
        expect(neighbour.requirementScore, `neighbour of ${programs[index]!.name}`).toBe(1)
      }
    })
  })
})

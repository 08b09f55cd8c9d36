// satchel judge against a server that says what a test wants.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { buildEntry } from '../support/build.ts'
import { run } from '../support/cli.ts'
import type { Ended } from '../support/cli.ts'
import { startJudgeServer, type JudgeServer, type Reply } from '../support/judge-server.ts'

let cli = ''
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-judge-'))
  cli = await buildEntry('src-main/engine-host/cli.ts')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let server: JudgeServer | undefined
afterEach(() => server?.close())

async function judged(replies: readonly Reply[], ...options: string[]): Promise<Ended> {
  server = await startJudgeServer({ models: ['grader'], reply: (_question, index) => replies[index] ?? 'no more' })
  return run(cli, ['judge', '--url', server.url, ...options], { cwd: folder })
}

interface Tried {
  readonly ok: boolean
  readonly trials: readonly { readonly source: string; readonly model: string; readonly global: number; readonly spans: readonly unknown[]; readonly failure?: string; readonly answers: readonly { readonly text: string }[] }[]
}

describe('satchel judge', () => {
  it('shows who answered, every answer, and what was understood of it', async () => {
    const ended = await judged(['Good.\nSCORE: 8', 'LINE 2: -2 no label'])
    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/codeJudge: grader answered\n {2}answer 1, \d+\.\d s: Good\. SCORE: 8\n {2}answer 2, \d+\.\d s: LINE 2: -2 no label\n {2}understood: 0\.80 for the whole\n {2}\[\d+, \d+\) -0\.20 judge: no label/)
    expect(server?.questions[0]?.messages.at(-1)?.content).toContain('export default function App')
  })

  it('says what was not understood, with what was written', async () => {
    const ended = await judged(['What a lovely page.'], '--json')
    expect(ended.code).toBe(5)
    expect(ended.json<Tried>()).toMatchObject({ ok: false, trials: [{ source: 'codeJudge', model: 'grader', global: 0, spans: [], answers: [{ text: 'What a lovely page.' }], failure: expect.stringMatching(/no score could be read from the answer: What a lovely page/) as string }] })
  })

  it('asks about the first answer of a dataset, by the reward of a file', async () => {
    await writeFile(join(folder, 'reward.json'), JSON.stringify({ recipe: 'maths', judge: { kind: 'server' }, stepChecks: { by: 'judge' } }))
    await writeFile(join(folder, 'rows.jsonl'), `${JSON.stringify({ prompt: 'What is 2 + 2?', answer: '4', completion: '<step_1> 2 + 2 = 4 </step_1> <step_2> 4 - 4 = 1 </step_2> <final> 4 </final>' })}\n`)
    const ended = await judged(['STEP 1: right\nSTEP 2: wrong'], '--reward', 'reward.json', '--data', 'rows.jsonl', '--json')
    expect(ended.json<Tried>(), ended.stderr).toMatchObject({ ok: true, trials: [{ source: 'steps', global: 0, spans: [{ value: 1 }, { value: -1 }] }] })
  })

  it('refuses a reward without a judge, a server that is not there, and an address that is none', async () => {
    const free = await startJudgeServer({ reply: () => '' })
    await free.close()
    for (const [options, code, message] of [
      [['--reward', 'react'], 3, /asks no judge/],
      [['--url', free.url], 5, /the connection failed.*ECONNREFUSED/],
      [['--url', 'https://example.org/v1'], 3, /lies outside this machine/],
    ] as const) {
      const ended = await run(cli, ['judge', ...options, '--json'], { cwd: folder })
      expect(ended.code).toBe(code)
      expect(ended.json<{ error: ErrorEnvelope }>().error.what).toMatch(message)
    }
  })
})

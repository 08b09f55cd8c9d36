// Whole rewards with judges: the reward processes, a judge behind a stub server or a model of our own in its process, and scores at the end.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rewardConfig, rewardConfigSchema, rewardFiles, withRewardPaths, type RewardConfig } from '../../../../src-main/contract/reward-config.ts'
import { benchReward } from '../../../../src-main/engine/rewards/bench/reward-bench.ts'
import { openRewards } from '../../../../src-main/engine/rewards/judge/open-rewards.ts'
import { scoreRows, type ScoreRow } from '../../../../src-main/engine/rewards/score.ts'
import { resourcePath } from '../../../../src-main/engine/runtime/paths.ts'
import { buildForTests } from '../../../support/build-entries.ts'
import { startJudgeServer, type JudgeServer, type JudgeServerOptions } from '../../../support/judge-server.ts'
import { writeTinyClassifier } from '../../../support/tiny-classifier.ts'

let folder = ''
const opened: JudgeServer[] = []
beforeAll(async () => {
  await buildForTests()
  folder = await mkdtemp(join(tmpdir(), 'satchel-judged-'))
})
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function serve(options: JudgeServerOptions): Promise<JudgeServer> {
  const server = await startJudgeServer(options)
  opened.push(server)
  return server
}

const good = "export default function App() {\n  return <h1>Hello</h1>\n}\n"
const broken = 'export default function App() {\n  return <h1>Hello</h2>\n}\n'
const reactRow = (id: string, completion: string): ScoreRow => ({ id, prompt: 'Say hello.', completion })

describe('a React reward with a judge', () => {
  it('asks about pages that render, keeps what was said beside the run, and asks nothing twice after a restart', async () => {
    const server = await serve({ reply: ({ messages }) => (messages.length > 2 ? 'LINE 2: -2 plain' : 'SCORE: 6') })
    const config = rewardConfig({ judge: { kind: 'server', url: server.url } })
    const judgeFile = join(folder, 'judges.jsonl')
    const items = [reactRow('good', good), reactRow('broken', broken)].map((row) => ({ id: row.id, row, text: row.completion }))
    const scoreAll = async (): Promise<unknown> => {
      const rewards = await openRewards({ config, workers: 1, judgeFile })
      try {
        return (await rewards.score(items)).map(({ global, sources, spans }) => [global, sources.map(({ source, global: own }) => [source, own]), spans.filter(({ source }) => source === 'codeJudge')])
      } finally {
        rewards.dispose()
      }
    }
    const first = await scoreAll()
    expect(server.questions).toHaveLength(2)
    expect(first).toEqual([
      [1.6, [['compiler', 0], ['lint', 0], ['requirements', 1], ['codeJudge', 0.6]], [{ start: good.indexOf('return'), end: good.indexOf('\n}'), value: -0.2, source: 'codeJudge', message: 'judge: plain' }]],
      [-1.5, [['compiler', -1], ['lint', -0.5], ['requirements', 0], ['codeJudge', 0]], []],
    ])
    expect((await readFile(judgeFile, 'utf8')).trim().split('\n')).toHaveLength(1)
    expect(await scoreAll()).toEqual(first)
    expect(server.questions).toHaveLength(2)
  })

  it('counts a judge that hangs as silent and goes on', async () => {
    const server = await serve({ reply: () => () => undefined })
    const config = rewardConfig({ judge: { kind: 'server', url: server.url, timeoutSeconds: 0.3 } })
    const [scored] = await scoreRows([reactRow('good', good)], { config })
    expect(scored?.scored.sources.at(-1)).toMatchObject({ source: 'codeJudge', global: 0, failure: 'no answer within 0.3 s' })
    expect(scored?.scored.stages.render).toBe(true)
  })

  it('begins nothing when the judge cannot be asked', async () => {
    const config = rewardConfig({ judge: { kind: 'server', url: 'http://127.0.0.1:9/v1' } })
    await expect(openRewards({ config, workers: 1 })).rejects.toThrow(/judge's server at http:\/\/127\.0\.0\.1:9\/v1 cannot be used/)
  })
})

describe('a custom reward with a judge', () => {
  it('is called noisy by the bench when the judge answers differently: nothing is remembered between scorings', async () => {
    const file = join(folder, 'own.js')
    await writeFile(file, 'export default () => 1\n')
    const server = await serve({ reply: (_question, index) => `SCORE: ${index % 10}` })
    const config = rewardConfig({ recipe: 'custom', file, judge: { kind: 'server', url: server.url } })
    const report = await benchReward([{ id: 'a', prompt: 'p', completion: 'c' }, { id: 'b', prompt: 'p', completion: 'd' }], { config, workers: 1, scorings: 2 })
    expect(report.sources.map(({ source, noisy }) => [source, noisy])).toEqual([['custom', 0], ['answerJudge', 1]])
    expect(report.warnings).toContainEqual(expect.stringMatching(/source answerJudge is noisy/))
  })

  it('may be judged by a model of our own, which always answers the same', async () => {
    const file = join(folder, 'own.js')
    await writeFile(file, 'export default () => 1\n')
    const model = resourcePath('demo', 'model')
    const config = rewardConfig({ recipe: 'custom', file, judge: { kind: 'model', model, precision: 'fp32', maximumAnswerTokens: 24 } })
    const rows = [{ id: 'a', prompt: 'counter', completion: 'x' }, { id: 'b', prompt: 'list', completion: 'y' }]
    const [first, again] = [await scoreRows(rows, { config }), await scoreRows(rows, { config })]
    const said = (scored: typeof first): unknown => scored.map((one) => one.scored.sources.find(({ source }) => source === 'answerJudge')).map((one) => [one?.global, one?.failure])
    // It was trained to write React apps and grades nothing.
    expect(said(first)).toEqual([[0, expect.stringMatching(/no score could be read/)], [0, expect.stringMatching(/no score could be read/)]])
    expect(said(again)).toEqual(said(first))
  })

  it('says which model is not there', async () => {
    const file = join(folder, 'own.js')
    await writeFile(file, 'export default () => 1\n')
    const config = rewardConfig({ recipe: 'custom', file, judge: { kind: 'model', model: join(folder, 'no-model') } })
    await expect(openRewards({ config, workers: 1 })).rejects.toThrow(/no-model/)
  })
})

describe('a maths reward', () => {
  it('takes its steps from a process-reward model', async () => {
    await writeTinyClassifier(join(folder, 'prm'), { '4': Math.log(3), '5': -Math.log(9) })
    const config = rewardConfig({ recipe: 'maths', stepChecks: { by: 'model' }, prm: { folder: join(folder, 'prm'), separator: '' } })
    const [scored] = await scoreRows([{ id: 'a', prompt: 'What is 2 + 2?', answer: '4', completion: '<step_1> 2 + 2 = 4 </step_1>\n<step_2> or 5 </step_2>\n<step_3> or 4 </step_3>\n<final> 4 </final>' }], { config })
    const steps = scored?.scored.sources.find(({ source }) => source === 'steps')
    expect(steps?.spans.map(({ value }) => Number(value.toFixed(5)))).toEqual([0.5, -0.8, 0])
    expect(scored?.scored.stages.render).toBe(true)
  })
})

describe('configurations of judges', () => {
  it.each<[unknown, RegExp]>([
    [{ recipe: 'maths', stepChecks: { by: 'judge' } }, /is needed where stepChecks\.by is judge/],
    [{ recipe: 'maths', stepChecks: { by: 'model' } }, /name the folder of the process-reward model/],
    [{ screenshotJudge: { enabled: true } }, /must be server where screenshotJudge is on/],
    [{ judge: { kind: 'model', model: 'm' }, screenshotJudge: { enabled: true } }, /must be server where screenshotJudge is on/],
    [{ judge: { kind: 'server', url: 'ftp://127.0.0.1/' } }, /must be an address/],
    [{ judge: { kind: 'oracle' } }, /must be none, server or model/],
    [{ judge: { kind: 'server', apiKeyVariable: 'a b' } }, /name of an environment variable/],
  ])('that mean nothing are refused: %j', (input, message) => {
    expect(rewardConfigSchema.safeParse({ recipe: 'react', ...(input as object) }).error?.message).toMatch(message)
  })

  it('have no sources of judges without a judge', () => {
    expect(rewardConfig().judge).toEqual({ kind: 'none' })
    expect(rewardConfig({ judge: { kind: 'server' } }).judge).toMatchObject({ url: 'http://127.0.0.1:8080/v1', allowOtherMachines: false, timeoutSeconds: 60, retries: 2, concurrency: 4 })
  })

  it('name their files relative to the configuration, and leave empty what is empty', () => {
    const placed = (config: RewardConfig): RewardConfig => withRewardPaths(config, (path) => `/there/${path}`)
    expect(placed(rewardConfig({ judge: { kind: 'model', model: 'm' }, codeJudge: { promptFile: 'p' } }))).toMatchObject({ judge: { model: '/there/m' }, codeJudge: { promptFile: '/there/p' }, screenshotJudge: { promptFile: '' } })
    expect(placed(rewardConfig({ recipe: 'maths', stepChecks: { by: 'model', promptFile: 'p' }, prm: { folder: 'f' } }))).toMatchObject({ stepChecks: { promptFile: '/there/p' }, prm: { folder: '/there/f' } })
    expect(placed(rewardConfig({ recipe: 'code', codeJudge: { promptFile: 'p' } }))).toMatchObject({ codeJudge: { promptFile: '/there/p' } })
    expect(placed(rewardConfig({ recipe: 'custom', file: 'own.js', answerJudge: { promptFile: 'p' } }))).toMatchObject({ file: '/there/own.js', answerJudge: { promptFile: '/there/p' } })
  })

  it('name the files a resumed run must find unchanged: functions and prompts, not models, which name themselves', () => {
    expect(rewardFiles(rewardConfig())).toEqual([])
    expect(rewardFiles(rewardConfig({ judge: { kind: 'model', model: 'm' }, codeJudge: { promptFile: 'p' } }))).toEqual(['p'])
    expect(rewardFiles(rewardConfig({ recipe: 'maths', stepChecks: { by: 'model' }, prm: { folder: 'f' } }))).toEqual([])
    expect(rewardFiles(rewardConfig({ recipe: 'custom', file: 'own.js', answerJudge: { promptFile: 'p' } }))).toEqual(['own.js', 'p'])
  })
})

// What scoring costs beside generation: 64 completions of the built-in model through a reward worker, against drawing the same 64.
import { chatConfigSchema } from '../../src-main/contract/chat-config.ts'
import { rewardConfig } from '../../src-main/contract/reward-config.ts'
import type { PromptRow } from '../../src-main/contract/rewards.ts'
import { createPromptEncoder } from '../../src-main/engine/models/prompt-encoder.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { createRewardPool } from '../../src-main/engine/rewards/reward-pool.ts'
import { createSampler } from '../../src-main/engine/rollout/sampler.ts'
import { createDevice } from '../../src-main/engine/runtime/ort.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { readPromptFile } from '../../src-main/engine/training/prompts.ts'
import { benchmarkRewardStages } from './reward-stages.bench.ts'
import type { BenchmarkRow } from './rows.ts'

const prompts = 8
const perPrompt = 8

/**
 * Scores what the built-in model writes, and as many programs that pass every gate: each of a form nobody has seen, and of known forms with
 * other words, as a trained model writes them.
 */
export async function benchmarkRewards(quick: boolean): Promise<BenchmarkRow[]> {
  const rows = (await readPromptFile(resourcePath('demo', 'prompts.jsonl'))).filter(({ reference }) => reference !== undefined)
  const pool = createRewardPool({ workers: 1, config: rewardConfig() })
  const generator = await openGenerator(rows.slice(0, prompts))
  await pool.warmUp()
  const turns: { generate: number; score: number; passing: number; known: number }[] = []
  // Both sides take turns, so that a noisy neighbour slows both. The first turn warms up.
  for (let turn = 0; turn < (quick ? 2 : 6); turn++) {
    const { seconds, texts } = await generator.generate(turn)
    const written = texts.map((text, index) => ({ id: String(index), row: rows[Math.floor(index / perPrompt)] as PromptRow, text }))
    const passing = rows.slice(0, prompts * perPrompt).map((row) => ({ id: row.id, row, text: `${row.reference}// ${turn}\n` }))
    const known = passing.map((item) => ({ ...item, text: item.text.replace(/<h1>\w[^<{]*/, `<h1>Turn ${turn} of ${item.id}`) }))
    const times = { generate: seconds, score: await secondsOf(() => pool.score(written)), passing: await secondsOf(() => pool.score(passing)), known: await secondsOf(() => pool.score(known)) }
    if (turn > 0) turns.push(times)
  }
  pool.dispose()
  await generator.release()
  const median = (pick: (turn: (typeof turns)[number]) => number): number => turns.map(pick).sort((a, b) => a - b)[turns.length >> 1] as number
  const [generate, score, passing, known] = [median((turn) => turn.generate), median((turn) => turn.score), median((turn) => turn.passing), median((turn) => turn.known)]
  return [
    { name: 'rewards: 64 completions of the built-in model, generated', value: generate, unit: 's' },
    { name: '  the same, scored by one worker', value: score, unit: 's' },
    { name: '  scoring / generation', value: score / generate, unit: 'ratio', goal: 'at most 1', met: score <= generate },
    { name: '  64 programs that pass every gate, each of a new form', value: passing, unit: 's' },
    { name: '  the same forms with other words', value: known, unit: 's' },
    ...(await benchmarkRewardStages(rows.slice(0, quick ? 8 : 64), quick)),
  ]
}

async function secondsOf(run: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await run()
  return (performance.now() - before) / 1000
}

interface Generator {
  generate(turn: number): Promise<{ readonly seconds: number; readonly texts: string[] }>
  release(): Promise<void>
}

/** The demo's sampling: 64 slots, up to 112 tokens. */
async function openGenerator(rows: readonly PromptRow[]): Promise<Generator> {
  const device = await createDevice('cpu')
  const folder = await openModelFolder(resourcePath('demo', 'model'))
  const tokenizer = await folder.tokenizer()
  const encode = createPromptEncoder(tokenizer, folder.chatTemplate, chatConfigSchema.parse({}))
  const policy = await createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), { kind: 'lora', rank: 16, alpha: 32, dropout: 0, targets: ['all-linear', 'lm_head'] }, 1)
  const stopIds = new Set(folder.config.eosIds)
  await folder.close()
  const sampler = await createSampler(device, policy, folder.config.maxPositions)
  return {
    async generate(turn) {
      const requests = rows.map((row, prompt) => ({ promptIds: encode(row), streams: Array.from({ length: perPrompt }, (_, rollout) => createStream(1, 'benchmark', turn, prompt, rollout)) }))
      const before = performance.now()
      const rollouts = await sampler.generate(requests, { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 112, slots: prompts * perPrompt, stopIds, sampleLimit: tokenizer.size })
      const seconds = (performance.now() - before) / 1000
      return { seconds, texts: rollouts.map(({ ids }) => tokenizer.tokenOffsets(ids).text) }
    },
    release: () => sampler.release(),
  }
}

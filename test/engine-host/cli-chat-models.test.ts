// What a run fixes for whoever uses its policy later: how prompts are put to the model, and the rotary regime it was trained under.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { buildForTests } from '../support/build-entries.ts'
import { buildEntry } from '../support/build.ts'
import { run } from '../support/cli.ts'
import type { Ended } from '../support/cli.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

// Each command is a process of its own; a busy machine takes its time.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let cli = ''
let folder = ''
const inFolder = (...parts: string[]): string => join(folder, ...parts)
const satchel = (...options: string[]): Promise<Ended> => run(cli, options, { cwd: folder })

const template = "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}{{ strftime_now('%Y') }}{{ 'think' if enable_thinking else 'answer' }}:"

interface Lengths {
  readonly lengths: { readonly longest: number; readonly rotaryRegime: string }
  readonly chat: object
}
const description = async (name: string): Promise<Lengths> => JSON.parse(await readFile(inFolder(name, 'run.json'), 'utf8')) as Lengths

/** A step of a run; its prompts are one word, so the completion decides how long its sequences get. */
async function train(name: string, model: string, maxNewTokens: number, chat: object = {}): Promise<Ended> {
  await writeFile(inFolder(`${name}.json`), JSON.stringify({
    model, data: { prompts: 'prompts.jsonl' }, chat, reward: { typeCheck: false }, rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens }, adapter: { kind: 'lora', rank: 2 },
    training: { steps: 1 }, evaluation: { every: 0 }, optimizer: { learningRate: 1e-9 },
  }))
  return satchel('train', `${name}.json`, '--out', name, '--json')
}

async function refusal(...options: string[]): Promise<{ code: number | null; error: ErrorEnvelope }> {
  const ended = await satchel(...options, '--json')
  return { code: ended.code, error: ended.json<{ error: ErrorEnvelope }>().error }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-chat-'))
  await buildForTests()
  cli = await buildEntry('src-main/engine-host/cli.ts')
  const factors = (factor: number): number[] => Array.from({ length: 8 }, () => factor)
  const ropeScaling = { kind: 'longrope', shortFactors: factors(1), longFactors: factors(4), originalPositions: 32, attentionFactor: 1 } as const
  await writeTinyModel(inFolder('phi'), 'float32', { family: 'phi3', packedProjections: true, qkvBias: false, ropeScaling })
  await writeTinyModel(inFolder('thinker'))
  await writeFile(inFolder('thinker', 'chat_template.jinja'), template)
  await writeFile(inFolder('prompts.jsonl'), '{"prompt":"list"}\n{"prompt":"counter"}\n')
  await writeFile(inFolder('tokens.json'), '{"sequences":[[1,2,3,4,5,6,7,8]]}')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the rotary regime', () => {
  it('of a run is recorded, and whatever uses its policy keeps to it', async () => {
    for (const [name, maxNewTokens] of [['short', 8], ['long', 40]] as const) {
      const trained = await train(name, 'phi', maxNewTokens)
      expect(trained.code, trained.stderr).toBe(0)
    }
    const [short, long] = [(await description('short')).lengths, (await description('long')).lengths]
    expect([short.rotaryRegime, long.rotaryRegime]).toEqual(['short', 'long'])
    expect(short.longest).toBeLessThanOrEqual(32)
    expect(long.longest).toBe(short.longest + 32)

    // The same eight ids, well within the short factors. The learning rate is next to nothing, so all three have the same weights.
    const logprobs = async (model: string): Promise<number[]> => (await satchel('logprobs', model, '--tokens', 'tokens.json', '--json')).json<{ logprobs: (number | null)[][] }>().logprobs[0]!.slice(1) as number[]
    const [base, ofShort, ofLong] = [await logprobs('phi'), await logprobs('short'), await logprobs('long')]
    const distance = (other: number[]): number => Math.max(...base.map((value, index) => Math.abs(value - other[index]!)))
    expect(distance(ofShort)).toBeLessThan(1e-4)
    expect(distance(ofLong)).toBeGreaterThan(1e-2)

    const generated = await satchel('generate', 'long', '--prompt', 'list', '--max-tokens', '4', '--json')
    expect(generated.code, generated.stderr).toBe(0)
    expect(await refusal('generate', 'short', '--prompt', 'list', '--max-tokens', '40')).toMatchObject({ code: 3, error: { code: 'bad-input', expected: 'at most 32 tokens of prompt and completion' } })
    expect((await satchel('generate', 'phi', '--prompt', 'list', '--max-tokens', '40', '--json')).code).toBe(0)
  })

  it('is no part of a configuration: the run.json of a run begins another of other lengths', async () => {
    const config = JSON.parse(await readFile(inFolder('short', 'run.json'), 'utf8')) as { rollout: object }
    await writeFile(inFolder('again.json'), JSON.stringify({ ...config, rollout: { ...config.rollout, maxNewTokens: 40 } }))
    const again = await satchel('train', 'again.json', '--out', 'again', '--json')
    expect(again.code, again.stderr).toBe(0)
    expect((await description('again')).lengths.rotaryRegime).toBe('long')
  })
})

describe('thinking, date and system text', () => {
  it('are recorded with the run, used by generate, and changed by its options', async () => {
    const trained = await train('chatty', 'thinker', 8, { thinking: 'off', date: '1999-12-31', system: 'Be brief.' })
    expect(trained.code, trained.stderr).toBe(0)
    expect((await description('chatty')).chat).toEqual({ thinking: 'off', date: '1999-12-31', system: 'Be brief.' })
    const logprobs = async (model: string, ...options: string[]): Promise<number[]> => {
      const ended = await satchel('generate', model, '--prompt', 'list', '--max-tokens', '4', '--json', ...options)
      expect(ended.code, ended.stderr).toBe(0)
      return ended.json<{ completions: { logprobs: number[] }[] }>().completions[0]!.logprobs
    }
    const own = await logprobs('chatty')
    expect(await logprobs('chatty', '--thinking', 'off', '--date', '1999-12-31', '--system', 'Be brief.')).toEqual(own)
    for (const change of [['--thinking', 'on'], ['--date', '2001-01-01'], ['--system', 'Be long.']]) expect(await logprobs('chatty', ...change)).not.toEqual(own)
    const plain = await logprobs('thinker')
    expect(await logprobs('thinker', '--thinking', 'on', '--date', '2025-01-01')).toEqual(plain)
    expect(await logprobs('thinker', '--thinking', 'off')).not.toEqual(plain)
  })

  it('are refused where they mean nothing', async () => {
    expect(await refusal('generate', 'phi', '--prompt', 'list', '--thinking', 'off')).toMatchObject({ code: 3, error: { place: { field: 'chat.thinking' } } })
    expect((await refusal('generate', 'thinker', '--prompt', 'list', '--thinking', 'maybe')).code).toBe(2)
    expect((await refusal('generate', 'thinker', '--prompt', 'list', '--date', 'tomorrow')).code).toBe(2)
    const trained = await train('refused', 'phi', 8, { thinking: 'on' })
    expect(trained.code).toBe(3)
    expect(trained.json()).toMatchObject({ error: { place: { field: 'chat.thinking' } } })
    await expect(readFile(inFolder('refused', 'run.json'))).rejects.toThrow('ENOENT')
  })
})

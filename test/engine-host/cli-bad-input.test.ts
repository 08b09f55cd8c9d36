// Bad input as a person meets it: exit code, and a sentence that names file, row or field.
import { copyFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { describeAsJson } from '../../src-main/engine/training/run-folder-reading.ts'
import { buildEntry } from '../support/build.ts'
import { run } from '../support/cli.ts'
import { exampleDescription } from '../support/run-folder.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

let cli = ''
let folder = ''
const inFolder = (...parts: string[]): string => join(folder, ...parts)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-cli-'))
  cli = await buildEntry('src-main/engine-host/cli.ts')
  await writeTinyModel(inFolder('model'))
  await writeFile(inFolder('good.jsonl'), '{"prompt":"Make a counter."}\n{"prompt":"Make a list."}\n')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs with --json; the envelope on stdout and the sentence on stderr say the same. */
async function refusal(...options: string[]): Promise<{ code: number | null; error: ErrorEnvelope; stderr: string }> {
  const ended = await run(cli, [...options, '--json'], { cwd: folder, stdin: 'not json' })
  return { code: ended.code, error: ended.json<{ error: ErrorEnvelope }>().error, stderr: ended.stderr }
}

async function configuration(name: string, changes: object): Promise<string> {
  const path = inFolder(`${name}.json`)
  await writeFile(path, JSON.stringify({ model: 'model', data: { prompts: 'good.jsonl' }, rollout: { maxNewTokens: 16 }, ...changes }))
  return path
}

describe('prompt files', () => {
  it.each([
    ['a row that is not JSON', '{"prompt":"a"}\n{"prompt"\n', { row: 2 }, 'not JSON'],
    ['an empty prompt', '{"prompt":"a"}\n\n{"prompt":""}\n', { row: 3, field: 'prompt' }, 'the prompt is empty'],
    ['a prompt longer than the context', `{"prompt":"a"}\n{"prompt":"${'counter '.repeat(150)}"}\n`, { row: 2, field: 'prompt' }, 'the 128 the model\'s context holds'],
    ['two rows of one id', '{"id":"x","prompt":"a"}\n{"id":"x","prompt":"b"}\n', { row: 2, field: 'id' }, 'already used by row 1'],
  ])('with %s stop a run before it begins', async (name, content, place, words) => {
    const file = inFolder(`${name}.jsonl`)
    await writeFile(file, content)
    const { code, error, stderr } = await refusal('train', await configuration(name, { data: { prompts: file } }), '--out', inFolder('never'))
    expect(code).toBe(3)
    expect(error).toMatchObject({ code: 'bad-input', place: { file, ...place } })
    expect(stderr).toContain(words)
    expect(stderr).toContain(`row ${place.row}`)
    await expect(readFile(inFolder('never', 'run.json'))).rejects.toThrow('ENOENT')
  })

  it('are inspected whole: every bad row is listed, and the exit code says so', async () => {
    await writeFile(inFolder('mixed.jsonl'), '{"prompt":"a"}\nnonsense\n{"prompt":""}\n')
    const ended = await run(cli, ['data', 'inspect', 'mixed.jsonl', '--json'], { cwd: folder })
    expect(ended.code).toBe(3)
    expect(ended.json()).toMatchObject({ rows: 1, badRows: 2, problems: [{ row: 2 }, { row: 3, field: 'prompt' }] })
  })
})

describe('model folders', () => {
  async function copyOf(name: string): Promise<string> {
    await mkdir(inFolder(name))
    for (const file of ['config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']) await copyFile(inFolder('model', file), inFolder(name, file))
    return inFolder(name)
  }
  async function change(file: string, edit: (json: Record<string, unknown>) => void): Promise<void> {
    const json = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    edit(json)
    await writeFile(file, JSON.stringify(json))
  }

  it.each<[string, (model: string) => Promise<void>, string, string]>([
    ['without weights', (model) => rm(join(model, 'model.safetensors')), '', 'holds no weights'],
    ['with truncated weights', (model) => truncate(join(model, 'model.safetensors'), 5000), 'model.safetensors', 'truncated'],
    ['of an unknown architecture', (model) => change(join(model, 'config.json'), (json) => (json['architectures'] = ['MambaForCausalLM'])), 'config.json', 'MambaForCausalLM'],
    ['whose tokenizer does not fit', (model) => change(join(model, 'tokenizer.json'), (json) => (json['added_tokens'] as object[]).push({ id: 9000, content: '<|far|>', special: true })), 'tokenizer.json', 'does not fit the embedding'],
    ['that lie about their shapes', (model) => change(join(model, 'config.json'), (json) => (json['intermediate_size'] = 96)), 'model.safetensors', 'mlp.gate_proj.weight'],
  ])('%s are refused, naming the file', async (name, damage, file, words) => {
    const model = await copyOf(name)
    await damage(model)
    const { code, error, stderr } = await refusal('generate', model, '--prompt', 'Hello')
    expect(code).toBe(3)
    expect(error.place.file).toBe(file === '' ? model : join(model, file))
    expect(stderr).toContain(words)
  })

  it('that are not there are refused', async () => {
    expect(await refusal('generate', 'nowhere', '--prompt', 'Hello')).toMatchObject({ code: 3, error: { code: 'not-found', place: { file: 'nowhere' } } })
  })
})

describe('run folders', () => {
  it.each([['resume', 'newer'], ['status', 'newer'], ['report', 'newer', '--out', 'r.html'], ['export', 'newer', '--format', 'peft', '--out', 'e'], ['generate', 'newer', '--prompt', 'a']])('of a newer version are refused by %s', async (...options) => {
    await mkdir(inFolder('newer'), { recursive: true })
    await writeFile(inFolder('newer', 'run.json'), JSON.stringify({ ...(JSON.parse(describeAsJson(exampleDescription())) as object), version: 2 }))
    const { code, error, stderr } = await refusal(...options)
    expect(code).toBe(3)
    expect(error).toMatchObject({ code: 'newer-version', place: { file: expect.stringContaining(join('newer', 'run.json')) as string, field: 'version' } })
    expect(stderr).toContain('update Satchel')
  })

  it('without a run in progress cannot be paused', async () => {
    await mkdir(inFolder('idle'), { recursive: true })
    await writeFile(inFolder('idle', 'run.json'), describeAsJson(exampleDescription()))
    expect(await refusal('pause', 'idle')).toMatchObject({ code: 2, error: { place: { file: 'idle' } } })
  })
})

describe('configurations', () => {
  it.each([
    ['an unknown field', { optimizer: { learningrate: 1 } }, 'optimizer'],
    ['a value out of range', { rollout: { groupSize: 1 } }, 'rollout.groupSize'],
    ['a value of another kind', { training: { steps: 'many' } }, 'training.steps'],
    ['an unknown estimator', { estimator: { name: 'ppo' } }, 'estimator.name'],
  ])('with %s are refused, naming the field', async (name, changes, field) => {
    const { code, error } = await refusal('train', await configuration(name, changes))
    expect(code).toBe(3)
    expect(error.place).toEqual({ file: inFolder(`${name}.json`), field })
  })

  it('that are not JSON, or missing, are refused', async () => {
    await writeFile(inFolder('broken.json'), '{')
    expect(await refusal('train', 'broken.json')).toMatchObject({ code: 3, error: { code: 'bad-input', place: { file: 'broken.json' } } })
    expect(await refusal('train', 'absent.json')).toMatchObject({ code: 3, error: { code: 'not-found' } })
  })
})

describe('calls that are wrong', () => {
  it.each([
    [['train', 'run.json', '--epochs', '3'], '--epochs'],
    [['frobnicate'], 'frobnicate'],
    [['generate', 'model', '--prompt', 'a', '--n', 'many'], '--n'],
    [['generate', 'model'], '--prompt'],
    [['export', 'run', '--format', 'pickle', '--to', 'x'], 'pickle'],
    [['advantages', '--estimator', 'ppo'], 'ppo'],
    [['eval', 'model', '--data', 'good.jsonl', '--n', '2', '--k', '4'], 'pass@4'],
    [['train'], 'RUN.json'],
  ])('%j end with code 2 and say what is wrong', async (options, words) => {
    const { code, error, stderr } = await refusal(...options)
    expect(code).toBe(2)
    expect(error.code).toBe('usage')
    expect(stderr).toContain(words)
  })
})

describe('other files', () => {
  it.each([
    ['an id beyond the vocabulary', '{"sequences":[[1,2],[3,99999]]}', 'sequences.1.1', '99999 is no id'],
    ['an id that is none', '{"sequences":[[1,-2]]}', 'sequences.0.1', 'token id'],
    ['an empty sequence', '{"sequences":[[1],[]]}', 'sequences.1', 'at least one id'],
    ['a sequence longer than the context', JSON.stringify({ sequences: [Array.from({ length: 129 }, () => 1)] }), 'sequences.0', 'at most 128'],
  ])('token files with %s are refused, naming the place', async (name, content, field, words) => {
    await writeFile(inFolder(`${name}.json`), content)
    const { code, error, stderr } = await refusal('logprobs', 'model', '--tokens', `${name}.json`)
    expect(code).toBe(3)
    expect(error.place).toEqual({ file: `${name}.json`, field })
    expect(stderr).toContain(words)
  })

  it('reward files and rows to score are checked before anything is scored', async () => {
    await writeFile(inFolder('reward.json'), '{"ladder":{"parse":"bad"}}')
    await writeFile(inFolder('rows.jsonl'), '{"prompt":"a","completion":"b"}\n{"prompt":"a"}\n')
    expect(await refusal('score', '--reward', 'reward.json', '--data', 'rows.jsonl')).toMatchObject({ code: 3, error: { place: { file: 'reward.json', field: 'ladder.parse' } } })
    expect(await refusal('score', '--reward', 'react', '--data', 'rows.jsonl')).toMatchObject({ code: 3, error: { place: { file: 'rows.jsonl', row: 2, field: 'completion' } } })
    expect(await refusal('score', '--reward', 'svelte', '--data', 'rows.jsonl')).toMatchObject({ code: 3, error: { place: { file: 'svelte', field: '--reward' } } })
  })

  it('stdin that is not JSON is refused by advantages', async () => {
    expect(await refusal('advantages')).toMatchObject({ code: 3, error: { place: { file: 'stdin' } } })
  })
})

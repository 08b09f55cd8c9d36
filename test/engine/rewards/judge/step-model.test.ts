import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStepModelFolder, stepScore, type OpenedStepModel, type StepModelConfig } from '../../../../src-main/engine/rewards/judge/step-model.ts'
import { writeTinyClassifier } from '../../../support/tiny-classifier.ts'

let folder = ''
const opened: OpenedStepModel[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-prm-'))
  // sigmoid(log 3) = 0.75, sigmoid(-log 9) = 0.1
  await writeTinyClassifier(join(folder, 'prm'), { '4': Math.log(3), '5': -Math.log(9), '\n': Math.log(4) })
})
afterAll(async () => {
  for (const model of opened) await model.close()
  await rm(folder, { recursive: true, force: true })
})

async function open(change: Partial<StepModelConfig> = {}): Promise<OpenedStepModel> {
  const model = await openStepModelFolder({ folder: join(folder, 'prm'), separator: '', label: 1, threshold: 0.5, maximumTokens: 4_096, ...change })
  opened.push(model)
  return model
}

const rounded = (values: readonly number[]): number[] => values.map((value) => Number(value.toFixed(5)))

describe('a process-reward model', () => {
  it('scores every step at its last token, from -1 to 1', async () => {
    // p = 0.75, 0.1 and (a token of which it says nothing) 0.5: (0.75 - 0.5) / 0.5, (0.1 - 0.5) / 0.5, 0
    expect(rounded(await (await open()).steps('What is 2 + 2?', ['2 + 2 = 4', ' so it is 5 ', 'done']))).toEqual([0.5, -0.8, 0])
  })

  it('reads behind the separator where there is one', async () => {
    // p = 4 / 5 at every line break
    expect(rounded(await (await open({ separator: '\n' })).steps('2 + 2', ['it is 4', 'it is 5']))).toEqual([0.6, 0.6])
  })

  it('has a threshold, and a label that means right', async () => {
    expect(rounded(await (await open({ threshold: 0.9 })).steps('x', ['4', '5']))).toEqual([Number((-0.15 / 0.9).toFixed(5)), Number((-0.8 / 0.9).toFixed(5))])
    expect(rounded(await (await open({ label: 0 })).steps('x', ['4', '5']))).toEqual([-0.5, 0.8])
  })

  it('says nothing of empty steps, and of steps beyond the longest text it is shown', async () => {
    const model = await open({ maximumTokens: 12 })
    expect(rounded(await model.steps('', ['4', `${'word '.repeat(40)}4`, '4']))).toEqual([0.5, 0, 0])
    expect(await model.steps('', [])).toEqual([])
    expect(rounded(await (await open()).steps('', ['', '4']))).toEqual([0, 0.5])
  })

  it('takes models that ask for positions and token types as well', async () => {
    await writeTinyClassifier(join(folder, 'more'), { '4': Math.log(3) }, ['attention_mask', 'token_type_ids', 'position_ids'])
    expect(rounded(await (await open({ folder: join(folder, 'more') })).steps('x', ['4']))).toEqual([0.5])
  })

  it('is named by its files and settings', async () => {
    const [one, same, other] = [await open(), await open(), await open({ threshold: 0.4 })]
    expect(one.identity).toBe(same.identity)
    expect(other.identity).not.toBe(one.identity)
  })

  it('is refused with the reason when it is none', async () => {
    await expect(open({ folder: join(folder, 'nowhere') })).rejects.toThrow(/nowhere, reward\.prm\.folder: there is no such folder/)
    await expect(open({ label: 2 })).rejects.toThrow(/the model has 2 labels, and reward\.prm\.label is 2/)
    await writeTinyClassifier(join(folder, 'strange'), {}, ['pixel_values'])
    await expect(open({ folder: join(folder, 'strange') })).rejects.toThrow(/the model asks for pixel_values.*input_ids and attention_mask/)
    await writeFile(join(folder, 'strange', 'model.onnx'), 'rubbish')
    await expect(open({ folder: join(folder, 'strange') })).rejects.toThrow(/onnxruntime cannot load the model/)
    await rm(join(folder, 'strange', 'tokenizer.json'))
    await expect(open({ folder: join(folder, 'strange') })).rejects.toThrow(/tokenizer\.json is missing/)
  })
})

describe('stepScore', () => {
  it('rises in straight lines from -1 over 0 at the threshold to 1', () => {
    expect(rounded([0, 0.1, 0.2, 0.6, 1].map((probability) => stepScore(probability, 0.2)))).toEqual([-1, -0.5, 0, 0.5, 1])
  })
})

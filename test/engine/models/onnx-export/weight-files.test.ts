import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Graph, writeOnnxFile } from '../../../../src-main/engine/graph/index.ts'
import { askPolicy, compareAnswers } from '../../../../src-main/engine/models/export-comparison.ts'
import { openModelFolder } from '../../../../src-main/engine/models/model-folder.ts'
import { decoderGraph, ROTARY_TABLES } from '../../../../src-main/engine/models/onnx-export/decoder-graph.ts'
import { askOnnxModel } from '../../../../src-main/engine/models/onnx-export/model-file.ts'
import { placeWeights, writeWeightFiles } from '../../../../src-main/engine/models/onnx-export/weight-files.ts'
import { createPolicyWeights } from '../../../../src-main/engine/models/policy-weights.ts'
import { rotaryTables } from '../../../../src-main/engine/models/rotary.ts'
import { cpu } from '../../../support/evaluate.ts'
import { parityFolder } from '../../../support/parity.ts'
import { useTemporaryFolder } from '../../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()

describe('weights beside a model', () => {
  it('start at memory pages; matrices take the type asked for, vectors and tables stay float32', () => {
    const graph = new Graph('weights')
    const weights = [graph.input('a.weight', 'float32', [100, 30]), graph.input('norm.weight', 'float32', [30]), graph.input('rotary.cos', 'float32', [10, 4]), graph.input('b.packed', 'uint8', [8, 1, 16])]
    const { tensors, files } = placeWeights(weights, 'float16', 'model.onnx')
    expect([...tensors]).toEqual([
      ['a.weight', { location: 'model.onnx_data', offset: 0, length: 6000, type: 'float16' }],
      ['norm.weight', { location: 'model.onnx_data', offset: 8192, length: 120, type: 'float32' }],
      ['rotary.cos', { location: 'model.onnx_data', offset: 12288, length: 160, type: 'float32' }],
      ['b.packed', { location: 'model.onnx_data', offset: 16384, length: 128, type: 'uint8' }],
    ])
    expect(files).toEqual([{ name: 'model.onnx_data', bytes: 16512 }])
  })

  it('go on in a next file where one would become too large; a tensor that is larger still has one of its own', () => {
    const graph = new Graph('weights')
    const weights = ['a', 'b', 'c', 'd'].map((name, index) => graph.input(`${name}.weight`, 'float32', [[500], [400], [5000], [10]][index] as number[]))
    const { tensors, files } = placeWeights(weights, 'float32', 'model.onnx', 6000)
    expect([...tensors.values()].map(({ location, offset }) => [location, offset])).toEqual([['model.onnx_data', 0], ['model.onnx_data', 4096], ['model.onnx_data_1', 0], ['model.onnx_data_2', 0]])
    expect(files.map(({ bytes }) => bytes)).toEqual([5696, 20000, 40])
  })

  it('are found in all of their files', async () => {
    const folder = await temporaryFolder()
    const base = await openModelFolder(parityFolder('smollm3'))
    const device = await cpu()
    const graph = decoderGraph(base.config, 64, 'float32')
    const weights = graph.inputs.filter(({ name }) => name.includes('weight') || name.startsWith('rotary.'))
    const placement = placeWeights(weights, 'float32', 'model.onnx', 50_000)
    const tables = rotaryTables(base.config, 64)
    await mkdir(join(folder, 'deep'))
    await writeWeightFiles(join(folder, 'deep'), weights, placement, 'float32', async (name) => (name === ROTARY_TABLES.cos ? tables.cos : name === ROTARY_TABLES.sin ? tables.sin : base.readTensor(name)))
    await writeFile(join(folder, 'deep', 'model.onnx'), writeOnnxFile(graph, 'cpu', placement.tensors))
    expect(placement.files.length).toBeGreaterThan(3)
    expect((await readdir(join(folder, 'deep'))).toSorted()).toEqual(['model.onnx', ...placement.files.map(({ name }) => name)].toSorted())
    for (const { name, bytes } of placement.files) expect((await stat(join(folder, 'deep', name))).size).toBe(bytes)
    const texts = { sequences: [[5, 9, 33, 80, 2, 41]], prompts: [[7, 8, 9]], newTokens: 4, longest: 64 }
    const policy = await createPolicyWeights(device, base.config, (name) => base.readTensor(name), { kind: 'full' }, 0)
    await base.close()
    const comparison = compareAnswers(texts, await askPolicy(device, policy, texts), await askOnnxModel(device, join(folder, 'deep', 'model.onnx'), texts))
    expect(comparison.largestDifference).toBeLessThan(5e-5)
    expect(comparison.greedy.equal).toBe(1)
  })
})

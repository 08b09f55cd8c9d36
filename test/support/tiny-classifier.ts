// A folder with a token classifier that looks at one token at a time: logits [1, T, 2] = [0, logit of the token]. Its tokenizer is the built-in one.
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Graph, op, writeOnnx } from '../../src-main/engine/graph/index.ts'
import { openTokenizer } from '../../src-main/engine/models/tokenizer.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'

/**
 * @param logits by the text of a token; 0 for all others
 * @param inputs its inputs beside input_ids
 */
export async function writeTinyClassifier(folder: string, logits: Readonly<Record<string, number>>, inputs: readonly string[] = ['attention_mask']): Promise<void> {
  await mkdir(folder, { recursive: true })
  const from = resourcePath('demo', 'model')
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await copyFile(join(from, name), join(folder, name))
  const tokenizer = await openTokenizer(folder, { vocabularySize: 1 << 20 })
  const table = new Float32Array(2 * tokenizer.size)
  for (const [text, logit] of Object.entries(logits)) {
    const ids = tokenizer.encode(text)
    if (ids.length !== 1) throw new Error(`${text} is no single token`)
    table[2 * ids[0]! + 1] = logit
  }
  const graph = new Graph('tiny_classifier')
  const ids = graph.input('input_ids', 'int64', [1, 'T'])
  const looked = op.gather(graph.initializer('table', [tokenizer.size, 2], table), ids)
  // Read, so that they stay inputs, and without effect.
  const result = inputs.reduce((sum, name) => op.add(sum, op.reshape(op.mul(op.cast(graph.input(name, 'int64', [1, 'T']), 'float32'), 0), [1, 'T', 1])), looked)
  graph.output('logits', result)
  await writeFile(join(folder, 'model.onnx'), writeOnnx(graph, 'cpu'))
}

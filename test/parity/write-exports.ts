// Writes every export of a policy over every parity fixture, over the built-in model, and over one model a family with texts, for other programs to load: exports.py
// (transformers, peft, onnxruntime-genai) and exports.mjs (transformers.js) do so.
//
//   node test/support/run-typescript.mjs test/parity/write-exports.ts FOLDER
//
// FOLDER/<case>/<format>[-<type>]/ holds an export, FOLDER/<case>/expected.json what the policy itself answers.
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AdapterConfig } from '../../src-main/contract/run-config.ts'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { exportPolicy } from '../../src-main/engine/models/export.ts'
import type { ExportFormat, ExportSource, ExportType } from '../../src-main/engine/models/export.ts'
import { askPolicy } from '../../src-main/engine/models/export-comparison.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { movedPolicy } from '../support/moved-policy.ts'
import { parityCases, parityFolder } from '../support/parity.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

type Wanted = readonly (readonly [ExportFormat, ExportType?])[]

const adapter: AdapterConfig & { kind: 'lora' } = { kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['all-linear'] }
const forAll: Wanted = [['adapter'], ['merged'], ['onnx', 'float32'], ['onnx', 'float16']]
const unbiased = { qkvBias: false } as const
/** By tokenizer fixture. */
const families: Readonly<Record<string, Partial<DecoderConfig>>> = {
  smollm: { ...unbiased, family: 'llama' },
  qwen2: {},
  smollm3: { ...unbiased, family: 'smollm3', layers: 4, noRopeLayers: [3] },
  phi4: {
    ...unbiased, family: 'phi3', packedProjections: true, rotaryDimensions: 12, maxPositions: 256,
    ropeScaling: { kind: 'longrope', shortFactors: [1, 1.05, 1.1, 1.2, 1.35, 1.5], longFactors: [1.2, 1.9, 3.5, 7, 15, 31], originalPositions: 128, attentionFactor: Math.sqrt(1 + Math.log(2) / Math.log(128)) },
  },
}
/** Texts whose ids every program must agree on. Special tokens are not among them: others read them in user text, Satchel never does. */
const strings = ['Make a counter with a reset button.', 'export default function App() {\n  return <p>Hello</p>\n}\n', '  two  spaces, a tab\tand 12345 numbers', 'Grüße, 你好, 🙂!', 'if (a < b || c > d) { x |= 1 }\r\n\r\n']

async function write(folder: string, name: string, source: ExportSource, wanted: Wanted, more: object): Promise<void> {
  const answers = await askPolicy(source.device, source.policy, source.texts)
  await writeFile(join(folder, 'expected.json'), `${JSON.stringify({ base: source.base, texts: source.texts, ...answers, ...more })}\n`)
  for (const [format, storedType] of wanted) {
    const target = join(folder, storedType === undefined ? format : `${format}-${storedType}`)
    const { comparison, storedType: stored } = await exportPolicy(source, { format, folder: target, ...(storedType === undefined ? {} : { storedType }) })
    process.stdout.write(`${name.padEnd(20)} ${format.padEnd(8)} ${stored.padEnd(9)} largest ${comparison.largestDifference.toExponential(1)} mean ${comparison.meanDifference.toExponential(1)} greedy ${comparison.greedy.equal}/${comparison.greedy.prompts}\n`)
  }
}

const [target] = process.argv.slice(2)
if (target === undefined) throw new Error('usage: write-exports.ts FOLDER')
await rm(target, { recursive: true, force: true })
for (const fixture of parityCases) {
  const folder = join(resolve(target), fixture)
  await mkdir(folder, { recursive: true })
  const source = await movedPolicy(folder, adapter, fixture)
  await write(folder, fixture, { ...source, base: parityFolder(fixture), texts: { ...source.texts, newTokens: 14 } }, forAll, {})
}
// The built-in model, and a random model of each family with a tokenizer of its family: sizes that blocks of 32 fit, and texts.
const withTokenizer: Wanted = [...forAll, ['onnx', 'int8'], ['onnx', 'int4'], ['gguf', 'float32'], ['gguf', 'float16'], ['gguf', 'q8_0']]
// The built-in model's head is tied and gets an adapter of its own, as in the demo.
await writeWithTokenizer('built-in', resourcePath('demo', 'model'), { ...adapter, targets: ['all-linear', 'lm_head'] })
for (const [tokenizer, config] of Object.entries(families)) {
  const model = join(resolve(target), `${tokenizer}-texts`, 'model')
  await writeTinyModel(model, 'bfloat16', { vocabularySize: 448, eosIds: [2], ...config })
  await cp(join(parityFolder('tokenizers'), tokenizer), model, { recursive: true, filter: (path) => !path.endsWith('expected.json') })
  await writeWithTokenizer(`${tokenizer}-texts`, model)
}
process.exit()

async function writeWithTokenizer(name: string, model: string, trained = adapter): Promise<void> {
  const folder = join(resolve(target as string), name)
  await mkdir(folder, { recursive: true })
  const base = await openModelFolder(model)
  const tokenizer = await base.tokenizer()
  await base.close()
  const source = await movedPolicy(folder, trained, model)
  const ids = strings.map((text) => [...tokenizer.encode(text)])
  const texts = { sequences: ids, prompts: ids, newTokens: 24, longest: 128 }
  await write(folder, name, { ...source, texts }, withTokenizer, { strings: strings.map((text, index) => ({ text, ids: ids[index] })) })
}

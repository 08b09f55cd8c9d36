// Compares GGUF files that Satchel writes with llama.cpp: log-probabilities of fixed sequences and greedy continuations of each.
//
//   mkdir PEER && cd PEER && npm init -y && npm install node-llama-cpp@3.22.1        (outside this checkout; it brings llama.cpp's binaries)
//   node test/support/run-typescript.mjs test/parity/llama-cpp.ts PEER [MODEL.gguf ...]
//
// The tiny reference checkpoints and the built-in model are written in every type and asked random ids. A MODEL is compared as it is, and written again
// as F32 and Q8_0; it is asked texts, and the ids both give for hard texts are compared. Results go to llama-cpp-results.json. llama.cpp computes on the CPU with a float32 key/value cache; it rounds activations where weights are packed, so
// that differences grow with the packing.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { askPolicy, compareAnswers } from '../../src-main/engine/models/export-comparison.ts'
import type { Answers, ExportComparison, FixedTexts } from '../../src-main/engine/models/export-comparison.ts'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { metadataOfConfig } from '../../src-main/engine/models/gguf/architectures.ts'
import { exportGguf, GGUF_TYPES } from '../../src-main/engine/models/gguf/export-gguf.ts'
import type { GgufType } from '../../src-main/engine/models/gguf/export-gguf.ts'
import { PRE_TOKENIZERS } from '../../src-main/engine/models/gguf/pre-tokenizers.ts'
import { ggufTensors } from '../../src-main/engine/models/gguf/tensors.ts'
import { metadataOfTokenizer, readTokenizerSource } from '../../src-main/engine/models/gguf/tokenizer-metadata.ts'
import { writeGguf } from '../../src-main/engine/models/gguf/write.ts'
import type { GgufTensorSource, MetadataEntry } from '../../src-main/engine/models/gguf/write.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import type { Tokenizer } from '../../src-main/engine/models/tokenizer.ts'
import { createDevice } from '../../src-main/engine/runtime/ort.ts'
import { letterTokenizer } from '../support/gguf-fixture.ts'
import { parityCases, parityFolder } from '../support/parity.ts'

/** The few calls of node-llama-cpp that are used. */
interface Peer {
  getLlama(options: { gpu: false; build: 'never'; logLevel: 'error'; maxThreads: number }): Promise<{ llamaCppRelease: { release: string }; loadModel(options: { modelPath: string }): Promise<PeerModel> }>
}
interface PeerModel {
  tokenize(text: string, specialTokens?: boolean): number[]
  createContext(options: object): Promise<{ getSequence(): PeerSequence; dispose(): Promise<void> }>
  dispose(): Promise<void>
}
interface PeerSequence {
  evaluate(tokens: readonly number[], options: object): AsyncIterable<number>
  controlledEvaluate(items: readonly unknown[]): Promise<({ next: { probabilities?: Map<number, number> } } | undefined)[]>
  clearHistory(): Promise<void>
}

interface Case {
  readonly name: string
  readonly folder: string
  readonly change: Partial<DecoderConfig>
  readonly tokenizerFrom: string
  /** Ask texts instead of random ids, and compare the ids of hard texts. */
  readonly texts?: boolean
}

interface Compared extends ExportComparison {
  /** Hard texts that got the same ids from both, of how many. */
  readonly sameIds?: string
}

const [peerFolder, ...given] = process.argv.slice(2)
if (peerFolder === undefined) throw new Error('name the folder where node-llama-cpp is installed')
const scratch = await mkdtemp(join(tmpdir(), 'satchel-llama-cpp-'))
const device = await createDevice('cpu', { threads: 1 })
const require = createRequire(join(resolve(peerFolder), 'package.json'))
const peer = (await import(pathToFileURL(require.resolve('node-llama-cpp')).href)) as Peer
const llama = await peer.getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: 1 })
try {
  const rows: Record<string, unknown>[] = []
  for (const one of await cases()) for (const type of GGUF_TYPES) rows.push(await written(one, type))
  for (const file of given) {
    rows.push(await asItIs(file))
    for (const type of ['f32', 'q8_0'] as const) rows.push(await written({ name: basename(file), folder: file, change: {}, tokenizerFrom: file, texts: true }, type))
  }
  const ids: Record<string, unknown>[] = []
  for (const name of PRE_TOKENIZERS.keys()) ids.push(await comparePreTokenizer(name))
  const versions = { 'node-llama-cpp': await versionOf(peerFolder), 'llama.cpp': llama.llamaCppRelease.release, node: process.version }
  const results = join('test', 'parity', 'llama-cpp-results.json')
  await writeFile(results, `{\n "versions": ${JSON.stringify(versions)},\n "results": [\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n ],\n "ids": [\n${ids.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n ]\n}\n`)
  console.table(rows)
  console.table(ids)
} finally {
  await rm(scratch, { recursive: true, force: true })
}
process.exit(0)

/** llama.cpp leaves rotary out in every fourth layer of SmolLM3, and takes the long factors of Phi by the length of its context: the two checkpoints are changed to that. */
async function cases(): Promise<Case[]> {
  const tokenizer = await mkdtemp(join(scratch, 'letters-'))
  await writeFile(join(tokenizer, 'tokenizer.json'), JSON.stringify(letterTokenizer(96)))
  const fixtures = parityCases.map((name): Case => ({ name, folder: parityFolder(name), change: name === 'smollm3' ? { noRopeLayers: [3] } : {}, tokenizerFrom: tokenizer }))
  const demo = resourcePath('demo', 'model')
  return [...fixtures, { name: 'built-in', folder: demo, change: {}, tokenizerFrom: demo }]
}

async function written({ name, folder, change, tokenizerFrom, texts = false }: Case, type: GgufType): Promise<Record<string, unknown>> {
  const base = await openModelFolder(folder)
  const file = join(scratch, `${name}-${type}.gguf`)
  const scaling = base.config.ropeScaling
  const config: DecoderConfig = { ...base.config, ...change, ...(name === 'phi3-short' && scaling !== null ? { ropeScaling: { ...scaling, originalPositions: 4096 }, maxPositions: 131_072 } : {}) }
  try {
    await exportGguf(file, { config, tensors: (tensor) => base.readTensor(tensor), type, tokenizerFrom, name })
  } finally {
    await base.close()
  }
  const comparison = await compareFile(file, texts)
  await rm(file)
  return rowOf(name, type, comparison)
}

async function asItIs(file: string): Promise<Record<string, unknown>> {
  return rowOf(basename(file), 'as it is', await compareFile(resolve(file), true))
}

function rowOf(model: string, type: string, { tokens, largestDifference, meanDifference, greedy, sameIds }: Compared): Record<string, unknown> {
  return { model, type, tokens, largest: Number(largestDifference.toPrecision(2)), mean: Number(meanDifference.toPrecision(2)), greedy: `${greedy.equal} of ${greedy.prompts} x ${greedy.tokens}`, ...(sameIds === undefined ? {} : { sameIds }) }
}

/** The file as Satchel reads it against the file as llama.cpp reads it. */
async function compareFile(file: string, asTexts: boolean): Promise<Compared> {
  const folder = await openModelFolder(file)
  const policy = await createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), { kind: 'full' }, 0)
  const tokenizer = asTexts ? await folder.tokenizer() : undefined
  await folder.close()
  const texts = tokenizer === undefined ? randomIds(folder.config) : fixedTexts(tokenizer)
  const comparison = compareAnswers(texts, await askPolicy(device, policy, texts), await askPeer(file, texts))
  return tokenizer === undefined ? comparison : { ...comparison, sameIds: await compareIds(file, tokenizer) }
}

function randomIds({ vocabularySize }: DecoderConfig): FixedTexts {
  const stream = createStream(7, 'llama.cpp')
  const ids = (length: number): number[] => Array.from({ length }, () => stream.integer(vocabularySize))
  return { sequences: [ids(13), ids(24), ids(40)], prompts: [ids(5), ids(8), ids(12)], newTokens: 24, longest: 64 }
}

function fixedTexts(tokenizer: Tokenizer): FixedTexts {
  const sentences = ['The capital of France is', 'Water boils at 100 degrees Celsius because', 'function add(a, b) {\n  return'].map((text) => tokenizer.encode(text))
  const passages = ['Once upon a time there was a small robot who wanted to learn how to paint. Every morning it went to the river.', 'import { useState } from "react";\n\nexport default function App() {\n  const [count, setCount] = useState(0);\n  return <button>{count}</button>;\n}\n']
  return { sequences: passages.map((text) => tokenizer.encode(text)), prompts: sentences, newTokens: 24, longest: 96 }
}

/** Ids of the hard texts of the tokenizer fixtures, control tokens in them taken as plain text. */
async function compareIds(file: string, tokenizer: Tokenizer): Promise<string> {
  const model = await llama.loadModel({ modelPath: file })
  const { plain } = JSON.parse(await readFile(join(parityFolder('tokenizers'), 'qwen2', 'expected.json'), 'utf8')) as { plain: [string, number[]][] }
  const same = plain.filter(([text]) => model.tokenize(text, false).join() === tokenizer.encode(text).join())
  for (const [text] of plain) if (!same.some(([other]) => other === text)) console.error(basename(file), 'other ids for', JSON.stringify(text))
  await model.dispose()
  return `${same.length} of ${plain.length}`
}

async function askPeer(file: string, texts: FixedTexts): Promise<Answers> {
  const model = await llama.loadModel({ modelPath: file })
  const context = await model.createContext({ contextSize: 256, threads: 1, experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32', flashAttention: false })
  const sequence = context.getSequence()
  const logprobs: (number | null)[][] = []
  const whole = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } }
  for (const ids of texts.sequences) {
    await sequence.clearHistory()
    const answers = await sequence.controlledEvaluate(ids.map((id) => [id, whole]))
    logprobs.push([null, ...ids.slice(1).map((id, index) => Math.log(answers[index]?.next.probabilities?.get(id) ?? NaN))])
  }
  const continuations: number[][] = []
  for (const prompt of texts.prompts) {
    await sequence.clearHistory()
    const ids: number[] = []
    for await (const id of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
      ids.push(id)
      if (ids.length === texts.newTokens) break
    }
    continuations.push(ids)
  }
  await context.dispose()
  await model.dispose()
  return { logprobs, continuations }
}

/**
 * The ids of a small tokenizer under each name llama.cpp has for cutting texts. llama.cpp normalises nothing, so the texts that NFC changes are given
 * to it normalised where our tokenizer does that.
 */
async function comparePreTokenizer(name: string): Promise<Record<string, unknown>> {
  const source = await readTokenizerSource(join(parityFolder('tokenizers'), 'qwen2'))
  const config = { ...(await configOf(parityFolder('llama-tied'))), vocabularySize: 448, bosId: null, eosIds: [420], padId: null }
  const tokenizerEntries = metadataOfTokenizer(source, config).entries.map((entry): MetadataEntry => (entry.key === 'tokenizer.ggml.pre' ? { key: entry.key, type: 'string', value: name } : entry))
  const file = join(scratch, 'pre.gguf')
  const tensors = ggufTensors(config).map(({ stored, shape }): GgufTensorSource => ({ name: stored, type: 'F32', shape, data: () => new Float32Array(shape.reduce((product, size) => product * size, 1)) }))
  await writeGguf(file, [{ key: 'general.architecture', type: 'string', value: config.family }, ...metadataOfConfig(config), ...tokenizerEntries], tensors)
  const { plain } = JSON.parse(await readFile(join(parityFolder('tokenizers'), 'qwen2', 'expected.json'), 'utf8')) as { plain: [string, number[]][] }
  const model = await openModelFolder(file)
  const tokenizer = await model.tokenizer()
  await model.close()
  const normalises = PRE_TOKENIZERS.get(name)?.normalizer !== null
  const peerModel = await llama.loadModel({ modelPath: file })
  const other = plain.map(([text]) => text).filter((text) => peerModel.tokenize(normalises ? text.normalize('NFC') : text, false).join() !== tokenizer.encode(text).join())
  await peerModel.dispose()
  return { pre: name, same: `${plain.length - other.length} of ${plain.length}`, otherTexts: other }
}

async function configOf(folder: string): Promise<DecoderConfig> {
  const model = await openModelFolder(folder)
  await model.close()
  return model.config
}

async function versionOf(folder: string): Promise<string> {
  const text = await readFile(join(folder, 'node_modules', 'node-llama-cpp', 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

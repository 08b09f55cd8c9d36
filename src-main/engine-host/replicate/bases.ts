// The base models of the replication, made from the built-in one in minutes. What they can and how reliable they are is the regime:
//
//   react-rare    knows how to write the programs, yet every one it learned from carries four mistakes: right answers are rare, about one in a hundred
//   react-never   the same with eight mistakes: nothing it writes compiles
//   react-mixed   the same with fewer mistakes: one in four compiles
//   react-weak    trained from nothing for a short time: it knows no better
//   maths         worked solutions of four steps, each step wrong with the same chance; trained from nothing with a tokenizer of its own: it
//                 calculates better than it was shown to, yet four right steps in a row are rare
//   maths-rare    the same with more wrong steps
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OptimizerConfig } from '../../contract/run-config.ts'
import { trainBpe, tokenizerJson } from '../../engine/models/bpe-trainer.ts'
import { createChatTemplate, encodePromptRow } from '../../engine/models/chat-template.ts'
import { readChatTemplate } from '../../engine/models/chat-template-file.ts'
import { readDecoderConfig } from '../../engine/models/config.ts'
import { initialWeights } from '../../engine/models/initial-weights.ts'
import { openModelFolder } from '../../engine/models/model-folder.ts'
import { createPolicyWeights } from '../../engine/models/policy-weights.ts'
import { writeSafetensors } from '../../engine/models/safetensors-write.ts'
import { openTokenizer } from '../../engine/models/tokenizer.ts'
import { SINGLE_FILE } from '../../engine/models/weights.ts'
import { makeProblems, writeSolution } from '../../engine/rewards/maths/problems.ts'
import { createDevice } from '../../engine/runtime/ort.ts'
import { resourcePath } from '../../engine/runtime/paths.ts'
import { createStream } from '../../engine/runtime/random.ts'
import { trainSupervised } from '../../engine/training/supervised.ts'
import { corpusExample, type CorpusOptions } from '../make-demo/corpus.ts'
import { demoPattern, endOfText, messageEnd, messageStart } from '../make-demo/demo-tokenizer.ts'
import type { BaseFiles } from './experiments.ts'

export const baseNames = ['react-rare', 'react-never', 'react-mixed', 'react-weak', 'maths', 'maths-rare'] as const
export type BaseName = (typeof baseNames)[number]

interface Recipe {
  readonly from: 'built-in' | 'nothing'
  readonly steps: number
  readonly learningRate: number
  readonly corpus: CorpusOptions | MathsCorpus
}

interface MathsCorpus {
  /** Chance of each step to be wrong. */
  readonly wrongShare: number
  readonly problems: number
}

const recipes: Readonly<Record<BaseName, Recipe>> = {
  'react-rare': { from: 'built-in', steps: 200, learningRate: 3e-4, corpus: { corruptShare: 1, mistakes: [4, 4] } },
  'react-never': { from: 'built-in', steps: 200, learningRate: 3e-4, corpus: { corruptShare: 1, mistakes: [8, 8] } },
  'react-mixed': { from: 'built-in', steps: 200, learningRate: 3e-4, corpus: { corruptShare: 0.86, mistakes: [1, 2] } },
  'react-weak': { from: 'nothing', steps: 500, learningRate: 1.5e-3, corpus: { corruptShare: 0.9, mistakes: [1, 3] } },
  maths: { from: 'nothing', steps: 1400, learningRate: 1.5e-3, corpus: { wrongShare: 0.4, problems: 40_000 } },
  'maths-rare': { from: 'nothing', steps: 1400, learningRate: 1.5e-3, corpus: { wrongShare: 0.6, problems: 40_000 } },
}

const examplesPerStep = 32
const seed = 20_260
const mathsVocabulary = 512
const mathsPrompts = { train: 240, heldout: 60 }

interface Example {
  readonly prompt: string
  readonly completion: string
}

/** Makes a base where it is missing. Its folder is named by its recipe, so that another recipe is another base. `scale` shortens the training (smoke runs). */
export async function makeBase(name: BaseName, directory: string, scale: number, onStep: (step: number, steps: number) => void): Promise<BaseFiles> {
  const recipe = recipes[name]
  const steps = Math.max(1, Math.round(recipe.steps * scale))
  const stamp = JSON.stringify({ ...recipe, steps, seed })
  const folder = join(directory, `${name}-${createHash('sha256').update(stamp).digest('hex').slice(0, 8)}`)
  const files: BaseFiles = { model: join(folder, 'model'), prompts: 'problems' in recipe.corpus ? join(folder, 'prompts.jsonl') : resourcePath('demo', 'prompts.jsonl') }
  if (existsSync(folder)) return files
  const fresh = `${folder}.new`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(join(fresh, 'model'), { recursive: true })
  const examples = 'problems' in recipe.corpus ? await writeMathsFiles(fresh, recipe.corpus) : await copyReactFiles(fresh, recipe.corpus)
  await trainBase(join(fresh, 'model'), recipe, steps, examples, (step) => onStep(step, steps))
  await writeFile(join(fresh, 'recipe.json'), stamp)
  await rename(fresh, folder)
  return files
}

async function copyReactFiles(folder: string, corpus: CorpusOptions): Promise<(index: number) => Example> {
  for (const file of ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json']) await copyFile(resourcePath('demo', 'model', file), join(folder, 'model', file))
  return (index) => corpusExample(seed, index, corpus)
}

/** The built-in model's shape with a tokenizer trained on solutions, digits one by one; prompts that the corpus never holds. */
async function writeMathsFiles(folder: string, corpus: MathsCorpus): Promise<(index: number) => Example> {
  const rows = makeProblems({ seed, count: corpus.problems + mathsPrompts.train + mathsPrompts.heldout, levels: [1], kinds: ['running total'], instructions: false })
  const asked = rows.slice(corpus.problems)
  const shown = asked.map((row, index) => JSON.stringify({ ...row, split: index < mathsPrompts.train ? 'train' : 'heldout' }))
  await writeFile(join(folder, 'prompts.jsonl'), `${shown.join('\n')}\n`)
  const texts = rows.slice(0, 4_000).flatMap(({ prompt, reference }) => [prompt, reference as string, 'user', 'assistant'])
  const trained = trainBpe(texts, { pattern: demoPattern, vocabularySize: mathsVocabulary, specialTokens: [endOfText, messageStart, messageEnd] })
  const id = (special: string): number => trained.vocabulary.length + trained.specialTokens.indexOf(special)
  const edited = async (file: string, change: Readonly<Record<string, unknown>>): Promise<void> => {
    const original = JSON.parse(await readFile(resourcePath('demo', 'model', file), 'utf8')) as Record<string, unknown>
    await writeFile(join(folder, 'model', file), JSON.stringify({ ...original, ...change }, null, 2))
  }
  await writeFile(join(folder, 'model', 'tokenizer.json'), JSON.stringify(tokenizerJson(trained)))
  await edited('config.json', { vocab_size: trained.vocabulary.length + trained.specialTokens.length, eos_token_id: id(messageEnd), pad_token_id: id(endOfText) })
  await edited('generation_config.json', { eos_token_id: [id(messageEnd), id(endOfText)], pad_token_id: id(endOfText) })
  await edited('tokenizer_config.json', {})
  return (index) => {
    const row = rows[index % corpus.problems]!
    return { prompt: row.prompt, completion: withWrongSteps(row.reference as string, corpus.wrongShare, createStream(seed, 'wrong steps', index)) }
  }
}

/**
 * Every result is one or two too large with the chance `share`, and what follows goes on from it: the verifier finds the step, the answer is
 * wrong. Never too small: two mistakes must not cancel and be rewarded with a right answer.
 */
function withWrongSteps(solution: string, share: number, stream: { integer(limit: number): number; uniform(): number }): string {
  const steps = [...solution.matchAll(/(\d+) ([+*-]) (\d+) = \d+/g)]
  let total = Number(steps[0]?.[1])
  const written = steps.map(([, , sign, by]) => {
    const start = total
    total = sign === '+' ? total + Number(by) : sign === '-' ? total - Number(by) : total * Number(by)
    if (stream.uniform() < share) total += 1 + stream.integer(2)
    return `${start} ${sign} ${by} = ${total}`
  })
  return writeSolution({ steps: written, answer: total })
}

async function trainBase(folder: string, recipe: Recipe, steps: number, example: (index: number) => Example, onStep: (step: number) => void): Promise<void> {
  const { config } = await readDecoderConfig(folder)
  const tokenizer = await openTokenizer(folder, config)
  const source = await readChatTemplate(folder)
  const template = source === null ? null : createChatTemplate(source, tokenizer)
  const stop = config.eosIds[0] as number
  const device = await createDevice('cpu')
  const built = recipe.from === 'built-in' ? await openModelFolder(resourcePath('demo', 'model')) : undefined
  const fresh = built === undefined ? initialWeights(config, seed) : undefined
  const policy = await createPolicyWeights(device, config, async (name) => fresh?.get(name) ?? (await built!.readTensor(name)), { kind: 'full' }, seed)
  await built?.close()
  const optimizer: OptimizerConfig = { learningRate: recipe.learningRate, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1, warmupSteps: Math.min(50, Math.ceil(steps / 10)), schedule: 'cosine' }
  await trainSupervised(device, policy, {
    optimizer, steps, microBatchTokens: 4096, maxLength: config.maxPositions, headChunkTokens: 1024,
    batch: (step) => Array.from({ length: examplesPerStep }, (_, index) => {
      const { prompt, completion } = example((step - 1) * examplesPerStep + index)
      return { promptIds: encodePromptRow(tokenizer, template, { prompt }), completionIds: [...tokenizer.encode(completion), stop] }
    }),
    onStep,
  })
  await writeSafetensors(join(folder, SINGLE_FILE), [...policy.parameters.values()].map(({ name, shape, data }) => ({ name, shape, dtype: 'F32' as const, data })))
  await device.dispose()
}

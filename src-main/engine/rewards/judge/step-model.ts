// A process-reward model: an ONNX token classifier that is shown a problem with its solution and says behind every step how likely the step is
// right. Laid out as TRL trains them (PRMTrainer): prompt, then each step followed by the separator; the label of a step stands at the
// separator's last token.
//
//   problem  step_1 SEP  step_2 SEP ...  ->  logits [1, T, labels]  ->  p = softmax(logits at SEP)[label]  ->  e in [-1, 1]
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../../contract/errors.ts'
import { hashFiles } from '../../models/file-hash.ts'
import { openTokenizer, type Tokenizer } from '../../models/tokenizer.ts'
import { createDevice, openModelFile, type ModelFile, type Tensor } from '../../runtime/ort.ts'

export interface StepModelConfig {
  readonly folder: string
  readonly separator: string
  readonly label: number
  readonly threshold: number
  readonly maximumTokens: number
}

/** Step scores of one solution, in a process that may be lost. */
export interface OpenedStepModel {
  /** Hash of the model's files and what its scores depend on beside them. */
  readonly identity: string
  /** A number from -1 to 1 for every step; 0 for empty ones and those beyond the longest text the model is shown. */
  steps(problem: string, steps: readonly string[]): Promise<number[]>
  close(): Promise<void>
}

/** What a classifier may ask for: ids and, all of them made from their number, the rest. */
const knownInputs: Readonly<Record<string, (count: number) => BigInt64Array>> = {
  attention_mask: (count) => new BigInt64Array(count).fill(1n),
  token_type_ids: (count) => new BigInt64Array(count),
  position_ids: (count) => BigInt64Array.from({ length: count }, (_, at) => BigInt(at)),
}

/**
 * e of a step from its probability of being right: 0 at the threshold, in straight lines to -1 at 0 and to +1 at 1.
 * @param threshold between 0 and 1, exclusive
 */
export function stepScore(probability: number, threshold: number): number {
  return probability >= threshold ? (probability - threshold) / (1 - threshold) : (probability - threshold) / threshold
}

/**
 * Opens a folder with model.onnx (and what lies beside it) and tokenizer.json.
 * @throws UserError when a file is missing or damaged, or the model is no token classifier
 */
export async function openStepModelFolder(config: StepModelConfig): Promise<OpenedStepModel> {
  const { folder, separator, label, threshold } = config
  const files = await modelFiles(folder)
  const tokenizer = await openTokenizer(folder, { vocabularySize: Number.MAX_SAFE_INTEGER })
  const model = await openModelFile(join(folder, 'model.onnx'), 0)
  const device = await createDevice('cpu')
  const wrong = (what: string, expected: string): UserError => new UserError({ code: 'bad-input', what, place: { file: join(folder, 'model.onnx'), field: 'reward.prm.folder' }, expected, remedy: 'Export the model as a token classifier (task token-classification).' })
  const strange = model.inputNames.find((name) => name !== 'input_ids' && !Object.hasOwn(knownInputs, name))
  if (strange !== undefined || !model.inputNames.includes('input_ids')) throw wrong(strange === undefined ? 'the model has no input input_ids' : `the model asks for ${strange}`, `input_ids and attention_mask, possibly ${Object.keys(knownInputs).slice(1).join(' and ')}`)
  const output = model.outputNames.includes('logits') ? 'logits' : model.outputNames[0]!
  // A separator may be a control token of its own, such as <extra_0>.
  const separatorIds = tokenizer.encodeTemplate(separator)

  const probabilities = async (ids: readonly number[], places: readonly number[]): Promise<number[]> => {
    const logits = await run(model, device.tensor, ids, output)
    const [, length, labels] = logits.dims
    if (logits.dims.length !== 3 || length !== ids.length || labels === undefined) throw wrong(`${output} has the shape [${logits.dims.join(', ')}]`, `[1, ${ids.length}, labels]`)
    if (label >= labels) throw wrong(`the model has ${labels} labels, and reward.prm.label is ${label}`, `a label below ${labels}`)
    return places.map((place) => softmaxAt(logits.data as Float32Array, place * labels, labels, label))
  }
  await probabilities(tokenizer.encodePrompt('1 + 1 = 2'), [0])
  const start = startOf(tokenizer)
  return {
    identity: JSON.stringify([await hashFiles(files), separator, label, threshold, config.maximumTokens]),
    async steps(problem, steps) {
      const ids = [...start, ...tokenizer.encode(problem)]
      const places: (readonly [step: number, place: number])[] = []
      for (const [index, step] of steps.entries()) {
        const next = [...tokenizer.encode(step.trim()), ...separatorIds]
        if (ids.length + next.length > config.maximumTokens) break
        ids.push(...next)
        if (next.length > 0) places.push([index, ids.length - 1])
      }
      const scores = new Array<number>(steps.length).fill(0)
      if (places.length === 0) return scores
      const found = await probabilities(ids, places.map(([, place]) => place))
      for (const [at, [index]] of places.entries()) scores[index] = stepScore(found[at]!, threshold)
      return scores
    },
    close: () => model.release(),
  }
}

async function modelFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => undefined)
  const missing = ['model.onnx', 'tokenizer.json'].find((name) => names?.includes(name) !== true)
  if (names === undefined || missing !== undefined) throw new UserError({ code: 'not-found', what: names === undefined ? 'there is no such folder' : `${missing} is missing`, place: { file: folder, field: 'reward.prm.folder' }, expected: 'a folder with model.onnx and tokenizer.json' })
  return names.filter((name) => /^model\.onnx/.test(name) || name === 'tokenizer.json').sort().map((name) => join(folder, name))
}

/** The beginning of a text, where the model has one: PRMTrainer puts it before the prompt. */
function startOf(tokenizer: Tokenizer): number[] {
  const named = tokenizer.config['bos_token']
  const id = typeof named === 'string' ? tokenizer.idOf(named) : undefined
  return id === undefined ? [] : [id]
}

async function run(model: ModelFile, tensor: (data: BigInt64Array, dims: readonly number[]) => Tensor, ids: readonly number[], output: string): Promise<Tensor> {
  const dims = [1, ids.length]
  const feeds = Object.fromEntries(model.inputNames.map((name) => [name, tensor(name === 'input_ids' ? BigInt64Array.from(ids, BigInt) : knownInputs[name]!(ids.length), dims)]))
  return (await model.run(feeds))[output] as Tensor
}

function softmaxAt(logits: Float32Array, from: number, labels: number, label: number): number {
  const row = Array.from(logits.subarray(from, from + labels))
  const largest = Math.max(...row)
  const sum = row.reduce((total, logit) => total + Math.exp(logit - largest), 0)
  return Math.exp(row[label]! - largest) / sum
}

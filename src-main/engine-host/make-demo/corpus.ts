// An endless supervised corpus from the grammar of the built-in prompts. Example `index` depends on (seed, index) alone, so any
// stretch of it can be made again. Combinations of words that are held out for evaluation never occur.
import { createStream } from '../../engine/runtime/random.ts'
import type { Mistake } from './corrupt.ts'
import { corrupt, mistakeCapacity } from './corrupt.ts'
import { choose, combinationKey, layouts } from './grammar.ts'
import { appKinds } from './kinds.ts'
import { heldoutCombinations } from './prompts.ts'

/** How the corpus misbehaves. */
export interface CorpusOptions {
  /** Share of examples that carry mistakes, 0..1. */
  readonly corruptShare: number
  /** Fewest and most mistakes of such an example, every number between equally likely; a short program carries at most `mistakeCapacity`. */
  readonly mistakes: readonly [number, number]
}

/** One supervised example. */
export interface CorpusExample {
  readonly prompt: string
  readonly completion: string
  /** The mistakes in the completion, offsets in the program before them; empty for a clean example. */
  readonly mistakes: readonly Mistake[]
  /** Name of the kind of app. */
  readonly kind: string
  /** Identity of the combination of words, whatever the phrasing. */
  readonly combination: string
}

/**
 * Example number `index` of the corpus of `seed`.
 * @throws RangeError when the share lies outside 0..1 or the bounds of mistakes are not whole numbers in order
 */
export function corpusExample(seed: number, index: number, options: CorpusOptions): CorpusExample {
  const [fewest, most] = options.mistakes
  if (!(options.corruptShare >= 0 && options.corruptShare <= 1)) throw new RangeError(`corruptShare must be in 0..1, got ${options.corruptShare}`)
  if (!(Number.isInteger(fewest) && Number.isInteger(most) && fewest >= 0 && fewest <= most)) {
    throw new RangeError(`mistakes must be two whole numbers in order, got ${fewest} and ${most}`)
  }
  const stream = createStream(seed, 'demo-corpus', index)
  const heldout = heldoutCombinations()
  const kind = choose(stream, appKinds)
  let slots = kind.draw(stream)
  while (heldout.has(combinationKey(kind, slots))) slots = kind.draw(stream)
  const prompt = choose(stream, kind.phrasings)(slots)
  const program = kind.program(slots, choose(stream, layouts))
  const spoilt = stream.uniform() < options.corruptShare
  const count = fewest + stream.integer(most - fewest + 1)
  const { program: completion, mistakes } = corrupt(program, stream, spoilt ? Math.min(count, mistakeCapacity(program)) : 0)
  return { prompt, completion, mistakes, kind: kind.name, combination: combinationKey(kind, slots) }
}

/** Examples 0..count-1 of the corpus of `seed`, for supervised fine-tuning. Made as they are asked for. */
export function* sftExamples(seed: number, count: number, options: CorpusOptions): Generator<CorpusExample, void, undefined> {
  for (let index = 0; index < count; index++) yield corpusExample(seed, index, options)
}

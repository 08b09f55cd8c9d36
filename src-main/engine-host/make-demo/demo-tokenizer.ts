// The tokenizer of the built-in model.
//
// A word to place must be one and the same token wherever it stands ("Apples" after a space, a quote, or `>`): then a small model only
// has to copy an id from the prompt into the program. So a capitalised word never joins what stands before it, while small-letter words of
// code and prose do take the blanks and punctuation in front of them (`      <button`, ` setCount`), which keeps programs short.
import type { TrainedBpe } from '../../engine/models/bpe-trainer.ts'
import { trainBpe } from '../../engine/models/bpe-trainer.ts'
import { sftExamples } from './corpus.ts'
import { demoSeed } from './prompts.ts'
import { wordClasses } from './vocabulary.ts'

/** One alternative a line; valid in JavaScript (flag `u`) and in the `tokenizers` library. */
export const demoPattern = [
  String.raw` *[^\s\p{L}\p{N}]*\p{Ll}[\p{L}\p{M}\p{N}]*`, // a small-letter word or camelCase name with what stands before it
  String.raw`\p{L}[\p{L}\p{M}]*`, // a capitalised word, or one of a script without case, alone
  String.raw`\p{N}`, // digits one by one
  String.raw` *[^\s\p{L}\p{N}]+[\r\n]*`, // punctuation with the blanks before and the line ends after it
  String.raw`\s*[\r\n]+`,
  String.raw`\s+`,
].join('|')

export const endOfText = '<|endoftext|>'
export const messageStart = '<|im_start|>'
export const messageEnd = '<|im_end|>'

/** ChatML without a default system line. */
export const demoChatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}"
  + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** Room for every word of the vocabulary and every piece of clean programs as one token each; a multiple of 64. */
const vocabularySize = 1792
const trainingExamples = 12000
/** Words of every class count at least this often, so that rare classes become whole tokens too. */
const copiesOfEachWord = 400

function* trainingTexts(): Generator<string, void, undefined> {
  for (const role of ['system', 'user', 'assistant']) for (let copy = 0; copy < trainingExamples; copy++) yield role
  for (const word of Object.values(wordClasses).flat()) for (let copy = 0; copy < copiesOfEachWord; copy++) yield word
  for (const example of sftExamples(demoSeed, trainingExamples, { corruptShare: 0.2, mistakes: [1, 4] })) {
    yield example.prompt
    yield example.completion
  }
}

/** Trains the tokenizer on the corpus, a fifth of it with mistakes; the same every time. */
export function trainDemoTokenizer(): TrainedBpe {
  return trainBpe(trainingTexts(), { pattern: demoPattern, vocabularySize, specialTokens: [endOfText, messageStart, messageEnd] })
}

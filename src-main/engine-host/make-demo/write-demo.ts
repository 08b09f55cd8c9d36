// Writes the data under resources/demo: the prompt set, and the model folder without its weights, which supervised
// fine-tuning on `sftExamples` adds. Every byte follows from the code and `demoSeed`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tokenizerJson } from '../../engine/models/bpe-trainer.ts'
import { demoChatTemplate, endOfText, messageEnd, messageStart, trainDemoTokenizer } from './demo-tokenizer.ts'
import { demoPrompts } from './prompts.ts'

const maxPositions = 512

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function modelFiles(): ReadonlyMap<string, string> {
  const trained = trainDemoTokenizer()
  const id = (special: string): number => trained.vocabulary.length + trained.specialTokens.indexOf(special)
  const config = {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    vocab_size: trained.vocabulary.length + trained.specialTokens.length,
    hidden_size: 256,
    intermediate_size: 704,
    num_hidden_layers: 4,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 32,
    hidden_act: 'silu',
    max_position_embeddings: maxPositions,
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    attention_dropout: 0,
    use_sliding_window: false,
    tie_word_embeddings: true,
    initializer_range: 0.02,
    bos_token_id: null,
    eos_token_id: id(messageEnd),
    pad_token_id: id(endOfText),
    torch_dtype: 'float32',
  }
  const tokenizerConfig = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    add_bos_token: false,
    add_prefix_space: false,
    clean_up_tokenization_spaces: false,
    bos_token: null,
    eos_token: messageEnd,
    pad_token: endOfText,
    unk_token: null,
    additional_special_tokens: [messageStart, messageEnd],
    model_max_length: maxPositions,
    chat_template: demoChatTemplate,
  }
  return new Map([
    ['config.json', json(config)],
    ['generation_config.json', json({ eos_token_id: [id(messageEnd), id(endOfText)], pad_token_id: id(endOfText), do_sample: true, temperature: 1 })],
    ['tokenizer.json', json(tokenizerJson(trained))],
    ['tokenizer_config.json', json(tokenizerConfig)],
  ])
}

/** Relative path (with `/`) and text of every file the demo data consists of, weights excepted. */
export function demoResourceFiles(): ReadonlyMap<string, string> {
  const rows = demoPrompts().map((row) => `${JSON.stringify(row)}\n`).join('')
  return new Map([['prompts.jsonl', rows], ...[...modelFiles()].map(([name, text]): [string, string] => [`model/${name}`, text])])
}

/**
 * Writes the demo data into `dir` (made when missing): `prompts.jsonl` and `model/` with config, generation config, tokenizer and chat template.
 * @returns the relative paths written
 */
export function writeDemoResources(dir: string): readonly string[] {
  const files = demoResourceFiles()
  mkdirSync(join(dir, 'model'), { recursive: true })
  for (const [name, text] of files) writeFileSync(join(dir, ...name.split('/')), text)
  return [...files.keys()]
}

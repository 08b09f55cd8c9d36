// genai_config.json: how onnxruntime-genai drives an exported decoder.
import type { DecoderConfig } from '../config.ts'
import { cacheNames } from './decoder-graph.ts'

/** Room genai reserves for prompt plus answer where its caller says nothing; `max_length` of its search options changes it. */
const DEFAULT_MAX_LENGTH = 4096

/**
 * The file's content. Sampling defaults are off: the policy as it is, greedily.
 * @param file the ONNX file, from the folder of genai_config.json
 * @param positions the longest text the model takes
 */
export function genaiConfig(config: DecoderConfig, file: string, positions: number): Record<string, unknown> {
  const names = cacheNames('%d')
  const { bosId, eosIds, padId } = config
  return {
    model: {
      type: config.family,
      ...(bosId === null ? {} : { bos_token_id: bosId }),
      ...(eosIds.length === 0 ? {} : { eos_token_id: eosIds.length === 1 ? eosIds[0] : eosIds }),
      pad_token_id: padId ?? eosIds[0] ?? 0,
      vocab_size: config.vocabularySize,
      context_length: positions,
      decoder: {
        session_options: { log_id: 'onnxruntime-genai', provider_options: [] },
        filename: file,
        head_size: config.headSize,
        hidden_size: config.hiddenSize,
        num_attention_heads: config.heads,
        num_hidden_layers: config.layers,
        num_key_value_heads: config.kvHeads,
        inputs: { input_ids: 'input_ids', attention_mask: 'attention_mask', position_ids: 'position_ids', past_key_names: names.pastKey, past_value_names: names.pastValue },
        outputs: { logits: 'logits', present_key_names: names.presentKey, present_value_names: names.presentValue },
      },
    },
    search: { do_sample: false, max_length: Math.min(positions, DEFAULT_MAX_LENGTH), min_length: 0, num_beams: 1, num_return_sequences: 1, past_present_share_buffer: true, repetition_penalty: 1, temperature: 1, top_k: 1, top_p: 1 },
  }
}

// The published configurations of models that cannot be had here, reduced to the fields that matter (facts: transformers' documentation
// and the checkpoints' own files). Phi's long factors are stand-ins of the right number.

export const SMOLLM3_3B = {
  architectures: ['SmolLM3ForCausalLM'], model_type: 'smollm3', vocab_size: 128256, hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36,
  num_attention_heads: 16, num_key_value_heads: 4, hidden_act: 'silu', rms_norm_eps: 1e-6, rope_theta: 5e6, rope_scaling: null, max_position_embeddings: 65536,
  attention_bias: false, mlp_bias: false, use_sliding_window: false, sliding_window: null, torch_dtype: 'bfloat16', bos_token_id: 128000, eos_token_id: 128012,
  pad_token_id: 128004, no_rope_layer_interval: 4, no_rope_layers: Array.from({ length: 36 }, (_, layer) => ((layer + 1) % 4 === 0 ? 0 : 1)),
}

export const PHI_4_MINI = {
  architectures: ['Phi3ForCausalLM'], model_type: 'phi3', vocab_size: 200064, hidden_size: 3072, intermediate_size: 8192, num_hidden_layers: 32,
  num_attention_heads: 24, num_key_value_heads: 8, hidden_act: 'silu', rms_norm_eps: 1e-5, rope_theta: 10000, partial_rotary_factor: 0.75,
  rope_scaling: { type: 'longrope', short_factor: Array.from({ length: 48 }, () => 1), long_factor: Array.from({ length: 48 }, (_, pair) => 1 + 0.8 * pair) },
  max_position_embeddings: 131072, original_max_position_embeddings: 4096, sliding_window: 262144, tie_word_embeddings: true, attention_bias: false,
  torch_dtype: 'bfloat16', bos_token_id: 199999, eos_token_id: 199999, pad_token_id: 199999,
}

export const QWEN25_3B = {
  architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', vocab_size: 151936, hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36,
  num_attention_heads: 16, num_key_value_heads: 2, hidden_act: 'silu', rms_norm_eps: 1e-6, rope_theta: 1e6, max_position_embeddings: 32768,
  use_sliding_window: false, sliding_window: 32768, tie_word_embeddings: true, torch_dtype: 'bfloat16', bos_token_id: 151643, eos_token_id: 151643,
}

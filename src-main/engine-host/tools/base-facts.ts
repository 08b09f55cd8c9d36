// What is known of the base models before they are on the machine.

export interface BaseFacts {
  readonly licence: string
  readonly parameters: number
  readonly what: string
  readonly thinking: 'switch' | 'always' | 'never'
}

/** By name, as `baseModels` has it. Parameters count a tied output projection once; each is published in bfloat16, two bytes a parameter. */
export const baseFacts: Readonly<Record<string, BaseFacts>> = {
  'Qwen2.5-3B': { licence: 'Qwen Research', parameters: 3_085_938_688, what: 'A base model without chat tuning: learns the whole of a task from reward.', thinking: 'never' },
  'SmolLM3-3B': { licence: 'Apache-2.0', parameters: 3_075_098_624, what: 'A chat model that thinks when it is told to; open data and licence.', thinking: 'switch' },
  'Phi-4-mini-reasoning': { licence: 'MIT', parameters: 3_836_021_760, what: 'A reasoning model for mathematics; thinks before every answer.', thinking: 'always' },
}

// What a run can be exported as, in words, and what the check of an export means.
import type { ExportFormatName, ExportReportData } from '../../../src-main/contract/calls/runs.ts'
import { compact, plural } from '../../state/number-format.ts'

export interface ExportFormatWords {
  readonly format: ExportFormatName
  readonly title: string
  readonly what: string
  readonly readers: string
  /** Ways of storing weights; the first is near the base model's own and needs no choice. */
  readonly types: readonly string[]
}

export const exportFormats: readonly ExportFormatWords[] = [
  { format: 'adapter', title: 'Adapter', what: 'The LoRA files alone, a few megabytes over the base model.', readers: 'PEFT, and Satchel itself', types: ['float32'] },
  { format: 'merged', title: 'Whole model', what: 'The base model with what was learned merged in, in its own layout (safetensors).', readers: 'transformers, vLLM, SGLang', types: ['float32', 'float16', 'bfloat16'] },
  { format: 'gguf', title: 'GGUF', what: 'One file with weights, tokenizer and template.', readers: 'llama.cpp, Ollama, LM Studio', types: ['float32', 'float16', 'bfloat16', 'q8_0'] },
  { format: 'onnx', title: 'ONNX', what: 'A folder with graph, weights and tokenizer.', readers: 'onnxruntime-genai, transformers.js', types: ['float32', 'float16', 'int8', 'int4'] },
]

/** The result of the check in one or two sentences. */
export function checkWords({ comparison }: Pick<ExportReportData, 'comparison'>): string {
  const { tokens, sequences, meanDifference, largestDifference, greedy } = comparison
  return `Opened again and compared with the run on ${plural(tokens, 'token')} of ${plural(sequences, 'text')}: log-probabilities differ by ${compact(meanDifference)} on average, ${compact(largestDifference)} at most. ${greedy.equal} of ${greedy.prompts} greedy continuations of ${greedy.tokens} tokens are the same.`
}

/** Whether the files may be called the same policy: rarely does more than rounding set them apart. */
export function checkPassed({ comparison, expectedMeanDifference }: Pick<ExportReportData, 'comparison' | 'expectedMeanDifference'>): boolean {
  return comparison.meanDifference <= expectedMeanDifference
}

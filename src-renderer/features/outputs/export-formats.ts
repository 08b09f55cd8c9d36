// What a run can be exported as, in words, and what the check of an export means.
import type { ExportFormatName, ExportReportData } from '../../../src-main/contract/calls/runs.ts'
import { compact } from '../../state/number-format.ts'
import { words } from '../../words.ts'

export interface ExportFormatWords {
  readonly format: ExportFormatName
  readonly title: string
  readonly what: string
  readonly readers: string
  /** Ways of storing weights; the first is near the base model's own and needs no choice. */
  readonly types: readonly string[]
}

export const exportFormats: readonly ExportFormatWords[] = [
  { format: 'adapter', ...words.export.formats.adapter, types: ['float32'] },
  { format: 'merged', ...words.export.formats.merged, types: ['float32', 'float16', 'bfloat16'] },
  { format: 'gguf', ...words.export.formats.gguf, types: ['float32', 'float16', 'bfloat16', 'q8_0'] },
  { format: 'onnx', ...words.export.formats.onnx, types: ['float32', 'float16', 'int8', 'int4'] },
]

/** The result of the check in one or two sentences. */
export function checkWords({ comparison }: Pick<ExportReportData, 'comparison'>): string {
  const { tokens, sequences, meanDifference, largestDifference, greedy } = comparison
  return words.export.checked({ tokens, texts: sequences, mean: compact(meanDifference), largest: compact(largestDifference), equal: greedy.equal, continuations: greedy.prompts, length: greedy.tokens })
}

/** Whether the files may be called the same policy: rarely does more than rounding set them apart. */
export function checkPassed({ comparison, expectedMeanDifference }: Pick<ExportReportData, 'comparison' | 'expectedMeanDifference'>): boolean {
  return comparison.meanDifference <= expectedMeanDifference
}

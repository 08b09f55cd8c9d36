// The GGUF container's vocabulary: types of metadata values and of tensors.
// Source: ggml's docs/gguf.md (versions 2 and 3, little-endian) and the block layouts of ggml-common.h.

/** The four bytes a file starts with. */
export const GGUF_MAGIC = 'GGUF'

/** Metadata value types by their number in the file. */
export const VALUE_TYPES = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'string', 'array', 'u64', 'i64', 'f64'] as const
export type ValueType = (typeof VALUE_TYPES)[number]

/** Bytes a value takes at least: strings and arrays begin with a length. */
export const VALUE_BYTES: Readonly<Record<ValueType, number>> = { u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, bool: 1, string: 8, array: 12, u64: 8, i64: 8, f64: 8 }

/** A metadata value as read. 64-bit integers beyond 2^53 stay bigint. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[]

/** How a tensor type packs elements: `block` consecutive elements of a row take `bytes` bytes. */
export interface TensorLayout {
  readonly block: number
  readonly bytes: number
}

/** Tensor types that are read. */
export const READABLE_TYPES = {
  F32: { block: 1, bytes: 4 },
  F16: { block: 1, bytes: 2 },
  BF16: { block: 1, bytes: 2 },
  Q4_0: { block: 32, bytes: 18 },
  Q4_1: { block: 32, bytes: 20 },
  Q5_0: { block: 32, bytes: 22 },
  Q5_1: { block: 32, bytes: 24 },
  Q8_0: { block: 32, bytes: 34 },
  Q4_K: { block: 256, bytes: 144 },
  Q5_K: { block: 256, bytes: 176 },
  Q6_K: { block: 256, bytes: 210 },
} as const satisfies Record<string, TensorLayout>
export type ReadableType = keyof typeof READABLE_TYPES

/** Names of tensor types by their number in the file; those that are not in {@link READABLE_TYPES} serve error messages. */
export const TENSOR_TYPES: ReadonlyMap<number, string> = new Map([
  [0, 'F32'], [1, 'F16'], [2, 'Q4_0'], [3, 'Q4_1'], [6, 'Q5_0'], [7, 'Q5_1'], [8, 'Q8_0'], [9, 'Q8_1'], [10, 'Q2_K'], [11, 'Q3_K'], [12, 'Q4_K'], [13, 'Q5_K'], [14, 'Q6_K'], [15, 'Q8_K'],
  [16, 'IQ2_XXS'], [17, 'IQ2_XS'], [18, 'IQ3_XXS'], [19, 'IQ1_S'], [20, 'IQ4_NL'], [21, 'IQ3_S'], [22, 'IQ2_S'], [23, 'IQ4_XS'], [24, 'I8'], [25, 'I16'], [26, 'I32'], [27, 'I64'], [28, 'F64'], [29, 'IQ1_M'],
  [30, 'BF16'], [34, 'TQ1_0'], [35, 'TQ2_0'], [39, 'MXFP4'], [40, 'NVFP4'], [41, 'Q1_0'],
])

/** Whether tensors of this type can be read. */
export function isReadable(type: string): type is ReadableType {
  return Object.hasOwn(READABLE_TYPES, type)
}

/** Where tensor data starts and how tensors are aligned, unless `general.alignment` says otherwise. */
export const DEFAULT_ALIGNMENT = 32

/** What `tokenizer.ggml.token_type` holds for each token. */
export const TOKEN_KIND = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

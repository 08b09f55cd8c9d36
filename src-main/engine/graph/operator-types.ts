// Attributes of every operator the builder knows, typed per operator.
// `MatMul` here is the builder's own: both sides may be transposed and the product scaled; onnx.ts lowers it to what the target device has.

type None = Readonly<Record<string, never>>

export interface OperatorAttributes {
  Add: None
  Sub: None
  Mul: None
  Div: None
  Neg: None
  Exp: None
  Log: None
  Sqrt: None
  Sigmoid: None
  Silu: None
  Abs: None
  Min: None
  Max: None
  Where: None
  Less: None
  LessOrEqual: None
  Cast: { readonly to: 'float32' | 'int32' | 'int64' }
  Identity: None
  Detach: None
  MatMul: { readonly transposeA: boolean; readonly transposeB: boolean; readonly scale: number }
  QuantizedMatMul: { readonly bits: 4 | 8; readonly blockSize: number; readonly inSize: number; readonly outSize: number }
  Softmax: { readonly axis: number }
  ReduceSum: { readonly axes: readonly number[]; readonly keepDimensions: boolean }
  ReduceMean: { readonly axes: readonly number[]; readonly keepDimensions: boolean }
  ReduceLogSumExp: { readonly axes: readonly number[]; readonly keepDimensions: boolean }
  Transpose: { readonly permutation: readonly number[] }
  Reshape: None
  Expand: None
  Shape: { readonly start: number; readonly end: number }
  ConstantOfShape: { readonly fill: number }
  Concat: { readonly axis: number }
  Slice: { readonly axis: number; readonly start: number; readonly end: number }
  Gather: { readonly axis: 0 }
  GatherElements: { readonly axis: number }
  ScatterElements: { readonly axis: number }
  ScatterRows: None
  RmsNormalization: { readonly epsilon: number }
  Rotary: { readonly heads: number; readonly rotaryDimensions: number; readonly headSize: number; readonly inverse: boolean }
  GroupQueryAttention: { readonly heads: number; readonly kvHeads: number; readonly headSize: number; readonly scale: number }
}

export type OperatorName = keyof OperatorAttributes

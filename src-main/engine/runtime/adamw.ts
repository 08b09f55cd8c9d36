// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101), in place. Same arithmetic, step by step, as
// native-kernels/adamw.cpp: both compute an element in double precision and store floats, so they agree bit by bit.

export interface AdamWOptions {
  readonly learningRate: number
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  /** The parameter shrinks by learningRate * weightDecay before the step. */
  readonly weightDecay: number
  /** Multiplies the gradient first: the factor of gradient clipping, 1 for none. */
  readonly gradientScale: number
  /** 1 for the first update. */
  readonly step: number
}

/** 1 - beta^step for both moments, which start at 0 and are too small at first. */
export function biasCorrections(options: AdamWOptions): [number, number] {
  return [1 - options.beta1 ** options.step, 1 - options.beta2 ** options.step]
}

/** One update of a tensor: `parameter`, `m` and `v` change, `gradient` is read. All of one length, which `adamW` in kernels.ts checks. */
export function adamWTypeScript(parameter: Float32Array, gradient: Float32Array, m: Float32Array, v: Float32Array, options: AdamWOptions): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, gradientScale } = options
  const [correction1, correction2] = biasCorrections(options)
  const keep = 1 - learningRate * weightDecay
  const take1 = 1 - beta1
  const take2 = 1 - beta2
  const stepSize = learningRate / correction1
  const root2 = Math.sqrt(correction2)
  for (let i = 0; i < parameter.length; i++) {
    const g = gradient[i]! * gradientScale
    const first = beta1 * m[i]! + take1 * g
    const second = beta2 * v[i]! + take2 * g * g
    m[i] = first
    v[i] = second
    parameter[i] = keep * parameter[i]! - (stepSize * first) / (Math.sqrt(second) / root2 + epsilon)
  }
}

/** Sum of squares in double precision. */
export function squaredNormTypeScript(values: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! * values[i]!
  return sum
}

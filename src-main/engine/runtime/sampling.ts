// Sampling one id a row from logits, with log-probabilities: the TypeScript form of native-kernels/sampling.cpp.
//
//   x_i = (z_i - max) / T,  p_i = exp(x_i) / Z
//
// Sampling law of a row: ids below `sampleLimit` with p_i > 0, then top-k, then top-p of what top-k left, then min-p, then made to sum
// to 1 again. Each of the three keeps a head of the ids ordered by falling logit, equal logits by rising id:
//   top-k   the first k
//   top-p   the shortest head whose probability (among what top-k left) reaches p; 1e-9 of p short of it counts as reached
//   min-p   those with p_i >= minP * (largest p below sampleLimit)
// The id is the first one, by rising id, at which the cumulative probability exceeds the row's uniform number.

export interface SamplingBatch {
  /** [B, V] */
  readonly logits: Float32Array
  readonly rows: number
  readonly vocabulary: number
  /**
   * Ids from here on are never sampled (rows of the embedding that no token uses). They stay in the softmax that `fullLogProbability`
   * and `entropy` describe, which is the law a trainer differentiates; `logProbability` is renormalised without them.
   */
  readonly sampleLimit: number
  /** [B] above 0; or 0: the largest logit is taken (of equals the smallest id), and the softmax is the one at temperature 1. */
  readonly temperature: Float64Array
  /** [B] 0: off */
  readonly topK: Int32Array
  /** [B] 1: off */
  readonly topP: Float64Array
  /** [B] 0: off */
  readonly minP: Float64Array
  /** [B] in [0, 1): the row's random number. */
  readonly uniform: Float64Array
}

/** Nats. */
export interface SamplingResult {
  /** [B] -1: the row holds NaN or +infinity, or no id below `sampleLimit` has a finite logit. */
  readonly ids: Int32Array
  /** [B] under the sampling law: after temperature, limit and truncation. 0 at temperature 0. */
  readonly logProbability: Float32Array
  /** [B] under the softmax at the row's temperature over all V ids. */
  readonly fullLogProbability: Float32Array
  /** [B] of that softmax. */
  readonly entropy: Float32Array
}

const lowestX = -700 // below it exp() counts as 0
const bins = 1024
const binsPerNat = 32
const topPSlack = 1 - 1e-9

/** Candidates of a row: parallel lists, by rising id. */
interface Candidates {
  ids: number[]
  weights: number[]
}

interface Mass {
  readonly maximum: number
  /** Sum of exp(x). */
  readonly weight: number
  /** Sum of exp(x) * x. */
  readonly weightedX: number
}

/** Samples every row. Lengths are trusted here; `sampleTokens` in kernels.ts checks them. */
export function sampleTypeScript(batch: SamplingBatch, result: SamplingResult): void {
  for (let row = 0; row < batch.rows; row++) sampleRow(batch, row, result)
}

function sampleRow(batch: SamplingBatch, row: number, result: SamplingResult): void {
  const logits = batch.logits.subarray(row * batch.vocabulary, (row + 1) * batch.vocabulary)
  const allowed = logits.subarray(0, batch.sampleLimit)
  const greedy = batch.temperature[row] === 0
  const temperature = greedy ? 1 : batch.temperature[row]!
  const inverse = 1 / temperature
  const inside = massOf(allowed, inverse)
  const outside = massOf(logits.subarray(batch.sampleLimit), inverse)
  if (!Number.isFinite(inside.maximum) || !Number.isFinite(inside.weight) || !Number.isFinite(outside.weight) || outside.maximum === Infinity) {
    result.ids[row] = -1
    result.logProbability[row] = result.fullLogProbability[row] = result.entropy[row] = Number.NaN
    return
  }

  let id: number
  let lawWeight: number
  if (greedy) {
    id = allowed.indexOf(inside.maximum)
    lawWeight = 1
  } else {
    const topK = batch.topK[row]! < batch.sampleLimit ? batch.topK[row]! : 0
    ;({ id, lawWeight } = choose(allowed, inside, inverse, { topK, topP: batch.topP[row]!, minP: batch.minP[row]! }, batch.uniform[row]!))
  }

  const maximum = Math.max(inside.maximum, outside.maximum)
  const insideX = Math.max((inside.maximum - maximum) * inverse, lowestX)
  const outsideX = Math.max((outside.maximum - maximum) * inverse, lowestX)
  const insideFactor = Math.exp(insideX)
  const outsideFactor = outside.weight > 0 ? Math.exp(outsideX) : 0
  const weight = inside.weight * insideFactor + outside.weight * outsideFactor
  const weightedX = insideFactor * (inside.weightedX + inside.weight * insideX) + outsideFactor * (outside.weightedX + outside.weight * outsideX)
  result.ids[row] = id
  result.logProbability[row] = greedy ? 0 : (allowed[id]! - inside.maximum) * inverse - Math.log(lawWeight)
  result.fullLogProbability[row] = (allowed[id]! - maximum) * inverse - Math.log(weight)
  result.entropy[row] = Math.log(weight) - weightedX / weight
}

/** Sums relative to the largest of these logits; NaN anywhere makes the weight NaN. */
function massOf(logits: Float32Array, inverse: number): Mass {
  let maximum = -Infinity
  for (let i = 0; i < logits.length; i++) if (logits[i]! > maximum) maximum = logits[i]!
  if (!Number.isFinite(maximum)) return { maximum, weight: logits.some(Number.isNaN) ? Number.NaN : 0, weightedX: 0 }
  let weight = 0
  let weightedX = 0
  for (let i = 0; i < logits.length; i++) {
    const x = (logits[i]! - maximum) * inverse
    if (x < lowestX) continue
    const e = Math.exp(x)
    weight += e
    weightedX += e * x
  }
  return { maximum, weight, weightedX }
}

function choose(logits: Float32Array, mass: Mass, inverse: number, law: { topK: number; topP: number; minP: number }, uniform: number): { id: number; lawWeight: number } {
  if (law.topK === 0 && law.topP >= 1 && law.minP <= 0) return walk(mass.weight, uniform, logits.length, (i) => i, (i) => weightOf(logits[i]!, mass, inverse))
  const kept = truncate(logits, mass, inverse, law)
  const lawWeight = kept.weights.reduce((total, weight) => total + weight, 0)
  return walk(lawWeight, uniform, kept.ids.length, (i) => kept.ids[i]!, (i) => kept.weights[i]!)
}

/** The first entry at which the cumulative weight exceeds uniform * total; by rounding short of it, the last entry with a weight. */
function walk(total: number, uniform: number, length: number, idAt: (i: number) => number, weightAt: (i: number) => number): { id: number; lawWeight: number } {
  const target = uniform * total
  let cumulative = 0
  let id = -1
  for (let i = 0; i < length; i++) {
    const weight = weightAt(i)
    if (weight === 0) continue
    id = idAt(i)
    cumulative += weight
    if (cumulative > target) break
  }
  return { id, lawWeight: total }
}

function weightOf(logit: number, mass: Mass, inverse: number): number {
  const x = (logit - mass.maximum) * inverse
  return x < lowestX ? 0 : Math.exp(x)
}

/** The ids that top-k, top-p and min-p leave, by rising id. */
function truncate(logits: Float32Array, mass: Mass, inverse: number, { topK, topP, minP }: { topK: number; topP: number; minP: number }): Candidates {
  const lowest = minP > 0 ? Math.max(Math.log(minP), lowestX) : lowestX
  const sorted = topK > 0 || topP < 1
  // A vocabulary is large and a kept head is small: a histogram over x tells how deep to look, and only that much is sorted.
  const depth = sorted ? headBins(logits, mass, inverse, topK, topP) : bins
  let order: number[] = []
  for (let i = 0; i < logits.length; i++) {
    const x = (logits[i]! - mass.maximum) * inverse
    if (x >= (sorted ? lowestX : lowest) && binOf(x) < depth) order.push(i)
  }
  if (sorted) {
    order.sort((a, b) => logits[b]! - logits[a]! || a - b)
    if (topK > 0) order = order.slice(0, topK)
    if (topP < 1) order = order.slice(0, nucleus(order, (i) => weightOf(logits[i]!, mass, inverse), topP, topK > 0 ? undefined : mass.weight))
    order = order.filter((i) => (logits[i]! - mass.maximum) * inverse >= lowest).sort((a, b) => a - b)
  }
  return { ids: order, weights: order.map((i) => weightOf(logits[i]!, mass, inverse)) }
}

/** Length of the shortest head of `order` that holds `topP` of `total` (left out: of the whole of `order`). */
function nucleus(order: readonly number[], weightAt: (i: number) => number, topP: number, total: number | undefined): number {
  const whole = total ?? order.reduce((sum, i) => sum + weightAt(i), 0)
  let cumulative = 0
  let length = 0
  while (length < order.length) {
    cumulative += weightAt(order[length++]!)
    if (cumulative >= topP * whole * topPSlack) break
  }
  return length
}

function binOf(x: number): number {
  return Math.min(Math.floor(-x * binsPerNat), bins - 1)
}

/** How many bins, from the likeliest on, hold at least `topK` ids or (topK = 0) at least `topP` of the weight. */
function headBins(logits: Float32Array, mass: Mass, inverse: number, topK: number, topP: number): number {
  const counts = new Uint32Array(bins)
  const weights = new Float64Array(bins)
  for (let i = 0; i < logits.length; i++) {
    const x = (logits[i]! - mass.maximum) * inverse
    if (x < lowestX) continue
    const bin = binOf(x)
    counts[bin]! += 1
    weights[bin]! += Math.exp(x)
  }
  let ids = 0
  let weight = 0
  for (let bin = 0; bin < bins; bin++) {
    ids += counts[bin]!
    weight += weights[bin]!
    if (topK > 0 ? ids >= topK : weight >= topP * mass.weight) return bin + 1
  }
  return bins
}

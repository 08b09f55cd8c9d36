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
  /** [B] at least 1e-6; or 0: the largest logit is taken (of equals the smallest id), and the softmax is the one at temperature 1. */
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
const pieceLength = 1024
const bins = 1024
const binsPerNat = 32
const topPSlack = 1 - 1e-9

/** The last kept id in the order of falling logit and, among equals, rising id. */
interface Cut {
  readonly logit: number
  readonly id: number
}

/** Ids and their exp(x), by rising id. */
interface Candidate {
  readonly id: number
  readonly weight: number
}

interface Mass {
  readonly maximum: number
  /** Sum of exp(x). */
  readonly weight: number
  /** Sum of exp(x) * x. */
  readonly weightedX: number
  /** Sum of exp(x) over each piece of 1,024 ids. */
  readonly pieces: number[]
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
  if (!Number.isFinite(maximum)) return { maximum, weight: logits.some(Number.isNaN) ? Number.NaN : 0, weightedX: 0, pieces: [] }
  let weight = 0
  let weightedX = 0
  const pieces: number[] = []
  for (let start = 0; start < logits.length; start += pieceLength) {
    let piece = 0
    for (let i = start; i < Math.min(start + pieceLength, logits.length); i++) {
      const x = (logits[i]! - maximum) * inverse
      if (x < lowestX) continue
      const e = Math.exp(x)
      piece += e
      weightedX += e * x
    }
    weight += piece
    pieces.push(piece)
  }
  return { maximum, weight, weightedX, pieces }
}

interface Law {
  readonly topK: number
  readonly topP: number
  readonly minP: number
}

function choose(logits: Float32Array, mass: Mass, inverse: number, law: Law, uniform: number): { id: number; lawWeight: number } {
  if (law.topK === 0 && law.topP >= 1 && law.minP <= 0) return { id: walkPieces(logits, mass, inverse, uniform * mass.weight), lawWeight: mass.weight }
  const kept = keptBy(logits, mass, inverse, law)
  const lawWeight = kept.reduce((total, { weight }) => total + weight, 0)
  return { id: walk(kept, uniform * lawWeight), lawWeight }
}

/** The first id at which the cumulative weight exceeds `target`; by rounding short of it, the last one. */
function walk(candidates: readonly Candidate[], target: number): number {
  let cumulative = 0
  let last = -1
  for (const { id, weight } of candidates) {
    last = id
    cumulative += weight
    if (cumulative > target) break
  }
  return last
}

/** The same over all ids: the sums of the pieces tell in which one to look. */
function walkPieces(logits: Float32Array, mass: Mass, inverse: number, target: number): number {
  let cumulative = 0
  let piece = mass.pieces.findIndex((weight) => (cumulative += weight) > target)
  if (piece < 0) piece = mass.pieces.findLastIndex((weight) => weight > 0)
  cumulative = mass.pieces.slice(0, piece).reduce((total, weight) => total + weight, 0)
  const start = piece * pieceLength
  let last = -1
  for (let id = start; id < Math.min(start + pieceLength, logits.length); id++) {
    const weight = weightOf(logits[id]!, mass, inverse)
    if (weight === 0) continue
    last = id
    cumulative += weight
    if (cumulative > target) break
  }
  return last
}

function weightOf(logit: number, mass: Mass, inverse: number): number {
  const x = (logit - mass.maximum) * inverse
  return x < lowestX ? 0 : Math.exp(x)
}

/** The ids that top-k, top-p and min-p leave, by rising id. */
function keptBy(logits: Float32Array, mass: Mass, inverse: number, law: Law): Candidate[] {
  const cut = findCut(logits, mass, inverse, law)
  const lowest = law.minP > 0 ? Math.max(Math.log(law.minP), lowestX) : lowestX
  const kept: Candidate[] = []
  for (let id = 0; id < logits.length; id++) {
    const x = (logits[id]! - mass.maximum) * inverse
    if (x >= lowest && keeps(cut, logits[id]!, id)) kept.push({ id, weight: Math.exp(x) })
  }
  return kept
}

function keeps(cut: Cut, logit: number, id: number): boolean {
  return logit > cut.logit || (logit === cut.logit && id <= cut.id)
}

/** Where top-k and then top-p end. A histogram over x tells in which bin that is, and only that bin is sorted. */
function findCut(logits: Float32Array, mass: Mass, inverse: number, { topK, topP }: Law): Cut {
  let cut: Cut = { logit: -Infinity, id: Infinity }
  if (topK === 0 && topP >= 1) return cut
  const { counts, weights } = histogram(logits, mass, inverse)
  const idsOf = (bin: number): number[] => sortedBin(logits, mass, inverse, bin, cut)
  let whole = mass.weight
  if (topK > 0) {
    const { bin, before } = binReaching(counts, topK)
    const taken = idsOf(bin).slice(0, topK - before)
    whole = sumOf(weights.subarray(0, bin)) + taken.reduce((total, id) => total + weightOf(logits[id]!, mass, inverse), 0)
    const last = taken.at(-1)
    if (last !== undefined) cut = { logit: logits[last]!, id: last }
  }
  if (topP < 1) {
    const target = topP * whole * topPSlack
    const { bin, before } = binReaching(weights, target)
    let cumulative = before
    for (const id of idsOf(bin)) {
      cut = { logit: logits[id]!, id }
      cumulative += weightOf(logits[id]!, mass, inverse)
      if (cumulative >= target) break
    }
  }
  return cut
}

function binOf(x: number): number {
  return Math.min(Math.floor(-x * binsPerNat), bins - 1)
}

/** How many ids and how much weight lie in each bin of x. */
function histogram(logits: Float32Array, mass: Mass, inverse: number): { counts: Float64Array; weights: Float64Array } {
  const counts = new Float64Array(bins)
  const weights = new Float64Array(bins)
  for (let id = 0; id < logits.length; id++) {
    const x = (logits[id]! - mass.maximum) * inverse
    if (x < lowestX) continue
    const bin = binOf(x)
    counts[bin]! += 1
    weights[bin]! += Math.exp(x)
  }
  return { counts, weights }
}

/** The bin at which the sum from the likeliest on reaches `target` (the last one where none does), and the sum before it. */
function binReaching(values: Float64Array, target: number): { bin: number; before: number } {
  let before = 0
  let bin = 0
  while (bin + 1 < bins && before + values[bin]! < target) before += values[bin++]!
  return { bin, before }
}

/** The ids of one bin that a cut keeps, by falling logit and rising id. */
function sortedBin(logits: Float32Array, mass: Mass, inverse: number, bin: number, cut: Cut): number[] {
  const ids: number[] = []
  for (let id = 0; id < logits.length; id++) {
    const x = (logits[id]! - mass.maximum) * inverse
    if (x >= lowestX && binOf(x) === bin && keeps(cut, logits[id]!, id)) ids.push(id)
  }
  return ids.sort((a, b) => logits[b]! - logits[a]! || a - b)
}

function sumOf(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0)
}

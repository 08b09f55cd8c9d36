// Spans of text -> one number per sampled token (BoT-GRPO, React recipe):
//
//   S_t = sum over flagged lines l of p_l * phi(d(t, l)),   phi(d) = max(0, 1 - d / (w + 1)),   d in lines
//
// (phi as the linear kernel has it; two others are offered.) A span flags the line it starts on; penalties on one line add. A token that overlaps several lines takes, for every flagged
// line, the largest phi among them. Text is never tokenised again: the ranges of the sampled ids come from their bytes.
import type { TokenOffsets } from '../../contract/rewards.ts'

/** What the map reads of a reward span. */
export interface PenaltySpan {
  readonly start: number
  readonly end: number
  readonly value: number
}

export interface TokenMapOptions {
  /** w: how many lines a flagged line reaches up and down. */
  readonly windowLines: number
  /** Divide by the number of flagged lines. */
  readonly divideByFlaggedLines: boolean
  /** How the penalty fades; the paper's is linear. */
  readonly decayKernel?: 'linear' | 'gaussian' | 'box'
}

/** The share of a penalty that arrives `distance` lines away; 1 on the line itself, 0 from w + 1 lines on. */
export function phi(distance: number, windowLines: number, kernel: TokenMapOptions['decayKernel'] = 'linear'): number {
  if (distance > windowLines) return 0
  switch (kernel) {
    case 'linear':
      return 1 - distance / (windowLines + 1)
    case 'gaussian':
      return distance === 0 ? 1 : Math.exp(-2 * (distance / windowLines) ** 2)
    case 'box':
      return 1
  }
}

/** UTF-16 position of the first unit of every line; \n, \r\n and \r end a line. Always starts with 0. */
export function lineStarts(text: string): Int32Array {
  const starts = [0]
  for (let position = 0; position < text.length; position++) {
    const unit = text.charCodeAt(position)
    if (unit === 13 && text.charCodeAt(position + 1) === 10) continue
    if (unit === 10 || unit === 13) starts.push(position + 1)
  }
  return Int32Array.from(starts)
}

/** 0-based line that holds `position`; positions past the end belong to the last line. */
export function lineOf(starts: Int32Array, position: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= position) low = middle
    else high = middle - 1
  }
  return low
}

/** Clamps a span into the text and widens an empty one to one character, so that it always lies on some token. */
export function widen(span: PenaltySpan, length: number): PenaltySpan {
  const start = Math.min(Math.max(0, span.start), length)
  const end = Math.min(Math.max(start, span.end), length)
  if (end > start || length === 0) return { ...span, start, end }
  return start < length ? { ...span, start, end: start + 1 } : { ...span, start: length - 1, end: length }
}

/**
 * The local signal of one source, [T], one value per sampled token, in the unit of the spans' values.
 * @param spans positions in `offsets.text`; any order; spans of value 0 only inform and flag no line
 * @throws when a value is not finite or the offsets do not belong together
 */
export function mapSpansToTokens(spans: readonly PenaltySpan[], offsets: TokenOffsets, options: TokenMapOptions): Float64Array {
  const { text, starts, ends } = offsets
  if (starts.length !== ends.length) throw new Error(`token offsets disagree: ${starts.length} starts, ${ends.length} ends`)
  const signal = new Float64Array(starts.length)
  const lines = lineStarts(text)
  const penalties = linePenalties(spans, text.length, lines)
  if (penalties.size === 0) return signal
  const divisor = options.divideByFlaggedLines ? penalties.size : 1
  const reach = options.windowLines
  for (let token = 0; token < starts.length; token++) {
    const first = lineOf(lines, starts[token]!)
    const last = Math.max(first, lineOf(lines, Math.max(starts[token]!, ends[token]! - 1)))
    let sum = 0
    for (const [line, penalty] of penalties) {
      const distance = line < first ? first - line : line > last ? line - last : 0
      if (distance <= reach) sum += penalty * phi(distance, reach, options.decayKernel)
    }
    signal[token] = sum / divisor
  }
  return signal
}

/**
 * The local signal of a source whose spans are the stretches themselves (steps of a solution): a token gets the sum over the spans it
 * overlaps, divided by the number of spans when asked for (1/|S| of the AIME recipe; spans of value 0 count). An empty token counts
 * where it stands.
 */
export function mapRangesToTokens(spans: readonly PenaltySpan[], offsets: TokenOffsets, divideBySpans: boolean): Float64Array {
  const { text, starts, ends } = offsets
  if (starts.length !== ends.length) throw new Error(`token offsets disagree: ${starts.length} starts, ${ends.length} ends`)
  const signal = new Float64Array(starts.length)
  const divisor = divideBySpans ? Math.max(1, spans.length) : 1
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end || a.value - b.value)) {
    if (!Number.isFinite(span.value)) throw new Error(`a reward span at ${span.start} has the value ${span.value}`)
    const { start, end } = widen(span, text.length)
    for (let token = 0; token < starts.length; token++) {
      const from = starts[token]!
      const to = Math.max(from + 1, ends[token]!)
      if (from < end && to > start) signal[token] = signal[token]! + span.value / divisor
    }
  }
  return signal
}

/** Penalty per flagged line, in ascending order of lines, so that sums do not depend on the order of the spans. */
function linePenalties(spans: readonly PenaltySpan[], length: number, lines: Int32Array): Map<number, number> {
  const flagged: { line: number; value: number }[] = []
  for (const span of spans) {
    if (!Number.isFinite(span.value)) throw new Error(`a reward span at ${span.start} has the value ${span.value}`)
    if (span.value !== 0) flagged.push({ line: lineOf(lines, widen(span, length).start), value: span.value })
  }
  flagged.sort((a, b) => a.line - b.line || a.value - b.value)
  const penalties = new Map<number, number>()
  for (const { line, value } of flagged) penalties.set(line, (penalties.get(line) ?? 0) + value)
  return penalties
}

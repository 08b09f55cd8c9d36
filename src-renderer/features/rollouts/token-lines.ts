// Cuts a rollout into lines of token pieces, and finds the lines that rewards flagged. Pure.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'

/** A part of a token on one line. `text` is what is drawn; a token that shows nothing (end of sequence, part of a character) gets a mark. */
export interface TokenPiece {
  readonly token: number
  readonly text: string
  readonly kind: 'text' | 'line-end' | 'no-text'
  /** The token's first piece stands for the token; the others are only drawn. */
  readonly first: boolean
}

export interface LineFlag {
  readonly value: number
  readonly source: string
  readonly message: string
  /** 1-based column in which the flagged stretch starts. */
  readonly column: number
}

export interface TokenLine {
  /** 1-based. */
  readonly number: number
  readonly pieces: readonly TokenPiece[]
  readonly flags: readonly LineFlag[]
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Index of the line that holds an offset (UTF-16). */
function lineAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** The lines of a completion. Every token has at least one piece; every character belongs to exactly one piece. */
export function tokenLines(rollout: RolloutRecord): TokenLine[] {
  const { text } = rollout
  const starts = lineStarts(text)
  const lines: { number: number; pieces: TokenPiece[]; flags: LineFlag[] }[] = starts.map((_, index) => ({ number: index + 1, pieces: [], flags: [] }))
  // Tokens that share the bytes of one character overlap: the first shows it, the others get a mark.
  let drawn = 0
  for (const [token, start] of rollout.starts.entries()) {
    const from = Math.max(start, drawn)
    const to = Math.max(from, rollout.ends[token] ?? from)
    drawn = to
    if (from === to) {
      lines[lineAt(starts, Math.min(from, text.length))]?.pieces.push({ token, text: '', kind: 'no-text', first: true })
      continue
    }
    addPieces(lines, starts, text, token, from, to)
  }
  for (const span of rollout.spans) {
    const index = lineAt(starts, Math.min(span.start, Math.max(0, text.length - 1)))
    lines[index]?.flags.push({ value: span.value, source: span.source, message: span.message, column: span.start - (starts[index] ?? 0) + 1 })
  }
  return lines
}

function addPieces(lines: { pieces: TokenPiece[] }[], starts: readonly number[], text: string, token: number, from: number, to: number): void {
  let at = from
  while (at < to) {
    const index = lineAt(starts, at)
    const end = text.indexOf('\n', at)
    const stop = end < 0 ? to : Math.min(to, end)
    if (stop > at) lines[index]?.pieces.push({ token, text: text.slice(at, stop), kind: 'text', first: at === from })
    at = stop
    if (at < to) {
      lines[index]?.pieces.push({ token, text: '', kind: 'line-end', first: at === from })
      at += 1
    }
  }
}

/** A token's text as written in the readout: line ends and spaces made visible. */
export function visibleTokenText(rollout: RolloutRecord, token: number): string {
  const text = rollout.text.slice(rollout.starts[token] ?? 0, rollout.ends[token] ?? 0)
  if (text === '') return rollout.finish === 'stop' && token === rollout.ids.length - 1 ? 'end of completion' : 'no text'
  return text.replaceAll('\n', '↵').replaceAll('\t', '→').replaceAll(' ', '·')
}

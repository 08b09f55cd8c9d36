// What the command line says and how it ends: results on stdout, everything else on stderr, one exit code a kind of failure.
import { describeError, toEnvelope } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'

/** 0 done, 2 usage, 3 bad input, 4 stopped by the person, 5 the engine failed. */
export type ExitCode = 0 | 2 | 3 | 4 | 5

const exitCodes: Readonly<Record<ErrorCode, ExitCode>> = { usage: 2, 'bad-input': 3, 'not-found': 3, 'newer-version': 3, stopped: 4, storage: 5, network: 5, device: 5, engine: 5 }

/** The exit code of whatever was thrown. */
export function exitCodeOf(error: unknown): ExitCode {
  return exitCodes[toEnvelope(error).code]
}

/** A command's answer: an object for programs, lines for people, and how the process ends. */
export interface CommandResult {
  readonly json: unknown
  readonly text: string
  readonly exitCode?: ExitCode
}

/** Prints an answer and sets the exit code. With `json` stdout holds exactly one object. */
export function printResult(result: CommandResult, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(result.json)}\n`)
  else if (result.text !== '') process.stdout.write(result.text.endsWith('\n') ? result.text : `${result.text}\n`)
  process.exitCode = result.exitCode ?? 0
}

/** Prints a failure: the sentence on stderr, with `json` also the envelope on stdout. */
export function printFailure(error: unknown, json: boolean): void {
  const envelope = toEnvelope(error)
  process.stderr.write(`satchel: ${describeError(envelope)}\n`)
  // A failure nobody foresaw is a fault of ours: where it happened helps whoever mends it.
  if (envelope.code === 'engine' && error instanceof Error && error.name !== 'UserError' && error.stack !== undefined) process.stderr.write(`${error.stack}\n`)
  if (json) process.stdout.write(`${JSON.stringify({ error: envelope })}\n`)
  process.exitCode = exitCodeOf(error)
}

/** Writes a log line to stderr. */
export function log(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Rows of cells as aligned text; the first column is left-aligned, the others right-aligned. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows.map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number))).join('  ').trimEnd()).join('\n')
}

/** A share as people read it: `31.2 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

/** Bytes as people read them: `1.5 GiB`. */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = count
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return unit === 0 ? `${count} bytes` : `${value.toFixed(1)} ${units[unit] as string}`
}

/** Seconds as people read them: `4:12`, `1:02:33`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const two = (value: number): string => String(value).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}

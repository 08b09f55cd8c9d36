// Errors a person reads: what was wrong, where, what was expected, and what to do.
// Expected failures (bad input, full disk, missing device) are UserErrors with a code; a broken invariant throws a plain Error.

/** Where a problem lies; every part is optional, only what is known is filled in. */
export interface ErrorPlace {
  /** File or folder path as the person gave it. */
  readonly file?: string | undefined
  /** 1-based row (line) inside the file. */
  readonly row?: number | undefined
  /** Field, tensor, layer or option name. */
  readonly field?: string | undefined
}

/** Codes group failures by what a caller can do about them; the command line maps them to exit codes. */
export type ErrorCode =
  | 'usage' // the call itself is wrong (exit 2)
  | 'bad-input' // a file, row or option is wrong (exit 3)
  | 'not-found' // a file or folder is missing (exit 3)
  | 'newer-version' // written by a newer Satchel (exit 3)
  | 'storage' // disk full, not writable (exit 5)
  | 'network' // a download could not be had (exit 5)
  | 'device' // an execution provider cannot start or failed (exit 5)
  | 'stopped' // the person stopped it (exit 4)
  | 'engine' // the engine failed (exit 5)

/** The plain form of an error, safe to send between processes. */
export interface ErrorEnvelope {
  readonly code: ErrorCode
  readonly what: string
  readonly place: ErrorPlace
  readonly expected: string
  readonly remedy: string
}

/** An expected failure. `message` is the whole sentence a person reads. */
export class UserError extends Error {
  readonly envelope: ErrorEnvelope

  constructor(envelope: { code: ErrorCode; what: string; place?: ErrorPlace; expected?: string; remedy?: string }, options?: { cause?: unknown }) {
    const full: ErrorEnvelope = {
      code: envelope.code,
      what: envelope.what,
      place: envelope.place ?? {},
      expected: envelope.expected ?? '',
      remedy: envelope.remedy ?? '',
    }
    super(describeError(full), options)
    this.name = 'UserError'
    this.envelope = full
  }
}

/** One readable text: place, what, expected, remedy. */
export function describeError(error: ErrorEnvelope): string {
  const { file, row, field } = error.place
  const where = [file, row === undefined ? undefined : `row ${row}`, field].filter((part) => part !== undefined).map(shortened).join(', ')
  const what = shortened(error.what)
  const sentence = /[.!?]$/.test(what) ? what : `${what}.`
  const parts = [where === '' ? sentence : `${where}: ${sentence}`]
  if (error.expected !== '') parts.push(`Expected ${shortened(error.expected)}.`)
  if (error.remedy !== '') parts.push(error.remedy)
  return parts.join(' ')
}

const longestPart = 1000

/** Damaged files hold names and values of any length; the envelope keeps them whole. */
function shortened(text: string): string {
  return text.length <= longestPart ? text : `${text.slice(0, longestPart - 200)} [...] ${text.slice(-100)}`
}

/** Turns anything thrown into an envelope; unknown errors keep their message under code `engine`. */
export function toEnvelope(error: unknown): ErrorEnvelope {
  if (error instanceof UserError) return error.envelope
  const what = error instanceof Error ? error.message : String(error)
  return { code: 'engine', what, place: {}, expected: '', remedy: '' }
}

// One finding about a program, with positions in the program (not yet in the completion around it).

export type Severity = 'fatal' | 'error' | 'warning'

export interface CodeDiagnostic {
  /** UTF-16 position in the program; undefined when the finding has no place (then it counts globally only). */
  readonly start: number | undefined
  readonly length: number
  readonly severity: Severity
  /** Rule or compiler code, for example `TS2322` or `jsx-key`. */
  readonly rule: string
  readonly message: string
}

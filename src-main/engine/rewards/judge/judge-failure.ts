/** A judge gave nothing usable: its source counts 0 for this completion, with the reason. */
export class JudgeFailure extends Error {
  /** Asking again may help: the connection failed, or the server was busy. */
  readonly again: boolean
  /** What the server asks to wait, or undefined. */
  readonly waitMilliseconds: number | undefined

  constructor(message: string, again: boolean, waitMilliseconds?: number) {
    super(message)
    this.name = 'JudgeFailure'
    this.again = again
    this.waitMilliseconds = waitMilliseconds
  }
}

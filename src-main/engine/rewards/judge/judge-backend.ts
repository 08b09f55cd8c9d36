// Who answers a judge's questions, whatever is behind it.

/** One turn of a conversation with a judge. */
export interface JudgeMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
  /** A PNG beside the text. */
  readonly picture?: Uint8Array
}

/** A model that answers. */
export interface JudgeBackend {
  /** The model that answers, as a person knows it. */
  readonly model: string
  /** Names what answers, for the cache: under another identity answers are others. */
  readonly identity: string
  /**
   * One answer at temperature 0.
   * @param signal aborted when the question has run out of time, or the run ends
   * @throws JudgeFailure when nothing usable came
   */
  ask(messages: readonly JudgeMessage[], signal: AbortSignal): Promise<string>
  dispose(): void
}

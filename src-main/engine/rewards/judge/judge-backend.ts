// Who answers a judge's questions, whatever is behind it.

/** One turn of a conversation with a judge. */
export interface JudgeMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
  /** A PNG beside the text. */
  readonly picture?: Uint8Array
}

/** A JSON schema. */
export type AnswerForm = Readonly<Record<string, unknown>>

/** A model that answers. */
export interface JudgeBackend {
  /** The model that answers, as a person knows it. */
  readonly model: string
  /** Names what answers, for the cache: under another identity answers are others. */
  readonly identity: string
  /**
   * One answer at temperature 0.
   * @param form what the answer is held to where the backend can do so and the configuration asks for it
   * @param signal aborted when the question has run out of time, or the run ends
   * @throws JudgeFailure when nothing usable came
   */
  ask(messages: readonly JudgeMessage[], signal: AbortSignal, form?: AnswerForm): Promise<string>
  dispose(): void
}

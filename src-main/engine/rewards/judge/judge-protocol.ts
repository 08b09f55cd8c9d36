// The messages between a run and the process its judge lives in (engine-host/judge-worker.ts).
import type { ErrorEnvelope } from '../../../contract/errors.ts'
import type { JudgeMessage } from './judge-backend.ts'
import type { StepModelConfig } from './step-model.ts'

export interface JudgeModelConfig {
  readonly model: string
  readonly precision: 'fp32' | 'stored' | 'int8' | 'int4'
  readonly maximumAnswerTokens: number
}

export type JudgeWork =
  /** `seconds`: after so long the answer is given up. */
  | { readonly kind: 'ask'; readonly messages: readonly Omit<JudgeMessage, 'picture'>[]; readonly seconds: number }
  | { readonly kind: 'steps'; readonly problem: string; readonly steps: readonly string[] }

export type JudgeProcessRequest =
  /** First message; answered by `ready` or `fatal`. */
  | { readonly kind: 'open-model'; readonly config: JudgeModelConfig }
  | { readonly kind: 'open-step-model'; readonly config: StepModelConfig }
  | { readonly kind: 'work'; readonly id: number; readonly work: JudgeWork }

export type JudgeProcessAnswer =
  /** `identity` names the model, whatever its folder is called. */
  | { readonly kind: 'ready'; readonly identity: string }
  | { readonly kind: 'fatal'; readonly error: ErrorEnvelope }
  | { readonly kind: 'text'; readonly id: number; readonly text: string }
  | { readonly kind: 'steps'; readonly id: number; readonly steps: readonly number[] }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string }

// Entry of a judge's process: a model that answers questions, or one that scores steps (engine/rewards/judge/judge-process.ts).
import { toEnvelope } from '../contract/errors.ts'
import { JudgeFailure } from '../engine/rewards/judge/judge-failure.ts'
import { openModelAnswers, type ModelAnswers } from '../engine/rewards/judge/model-answers.ts'
import type { JudgeProcessAnswer, JudgeProcessRequest, JudgeWork } from '../engine/rewards/judge/judge-protocol.ts'
import { openStepModelFolder, type OpenedStepModel } from '../engine/rewards/judge/step-model.ts'

let answers: ModelAnswers | undefined
let stepModel: OpenedStepModel | undefined

function tell(message: JudgeProcessAnswer): void {
  process.send?.(message)
}

async function work(id: number, asked: JudgeWork): Promise<JudgeProcessAnswer> {
  try {
    if (asked.kind === 'ask') {
      if (answers === undefined) throw new Error('the judge was asked before its model was opened')
      return { kind: 'text', id, text: await answers.ask(asked.messages, asked.seconds) }
    }
    if (stepModel === undefined) throw new Error('steps were to be scored before the model was opened')
    return { kind: 'steps', id, steps: await stepModel.steps(asked.problem, asked.steps) }
  } catch (error) {
    if (error instanceof JudgeFailure) return { kind: 'failed', id, reason: error.message }
    throw error
  }
}

async function handle(message: JudgeProcessRequest): Promise<JudgeProcessAnswer> {
  switch (message.kind) {
    case 'open-model':
      answers = await openModelAnswers(message.config)
      return { kind: 'ready', identity: answers.identity }
    case 'open-step-model':
      stepModel = await openStepModelFolder(message.config)
      return { kind: 'ready', identity: stepModel.identity }
    case 'work':
      return work(message.id, message.work)
  }
}

process.on('message', (message: JudgeProcessRequest) => {
  handle(message).then(tell, (error: unknown) => tell(message.kind === 'work' ? { kind: 'failed', id: message.id, reason: toEnvelope(error).what } : { kind: 'fatal', error: toEnvelope(error) }))
})
// Ctrl-C in a terminal reaches every process of its group; when to end is decided by whoever started this one.
process.on('SIGINT', () => undefined)
process.on('disconnect', () => process.exit(0))

// Sentences about what happened to an engine.
import type { EngineEvent, Phase } from '../contract/events.ts'
import type { EngineEnd } from './engine-process.ts'

const phaseWords: Readonly<Record<Phase, string>> = {
  load: 'loading the model',
  evaluate: 'evaluating held-out prompts',
  generate: 'generating completions',
  score: 'scoring completions',
  update: 'updating the weights',
  checkpoint: 'writing a checkpoint',
}

/** The last line of stderr that says something about an error, or its last line. */
export function lastErrorLine(lastWords: string): string {
  const lines = lastWords.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('at ') && !/^Node\.js v\d/.test(line))
  return lines.findLast((line) => /error|fatal|abort|exception/i.test(line)) ?? lines.at(-1) ?? ''
}

function howItEnded(end: EngineEnd): string {
  if (end.spawnError !== undefined) return `The engine process could not be started (${end.spawnError}).`
  if (end.signal === 'SIGKILL') return 'The engine process was killed: by another program, or by the system because memory ran out.'
  if (end.signal !== null) return `The engine process was ended by signal ${end.signal}.`
  return `The engine process ended unexpectedly with code ${end.code ?? 'unknown'}.`
}

/** What the supervisor remembers of a run when its engine goes. */
export interface LastKnown {
  readonly step: number
  readonly totalSteps: number
  readonly phase: Phase | undefined
  readonly checkpointStep: number | undefined
  /** The newest `error` event, when one was sent. */
  readonly error: Extract<EngineEvent, { type: 'error' }>['error'] | undefined
}

/** What became of the process, with its last words when it had any. */
export function endMessage(end: EngineEnd): string {
  const line = lastErrorLine(end.lastWords)
  return line === '' ? howItEnded(end) : `${howItEnded(end)} Its last words: “${line.slice(0, 300)}”.`
}

/** The sentence for a run whose engine went away without saying goodbye. */
export function crashMessage(end: EngineEnd, last: LastKnown): string {
  const sentences = [endMessage(end)]
  if (last.totalSteps > 0) {
    const doing = last.phase === undefined ? '' : `, while ${phaseWords[last.phase]}`
    sentences.push(`It had finished step ${last.step} of ${last.totalSteps}${doing}.`)
  }
  sentences.push(
    last.checkpointStep === undefined
      ? 'Nothing already written is lost; Resume continues from the newest checkpoint.'
      : `Nothing already written is lost; Resume continues from the checkpoint of step ${last.checkpointStep}.`,
  )
  return sentences.join(' ')
}

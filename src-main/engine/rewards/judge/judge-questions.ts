// Conversations with a judge: what is put to it, turn by turn, and the verdict that follows.
import type { PromptRow } from '../../../contract/rewards.ts'
import { readScore, readStepMarks, readWorstLines, spoken } from './judge-answer.ts'
import type { AnswerForm, JudgeMessage } from './judge-backend.ts'
import type { ScoreVerdict, StepsVerdict } from './judge-cache.ts'
import { JudgeFailure } from './judge-failure.ts'
import { barredLines, numberedLines, type JudgePrompts } from './judge-prompts.ts'

/** Puts a conversation to a judge. @throws JudgeFailure when there is no answer */
export type AskJudge = (messages: readonly JudgeMessage[], form: AnswerForm) => Promise<string>

// What answers are held to by servers that can. The reason comes before the score, so that the judge thinks first; the readers of free text
// understand these as well.
const formOf = (properties: Readonly<Record<string, AnswerForm>>): AnswerForm => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })
const reason: AnswerForm = { type: 'string', maxLength: 300 }
const scoreForm: AnswerForm = { type: 'integer', minimum: 0, maximum: 10 }
const linesForm: AnswerForm = { type: 'array', maxItems: 3, items: formOf({ line: { type: 'integer', minimum: 1 }, impact: { enum: [-1, -2, -3] }, reason: { type: 'string', maxLength: 120 } }) }

export type LineTurns = 'none' | 'one-turn' | 'two-turn'

function opening(prompts: JudgePrompts, question: JudgeMessage): JudgeMessage[] {
  return prompts.has('system') ? [{ role: 'system', text: prompts.fill('system', {}) }, question] : [question]
}

function scoreOf(answer: string): number {
  const score = readScore(answer)
  if (score === undefined) throw new JudgeFailure(unread('no score could be read from the answer', answer), false)
  return score
}

/**
 * A score for code and, where asked for, its worst lines. In two turns the score is fixed before lines are spoken of (BoT-GRPO, section 2 of
 * the React recipe: attribution in the same answer destabilises).
 * @throws JudgeFailure when there is no answer or no score in it; a second answer that cannot be read is a `problem` of the verdict
 */
export async function judgeCode(ask: AskJudge, prompts: JudgePrompts, { prompt }: PromptRow, code: string, turns: LineTurns): Promise<ScoreVerdict> {
  const first = opening(prompts, { role: 'user', text: prompts.fill(turns === 'one-turn' ? 'score-and-lines' : 'score', { prompt, code: numberedLines(code) }) })
  const answer = await ask(first, turns === 'one-turn' ? formOf({ reason, lines: linesForm, score: scoreForm }) : formOf({ reason, score: scoreForm }))
  const score = scoreOf(answer)
  if (turns === 'none') return { score }
  const lineCount = code.split(/\r\n|\n|\r/).length
  // In one turn a score without lines is an answer; in two the second answer was asked for nothing else.
  if (turns === 'one-turn') return { score, lines: readWorstLines(answer, lineCount) ?? [] }
  const second = await ask([...first, { role: 'assistant', text: spoken(answer)?.trim() ?? answer }, { role: 'user', text: prompts.fill('lines', { prompt, code: numberedLines(code) }) }], formOf({ lines: linesForm }))
  const lines = readWorstLines(second, lineCount)
  return lines === undefined ? { score, problem: unread('no lines could be read from the second answer', second) } : { score, lines }
}

/** A score for a picture of the page. The judge never sees the code. @throws JudgeFailure */
export async function judgePicture(ask: AskJudge, prompts: JudgePrompts, { prompt }: PromptRow, picture: Uint8Array): Promise<ScoreVerdict> {
  return { score: scoreOf(await ask(opening(prompts, { role: 'user', text: prompts.fill('score', { prompt }), picture }), formOf({ reason, score: scoreForm }))) }
}

/** A score for a whole completion. @throws JudgeFailure */
export async function judgeCompletion(ask: AskJudge, prompts: JudgePrompts, { prompt }: PromptRow, completion: string): Promise<ScoreVerdict> {
  return { score: scoreOf(await ask(opening(prompts, { role: 'user', text: prompts.fill('score', { prompt, completion: barredLines(completion) }) }), formOf({ reason, score: scoreForm }))) }
}

/** -1, 0 or +1 for every step of a solution. @throws JudgeFailure */
export async function judgeSteps(ask: AskJudge, prompts: JudgePrompts, { prompt }: PromptRow, steps: readonly string[]): Promise<StepsVerdict> {
  const text = steps.map((step, index) => `STEP ${index + 1}\n${barredLines(step.trim())}`).join('\n')
  const answer = await ask(opening(prompts, { role: 'user', text: prompts.fill('steps', { prompt, steps: text }) }), formOf(Object.fromEntries(steps.map((_, index) => [`step_${index + 1}`, { enum: ['right', 'wrong', 'unclear'] }]))))
  const marks = readStepMarks(answer, steps.length)
  if (marks === undefined) throw new JudgeFailure(unread('no verdict on a step could be read from the answer', answer), false)
  return { steps: marks }
}

/** Why an answer is none, with its end. */
function unread(what: string, answer: string): string {
  const why = spoken(answer) === undefined ? 'it ended while the judge was still thinking; raise reward.judge.maximumAnswerTokens' : answer.replace(/\s+/g, ' ').trim().slice(-120)
  return `${what}: ${why}`
}

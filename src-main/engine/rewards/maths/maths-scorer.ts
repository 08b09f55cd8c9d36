// Scores completions as solutions of mathematical problems (the AIME recipe):
//
//   r_t = w_g * 1[answer correct] + w_s * (1/|S|) * sum of e_s over the steps containing t + b_format
import type { MathsRewardConfig } from '../../../contract/reward-config.ts'
import type { AuditResult, CompileStages, RewardSpan, ScoredCompletion, SourceScore } from '../../../contract/rewards.ts'
import { assemble } from '../bus.ts'
import type { RecipeScorer, ScoreItem } from '../scorer.ts'
import { isOfKind, readAnswer, sameAnswer, type SymbolicEquality } from './answers.ts'
import { readSolution, type Solution } from './solution.ts'
import { createSymbolicEquality } from './symbolic.ts'
import { verifySteps } from './verifier.ts'

/** Loads nothing: the algebra library starts with the first answer that needs it. */
export function createMathsScorer(config: MathsRewardConfig): RecipeScorer {
  const symbolic = createSymbolicEquality(config)
  return {
    async score(items, announce, result) {
      for (const [index, item] of items.entries()) {
        announce(index, 'run')
        result(index, await scoreSolution(item, config, symbolic.equal))
      }
    },
    dispose: () => symbolic.dispose(),
  }
}

const noGate: CompileStages = { parse: false, types: false, bundle: false, render: false }

/** The verdict on one solution. */
export async function scoreSolution({ row, text }: ScoreItem, config: MathsRewardConfig, symbolic: SymbolicEquality): Promise<ScoredCompletion> {
  const started = performance.now()
  if (text.length > config.limits.maximumCharacters) return verdict(config, noGate, [], `the solution is longer than ${config.limits.maximumCharacters} characters`, 'missing', ['not read'], 0)
  const solution = readSolution(text)
  const { stages, failure } = await judgeAnswer(solution, text, row.answer, config, symbolic)
  const answered = performance.now()
  const spans = verifySteps(text, row.prompt, solution.steps, config).map(({ start, end, value, message }): RewardSpan => ({ start, end, value, source: 'steps', message }))
  const failures = auditSolution(solution, text, stages.render, config.audit)
  return verdict(config, stages, spans, failure, solution.format, failures, answered - started, performance.now() - answered)
}

function verdict(config: MathsRewardConfig, stages: CompileStages, spans: readonly RewardSpan[], failure: string | undefined, format: Solution['format'], auditFailures: readonly string[], answerTime: number, stepTime = 0): ScoredCompletion {
  const bonus = { matched: config.formatMatched, mismatched: config.formatMismatched, missing: config.formatMissing }[format]
  const sources: SourceScore[] = [
    { source: 'answer', global: Number(stages.render), spans: [], milliseconds: answerTime, ...(failure === undefined ? {} : { failure }) },
    { source: 'format', global: bonus, spans: [], milliseconds: 0 },
    { source: 'steps', global: meanOf(spans), spans, milliseconds: stepTime },
  ]
  const audit: AuditResult = { passed: auditFailures.length === 0, failures: auditFailures }
  return assemble({ sources, stages, requirementScore: Number(stages.render), audit }, config)
}

const meanOf = (spans: readonly RewardSpan[]): number => (spans.length === 0 ? 0 : spans.reduce((sum, { value }) => sum + value, 0) / spans.length)

async function judgeAnswer(solution: Solution, text: string, expected: string | undefined, config: MathsRewardConfig, symbolic: SymbolicEquality): Promise<{ stages: CompileStages; failure?: string }> {
  const wanted = expected === undefined ? undefined : readAnswer(expected)
  if (wanted === undefined) return { stages: noGate, failure: expected === undefined ? 'the row has no answer' : `the answer of the row cannot be read: ${expected.slice(0, 80)}` }
  if (solution.answer === undefined) return { stages: noGate }
  const given = readAnswer(text.slice(solution.answer.start, solution.answer.end))
  if (given === undefined) return { stages: { ...noGate, parse: true } }
  if (!isOfKind(given, config)) return { stages: { ...noGate, parse: true, types: true } }
  return { stages: { parse: true, types: true, bundle: true, render: await sameAnswer(given, wanted, symbolic) } }
}

/** Signs of an answer that was not worked out. */
function auditSolution(solution: Solution, text: string, correct: boolean, thresholds: MathsRewardConfig['audit']): string[] {
  const failures: string[] = []
  if (solution.answer === undefined) failures.push('no answer')
  if (correct && solution.steps.filter(({ start, end }) => /\d/.test(text.slice(start, end))).length < thresholds.minimumSteps) failures.push('no work shown')
  if (new Set(solution.answers.map((answer) => answer.replace(/\s/g, ''))).size > thresholds.maximumAnswers) failures.push('several answers')
  const counts = new Map<string, number>()
  for (const line of text.split(/[\r\n]+|(?=<step_)/)) if (line.trim().length >= 8) counts.set(line.trim().replace(/step_\d+/g, 'step'), (counts.get(line.trim().replace(/step_\d+/g, 'step')) ?? 0) + 1)
  if (Math.max(0, ...counts.values()) > thresholds.maximumRepeats) failures.push('repetition')
  return failures
}

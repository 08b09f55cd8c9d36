// From findings to scores: the ladder, the lint score, and spans in the completion's own positions.
import type { ReactRewardConfig } from '../../contract/reward-config.ts'
import type { AuditResult, CompileStages, RewardSpan, ScoredCompletion, SourceScore } from '../../contract/rewards.ts'
import { assemble } from './bus.ts'
import type { CodeBlock } from './code-block.ts'
import type { CodeDiagnostic, Severity } from './diagnostic.ts'
import { lineOf, lineStarts, widen } from './token-map.ts'

/** The last gate a program passed. */
export type StageReached = 'not-react' | 'nothing' | 'parse' | 'types' | 'bundle' | 'render'

/** Graded outcome: the configured value of the stage a program failed at. */
export function ladderValue(reached: StageReached, ladder: ReactRewardConfig['ladder']): number {
  switch (reached) {
    case 'not-react':
      return ladder.notReact
    case 'nothing':
      return ladder.parse
    case 'parse':
      return ladder.types
    case 'types':
      return ladder.bundle
    case 'bundle':
      return ladder.render
    case 'render':
      return ladder.compiled
  }
}

export function stagesOf(reached: StageReached): CompileStages {
  const rank = ['not-react', 'nothing', 'parse', 'types', 'bundle', 'render'].indexOf(reached)
  return { parse: rank >= 2, types: rank >= 3, bundle: rank >= 4, render: rank >= 5 }
}

/** Moves findings into the completion; what has no position gives no span. */
function placed(diagnostics: readonly CodeDiagnostic[], block: CodeBlock, text: string, source: string, value: (diagnostic: CodeDiagnostic) => number): RewardSpan[] {
  return diagnostics.flatMap((diagnostic) => {
    if (diagnostic.start === undefined) return []
    const start = block.start + diagnostic.start
    const range = widen({ start, end: start + diagnostic.length, value: 0 }, text.length)
    return [{ start: range.start, end: range.end, value: value(diagnostic), source, message: `${diagnostic.rule}: ${diagnostic.message}` }]
  })
}

/** Compiler spans: the configured penalty once a flagged line; further findings on the same line only inform (value 0). */
export function compilerSpans(diagnostics: readonly CodeDiagnostic[], block: CodeBlock, text: string, config: ReactRewardConfig): RewardSpan[] {
  const starts = lineStarts(text)
  const flagged = new Set<number>()
  return placed(diagnostics, block, text, 'compiler', () => config.compilerLine).map((span) => {
    const line = lineOf(starts, span.start)
    if (flagged.has(line)) return { ...span, value: 0 }
    flagged.add(line)
    return span
  })
}

function lintPenalty(severity: Severity, config: ReactRewardConfig): number {
  return config.lint[severity]
}

/** Lint spans: every finding at its own penalty; penalties on one line add in the token map. */
export function lintSpans(diagnostics: readonly CodeDiagnostic[], block: CodeBlock, text: string, config: ReactRewardConfig): RewardSpan[] {
  return placed(diagnostics, block, text, 'lint', (diagnostic) => lintPenalty(diagnostic.severity, config))
}

/** The lint score: the sum of the penalties, not below the floor. */
export function lintScore(diagnostics: readonly CodeDiagnostic[], config: ReactRewardConfig): number {
  const sum = diagnostics.reduce((total, diagnostic) => total + lintPenalty(diagnostic.severity, config), 0)
  return Math.max(config.lint.floor, sum)
}

/** The verdict on a React completion. */
export function reactVerdict(reached: StageReached, requirementScore: number, sources: readonly SourceScore[], audit: AuditResult, config: ReactRewardConfig): ScoredCompletion {
  return assemble({ sources, stages: stagesOf(reached), requirementScore, audit }, config)
}

/** The sources of a React completion that could not be judged at all: the lowest outcome, with the reason. */
export function failedReactSources(reason: string, config: ReactRewardConfig): SourceScore[] {
  const none = { spans: [], milliseconds: 0 }
  return [
    { source: 'compiler', global: config.ladder.notReact, ...none, failure: reason },
    { source: 'lint', global: Math.max(config.lint.floor, config.lint.fatal), ...none },
    { source: 'requirements', global: 0, ...none },
  ]
}

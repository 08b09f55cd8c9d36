// What a reward says about a completion, in the units every room shares.
// Offsets are UTF-16 code units of the decoded completion text, end exclusive.

/** Machine-checkable demand on the rendered document, written in a prompt row. */
export type Requirement =
  | { readonly kind: 'role'; readonly role: string; readonly name?: string }
  | { readonly kind: 'text'; readonly text: string }
  /** After clicking the named control `times` times the document must show `text`. */
  | { readonly kind: 'after-click'; readonly role: string; readonly name: string; readonly times?: number; readonly text: string }

/** One test case of a function: what it is called with, and what it must give. Values are JSON. */
export interface TestCase {
  readonly input: readonly unknown[]
  readonly expected: unknown
}

/** One row of a prompt file (JSONL). */
export interface PromptRow {
  readonly id: string
  readonly prompt: string
  readonly system?: string
  readonly requirements?: readonly Requirement[]
  /** The answer of a mathematical problem, as a person writes it; LaTeX is understood. */
  readonly answer?: string
  /** Name of the function the code must define, and the cases that check it. */
  readonly entry?: string
  /** Cases of the reward. */
  readonly tests?: readonly TestCase[]
  /** Cases of the sealed audit; they never enter the reward. */
  readonly hiddenTests?: readonly TestCase[]
  /** Anything else a custom reward wants to know about the row. */
  readonly data?: Readonly<Record<string, unknown>>
  /** A reference completion, used by the audit's length check and by supervised training only. */
  readonly reference?: string
  /** Which side of a fixed split the row belongs to; rows without it are split by the run's own rule. */
  readonly split?: 'train' | 'heldout'
}

/**
 * Where each sampled id lies in the decoded completion: `starts[t]..ends[t]` in UTF-16 units, end exclusive.
 * Ids that add no text (special tokens) have an empty range at their position. Never made by tokenising text again.
 */
export interface TokenOffsets {
  readonly text: string
  readonly starts: Int32Array
  readonly ends: Int32Array
}

/** A stretch of completion text with a local penalty (negative) or bonus (positive). */
export interface RewardSpan {
  readonly start: number
  readonly end: number
  readonly value: number
  readonly source: string
  readonly message: string
}

/**
 * Four gates in order, whatever the recipe calls them (`gateNames`). A later gate is false when an earlier one is; all four together
 * are what a completion has to pass.
 */
export interface CompileStages {
  readonly parse: boolean
  readonly types: boolean
  readonly bundle: boolean
  readonly render: boolean
}

/** What the four gates mean in each recipe. */
export const gateNames = {
  react: { parse: 'parses', types: 'type-checks', bundle: 'bundles', render: 'renders' },
  maths: { parse: 'gives an answer', types: 'the answer can be read', bundle: 'it is of the kind asked for', render: 'it is right' },
  code: { parse: 'parses', types: 'type-checks', bundle: 'loads', render: 'passes every case' },
  custom: { parse: 'was judged', types: 'was judged', bundle: 'was judged', render: 'passes' },
} as const

/** One source's verdict on one completion. */
export interface SourceScore {
  readonly source: string
  /** Contribution to the global score before weighting; finite. */
  readonly global: number
  readonly spans: readonly RewardSpan[]
  /** Wall-clock milliseconds this source took for this completion (its share of a batch). */
  readonly milliseconds: number
  /** Set when the source could not decide (timeout, crash); then `global` is its failure value. */
  readonly failure?: string
}

/** The sealed audit: never enters a reward. */
export interface AuditResult {
  readonly passed: boolean
  readonly failures: readonly string[]
}

/** Everything the rewards know about one completion. */
export interface ScoredCompletion {
  /** Weighted sum of the sources' global parts, G of eq. 4. */
  readonly global: number
  /** Ungraded outcome used to test whether a group is flat; equals `global` without local signals. */
  readonly outcome: number
  readonly spans: readonly RewardSpan[]
  readonly sources: readonly SourceScore[]
  readonly stages: CompileStages
  /** React: share of the row's requirements met in the rendered document, 0 when nothing rendered. Maths: 1 when right. Code: share of cases passed. Custom: 1 when it passes. */
  readonly requirementScore: number
  readonly audit: AuditResult
  /** What a real browser showed of a page that rendered in the DOM; absent where none was asked. `unchecked`: the browser failed, not the page. */
  readonly pixels?: 'seen' | 'blank' | 'unchecked'
}

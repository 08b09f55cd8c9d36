// Scores completions as functions that test cases call.
//
//   text ─> code block ─> parse ─> tricks, entry ─> types (when on) ─> script ─> sandbox: load ─> visible cases ─> hidden cases (audit)
//
// The code under test sees the arguments of a case and nothing else: what is expected stays outside, so a result can only be computed.
import type { CodeRewardConfig } from '../../../contract/reward-config.ts'
import type { CompileStages, RewardSpan, ScoredCompletion, SourceScore, TestCase } from '../../../contract/rewards.ts'
import { assemble } from '../bus.ts'
import { extractCode, type CodeBlock } from '../code-block.ts'
import type { CodeDiagnostic } from '../diagnostic.ts'
import { bundleKit } from '../sandbox-bundle.ts'
import { createScriptSandbox, type ScriptSandbox } from '../script-sandbox.ts'
import type { RecipeScorer, ScoreItem } from '../scorer.ts'
import { lineOf, lineStarts, widen } from '../token-map.ts'
import { checkTypes } from '../typescript-check.ts'
import { auditCode } from './code-audit.ts'
import { lineStart, parseCode, refusals, scriptOf, type CodeProgram } from './program.ts'
import { matches, readOutcome } from './results.ts'

interface Draft {
  readonly item: ScoreItem
  readonly block: CodeBlock
  readonly program: CodeProgram | undefined
  readonly found: CodeDiagnostic[]
  stage: 'nothing' | 'parsed' | 'typed'
  milliseconds: number
}

/** Starts the sandbox. */
export async function createCodeScorer(config: CodeRewardConfig): Promise<RecipeScorer> {
  const sandbox = createScriptSandbox(await bundleKit(['script-sandbox-kit.js']), config.limits)
  await sandbox.start()
  return {
    async score(items, announce, result) {
      const drafts = items.map((item, index) => {
        announce(index, 'parse')
        return draftOf(item, index, config)
      })
      for (const [index, draft] of drafts.entries()) {
        announce(index, 'types')
        checkDraft(draft, config)
        announce(index, 'run')
        result(index, await finish(draft, config, sandbox))
      }
    },
    dispose: () => sandbox.dispose(),
  }
}

function draftOf(item: ScoreItem, index: number, config: CodeRewardConfig): Draft {
  const started = performance.now()
  const block = extractCode(item.text)
  const draft = (program: CodeProgram | undefined, found: CodeDiagnostic[], stage: Draft['stage']): Draft => ({ item, block, program, found, stage, milliseconds: performance.now() - started })
  const refused = (message: string): Draft => draft(undefined, [{ start: undefined, length: 0, severity: 'fatal', rule: 'refused', message }], 'nothing')
  if (block.code.length > config.limits.maximumCharacters) return refused(`the program is longer than ${config.limits.maximumCharacters} characters`)
  if (block.code.trim() === '') return refused('there is no program')
  try {
    const program = parseCode(block.code, String(index))
    return draft(program, [...program.syntax], program.syntax.length > 0 ? 'nothing' : 'parsed')
  } catch (error) {
    if (error instanceof RangeError) return refused('the program is nested too deeply')
    throw error
  }
}

/** What untyped JavaScript cannot have: types of parameters, variables and members (TS7xxx). */
const isUntyped = ({ rule }: CodeDiagnostic): boolean => /^TS7\d\d\d$/.test(rule)

function checkDraft(draft: Draft, config: CodeRewardConfig): void {
  const { program } = draft
  if (draft.stage !== 'parsed' || program === undefined) return
  const started = performance.now()
  try {
    const errors = config.typeCheck ? checkTypes({ ...program, isReact: false }).filter((error) => !isUntyped(error)) : []
    draft.found.push(...errors)
    if (errors.length === 0) draft.stage = 'typed'
  } catch (error) {
    draft.found.push({ start: undefined, length: 0, severity: 'fatal', rule: 'refused', message: `the type checker gave up: ${error instanceof Error ? error.message : 'unknown'}`.slice(0, 300) })
  }
  draft.milliseconds += performance.now() - started
}

/** What running the cases gave. */
interface Run {
  readonly passed: number
  readonly failures: readonly { readonly message: string; readonly line: number | undefined }[]
}

async function finish(draft: Draft, config: CodeRewardConfig, sandbox: ScriptSandbox): Promise<ScoredCompletion> {
  const { item: { row }, program } = draft
  const [tests, hidden] = [row.tests ?? [], row.hiddenTests ?? []]
  const started = performance.now()
  const loaded = draft.stage === 'typed' && program !== undefined ? await load(draft, program, row.entry ?? '', config, sandbox) : undefined
  const loadedAt = performance.now()
  const visible = loaded === undefined ? undefined : await runCases(tests, config, sandbox)
  const testedAt = performance.now()
  // Hidden cases begin with a fresh copy: what the visible ones left behind is gone.
  const sealed = loaded === undefined || hidden.length === 0 ? undefined : await runHidden(loaded, hidden, config, sandbox)
  const share = visible === undefined || tests.length === 0 ? 0 : visible.passed / tests.length
  const stages: CompileStages = { parse: draft.stage !== 'nothing', types: draft.stage === 'typed', bundle: loaded !== undefined, render: loaded !== undefined && tests.length > 0 && share === 1 }
  const { ladder } = config
  const reached = !stages.parse ? ladder.parse : !stages.types ? ladder.types : !stages.bundle ? ladder.load : ladder.ran
  const sources: SourceScore[] = [
    { source: 'compiler', global: reached, spans: compilerSpans(draft, config), milliseconds: draft.milliseconds + loadedAt - started },
    { source: 'tests', global: share, spans: testSpans(draft, visible, config), milliseconds: testedAt - loadedAt, ...(tests.length === 0 ? { failure: 'the row has no tests' } : {}) },
  ]
  const audit = auditCode({ code: draft.block.code, file: program?.file, visible: tests, hiddenPassed: sealed?.passed, hidden: hidden.length, reference: row.reference }, config.audit)
  return assemble({ sources, stages, requirementScore: share, audit }, config)
}

/** Loads the code; the script that was loaded, or undefined with the reason among the findings. */
async function load(draft: Draft, program: CodeProgram, entry: string, config: CodeRewardConfig, sandbox: ScriptSandbox): Promise<string | undefined> {
  const refused = refusals(program.file, entry)
  draft.found.push(...refused)
  if (refused.length > 0) return undefined
  const built = await scriptOf(program.file, entry)
  if ('errors' in built) {
    draft.found.push(...built.errors)
    return undefined
  }
  const answer = await sandbox.load(built.script, config.caseMilliseconds)
  const problem = 'text' in answer ? readLoad(answer.text) : { error: answer.failure, line: answer.line ?? 0 }
  if (problem === undefined) return built.script
  draft.found.push({ start: lineStart(program.file, problem.line), length: 1, severity: 'error', rule: 'load', message: problem.error })
  return undefined
}

function readLoad(text: string): { error: string; line: number } | undefined {
  const answer = JSON.parse(text) as { error?: string; line?: number }
  return answer.error === undefined ? undefined : { error: answer.error, line: answer.line ?? 0 }
}

async function runHidden(script: string, cases: readonly TestCase[], config: CodeRewardConfig, sandbox: ScriptSandbox): Promise<Run> {
  const again = await sandbox.load(script, config.caseMilliseconds)
  return 'text' in again ? runCases(cases, config, sandbox) : { passed: 0, failures: [] }
}

async function runCases(cases: readonly TestCase[], config: CodeRewardConfig, sandbox: ScriptSandbox): Promise<Run> {
  let passed = 0
  let timeouts = 0
  const failures: { message: string; line: number | undefined }[] = []
  for (const { input, expected } of cases) {
    if (timeouts >= config.maximumTimeouts) break
    const answer = await sandbox.call(JSON.stringify(input), config.caseMilliseconds)
    if (!('text' in answer)) {
      timeouts += 1
      failures.push({ message: answer.failure, line: answer.line })
      continue
    }
    const outcome = readOutcome(answer.text)
    if ('error' in outcome) failures.push({ message: outcome.error, line: outcome.line === 0 ? undefined : outcome.line })
    else if (matches(outcome.value, expected, config.tolerance)) passed += 1
    else failures.push({ message: 'the result is not the expected one', line: undefined })
  }
  return { passed, failures }
}

/** A flagged line once at the configured penalty; further findings on it only inform. */
function compilerSpans(draft: Draft, config: CodeRewardConfig): RewardSpan[] {
  return flagged(draft, draft.found.map(({ start, length, rule, message }) => ({ start, length, message: `${rule}: ${message}` })), 'compiler', config)
}

/** Lines that cases failed on with an error, or did not come back from. */
function testSpans(draft: Draft, run: Run | undefined, config: CodeRewardConfig): RewardSpan[] {
  const file = draft.program?.file
  if (run === undefined || file === undefined) return []
  return flagged(draft, run.failures.flatMap(({ line, message }) => (line === undefined ? [] : [{ start: lineStart(file, line), length: 1, message }])), 'tests', config)
}

function flagged(draft: Draft, findings: readonly { readonly start: number | undefined; readonly length: number; readonly message: string }[], source: string, config: CodeRewardConfig): RewardSpan[] {
  const { block, item: { text } } = draft
  const starts = lineStarts(text)
  const seen = new Set<number>()
  return findings.flatMap(({ start, length, message }) => {
    if (start === undefined) return []
    const range = widen({ start: block.start + start, end: block.start + start + length, value: 0 }, text.length)
    const line = lineOf(starts, range.start)
    const value = seen.has(line) ? 0 : config.errorLine
    seen.add(line)
    return [{ start: range.start, end: range.end, value, source, message }]
  })
}

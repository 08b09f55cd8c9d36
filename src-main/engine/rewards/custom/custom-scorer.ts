// Scores completions with a person's own function, in the locked-down process.
import type { CustomRewardConfig } from '../../../contract/reward-config.ts'
import type { PromptRow, RewardSpan, ScoredCompletion, SourceScore } from '../../../contract/rewards.ts'
import { UserError } from '../../../contract/errors.ts'
import { assemble } from '../bus.ts'
import { readOutcome } from '../code/results.ts'
import { bundleKit } from '../sandbox-bundle.ts'
import { createScriptSandbox, type ScriptSandbox } from '../script-sandbox.ts'
import type { RecipeScorer, ScoreItem } from '../scorer.ts'
import { bundleCustomReward, checkCustomTypes } from './custom-program.ts'

/** Bundles the file and loads it. @throws UserError naming the file when it cannot be loaded */
export async function createCustomScorer(config: CustomRewardConfig): Promise<RecipeScorer> {
  const sandbox = await openCustomSandbox(config)
  return {
    async score(items, announce, result) {
      for (const [index, item] of items.entries()) {
        announce(index, 'run')
        result(index, await scoreCustom(item, config, sandbox))
      }
    },
    dispose: () => sandbox.dispose(),
  }
}

async function openCustomSandbox(config: CustomRewardConfig): Promise<ScriptSandbox> {
  const [kit, script] = await Promise.all([bundleKit(['script-sandbox-kit.js']), bundleCustomReward(config.file)])
  const sandbox = createScriptSandbox(kit, config.limits)
  try {
    const loaded = await sandbox.load(script, config.limits.scriptMilliseconds)
    const problem = 'text' in loaded ? (JSON.parse(loaded.text) as { error?: string }).error : loaded.failure
    if (problem === undefined) return sandbox
    throw new UserError({ code: 'bad-input', what: `the file cannot be loaded: ${problem}`, place: { file: config.file }, expected: 'a default export, or one named score, that is a function' })
  } catch (error) {
    sandbox.dispose()
    throw error
  }
}

async function scoreCustom({ row, text }: ScoreItem, config: CustomRewardConfig, sandbox: ScriptSandbox): Promise<ScoredCompletion> {
  const started = performance.now()
  const verdict = await ask(row, text, config, sandbox)
  const milliseconds = performance.now() - started
  const source: SourceScore = 'failure' in verdict ? { source: 'custom', global: config.failureValue, spans: [], milliseconds, failure: verdict.failure } : { source: 'custom', global: verdict.global, spans: verdict.spans, milliseconds }
  const judged = !('failure' in verdict)
  const passed = judged && (verdict.passed ?? verdict.global >= config.passAt)
  const failures = judged ? verdict.audit : ['not judged']
  return assemble({ sources: [source], stages: { parse: judged, types: judged, bundle: judged, render: passed }, requirementScore: Number(passed), audit: { passed: failures.length === 0, failures } }, config)
}

interface CheckedVerdict {
  readonly global: number
  readonly spans: readonly RewardSpan[]
  readonly passed: boolean | undefined
  readonly audit: readonly string[]
}

/** Calls the function and checks every part of what it gives. */
async function ask(row: PromptRow, completion: string, config: CustomRewardConfig, sandbox: ScriptSandbox): Promise<CheckedVerdict | { readonly failure: string }> {
  const answer = await sandbox.call(JSON.stringify([{ completion, prompt: row.prompt, row }]), config.callMilliseconds)
  if (!('text' in answer)) return { failure: answer.failure }
  const outcome = readOutcome(answer.text)
  return 'error' in outcome ? { failure: outcome.error } : checkVerdict(outcome.value, completion, config)
}

const mostSpans = 10_000

/** Checks a verdict as the sandbox described it. */
export function checkVerdict(value: unknown, completion: string, config: Pick<CustomRewardConfig, 'minimum' | 'maximum'>): CheckedVerdict | { readonly failure: string } {
  if (typeof value === 'number' || isOdd(value)) return withGlobal(value, { spans: [], passed: undefined, audit: [] }, config)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { failure: `the function gave ${describe(value)} instead of a number or a verdict` }
  const { global = 0, spans = [], passed, audit = [], ...unknown } = value as Readonly<Record<string, unknown>>
  const [stray] = Object.keys(unknown)
  if (stray !== undefined) return { failure: `the verdict has a field ${stray}, which means nothing; it may have global, spans, passed and audit` }
  if (passed !== undefined && typeof passed !== 'boolean' && !isUndefined(passed)) return { failure: `passed is ${describe(passed)}, not true or false` }
  if (!Array.isArray(audit) || audit.some((name) => typeof name !== 'string')) return { failure: 'audit is no list of texts' }
  if (!Array.isArray(spans) || spans.length > mostSpans) return { failure: `spans is no list of at most ${mostSpans} spans` }
  const checked: RewardSpan[] = []
  for (const [index, span] of (spans as unknown[]).entries()) {
    const read = checkSpan(span, completion.length, config)
    if (typeof read === 'string') return { failure: `span ${index}: ${read}` }
    checked.push(read)
  }
  return withGlobal(isUndefined(global) ? 0 : global, { spans: checked, passed: typeof passed === 'boolean' ? passed : undefined, audit: audit as string[] }, config)
}

function withGlobal(global: unknown, rest: Omit<CheckedVerdict, 'global'>, config: Pick<CustomRewardConfig, 'minimum' | 'maximum'>): CheckedVerdict | { readonly failure: string } {
  const problem = outside(global, config)
  return problem === undefined ? { global: global as number, ...rest } : { failure: `the score ${problem}` }
}

function checkSpan(span: unknown, length: number, config: Pick<CustomRewardConfig, 'minimum' | 'maximum'>): RewardSpan | string {
  if (typeof span !== 'object' || span === null) return `${describe(span)} is no span`
  const { start, end, value, message = '' } = span as Readonly<Record<string, unknown>>
  if (!Number.isInteger(start) || !Number.isInteger(end) || (start as number) < 0 || (end as number) < (start as number) || (end as number) > length) return `[${describe(start)}, ${describe(end)}) does not lie in the completion of ${length} characters`
  const problem = outside(value, config)
  if (problem !== undefined) return `the value ${problem}`
  return { start: start as number, end: end as number, value: value as number, source: 'custom', message: typeof message === 'string' ? message.slice(0, 300) : '' }
}

function outside(value: unknown, { minimum, maximum }: Pick<CustomRewardConfig, 'minimum' | 'maximum'>): string | undefined {
  if (typeof value !== 'number') return `is ${describe(value)}, not a finite number`
  return value < minimum || value > maximum ? `${value} lies outside ${minimum} to ${maximum} (reward.minimum, reward.maximum)` : undefined
}

/** Numbers JSON cannot say come as {"$number": "NaN"}. */
const isOdd = (value: unknown): boolean => typeof value === 'object' && value !== null && '$number' in value
const isUndefined = (value: unknown): boolean => typeof value === 'object' && value !== null && '$undefined' in value

function describe(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    if ('$number' in value) return String(value.$number)
    if ('$undefined' in value) return 'nothing'
    if ('$other' in value) return `a ${String(value.$other)}`
    return Array.isArray(value) ? 'a list' : 'an object'
  }
  return JSON.stringify(value)?.slice(0, 60) ?? 'nothing'
}

/**
 * The check before a run: types, loading, and a call on an empty completion and on the row's reference.
 * @throws UserError naming file, row where there is one, and what the function did wrong
 */
export async function checkCustomReward(config: CustomRewardConfig, row: PromptRow): Promise<void> {
  // First, because esbuild's message about a syntax error is the better one.
  await bundleCustomReward(config.file)
  checkCustomTypes(config.file)
  const sandbox = await openCustomSandbox(config)
  try {
    for (const [name, completion] of [['an empty completion', ''], ['the reference', row.reference ?? 'A short text.\nWith two lines.']] as const) {
      const verdict = await ask(row, completion, config, sandbox)
      if ('failure' in verdict) throw new UserError({ code: 'bad-input', what: `a trial on ${name} of prompt ${row.id} failed: ${verdict.failure}`, place: { file: config.file }, expected: 'a number, or a verdict, for every completion', remedy: 'Mend the function; completions can be anything a model writes.' })
    }
  } finally {
    sandbox.dispose()
  }
}

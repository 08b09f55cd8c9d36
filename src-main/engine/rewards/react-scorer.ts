// Scores a batch of completions as single-file React applications.
//
//   text ─> code block ─> parse ─> tricks ─> types ─> bundle ─> render ─> requirements ─> audit
//                           └─> lint
//
// Every stage sees only what passed the one before; the type errors of a program that does not parse are local penalties and no more. While the render process works on one completion, the next is read.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReactRewardConfig } from '../../contract/reward-config.ts'
import type { ScoredCompletion } from '../../contract/rewards.ts'
import type { RenderedPage } from '../../contract/rendered-document.ts'
import { audit } from './audit.ts'
import { createMemory } from './bounded-memory.ts'
import { bundleProgram } from './bundle.ts'
import { extractCode, type CodeBlock } from './code-block.ts'
import type { CodeDiagnostic } from './diagnostic.ts'
import { createProgramLinter, type ProgramLinter } from './lint.ts'
import { createFormMemory, formOf, noForm, type FormMemory, type ProgramForm } from './program-form.ts'
import { isBlank } from './rendered-text.ts'
import { announcing, createRenderer, type Renderer } from './renderer.ts'
import { checkRequirements, type RequirementVerdict } from './requirements.ts'
import type { RecipeScorer, ScoreItem, ScoringStage } from './scorer.ts'
import { bundleSandboxKit } from './sandbox-bundle.ts'
import { compilerSpans, ladderValue, lintScore, lintSpans, reactVerdict, type StageReached } from './score-parts.ts'
import { findTricks } from './tricks.ts'
import { checkTypes, parseProgram, type ParsedProgram } from './typescript-check.ts'

interface Draft {
  readonly item: ScoreItem
  readonly block: CodeBlock
  readonly program: ParsedProgram | undefined
  /** Empty where there is no program. */
  readonly form: ProgramForm
  readonly found: CodeDiagnostic[]
  linted: readonly CodeDiagnostic[]
  reached: StageReached
  script: string | undefined
  page: RenderedPage | undefined
  failure: string | undefined
  compilerMilliseconds: number
  lintMilliseconds: number
}

// Checked once at the start, so that the first batch does not pay for loading React's types.
const warmProgram = `import { useEffect, useState } from 'react';
export default function App() {
  const [names, setNames] = useState<string[]>([]);
  const [text, setText] = useState('');
  useEffect(() => setText('a'), []);
  return (
    <main style={{ color: 'red' }}>
      <h1>Names</h1>
      <label>Name <input value={text} onChange={(event) => setText(event.target.value)} /></label>
      <button onClick={() => setNames([...names, text])}>Add</button>
      <ul>{names.map((name) => <li key={name}>{name}</li>)}</ul>
    </main>
  );
}
`

/** Loads everything a worker needs once: the compiler's libraries, the linter, the sandbox kit and a render process. */
export async function createReactScorer(config: ReactRewardConfig): Promise<RecipeScorer> {
  const kit = bundleSandboxKit()
  const tools: Tools = { lint: createProgramLinter(), typeFindings: createFormMemory(rememberedForms), lintFindings: createFormMemory(rememberedForms) }
  const warm = draftOf({ id: 'warm', row: { id: 'warm', prompt: '' }, text: warmProgram }, 0, config)
  const renderer = createRenderer(await kit, config.limits)
  // The render process starts on another core while this one reads React's types.
  const started = renderer.start()
  checkDraft(warm, config, tools)
  lintDraft(warm, config, tools)
  await started
  const known = createMemory<ScoredCompletion>(rememberedVerdicts)
  return {
    async score(items, announce, result) {
      // Rollouts repeat each other more and more as training goes on: the same text for the same row is judged once.
      const places = new Map<string, number[]>()
      for (const [index, item] of items.entries()) {
        const key = verdictKey(item)
        const verdict = known.get(key)
        if (verdict !== undefined) result(index, verdict)
        else places.set(key, [...(places.get(key) ?? []), index])
      }
      let told = -1
      const tell = (index: number, stage: ScoringStage): void => {
        if (index !== told) announce((told = index), stage)
      }
      // Pages are opened one after another; while the render process works on one, the next program is read here.
      let rendering = Promise.resolve()
      for (const [key, indices] of places) {
        const index = indices[0]!
        tell(index, 'parse')
        const draft = draftOf(items[index]!, index, config)
        checkDraft(draft, config, tools)
        const bundling = bundleDraft(draft)
        await nextTurn()
        tell(index, 'lint')
        lintDraft(draft, config, tools)
        rendering = rendering.then(async () => {
          await bundling
          const scored = await judge(draft, config, announcing(renderer, () => tell(index, 'render')))
          known.set(key, scored)
          for (const place of indices) result(place, scored)
        })
        // Whoever waits for `rendering` hears of a failure, at the latest below.
        rendering.catch(() => undefined)
        await nextTurn()
      }
      await rendering
    },
    dispose: () => renderer.dispose(),
  }
}

const rememberedVerdicts = 1_024
const rememberedForms = 1_024

interface Tools {
  readonly lint: ProgramLinter
  readonly typeFindings: FormMemory
  readonly lintFindings: FormMemory
}

function verdictKey({ row, text }: ScoreItem): string {
  return JSON.stringify([row.requirements ?? [], row.reference ?? null, text])
}

/** Finds, parses and searches a program for tricks. Never throws: what cannot be parsed is a failed draft. */
function draftOf(item: ScoreItem, index: number, config: ReactRewardConfig): Draft {
  const started = performance.now()
  const block = extractCode(item.text)
  const draft = (program: ParsedProgram | undefined, found: CodeDiagnostic[], reached: StageReached): Draft => ({ item, block, program, form: program === undefined ? noForm : formOf(program.file), found, linted: [], reached, script: undefined, page: undefined, failure: undefined, compilerMilliseconds: performance.now() - started, lintMilliseconds: 0 })
  const refused = (message: string, reached: StageReached): Draft => draft(undefined, [{ start: undefined, length: 0, severity: 'fatal', rule: 'refused', message }], reached)
  if (block.code.length > config.limits.maximumCharacters) return refused(`the program is longer than ${config.limits.maximumCharacters} characters`, 'nothing')
  if (block.code.trim() === '') return refused('there is no program', 'not-react')
  try {
    const program = parseProgram(block.code, String(index))
    const found = program.syntax.length > 0 ? [...program.syntax] : findTricks(program.file)
    if (!program.isReact) return draft(program, [...found, { start: undefined, length: 0, severity: 'fatal', rule: 'refused', message: 'there is no React in it' }], 'not-react')
    return draft(program, found, found.length > 0 ? 'nothing' : 'parse')
  } catch (error) {
    // The parser's and our own recursion end here for absurd nesting.
    if (error instanceof RangeError) return refused('the program is nested too deeply', 'nothing')
    throw error
  }
}

/** Type-checks what parsed. A program the compiler itself fails on is a refused one. */
function checkDraft(draft: Draft, config: ReactRewardConfig, tools: Tools): void {
  const { program } = draft
  if (program === undefined) return
  if (draft.reached === 'nothing' && program.syntax.length > 0 && config.typeCheck && config.checkBroken) checkBroken(draft, program)
  if (draft.reached !== 'parse') return
  const started = performance.now()
  try {
    const errors = config.typeCheck ? tools.typeFindings(draft.form, () => checkTypes(program)) : []
    draft.found.push(...errors)
    if (errors.length === 0) draft.reached = 'types'
  } catch (error) {
    const message = `the type checker gave up: ${error instanceof Error ? error.message : 'unknown'}`.slice(0, 300)
    draft.found.push({ start: undefined, length: 0, severity: 'fatal', rule: 'refused', message })
  }
  draft.compilerMilliseconds += performance.now() - started
}

/**
 * Adds the type errors of a program that does not parse: the parser mends what it can, and the checker reads the rest. The stage reached
 * stays; only lines are flagged. Without this a mistake beside a parse error went unpunished, and where nothing parses such mistakes were
 * learned (`retunr` for `return`).
 */
function checkBroken(draft: Draft, program: ParsedProgram): void {
  const started = performance.now()
  try {
    // Not remembered by form: where the parser guesses, the words between tags may matter.
    draft.found.push(...checkTypes(program))
  } catch {
    // A program the checker gives up on keeps its parse errors, which say enough.
  }
  draft.compilerMilliseconds += performance.now() - started
}

/** Bundles what type-checks; the draft then holds its script, or the findings that say why not. */
async function bundleDraft(draft: Draft): Promise<void> {
  if (draft.reached !== 'types' || draft.program === undefined) return
  const started = performance.now()
  const bundled = await bundleProgram(draft.program.file)
  draft.compilerMilliseconds += performance.now() - started
  if ('errors' in bundled) {
    draft.found.push(...bundled.errors)
    return
  }
  draft.reached = 'bundle'
  draft.script = bundled.script
}

/** Lint findings; a program that does not parse is one fatal finding where the parser stopped. */
function lintDraft(draft: Draft, config: ReactRewardConfig, { lint, lintFindings }: Tools): void {
  if (!config.linter.enabled) return
  const started = performance.now()
  draft.linted = lintProgram(draft, (program) => lintFindings(draft.form, () => lint(draft.block.code, program.file)))
  draft.lintMilliseconds = performance.now() - started
}

function lintProgram({ program }: Draft, lint: (program: ParsedProgram) => readonly CodeDiagnostic[]): readonly CodeDiagnostic[] {
  // Without React there is nothing for the linter to find, and finding nothing must not pay: an honest program that lost a bracket gets no less.
  if (program === undefined || program.syntax.length > 0 || !program.isReact) {
    return [{ start: program?.syntax[0]?.start, length: program?.syntax[0]?.length ?? 0, severity: 'fatal', rule: 'parse', message: 'the linter cannot read this program' }]
  }
  try {
    return lint(program)
  } catch (error) {
    // A rule of the linter's that fails on an odd program must not take the neighbours with it.
    return [{ start: undefined, length: 0, severity: 'fatal', rule: 'linter', message: error instanceof Error ? error.message.slice(0, 300) : 'the linter failed' }]
  }
}

/** Opens a bundled program, clicks through its requirements, audits it, and puts everything that was found together. */
async function judge(draft: Draft, config: ReactRewardConfig, renderer: Renderer): Promise<ScoredCompletion> {
  const started = performance.now()
  await openPage(draft, renderer)
  const rendered = performance.now()
  const verdict = await requirementsOf(draft, renderer)
  const requirementsAt = performance.now()
  const { item, block, linted } = draft
  const requirementScore = draft.reached === 'render' ? verdict.share : 0
  const checked = audit({ code: block.code, file: draft.program?.file, page: draft.page, clickErrors: verdict.clickErrors, reference: item.row.reference }, config.audit)
  const sources = [
    { source: 'compiler', global: ladderValue(draft.reached, config.ladder), spans: compilerSpans(draft.found, block, item.text, config), milliseconds: draft.compilerMilliseconds + rendered - started, ...(draft.failure === undefined ? {} : { failure: draft.failure }) },
    { source: 'lint', global: lintScore(linted, config), spans: lintSpans(linted, block, item.text, config), milliseconds: draft.lintMilliseconds },
    { source: 'requirements', global: requirementScore, spans: [], milliseconds: requirementsAt - rendered },
  ]
  return reactVerdict(draft.reached, requirementScore, sources, checked, config)
}

/** Opens the program in the render process; the draft then holds the page, or the reason there is none. */
async function openPage(draft: Draft, renderer: Renderer): Promise<void> {
  if (draft.script === undefined) return
  const opened = await renderer.open(draft.script)
  if (!('page' in opened)) {
    draft.failure = opened.failure
    return
  }
  draft.page = opened.page
  if (opened.page.errors.length > 0) draft.failure = opened.page.errors[0]
  else if (isBlank(opened.page.body)) draft.failure = 'the page is blank'
  else draft.reached = 'render'
}

async function requirementsOf(draft: Draft, renderer: Renderer): Promise<RequirementVerdict> {
  if (draft.reached !== 'render' || draft.page === undefined) return { share: 0, met: [], clickErrors: [] }
  return checkRequirements(draft.item.row.requirements ?? [], draft.page, renderer)
}

// Where the time of one React completion goes, stage by stage, in one worker and one after another: programs that pass every gate, and the
// same with one mistake each.
import { rewardConfig } from '../../src-main/contract/reward-config.ts'
import type { PromptRow } from '../../src-main/contract/rewards.ts'
import { corrupt } from '../../src-main/engine-host/make-demo/corrupt.ts'
import { audit } from '../../src-main/engine/rewards/audit.ts'
import { bundleProgram } from '../../src-main/engine/rewards/bundle.ts'
import { createProgramLinter } from '../../src-main/engine/rewards/lint.ts'
import { formOf } from '../../src-main/engine/rewards/program-form.ts'
import { createRenderer, type Renderer } from '../../src-main/engine/rewards/renderer.ts'
import { checkRequirements } from '../../src-main/engine/rewards/requirements.ts'
import { bundleSandboxKit } from '../../src-main/engine/rewards/sandbox-bundle.ts'
import { findTricks } from '../../src-main/engine/rewards/tricks.ts'
import { checkTypes, parseProgram } from '../../src-main/engine/rewards/typescript-check.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import type { BenchmarkRow } from './rows.ts'

const stages = ['parse, form and tricks', 'types', 'lint', 'bundle', 'opening the page', 'requirements and clicks', 'audit'] as const
type Stage = (typeof stages)[number]
type Clock = <T>(stage: Stage, work: () => T | Promise<T>) => Promise<T>

const config = rewardConfig()

/** Milliseconds a completion by stage; what does not come to a stage counts nothing there. */
export async function benchmarkRewardStages(rows: readonly PromptRow[], quick: boolean): Promise<BenchmarkRow[]> {
  const lint = createProgramLinter()
  const renderer = createRenderer(await bundleSandboxKit(), config.limits)
  await renderer.start()
  const sets = {
    'that pass': rows.map((row) => ({ row, text: row.reference ?? '' })),
    'with a mistake': rows.map((row, index) => ({ row, text: corrupt(row.reference ?? '', createStream(1, 'benchmark', index), 1).program })),
  }
  const results: BenchmarkRow[] = []
  for (const [name, set] of Object.entries(sets)) {
    let times = new Map<Stage, number>()
    const clock: Clock = async (stage, work) => {
      const before = performance.now()
      const made = await work()
      times.set(stage, (times.get(stage) ?? 0) + performance.now() - before)
      return made
    }
    // The last turn counts: by then everything is warm. Nothing is remembered here.
    for (let turn = 0; turn < (quick ? 1 : 3); turn++) {
      times = new Map()
      for (const { row, text } of set) await scoreStages(text, row, { lint, renderer }, clock)
    }
    results.push({ name: `reward stages, ${set.length} programs ${name}: all, one after another`, value: [...times.values()].reduce((sum, value) => sum + value, 0) / set.length, unit: 'ms each' })
    results.push(...stages.map((stage) => ({ name: `  ${stage}`, value: (times.get(stage) ?? 0) / set.length, unit: 'ms each' })))
  }
  renderer.dispose()
  return results
}

async function scoreStages(code: string, row: PromptRow, { lint, renderer }: { readonly lint: ReturnType<typeof createProgramLinter>; readonly renderer: Renderer }, clock: Clock): Promise<void> {
  const { program, refused } = await clock('parse, form and tricks', () => {
    const parsed = parseProgram(code, 'benchmark')
    formOf(parsed.file)
    return { program: parsed, refused: parsed.syntax.length > 0 || findTricks(parsed.file).length > 0 }
  })
  const errors = await clock('types', () => checkTypes(program))
  if (program.syntax.length === 0) await clock('lint', () => lint(code, program.file))
  const bundled = refused || errors.length > 0 ? undefined : await clock('bundle', () => bundleProgram(program.file))
  const opened = bundled !== undefined && 'script' in bundled ? await clock('opening the page', () => renderer.open(bundled.script)) : undefined
  const page = opened !== undefined && 'page' in opened ? opened.page : undefined
  const clickErrors = page === undefined ? [] : (await clock('requirements and clicks', () => checkRequirements(row.requirements ?? [], page, renderer))).clickErrors
  await clock('audit', () => audit({ code, file: program.file, page, clickErrors, reference: row.reference }, config.audit))
}

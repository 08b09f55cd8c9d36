// Rewards for the app: samples to try one on, their verdicts, a function of one's own as it is being written, a run replayed.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RewardCode, RewardSample, SampleSource, ScoredSample } from '../../contract/calls/rewards.ts'
import { mostSamples } from '../../contract/calls/rewards.ts'
import { rewardConfigSchema } from '../../contract/reward-config.ts'
import type { Recipe, RewardConfig } from '../../contract/reward-config.ts'
import type { PromptRow, ScoredCompletion } from '../../contract/rewards.ts'
import { createLiveBench } from '../../engine/rewards/bench/live-bench.ts'
import { offsetsOf } from '../../engine/rewards/bench/reward-bench.ts'
import { builtInSamples, datasetSamples } from '../../engine/rewards/bench/sample-rows.ts'
import { combineGlobal, tokenRewards } from '../../engine/rewards/bus.ts'
import { checkReward } from '../../engine/rewards/check-reward.ts'
import { bundleRewardText, createCodeChecker } from '../../engine/rewards/custom/custom-code.ts'
import type { CodeChecker } from '../../engine/rewards/custom/custom-code.ts'
import type { ScoreRow } from '../../engine/rewards/score.ts'
import { checkFile } from '../../engine/models/json-file.ts'
import { resourcePath } from '../../engine/runtime/paths.ts'
import { processExists } from '../../engine/runtime/process-exists.ts'
import { promptRowSchema, readPromptFile } from '../../engine/training/prompts.ts'
import { parseRunConfig, readRollouts, readRunDescription } from '../../engine/training/run-folder-reading.ts'
import { withChanges } from '../config-settings.ts'
import { replayRun } from '../replay-run.ts'
import { refuseCancelled } from './tool-work.ts'
import type { Tools } from './tool-work.ts'

const bench = createLiveBench()
let checker: CodeChecker | undefined

const composed = 'the reward'

/** A reward as the page has it, every default filled in. @throws UserError naming the field */
async function rewardOf(value: Readonly<Record<string, unknown>>, code: RewardCode | null): Promise<RewardConfig> {
  const file = value['recipe'] === 'custom' && code !== null ? { file: await codeFile(code) } : {}
  return checkFile(rewardConfigSchema, { ...value, ...file }, composed, 'Correct the field.')
}

let codeFolder: string | undefined
const codeFolderName = /^satchel-reward-(\d+)-/

/** A folder for trial files; those of processes that were killed go. */
function openCodeFolder(): string {
  for (const name of readdirSync(tmpdir())) {
    const owner = codeFolderName.exec(name)?.[1]
    if (owner !== undefined && !processExists(Number(owner))) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
  const folder = mkdtempSync(join(tmpdir(), `satchel-reward-${process.pid}-`))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The text as a file that stands by itself, named by what is in it: the same text is the same reward. */
async function codeFile({ text, path }: RewardCode): Promise<string> {
  const script = await bundleRewardText(text, path)
  codeFolder ??= openCodeFolder()
  const file = join(codeFolder, `${createHash('sha256').update(script).digest('hex').slice(0, 24)}.js`)
  writeFileSync(file, script)
  return file
}

function sampleOf(name: string, { id, prompt, ...row }: PromptRow, completion: string, at: number, tokens: RewardSample['tokens'] = null): RewardSample {
  return { id: `${at + 1} ${id}`.slice(0, 200), name, prompt, completion, row, tokens }
}

async function samplesOf(recipe: Recipe, source: SampleSource): Promise<{ samples: RewardSample[]; skipped: number; note: string }> {
  if (source.kind === 'run') return runSamples(source.directory, source.step)
  const { samples, skipped } = source.kind === 'built-in' ? await builtInSamples(recipe) : await datasetSamples(source.path)
  return { samples: samples.slice(0, mostSamples).map(({ name, row, completion }, at) => sampleOf(name, row, completion, at)), skipped, note: '' }
}

/** The rollouts of a step, with what the prompt file says of their prompts where it still lies there. */
async function runSamples(directory: string, step: number | null): Promise<{ samples: RewardSample[]; skipped: number; note: string }> {
  const { config } = await readRunDescription(directory)
  const { values, unreadable } = await readRollouts(directory, step ?? undefined)
  let note = ''
  const prompts = await readPromptFile(config.data.prompts).catch((error: unknown) => {
    note = `The prompts of this run are no longer there, so answers, tests and requirements are missing: ${error instanceof Error ? error.message : String(error)}`
    return []
  })
  const rows = new Map(prompts.map(({ row: _row, ...fields }) => [fields.id, fields]))
  const samples = values.slice(0, mostSamples).map(({ promptId, prompt, text, starts, ends, index, step: at }, order) => sampleOf(`step ${at}, rollout ${index + 1}`, rows.get(promptId) ?? { id: promptId, prompt }, text, order, { starts, ends }))
  const cut = values.length > samples.length ? `The first ${samples.length} of ${values.length} rollouts are shown.` : ''
  return { samples, skipped: unreadable, note: [cut, note].filter((part) => part !== '').join(' ') }
}

/** @throws UserError naming the sample and the field that does not fit */
function scoreRowOf({ id, name, prompt, completion, row, tokens }: RewardSample): ScoreRow {
  const fields = checkFile(promptRowSchema, { ...row, prompt, id }, `sample "${name}"`, 'Correct the row.')
  const fits = tokens !== null && tokens.starts.length === tokens.ends.length && tokens.ends.every((end, at) => tokens.starts[at]! <= end && end <= completion.length)
  return { ...fields, id, completion, ...(fits ? { offsets: { text: completion, starts: Int32Array.from(tokens.starts), ends: Int32Array.from(tokens.ends) } } : {}) }
}

/** Functions that have been checked, by their file: types are read once a text, not once a weight. */
const checkedFunctions = new Set<string>()

async function checkOnce(config: RewardConfig, rows: readonly ScoreRow[]): Promise<void> {
  if (config.recipe === 'custom' && checkedFunctions.has(config.file)) return
  await checkReward(config, rows.map((row, index) => ({ ...row, row: index + 1 })), 'the samples')
  if (config.recipe === 'custom') checkedFunctions.add(config.file)
}

function scoredSample(row: ScoreRow, verdict: ScoredCompletion, config: RewardConfig): ScoredSample {
  const { global, outcome, stages, requirementScore, audit, sources, spans } = verdict
  const offsets = offsetsOf(row)
  const { rewards, localBySource } = tokenRewards(verdict, offsets, config)
  return {
    id: row.id, global, outcome, stages, requirementScore,
    audit: { passed: audit.passed, failures: [...audit.failures] },
    sources: sources.map(({ source, global: own, milliseconds, failure }) => ({ source, global: own, part: combineGlobal([{ source, global: own, spans: [], milliseconds }], config), milliseconds, ...(failure === undefined ? {} : { failure }) })),
    spans: spans.map((span) => ({ ...span })),
    starts: [...offsets.starts], ends: [...offsets.ends], tokenRewards: [...rewards],
    localBySource: Object.fromEntries(Object.entries(localBySource).map(([source, local]) => [source, [...local]])),
  }
}

/** Steps that are replayed: the newest ones. */
const replayedSteps = 400

export const rewardTools: Tools<'rewards.samples' | 'rewards.score' | 'rewards.check' | 'rewards.template' | 'rewards.replay'> = {
  'rewards.samples': async ({ recipe, source }) => samplesOf(recipe, source),
  'rewards.score': async ({ reward, code, samples, scorings }, work) => {
    const config = await rewardOf(reward, code)
    const rows = samples.map(scoreRowOf)
    await checkOnce(config, rows)
    refuseCancelled(work)
    const what = scorings > 1 ? `Scoring everything ${scorings} times` : 'Scoring'
    const { scored, report, scorings: known } = await bench.score(rows, { config, scorings, signal: work.signal, onProgress: (done, total) => work.tell({ what, done, total, unit: 'rows' }) })
    const { honest, ...rest } = report
    return {
      scored: scored.map((verdict, index) => scoredSample(rows[index]!, verdict, config)),
      report: { ...rest, ...(honest === undefined ? {} : { honest }), scorings: known, cheats: [...rest.cheats], sources: [...rest.sources], warnings: [...rest.warnings] },
    }
  },
  'rewards.check': async ({ text, path }) => {
    checker ??= createCodeChecker()
    return { problems: checker.check(text, path) }
  },
  'rewards.template': async () => ({ text: await readFile(resourcePath('rewards', 'example-reward.ts'), 'utf8') }),
  'rewards.replay': async ({ directory, reward, estimator }, work) => replayRun(directory, {
    newest: replayedSteps,
    changed(before) {
      const other = reward === null ? before : { ...before, reward: { ...reward, ...(before.reward.recipe === 'custom' && reward['recipe'] === 'custom' ? { file: before.reward.file } : {}) } }
      return parseRunConfig(withChanges(other, estimator === null ? {} : { set: [{ path: ['estimator', 'name'], value: estimator }] }), composed)
    },
    onStep(step, done, total) {
      work.tell({ what: `Replaying step ${step}`, done, total, unit: 'steps' })
      refuseCancelled(work)
    },
  }),
}

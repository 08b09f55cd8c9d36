// A run, or several beside each other, as one self-contained page: no script, no font, no picture from elsewhere; those of pages stand in it.
import { basename, join, resolve } from 'node:path'
import type { EvaluationResult, MetricsRow, RolloutRecord } from '../../contract/events.ts'
import { outcomeWords, verdictText } from '../../contract/outcome-words.ts'
import type { Recipe } from '../../contract/reward-config.ts'
import { gateNames } from '../../contract/rewards.ts'
import type { RunChange } from '../../contract/run-changes.ts'
import { writeFileAtomically, writeFully } from '../models/atomic-file.ts'
import { openPictureStore, picturesFolder } from '../rewards/screenshots/picture-store.ts'
import { planVerdict } from './memory-plan.ts'
import { pageImage, readPages } from './report-pages.ts'
import type { ReportPages } from './report-pages.ts'
import { pixelSentence } from './pixel-words.ts'
import { lineChart, seriesColours } from './report-chart.ts'
import type { Point, Series } from './report-chart.ts'
import { readChanges, readEvaluations, readMetrics, readRollouts, readRunDescription, runFiles } from './run-folder-reading.ts'
import type { RunDescription } from './run-folder-reading.ts'

/** Everything a report shows of a run. */
export interface RunData {
  readonly name: string
  readonly directory: string
  readonly description: RunDescription
  readonly metrics: readonly MetricsRow[]
  readonly evaluations: readonly EvaluationResult[]
  readonly rollouts: readonly RolloutRecord[]
  /** What was changed while the run was in progress. */
  readonly changes: readonly RunChange[]
  /** Pictures of pages the folder holds. */
  readonly pictures: number
  /** Pictures of the pages that are shown. */
  readonly pages: ReportPages
  /** Entries of the folder that could not be read. */
  readonly unreadable: number
}

/** Reads what a report needs. @throws UserError when it is no run folder, or of a newer version */
export async function readRunData(directory: string): Promise<RunData> {
  const description = await readRunDescription(directory)
  const [metrics, evaluations, rollouts, changes] = await Promise.all([readMetrics(directory), readEvaluations(directory), readRollouts(directory), readChanges(directory)])
  return {
    name: basename(resolve(directory)),
    directory: resolve(directory),
    description,
    metrics: metrics.values,
    evaluations: evaluations.values,
    rollouts: rollouts.values,
    changes: changes.values,
    pictures: await openPictureStore(join(directory, picturesFolder)).count(),
    pages: await readPages(directory, [...evaluationsShown(evaluations.values).flatMap(({ samplesShown }) => samplesShown), ...rollouts.values.slice(0, rolloutsShown)].map(({ text }) => text)),
    unreadable: metrics.unreadable + evaluations.unreadable + rollouts.unreadable + changes.unreadable,
  }
}

/** Writes a run's own report.html. */
export async function writeRunReport(directory: string): Promise<string> {
  const path = runFiles(directory).report
  await writeReport([directory], path)
  return path
}

/** Writes one page about these runs. @throws UserError naming the folder that cannot be read, or `storage` */
export async function writeReport(directories: readonly string[], path: string): Promise<void> {
  const runs: RunData[] = []
  for (const directory of directories) runs.push(await readRunData(directory))
  const html = renderReport(runs)
  await writeFileAtomically(path, async (handle) => writeFully(handle, Buffer.from(html, 'utf8')))
}

/** The page. */
export function renderReport(runs: readonly RunData[]): string {
  const title = runs.length === 1 ? `Run ${runs[0]?.name ?? ''}` : `${runs.length} runs`
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; img-src data:">',
    `<title>${escapeHtml(title)} - Satchel</title><style>${styles}</style></head><body>`,
    `<header><h1>${escapeHtml(title)}</h1>${runs.length === 1 ? '' : legend(runs)}</header><main>`,
    section('Result', summaryTable(runs)),
    section('Held-out evaluation', runs.map((run) => titled(runs, run, evaluationTable(run))).join('')),
    section('Curves', `<div class="charts">${charts(runs).join('')}</div>`),
    ...(runs.every(({ changes }) => changes.length === 0) ? [] : [section('Changed on the way', runs.map((run) => titled(runs, run, changeTable(run.changes))).join(''))]),
    section('Samples, before and after', runs.map((run) => titled(runs, run, samples(run))).join('')),
    section('Newest rollouts, painted by advantage', runs.map((run) => titled(runs, run, paintedRollouts(run))).join('')),
    section('Configuration and environment', runs.map((run) => titled(runs, run, environment(run))).join('')),
    '</main></body></html>\n',
  ].join('\n')
}

/** Text as HTML; the page shows what models wrote, which is never trusted. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

function section(title: string, content: string): string {
  return `<section><h2>${escapeHtml(title)}</h2>${content === '' ? '<p class="quiet">Nothing yet.</p>' : content}</section>`
}

function titled(runs: readonly RunData[], run: RunData, content: string): string {
  return runs.length === 1 ? content : `<h3>${escapeHtml(run.name)}</h3>${content}`
}

function legend(runs: readonly RunData[]): string {
  return `<p class="legend">${runs.map((run, index) => `<span><i style="background:${seriesColours[index % seriesColours.length] as string}"></i>${escapeHtml(run.name)}</span>`).join('')}</p>`
}

function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: 'th' | 'td'): string => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  return `<div class="scroll"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')}</tbody></table></div>`
}

const share = (value: number): string => `${(100 * value).toFixed(1)} %`
const rate = ({ rate: value, low, high }: EvaluationResult['compile']): string => `${share(value)} <small>${share(low)} to ${share(high)}</small>`

/** The recipes of some runs, each once. */
function recipesOf(runs: readonly RunData[]): Recipe[] {
  return [...new Set(runs.map(({ description }) => description.config.reward.recipe))]
}

/** The answer first: from where to where, how stable, how long it took. */
function summaryTable(runs: readonly RunData[]): string {
  const rows = runs.map((run) => {
    const { config } = run.description
    const first = run.evaluations[0]
    const last = run.evaluations.at(-1)
    const peak = run.evaluations.reduce((most, { compile }) => Math.max(most, compile.rate), 0)
    const seconds = run.metrics.reduce((sum, { values }) => sum + (values['time/step'] ?? 0), 0)
    return [
      escapeHtml(run.name),
      `${config.estimator.name}, seed ${config.seed}`,
      `${run.metrics.at(-1)?.step ?? 0} of ${config.training.steps}`,
      first === undefined ? '-' : rate(first.compile),
      last === undefined ? '-' : rate(last.compile),
      last === undefined ? '-' : share(peak - last.compile.rate),
      [0.5, 0.8, 0.9].map((level) => run.evaluations.find(({ compile }) => compile.rate >= level)?.step ?? '-').join(' / '),
      first === undefined || last === undefined ? '-' : `${share(first.requirementScore)} to ${share(last.requirementScore)}`,
      last === undefined ? '-' : rate(last.hackRate),
      `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`,
    ]
  })
  const recipes = recipesOf(runs)
  const [only] = recipes
  const words = recipes.length === 1 && only !== undefined ? outcomeWords[only] : undefined
  const short = words?.short ?? 'passes'
  const meaning = recipes.map((recipe) => outcomeWords[recipe].meaning).join('; ')
  return `${htmlTable(['run', 'estimator', 'steps', `${short}, first`, `${short}, last`, 'drop from peak', 'first step at 50 / 80 / 90 %', words?.detail?.title.toLowerCase() ?? 'share met', 'hack rate', 'time in steps'], rows)}
${runs.flatMap((run) => memoryVerdict(runs, run)).join('')}${runs.map((run) => pixelVerdict(runs, run)).join('')}<p class="quiet">${escapeHtml(meaning)}, on prompts never trained on. Intervals are 95 % Wilson intervals over completions. Hack rate: share that passes but fails the audit, which never enters the reward.</p>`
}

function pixelVerdict(runs: readonly RunData[], { name, description, metrics, pictures }: RunData): string {
  const sentence = pixelSentence(description.config.reward, metrics, pictures)
  return sentence === undefined ? '' : `<p class="quiet">${runs.length === 1 ? '' : `${escapeHtml(name)}: `}${escapeHtml(sentence)}</p>`
}

/** What the run took in memory against what was planned; nothing for runs without a plan (devices other than the CPU, older runs). */
function memoryVerdict(runs: readonly RunData[], run: RunData): string[] {
  const planned = run.metrics.at(-1)?.values['memory/planned_gib']
  const peak = run.metrics.reduce((most, { values }) => Math.max(most, values['memory/peak_gib'] ?? 0), 0)
  if (typeof planned !== 'number' || peak === 0) return []
  return [`<p>${escapeHtml(`${runs.length === 1 ? '' : `${run.name}: `}${planVerdict(planned, peak)}`)}</p>`]
}

function evaluationTable({ evaluations, description }: RunData): string {
  if (evaluations.length === 0) return ''
  const { recipe } = description.config.reward
  const { detail } = outcomeWords[recipe]
  // Recipes with fewer gates call several of them the same.
  const gates = (['parse', 'types', 'bundle', 'render'] as const).filter((gate, at, all) => all.findIndex((other) => gateNames[recipe][other] === gateNames[recipe][gate]) === at)
  const ks = [...new Set(evaluations.flatMap(({ passAtK }) => Object.keys(passAtK)))]
  const rows = evaluations.map((result) => [
    String(result.step),
    ...gates.map((gate) => rate(result.stages[gate])),
    ...(detail === null ? [] : [share(result.requirementScore)]),
    rate(result.hackRate),
    ...ks.map((k) => (result.passAtK[k] === undefined ? '-' : share(result.passAtK[k]))),
    result.reward.toFixed(2),
    result.meanLength.toFixed(0),
  ])
  const { prompts, samples: drawn, temperature, compile } = evaluations.at(-1) as EvaluationResult
  return `${htmlTable(['step', ...gates.map((gate) => gateNames[recipe][gate]), ...(detail === null ? [] : [detail.title.toLowerCase()]), 'hack rate', ...ks.map((k) => `pass@${k}`), 'reward', 'length'], rows)}
<p class="quiet">${prompts} prompts, ${drawn} completions each (n ${compile.n}), temperature ${temperature}.</p>`
}

interface Curve {
  readonly title: string
  readonly metric: string
  /** Scales a value for display. */
  readonly factor?: number
  readonly unit: string
  /** Held-out values drawn as dots on the same chart, with their interval where they have one. */
  readonly heldout?: (result: EvaluationResult) => { value: number; low?: number; high?: number }
}

const curves: readonly Curve[] = [
  { title: 'Reward', metric: 'reward', unit: '', heldout: ({ reward }) => ({ value: reward }) },
  { title: 'passes', metric: 'compile_rate', factor: 100, unit: '%', heldout: ({ compile }) => ({ value: compile.rate, low: compile.low, high: compile.high }) },
  { title: 'detail', metric: 'requirement_score', factor: 100, unit: '%', heldout: ({ requirementScore }) => ({ value: requirementScore }) },
  { title: 'Hack rate', metric: 'audit/hack_rate', factor: 100, unit: '%', heldout: ({ hackRate }) => ({ value: hackRate.rate, low: hackRate.low, high: hackRate.high }) },
  { title: 'Length', metric: 'completions/mean_length', unit: 'tokens', heldout: ({ meanLength }) => ({ value: meanLength }) },
  { title: 'Entropy', metric: 'entropy', unit: 'nats' },
  { title: 'Gradient norm', metric: 'grad_norm', unit: '' },
  { title: 'Groups with one outcome', metric: 'frac_reward_zero_std', factor: 100, unit: '%' },
]

/** A curve's title in the words of the recipes; undefined where they have no such curve. */
function curveTitle(title: string, recipes: readonly Recipe[]): string | undefined {
  const words = recipes.map((recipe) => outcomeWords[recipe])
  const one = (titles: readonly string[], several: string): string | undefined => (new Set(titles).size > 1 ? several : titles[0])
  if (title === 'passes') return one(words.map(({ rate }) => rate), 'Pass rate')
  return title === 'detail' ? one(words.flatMap(({ detail }) => detail?.title ?? []), 'Share met') : title
}

function charts(runs: readonly RunData[]): string[] {
  const recipes = recipesOf(runs)
  return curves.flatMap(({ title: named, metric, factor = 1, unit, heldout }) => {
    const title = curveTitle(named, recipes)
    if (title === undefined) return []
    const series = runs.map((run, index): Series => ({
      label: run.name,
      colour: seriesColours[index % seriesColours.length] as string,
      line: run.metrics.flatMap(({ step, values }): Point[] => (typeof values[metric] === 'number' ? [{ x: step, y: values[metric] * factor }] : [])),
      dots: heldout === undefined ? [] : run.evaluations.map((result) => {
        const { value, low, high } = heldout(result)
        return { x: result.step, y: value * factor, ...(low === undefined ? {} : { low: low * factor }), ...(high === undefined ? {} : { high: high * factor }) }
      }),
    }))
    if (series.every(({ line, dots }) => line.length === 0 && dots.length === 0)) return []
    return [`<figure><figcaption>${escapeHtml(title)}${unit === '' ? '' : ` <small>${escapeHtml(unit)}</small>`}</figcaption>${lineChart(title, series, [...new Set(runs.flatMap(({ changes }) => changes.map(({ step }) => step)))])}</figure>`]
  })
}

/** Rates and weights that were changed while the run was in progress; the curves carry a dashed line at each of these steps. */
function changeTable(changes: readonly RunChange[]): string {
  if (changes.length === 0) return ''
  return htmlTable(['field', 'from step', 'was', 'became', 'when'], changes.map(({ field, step, from, to, time }) => [field, String(step), String(from), String(to), time].map(escapeHtml)))
}

/** Before and after. */
function evaluationsShown(evaluations: readonly EvaluationResult[]): readonly EvaluationResult[] {
  return evaluations.length < 2 ? evaluations : [evaluations[0] as EvaluationResult, evaluations.at(-1) as EvaluationResult]
}

function samples({ evaluations, description, pages }: RunData): string {
  const shown = evaluationsShown(evaluations)
  const prompts = shown[0]?.samplesShown ?? []
  return prompts.map(({ promptId, prompt }) => {
    const columns = shown.map((result) => {
      const sample = result.samplesShown.find((other) => other.promptId === promptId)
      if (sample === undefined) return ''
      const verdict = verdictText(description.config.reward.recipe, sample.compiles, sample.requirementScore, share)
      return `<div><p class="quiet">step ${result.step}: ${verdict}</p>${pageImage(pages, sample.text, `the sample of step ${result.step}`)}<pre>${escapeHtml(sample.text)}</pre></div>`
    })
    return `<article><p><b>${escapeHtml(prompt)}</b></p><div class="pair">${columns.join('')}</div></article>`
  }).join('')
}

const rolloutsShown = 4

/** Tokens on a background by their advantage: what they were taught, red for less of it, green for more. */
function paintedRollouts({ rollouts, description, pages }: RunData): string {
  const words = outcomeWords[description.config.reward.recipe]
  return rollouts.slice(0, rolloutsShown).map((rollout) => {
    const largest = rollout.advantages.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
    let end = 0
    const parts = rollout.starts.map((start, token) => {
      const text = rollout.text.slice(Math.max(start, end), rollout.ends[token])
      end = Math.max(end, rollout.ends[token] ?? end)
      if (text === '') return ''
      const advantage = rollout.advantages[token] ?? 0
      const colour = advantage < 0 ? '220, 60, 60' : '40, 160, 90'
      return `<span style="background:rgba(${colour}, ${(0.55 * (Math.abs(advantage) / largest)).toFixed(2)})" title="advantage ${advantage.toFixed(3)}, reward ${(rollout.tokenRewards[token] ?? 0).toFixed(3)}">${escapeHtml(text)}</span>`
    })
    const verdict = rollout.stages.render ? words.passes : (rollout.spans[0]?.message ?? words.fails)
    return `<article><p><b>${escapeHtml(rollout.prompt)}</b></p><p class="quiet">step ${rollout.step}, rollout ${rollout.index}, reward ${rollout.reward.toFixed(2)}: ${escapeHtml(verdict)}</p>${pageImage(pages, rollout.text, `rollout ${rollout.index} of step ${rollout.step}`)}<pre>${parts.join('')}</pre></article>`
  }).join('')
}

function environment({ description, directory, unreadable }: RunData): string {
  const { config, environment: versions, hashes, created } = description
  const rows = [
    ['folder', directory], ['created', created], ['seed', String(config.seed)], ['Satchel', versions.satchel], ['Node', versions.node], ['onnxruntime', versions.onnxruntime], ['platform', versions.platform],
    ['base model', `${config.model} (sha256 ${hashes.model})`], ['prompts', `${config.data.prompts} (sha256 ${hashes.data})`],
    ...(unreadable === 0 ? [] : [['damaged entries', `${unreadable} left out of this report`]]),
  ]
  const list = rows.map(([name, value]) => `<tr><th>${escapeHtml(name ?? '')}</th><td>${escapeHtml(value ?? '')}</td></tr>`).join('')
  return `<div class="scroll"><table class="facts"><tbody>${list}</tbody></table></div><details><summary>Full configuration</summary><pre>${escapeHtml(JSON.stringify(config, null, 2))}</pre></details>`
}

const styles = `
:root { color-scheme: light dark; --ink: #1d1d1f; --quiet: #6a6a70; --line: #d9d9de; --paper: #fff; --card: #f6f6f8; font: 15px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ec; --quiet: #9a9aa2; --line: #3a3a40; --paper: #17171a; --card: #212126; } }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
small, .quiet { color: var(--quiet); font-size: .86rem; font-weight: normal; } td small { display: block; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { text-align: right; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
th { font-weight: 600; } thead th { white-space: normal; vertical-align: bottom; } th:first-child, td:first-child, .facts td { text-align: left; } .facts td { white-space: normal; overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(21rem, 1fr)); gap: 1.2rem; } figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .2rem; } svg { width: 100%; height: auto; display: block; }
.grid { stroke: var(--line); } .mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; opacity: .6; } .tick { fill: var(--quiet); font-size: 11px; } .dot { fill: var(--paper); stroke-width: 2; }
pre { background: var(--card); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; margin: .3rem 0; } pre span { border-radius: 2px; }
img { display: block; width: 100%; max-width: 34rem; height: auto; margin: .3rem 0; border: 1px solid var(--line); border-radius: 6px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; } .pair > div { min-width: 0; } article { margin: 0 0 1.4rem; } article p { margin: .2rem 0; }
.legend span { margin-right: 1.2rem; } .legend i { display: inline-block; width: .9em; height: .9em; border-radius: 2px; margin-right: .4em; vertical-align: -.1em; } summary { cursor: pointer; margin: .8rem 0; }
`

// The report of the replication: one HTML file, nothing to load. Numbers first, then curves, then what was not done.
import { lineChart, seriesColours } from '../../engine/training/report-chart.ts'
import { escapeHtml } from '../../engine/training/report.ts'
import { mainBase, methodNames, methods, regimeMethods, regimes, slug, type MethodName, type Stage, type Task } from './experiments.ts'
import type { Tally } from './preferences.ts'
import { area, peakToFinal, reachedAt, speedUp, spread, thresholds, type RunResult, type Spread } from './summary.ts'

export interface ReplicationResults {
  readonly scale: string
  readonly machine: Readonly<Record<string, string | number>>
  /** Runs that were planned and are not there yet. */
  readonly missing: number
  readonly chosen: readonly { readonly task: Task; readonly method: MethodName; readonly learningRate: number }[]
  readonly runs: readonly RunResult[]
  /** Held-out React programs of every method against GRPO's, same prompt and seed; there once the comparison is whole. */
  readonly preferences: readonly { readonly method: MethodName; readonly tally: Tally }[]
}

const style = 'body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1d2530;background:#fff}table{border-collapse:collapse;margin:.5rem 0 1.5rem}th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #d8dde4}th:first-child,td:first-child{text-align:left}.quiet{color:#5b6675}.charts{display:flex;flex-wrap:wrap;gap:1.5rem}figure{margin:0;width:26rem}svg .grid{stroke:#d8dde4}svg .tick{font-size:11px;fill:#5b6675}svg .dot{fill:#fff;stroke-width:2}.legend span{margin-right:1.2rem}.legend i{display:inline-block;width:.9rem;height:.9rem;margin-right:.4rem;vertical-align:-.1rem}@media(prefers-color-scheme:dark){body{color:#e4e8ee;background:#12161c}th,td{border-color:#2c343f}svg .grid{stroke:#2c343f}.quiet,svg .tick{color:#98a3b3;fill:#98a3b3}svg .dot{fill:#12161c}}'

const share = (value: number): string => `${(100 * value).toFixed(1)} %`
const count = (value: number): string => (Number.isFinite(value) ? value.toFixed(1) : 'never')
const ranged = (value: Spread | null, format: (number: number) => string): string => (value === null ? '-' : value.low === value.high ? format(value.median) : `${format(value.median)} <small>(${format(value.low)} to ${format(value.high)})</small>`)

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string): string => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  return `<table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')}</tbody></table>`
}

/** One row a group of runs that differ by their seed only. */
function resultRow(label: string, runs: readonly RunResult[], reference: readonly RunResult[]): string[] {
  const last = runs.map(({ curve }) => curve.at(-1)).filter((point) => point !== undefined)
  const reached = (level: number, own: readonly RunResult[]): (number | null)[] => own.map(({ curve }) => reachedAt(curve, level))
  const never = 1 + Math.max(0, ...last.map(({ step }) => step))
  const flat = runs.flatMap(({ flatGroups }) => (flatGroups === null ? [] : [flatGroups]))
  return [
    escapeHtml(label),
    String(runs.length),
    ranged(spread(runs.map(({ curve }) => curve[0]?.rate ?? 0)), share),
    ...thresholds.map((level) => ranged(spread(reached(level, runs).map((value) => value ?? Infinity)), count)),
    ranged(spread(runs.map(({ curve }) => reachedAt(curve, 0.8, 'rollouts') ?? Infinity)), (value) => (Number.isFinite(value) ? value.toFixed(0) : 'never')),
    runs === reference ? '1' : ranged(speedUp(reached(0.8, reference), reached(0.8, runs), never), (value) => value.toFixed(2)),
    ranged(spread(last.map(({ rate }) => rate)), share),
    ranged(spread(last.map(({ requirementScore }) => requirementScore)), share),
    ranged(spread(last.map(({ hackRate }) => hackRate)), share),
    ranged(spread(runs.map(({ curve }) => peakToFinal(curve))), (value) => value.toFixed(3)),
    flat.length === 0 ? '-' : share(flat.reduce((sum, value) => sum + value, 0) / flat.length),
    share(runs.reduce((sum, { scoreWaitSeconds, stepSeconds }) => sum + scoreWaitSeconds / Math.max(1e-9, stepSeconds), 0) / Math.max(1, runs.length)),
  ]
}

const head = ['', 'seeds', 'before', ...thresholds.map((level) => `steps to ${100 * level} %`), 'rollouts to 80 %', 'times sooner than GRPO at 80 %, in steps', 'final rate', 'requirements', 'hack rate', 'drop from peak', 'flat groups', 'waiting for rewards']

function comparison(stage: Stage, base: string, groups: readonly (readonly [label: string, runs: readonly RunResult[]])[], reference: readonly RunResult[]): string {
  const filled = groups.filter(([, runs]) => runs.length > 0)
  if (filled.length === 0) return '<p class="quiet">No run of this part has finished.</p>'
  const series = filled.map(([label, runs], index) => {
    const steps = [...new Set(runs.flatMap(({ curve }) => curve.map(({ step }) => step)))].toSorted((a, b) => a - b)
    const dots = steps.map((step) => {
      const rates = spread(runs.flatMap(({ curve }) => curve.filter((point) => point.step === step).map(({ rate }) => rate)))!
      return { x: step, y: rates.median, low: rates.low, high: rates.high }
    })
    return { label, colour: seriesColours[index % seriesColours.length] as string, line: dots, dots }
  })
  const legend = `<p class="legend">${series.map(({ label, colour }) => `<span><i style="background:${colour}"></i>${escapeHtml(label)}</span>`).join('')}</p>`
  return `${table(head, filled.map(([label, runs]) => resultRow(label, runs, reference)))}${legend}<div class="charts"><figure>${lineChart(`Held-out rate, ${stage}, ${base}`, series)}<figcaption>Held-out rate over steps: median and range over seeds.</figcaption></figure></div>`
}

function sweepTable(results: ReplicationResults, task: Task): string {
  const runs = results.runs.filter((run) => run.stage === 'sweep' && run.task === task)
  if (runs.length === 0) return '<p class="quiet">No run of the sweep has finished.</p>'
  const rates = [...new Set(runs.map(({ learningRate }) => learningRate))].toSorted((a, b) => a - b)
  const rows = methodNames.map((method) => {
    const chosen = results.chosen.find((choice) => choice.task === task && choice.method === method)?.learningRate
    return [escapeHtml(methods[method].label), ...rates.map((rate) => {
      const own = runs.filter((run) => run.method === method && run.learningRate === rate).map(({ curve }) => area(curve))
      const value = own.length === 0 ? '-' : (own.reduce((sum, one) => sum + one, 0) / own.length).toFixed(3)
      return rate === chosen ? `<strong>${value}</strong>` : value
    })]
  })
  return table(['area under the held-out curve', ...rates.map((rate) => `learning rate ${rate}`)], rows)
}

/** pass@k of the last evaluation, median and range over seeds. */
function passTable(results: ReplicationResults): string {
  const rows = methodNames.flatMap((method) => {
    const last = results.runs.filter((run) => run.stage === 'compare' && run.task === 'maths' && run.method === method).flatMap(({ curve }) => curve.slice(-1))
    const ks = Object.keys(last[0]?.passAtK ?? {})
    return ks.length === 0 ? [] : [{ ks, row: [escapeHtml(methods[method].label), ...ks.map((k) => ranged(spread(last.map(({ passAtK }) => passAtK[k] ?? 0)), share))] }]
  })
  return rows.length === 0 ? '' : table(['last evaluation, 4 samples a problem', ...(rows[0]?.ks ?? []).map((k) => `pass@${k}`)], rows.map(({ row }) => row))
}

function preferenceTable({ preferences }: ReplicationResults): string {
  if (preferences.length === 0) return ''
  const rows = preferences.map(({ method, tally: { wins, ties, losses } }) => [escapeHtml(methods[method].label), String(wins), String(ties), String(losses), share((wins + ties / 2) / Math.max(1, wins + ties + losses))])
  return `<h3>Preferred to GRPO's program</h3>${table(['last evaluation, same prompt and seed', 'wins', 'ties', 'losses', 'win rate (a tie counts half)'], rows)}<p class="quiet">No judge model took part. A program is preferred when the elements and texts of its rendered page lie closer to those of the prompt's reference; one that does not render loses to any that does.</p>`
}

/** The whole page. */
export function replicationPage(results: ReplicationResults): string {
  const select = (stage: Stage, base: string, method: MethodName, variant = ''): RunResult[] => results.runs.filter((run) => run.stage === stage && run.base === base && run.method === method && run.variant === variant)
  const byMethod = (stage: Stage, base: string, names: readonly MethodName[], variant: string): [string, RunResult[]][] => names.map((method) => [methods[method].label, select(stage, base, method, variant)])
  const part = (stage: Stage, base: string, names: readonly MethodName[], variant = ''): string => {
    const groups = byMethod(stage, base, names, variant)
    return comparison(stage, base, groups, groups.find(([label]) => label === methods.grpo.label)?.[1] ?? [])
  }
  const tasks = [...new Set(results.runs.map(({ task }) => task))]
  const reached = Object.entries(regimes).filter(([name]) => results.runs.some(({ stage, variant }) => stage === 'regimes' && variant === slug(name)))
  const ablated = tasks.flatMap((task) => {
    const variants = [...new Set(results.runs.filter((run) => run.stage === 'ablations' && run.task === task).map(({ variant }) => variant))]
    const complete = select('compare', mainBase[task], 'bot-grpo-safe')
    const rows = variants.map((variant): [string, RunResult[]] => [variant.replaceAll('-', ' '), select('ablations', mainBase[task], 'bot-grpo-safe', variant)])
    return variants.length === 0 ? [] : [`<h2>Ablations of BoT-GRPO (${task}, safe defaults)</h2>${comparison('ablations', mainBase[task], [['unchanged', complete], ...rows], complete)}`]
  })
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Does token credit pay?</title><style>${style}</style></head><body>
<h1>Does token credit pay?</h1>
<p class="quiet">${escapeHtml(Object.entries(results.machine).map(([name, value]) => `${name} ${value}`).join(', '))}. Scale: ${escapeHtml(results.scale)}. ${results.runs.length} runs${results.missing === 0 ? '' : `; ${results.missing} planned runs are missing, so nothing below is final`}.</p>
<p>One backbone, identical rewards, data, seeds, sampling and budget; only credit assignment differs. A rate is that of held-out prompts: programs that compile (React), right answers (maths). Ranges in brackets are over seeds; the interval of "times sooner" is a 95 % bootstrap over seeds, and a rate never reached counts as one step more than the run had.</p>
${tasks.map((task) => `<h2>Learning rates, ${task}</h2>${sweepTable(results, task)}<h2>Comparison, ${task}</h2>${part('compare', mainBase[task], methodNames)}${task === 'maths' ? passTable(results) : preferenceTable(results)}`).join('')}
${reached.length === 0 ? '' : `<h2>When it pays: other outcomes and bases</h2>${reached.map(([name, { base }]) => `<h3>${escapeHtml(name)} (${escapeHtml(base)})</h3>${part('regimes', base, regimeMethods, slug(name))}`).join('')}`}
${ablated.join('\n')}
<h2>What this does not show</h2>
<p>One small backbone on two tasks with generated prompts; no judge model took part. Learning rates were chosen for the comparison and kept in the other parts. Other bases, longer runs and larger models may order the methods otherwise.</p>
</body></html>
`
}

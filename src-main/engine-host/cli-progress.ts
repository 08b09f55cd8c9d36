// A run as the command line shows it: a line of numbers a step, and below them a bar with the time left where stderr is a terminal.
import type { EngineEvent, EvaluationResult, MetricsRow, Phase } from '../contract/events.ts'
import { outcomeWords } from '../contract/outcome-words.ts'
import type { Recipe } from '../contract/reward-config.ts'
import { describeChange } from '../contract/run-changes.ts'
import { duration, percent } from './cli-output.ts'

/** Where lines and the bar go; `process.stderr` in the program. */
export interface Screen {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface ProgressView {
  onEvent(event: EngineEvent): void
  /** Removes the bar. */
  close(): void
}

const phaseWords: Readonly<Record<Phase, string>> = { load: 'loading', evaluate: 'evaluating', generate: 'writing', score: 'scoring', update: 'learning', checkpoint: 'saving' }

/** How far the work of a step is when a phase begins and ends; only the bar depends on it. */
const phaseShares: Readonly<Partial<Record<Phase, readonly [number, number]>>> = { generate: [0, 0.5], score: [0.5, 0.6], update: [0.6, 1] }

/** Shows the events of a run on a screen, in the words of its recipe. */
export function createProgressView(screen: Screen, recipe: Recipe = 'react'): ProgressView {
  const interactive = screen.isTTY === true
  let step = 0
  let totalSteps = 0
  let secondsLeft: number | null = null
  let now = ''
  let within = 0
  let barShown = false
  let lastState = ''

  const clear = (): void => {
    if (barShown) screen.write('\r\u001b[K')
    barShown = false
  }
  const draw = (): void => {
    if (!interactive || totalSteps === 0) return
    clear()
    screen.write(bar({ share: (step + within) / totalSteps, step, totalSteps, secondsLeft, now, columns: screen.columns ?? 80 }))
    barShown = true
  }
  const line = (text: string): void => {
    clear()
    screen.write(`${text}\n`)
    draw()
  }

  return {
    onEvent(event) {
      switch (event.type) {
        case 'state':
          step = event.step
          totalSteps = Math.max(totalSteps, event.totalSteps)
          secondsLeft = event.secondsLeft
          within = 0
          if (event.message !== '' && event.message !== lastState && event.state !== 'failed') line(event.message)
          else draw()
          lastState = event.message
          break
        case 'progress': {
          const share = event.total === 0 ? 0 : event.done / event.total
          const [from, to] = phaseShares[event.phase] ?? [0, 0]
          within = Math.min(1, from + (to - from) * share)
          now = event.total > 1 ? `${phaseWords[event.phase]} ${event.done}/${event.total}` : `${phaseWords[event.phase]} ${Math.round(100 * share)} %`
          draw()
          break
        }
        case 'metrics':
          step = event.row.step
          within = 0
          line(stepLine(event.row, totalSteps, interactive ? null : secondsLeft, recipe))
          break
        case 'evaluation':
          line(evaluationLine(event.result, recipe))
          break
        case 'checkpoint':
          // One a step by default: the end of the run says where the newest lies.
          break
        case 'changed':
          for (const change of event.changes) line(describeChange(change))
          break
        case 'warning':
          line(`warning: ${event.message}`)
          break
        case 'rollouts':
        case 'error':
          break
      }
    },
    close: clear,
  }
}

interface BarContent {
  readonly share: number
  readonly step: number
  readonly totalSteps: number
  readonly secondsLeft: number | null
  readonly now: string
  readonly columns: number
}

/** One line, never wider than the terminal: `[########--------] step 12/80  15 %  4:12 left  writing 34/64`. */
export function bar({ share, step, totalSteps, secondsLeft, now, columns }: BarContent): string {
  const left = secondsLeft === null ? '' : `  ${duration(secondsLeft)} left`
  const words = `step ${step}/${totalSteps}  ${Math.floor(100 * share)} %${left}${now === '' ? '' : `  ${now}`}`
  const width = Math.min(40, columns - words.length - 4)
  if (width < 5) return words.slice(0, Math.max(0, columns - 1))
  const filled = Math.max(0, Math.min(width, Math.round(share * width)))
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${words}`
}

/** The numbers of a step that tell most, in one line. */
export function stepLine(row: MetricsRow, totalSteps: number, secondsLeft: number | null, recipe: Recipe = 'react'): string {
  const words = outcomeWords[recipe]
  const number = (name: string, digits = 2): string => {
    const value = row.values[name]
    return value === undefined || value === null ? '-' : value.toFixed(digits)
  }
  const share = (name: string): string => {
    const value = row.values[name]
    return value === undefined || value === null ? '-' : `${Math.round(100 * value)} %`
  }
  const parts = [
    `step ${String(row.step).padStart(String(totalSteps).length)}/${totalSteps}`,
    `reward ${number('reward')} (spread ${number('reward_std')})`,
    `${words.short} ${share('compile_rate')}`,
    ...(words.detail === null ? [] : [`${words.detail.short} ${share('requirement_score')}`]),
    `length ${number('completions/mean_length', 0)}`,
    `entropy ${number('entropy', 3)}`,
    `gradient ${number('grad_norm', 3)}`,
    `${number('time/step', 1)} s`,
  ]
  if (secondsLeft !== null) parts.push(`${duration(secondsLeft)} left`)
  return parts.join('  ')
}

/** A held-out result in one line. */
export function evaluationLine(result: EvaluationResult, recipe: Recipe = 'react'): string {
  const { compile } = result
  const words = outcomeWords[recipe]
  const detail = words.detail === null ? '' : `  ${words.detail.short} ${percent(result.requirementScore)}`
  return `held out, step ${result.step}: ${words.short} ${percent(compile.rate)} (${percent(compile.low)} to ${percent(compile.high)}, n ${compile.n})${detail}  hacks ${percent(result.hackRate.rate)}`
}

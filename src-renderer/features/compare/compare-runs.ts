// Several runs beside each other: where their configurations differ, which are the same but for the seed, and how soon each got somewhere. Pure.
import type { RunSnapshot } from '../../../src-main/contract/calls/run-data.ts'
import { isRecord } from '../../../src-main/contract/methods.ts'
import type { Point } from '../charts/decimate.ts'
import { words } from '../../words.ts'

/** What a run was meant to be, and what was changed on the way. */
type Meant = Pick<RunSnapshot, 'description' | 'changes'>

/** What says nothing about what a run was meant to be. */
const ofNoMatter = new Set(['created', 'name', 'lengths'])

/** Leaves of a configuration by path, lists as one leaf; a field that was changed on the way has all its values. */
function leavesOf({ description, changes }: Meant): Map<string, string> {
  const leaves = new Map<string, string>()
  const walk = (value: unknown, path: string): void => {
    if (isRecord(value) && Object.keys(value).length > 0) for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`)
    else leaves.set(path, typeof value === 'string' ? value : JSON.stringify(value))
  }
  walk(Object.fromEntries(Object.entries(description).filter(([name]) => !ofNoMatter.has(name))), '')
  for (const { field, from, to, step } of changes) leaves.set(field, words.compare.changed(String(leaves.get(field) ?? from), to, step))
  return leaves
}

export interface Difference {
  readonly path: string
  /** One a run; undefined where the run does not have the field. */
  readonly values: readonly (string | undefined)[]
}

/** Fields that are not the same in all runs: the configuration's first, then what surrounds it (environment, hashes). */
export function differences(runs: readonly Meant[]): Difference[] {
  const leaves = runs.map(leavesOf)
  const paths = [...new Set(leaves.flatMap((own) => [...own.keys()]))]
  const different = paths.map((path) => ({ path, values: leaves.map((own) => own.get(path)) })).filter(({ values }) => new Set(values).size > 1)
  const around = (path: string): boolean => path.startsWith('environment.') || path.startsWith('hashes.')
  return [...different.filter(({ path }) => !around(path)), ...different.filter(({ path }) => around(path))]
}

export interface SeedGroup {
  readonly label: string
  readonly members: readonly RunSnapshot[]
}

/** Runs that differ in nothing but their seed, together; the label names the estimator and, where needed, what sets the group apart. */
export function seedGroups(runs: readonly RunSnapshot[]): SeedGroup[] {
  const groups = new Map<string, RunSnapshot[]>()
  for (const run of runs) {
    const leaves = [...leavesOf(run)].filter(([path]) => path !== 'seed' && !path.startsWith('environment.'))
    const key = JSON.stringify(leaves.sort(([a], [b]) => a.localeCompare(b)))
    groups.set(key, [...(groups.get(key) ?? []), run])
  }
  const found = [...groups.values()]
  const names = found.map((members) => members[0]?.summary.estimator ?? 'run')
  return found.map((members, index) => {
    const name = names[index] as string
    const only = members.length === 1 ? ` · ${members[0]?.summary.name ?? ''}` : ` · ${words.compare.seeds(members.length)}`
    const same = names.filter((other) => other === name).length > 1
    return { label: same && members.length > 1 ? `${name} · ${words.compare.andMore(members[0]?.summary.name ?? '', members.length - 1)}` : `${name}${only}`, members }
  })
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2
}

export interface Band {
  readonly points: readonly Point[]
  readonly low: readonly number[]
  readonly high: readonly number[]
}

/** Median, lowest and highest of several curves, at the steps they all have reached. */
export function medianBand(curves: readonly (readonly Point[])[]): Band {
  const reach = Math.min(...curves.map((points) => points.at(-1)?.x ?? -1))
  const steps = [...new Set(curves.flatMap((points) => points.map(({ x }) => x)))].filter((x) => x <= reach).sort((a, b) => a - b)
  const at = steps.flatMap((x) => {
    const values = curves.map((points) => valueBefore(points, x))
    return values.every((value) => value !== undefined) ? [{ x, values }] : []
  })
  return { points: at.map(({ x, values }) => ({ x, y: medianOf(values) })), low: at.map(({ values }) => Math.min(...values)), high: at.map(({ values }) => Math.max(...values)) }
}

/** Value at a step, or at the last one before it: thinned curves do not share all their steps. */
function valueBefore(points: readonly Point[], step: number): number | undefined {
  return points.findLast(({ x }) => x <= step)?.y
}

/** The first step at which a curve is at or above a threshold; null where it never was. */
export function stepsTo(points: readonly Point[], threshold: number): number | null {
  return points.find(({ y }) => y >= threshold)?.x ?? null
}

/** Steps to a threshold for a group: the median over the members that got there, and how many did. */
export function groupStepsTo(curves: readonly (readonly Point[])[], threshold: number): { readonly median: number | null; readonly reached: number } {
  const steps = curves.flatMap((points) => stepsTo(points, threshold) ?? [])
  return { median: steps.length === 0 ? null : medianOf(steps), reached: steps.length }
}

// The datasets that were opened before, and the one that is being looked at: its columns, rows, mapping and check.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { DatasetInfo, DatasetMapping, DatasetReport, DatasetRow, MappedField, StoredDataset, TemplatePreview } from '../../src-main/contract/calls/datasets.ts'
import type { Recipe } from '../../src-main/contract/reward-config.ts'
import { describeError } from '../../src-main/contract/errors.ts'
import type { Notices } from './notices.svelte.ts'
import type { RunDraft } from './run-draft.svelte.ts'
import { createTask } from './task.svelte.ts'
import type { Task } from './task.svelte.ts'
import { words } from '../words.ts'

export type ListedDataset = StoredDataset & { readonly missing: boolean }

export interface DatasetsState {
  /** Null until they have been read; `unlisted` then says why they could not be, in words. */
  readonly stored: readonly ListedDataset[] | null
  readonly unlisted: string
  readonly open: DatasetInfo | null
  readonly opening: boolean
  readonly mapping: DatasetMapping | null
  readonly heldoutShare: number
  /** The newest check, and whether mapping and split are still those it was made with. */
  readonly report: DatasetReport | null
  readonly reportIsCurrent: boolean
  readonly preview: TemplatePreview | null
  readonly previewProblem: string
  readonly chosenRow: number
  readonly counting: Task
  readonly checking: Task
  readonly preparing: Task
  /** A row, or undefined while it is on its way: asking for it fetches it. */
  rowAt(index: number): DatasetRow | undefined
  readonly total: number | null
  refresh(): Promise<void>
  openPath(path: string): Promise<boolean>
  close(): void
  map(field: MappedField, column: string | null): void
  holdOut(share: number): void
  choose(index: number, model: string | null): Promise<void>
  check(model: string | null): Promise<void>
  /** Writes the prompt file and puts it into the draft of the next run; undefined when that failed or was stopped. */
  use(): Promise<{ readonly file: string; readonly rows: number } | undefined>
  forget(path: string): Promise<void>
}

const say = words.datasets
const chunkRows = 100
const keptChunks = 60
const seed = 1

/** Test cases are for code, requirements for pages, an answer alone is for maths. */
function recipeFor({ tests, requirements, answer }: DatasetMapping): Recipe | null {
  return tests !== null ? 'code' : requirements !== null ? 'react' : answer !== null ? 'maths' : null
}

export function createDatasetsState(bridge: SatchelBridge, notices: Notices, draft: RunDraft): DatasetsState {
  let stored = $state.raw<readonly ListedDataset[] | null>(null)
  let unlisted = $state('')
  let open = $state.raw<DatasetInfo | null>(null)
  let opening = $state(false)
  let mapping = $state.raw<DatasetMapping | null>(null)
  let heldoutShare = $state(0.2)
  let report = $state.raw<DatasetReport | null>(null)
  let reportIsCurrent = $state(false)
  let preview = $state.raw<TemplatePreview | null>(null)
  let previewProblem = $state('')
  let chosenRow = $state(0)
  let total = $state<number | null>(null)
  /** Chunks of rows by their number; replaced as a whole, so that what shows a row hears of it. */
  let chunks = $state.raw<ReadonlyMap<number, readonly DatasetRow[]>>(new Map())
  const asked = new Set<number>()
  const counting = createTask(bridge)
  const checking = createTask(bridge)
  const preparing = createTask(bridge)

  async function fetchChunk(path: string, number: number): Promise<void> {
    if (asked.has(number)) return
    asked.add(number)
    const outcome = await bridge.call('datasets.rows', { path, offset: number * chunkRows, count: chunkRows })
    asked.delete(number)
    if (open?.path !== path) return
    if (!outcome.ok) {
      notices.fail(outcome.error, say.told.noRows)
      return
    }
    const kept = [...chunks].slice(-keptChunks)
    chunks = new Map([...kept, [number, outcome.value.rows]])
    if (outcome.value.total !== null) total = outcome.value.total
  }

  async function refresh(): Promise<void> {
    const outcome = await bridge.call('datasets.list', {})
    if (outcome.ok) stored = outcome.value
    else if (stored !== null) notices.fail(outcome.error)
    unlisted = outcome.ok ? '' : describeError(outcome.error)
  }

  async function remember(): Promise<void> {
    if (open === null || mapping === null) return
    const { path, name, format, bytes } = open
    await bridge.call('datasets.remember', { path, name, format, bytes, rows: total, mapping })
    await refresh()
  }

  async function count(path: string): Promise<void> {
    if (total !== null) return
    const outcome = await counting.run((task) => bridge.call('datasets.count', { path, task }))
    if (outcome?.ok !== true || open?.path !== path) return
    total = outcome.value.rows
    await remember()
  }

  function changed(): void {
    reportIsCurrent = false
    void remember()
  }

  return {
    get stored() { return stored },
    get unlisted() { return unlisted },
    get open() { return open },
    get opening() { return opening },
    get mapping() { return mapping },
    get heldoutShare() { return heldoutShare },
    get report() { return report },
    get reportIsCurrent() { return reportIsCurrent },
    get preview() { return preview },
    get previewProblem() { return previewProblem },
    get chosenRow() { return chosenRow },
    get total() { return total },
    counting,
    checking,
    preparing,
    rowAt(index) {
      const number = Math.floor(index / chunkRows)
      const chunk = chunks.get(number)
      if (chunk === undefined && open !== null) void fetchChunk(open.path, number)
      return chunk?.[index % chunkRows]
    },
    refresh,
    async openPath(path) {
      opening = true
      const outcome = await bridge.call('datasets.inspect', { path })
      opening = false
      if (!outcome.ok) {
        notices.fail(outcome.error, say.told.notOpened)
        return false
      }
      counting.cancel()
      checking.cancel()
      const known = stored?.find((entry) => entry.path === outcome.value.path)
      const names = new Set(outcome.value.columns.map(({ name }) => name))
      // A mapping of earlier days counts as long as the columns are those of then.
      const stillFits = known !== undefined && Object.values(known.mapping).every((column) => column === null || names.has(column))
      chunks = new Map()
      asked.clear()
      open = outcome.value
      mapping = stillFits ? known.mapping : outcome.value.guess
      total = outcome.value.rows
      report = null
      preview = null
      previewProblem = ''
      chosenRow = 0
      await remember()
      void count(outcome.value.path)
      return true
    },
    close() {
      counting.cancel()
      checking.cancel()
      open = null
      void refresh()
    },
    map(field, column) {
      if (mapping === null) return
      mapping = { ...mapping, [field]: column }
      changed()
    },
    holdOut(share) {
      heldoutShare = share
      reportIsCurrent = false
    },
    async choose(index, model) {
      chosenRow = index
      if (open === null || mapping === null || model === null) {
        preview = null
        return
      }
      const { path } = open
      const outcome = await bridge.call('datasets.template', { path, index, mapping, model, thinking: 'model' })
      if (open?.path !== path || chosenRow !== index) return
      preview = outcome.ok ? outcome.value : null
      previewProblem = outcome.ok ? '' : outcome.error.what
    },
    async check(model) {
      if (open === null || mapping === null) return
      const { path } = open
      const used = mapping
      const outcome = await checking.run((task) => bridge.call('datasets.check', { path, mapping: used, heldoutShare, seed, model, task }))
      if (outcome === undefined || open?.path !== path) return
      if (outcome.ok) {
        report = outcome.value
        total = outcome.value.rows
        reportIsCurrent = mapping === used
      } else notices.fail(outcome.error, say.told.notChecked)
    },
    async use() {
      if (open === null || mapping === null) return undefined
      const { path, name } = open
      const used = mapping
      const outcome = await preparing.run((task) => bridge.call('datasets.prepare', { path, mapping: used, heldoutShare, seed, task }))
      if (outcome === undefined) return undefined
      if (!outcome.ok) {
        notices.fail(outcome.error, say.told.notWritten)
        return undefined
      }
      draft.chooseDataset({ name, prompts: outcome.value.prompts, rows: outcome.value.train, recipe: recipeFor(used) })
      return { file: outcome.value.prompts, rows: outcome.value.rows }
    },
    async forget(path) {
      const outcome = await bridge.call('datasets.forget', { path })
      if (!outcome.ok) notices.fail(outcome.error)
      await refresh()
    },
  }
}

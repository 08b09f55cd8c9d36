// The datasets that were opened, and the prompt files made from them: so that a dataset is mapped once.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, parse } from 'node:path'
import { z } from 'zod'
import { storedDatasetSchema } from '../contract/calls/datasets.ts'
import type { datasetMemoryCalls } from '../contract/calls/datasets.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import type { GrantedPaths } from './granted-paths.ts'
import { openJsonStore } from './json-store.ts'
import type { LongWork } from './long-work.ts'
import type { ToolsClient } from './tools-client.ts'

export interface DatasetMemoryOptions {
  readonly file: string
  /** Folder of the prompt files. */
  readonly promptsFolder: string
  readonly tools: ToolsClient
  readonly paths: GrantedPaths
  readonly work: LongWork
}

const storeSchema = z.object({ version: z.literal(1), datasets: z.array(storedDatasetSchema) })
const most = 50

type Stored = z.infer<typeof storeSchema>

/** A file name for the prompts of a dataset: readable, and another one for another path. */
export function promptsName(path: string): string {
  const name = parse(path).name.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '').slice(0, 60)
  return `${name === '' ? 'prompts' : name}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}.jsonl`
}

/** The handlers for datasets that the app answers itself. Datasets of earlier days may be named by the page again. */
export function createDatasetMemory({ file, promptsFolder, tools, paths, work }: DatasetMemoryOptions): HandlersOf<typeof datasetMemoryCalls> {
  const store = openJsonStore(file, storeSchema, { version: 1, datasets: [] })
  for (const { path } of store.value.datasets) paths.grant(path)
  const others = ({ datasets }: Stored, path: string): Stored['datasets'] => datasets.filter((entry) => entry.path !== path)
  return {
    'datasets.list': async () => store.value.datasets.map((entry) => ({ ...entry, missing: !existsSync(entry.path) })),
    'datasets.remember': async (dataset) => {
      const path = paths.require(dataset.path)
      await store.update((before) => ({ version: 1, datasets: [{ ...dataset, path, opened: new Date().toISOString() }, ...others(before, path)].slice(0, most) }))
      return {}
    },
    'datasets.forget': async ({ path }) => {
      const full = paths.require(path)
      await store.update((before) => ({ version: 1, datasets: others(before, full) }))
      return {}
    },
    'datasets.prepare': async ({ path, task, ...request }) => {
      const full = paths.require(path)
      const out = join(promptsFolder, promptsName(full))
      const prepared = await work.run(task, (options) => tools.ask('datasets.convert', { ...request, path: full, task, out }, options))
      paths.grant(prepared.prompts)
      return prepared
    },
  }
}

// Datasets a person trains on: looked at without being loaded, mapped to prompts, checked, made into a prompt file.
import { z } from 'zod'
import { nothing, pathSchema, taskSchema } from './shared.ts'

export const datasetFormatSchema = z.enum(['jsonl', 'json', 'csv', 'tsv', 'parquet', 'text', 'folder'])
export type DatasetFormat = z.infer<typeof datasetFormatSchema>

const column = z.string().max(300).nullable()

/** Which column becomes which field of a prompt row; null where none does. A column inside an object is written `outer.inner`. */
export const datasetMappingSchema = z.strictObject({
  prompt: column,
  system: column,
  answer: column,
  requirements: column,
  tests: column,
  entry: column,
  tags: column,
  id: column,
  split: column,
})
export type DatasetMapping = z.infer<typeof datasetMappingSchema>
export type MappedField = keyof DatasetMapping

export const datasetColumnSchema = z.object({
  name: z.string(),
  /** What its values are, over the rows that were looked at. */
  kinds: z.array(z.enum(['text', 'number', 'boolean', 'list', 'object', 'messages', 'empty'])),
  /** Share of the rows looked at that hold something, 0..1. */
  filled: z.number(),
  example: z.string(),
})
export type DatasetColumn = z.infer<typeof datasetColumnSchema>

export const datasetInfoSchema = z.object({
  path: z.string(),
  name: z.string(),
  format: datasetFormatSchema,
  bytes: z.number(),
  /** Names of the files that are read, in their order; the first hundred. */
  files: z.array(z.string()),
  fileCount: z.int(),
  columns: z.array(datasetColumnSchema),
  guess: datasetMappingSchema,
  /** Rows in all; null until they have been counted. */
  rows: z.int().nullable(),
})
export type DatasetInfo = z.infer<typeof datasetInfoSchema>

export const datasetRowSchema = z.object({
  /** 0-based. */
  index: z.int(),
  /** Line or row number as a person would find it in the file. */
  line: z.int(),
  /** One text a column, in the order of the columns; long ones are cut. */
  cells: z.array(z.string()),
  /** Why the row cannot be read; empty otherwise. */
  problem: z.string(),
})
export type DatasetRow = z.infer<typeof datasetRowSchema>

export const rowProblemSchema = z.object({ line: z.int(), field: z.string(), what: z.string() })
export type DatasetRowProblem = z.infer<typeof rowProblemSchema>

const lengthsSchema = z.object({
  least: z.number(),
  median: z.number(),
  most: z.number(),
  /** Counts by bin; bin i holds lengths from edges[i] up to edges[i + 1]. */
  edges: z.array(z.number()),
  counts: z.array(z.int()),
  /** Rows that were measured. */
  measured: z.int(),
})
export type Lengths = z.infer<typeof lengthsSchema>

export const datasetReportSchema = z.object({
  rows: z.int(),
  good: z.int(),
  badRows: z.int(),
  /** The first problems, one a row. */
  problems: z.array(rowProblemSchema),
  train: z.int(),
  heldout: z.int(),
  /** Whether the rows say themselves on which side they are. */
  ownSplit: z.boolean(),
  withAnswer: z.int(),
  withRequirements: z.int(),
  withTests: z.int(),
  /** Rows whose prompt stood in an earlier row already. */
  duplicates: z.int(),
  duplicateExamples: z.array(z.object({ line: z.int(), before: z.int(), text: z.string() })),
  /** Held-out rows that nearly equal a row of the training side. */
  nearDuplicates: z.int(),
  nearExamples: z.array(z.object({ heldoutLine: z.int(), trainLine: z.int(), similarity: z.number(), heldout: z.string(), train: z.string() })),
  characters: lengthsSchema,
  /** Prompt tokens, template included; null where no model was named. */
  tokens: lengthsSchema.nullable(),
})
export type DatasetReport = z.infer<typeof datasetReportSchema>

export const templatePreviewSchema = z.object({
  /** The mapped row as it would stand in a prompt file. */
  row: z.string(),
  /** What is wrong with the row; empty when nothing is. */
  problem: z.string(),
  /** Exactly what the model reads, as text, token by token. */
  tokens: z.array(z.object({ id: z.int(), text: z.string(), special: z.boolean() })),
  /** Tokens in all; the list above is cut after some thousands. */
  count: z.int(),
})
export type TemplatePreview = z.infer<typeof templatePreviewSchema>

const dataset = z.object({ path: pathSchema }).strict()
const splitFields = { heldoutShare: z.number().min(0).max(0.9), seed: z.int().min(0) }
const prepareFields = { path: pathSchema, mapping: datasetMappingSchema, ...splitFields, task: taskSchema }

export const preparedSchema = z.object({ prompts: z.string(), rows: z.int(), skipped: z.int(), train: z.int(), heldout: z.int() })
export type PreparedDataset = z.infer<typeof preparedSchema>

/** Done by the tools process. */
export const datasetCalls = {
  'datasets.inspect': { request: dataset, response: datasetInfoSchema },
  /** Rows from `offset` on, without loading the file; fewer than asked for at the end. */
  'datasets.rows': {
    request: z.object({ path: pathSchema, offset: z.int().min(0), count: z.int().min(1).max(200) }).strict(),
    response: z.object({ rows: z.array(datasetRowSchema), total: z.int().nullable() }),
  },
  'datasets.count': { request: z.object({ path: pathSchema, task: taskSchema }).strict(), response: z.object({ rows: z.int() }) },
  'datasets.check': {
    request: z.object({ path: pathSchema, mapping: datasetMappingSchema, ...splitFields, model: pathSchema.nullable(), task: taskSchema }).strict(),
    response: datasetReportSchema,
  },
  'datasets.template': {
    request: z.object({ path: pathSchema, index: z.int().min(0), mapping: datasetMappingSchema, model: pathSchema, thinking: z.enum(['model', 'on', 'off']) }).strict(),
    response: templatePreviewSchema,
  },
} as const

export const storedDatasetSchema = z.object({
  path: z.string(),
  name: z.string(),
  format: datasetFormatSchema,
  bytes: z.number(),
  rows: z.int().nullable(),
  mapping: datasetMappingSchema,
  /** ISO 8601. */
  opened: z.string(),
})
export type StoredDataset = z.infer<typeof storedDatasetSchema>

/** Done by the app, which remembers the datasets that were opened and keeps the prompt files made from them. */
export const datasetMemoryCalls = {
  'datasets.list': { request: nothing, response: z.array(storedDatasetSchema.extend({ missing: z.boolean() })) },
  'datasets.remember': { request: storedDatasetSchema.omit({ opened: true }).strict(), response: nothing },
  'datasets.forget': { request: dataset, response: nothing },
  /** Writes the prompt file a run reads; rows that cannot be used are left out and counted. */
  'datasets.prepare': { request: z.object(prepareFields).strict(), response: preparedSchema },
} as const

/** What the app asks the tools process in order to answer `datasets.prepare`. */
export const datasetConversion = { request: z.object({ ...prepareFields, out: pathSchema }).strict(), response: preparedSchema } as const

// What judges said, by the content they judged: the same question is never asked twice, and a run that is stopped and resumed is given the
// answers it was given before. On disk it is judges.jsonl in the run folder, one verdict a line, append only.
import { createHash } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { z } from 'zod'
import { asStorageError } from '../../models/atomic-file.ts'
import { fileErrorCode } from '../../models/json-file.ts'
import { createMemory, type Memory } from '../bounded-memory.ts'

/** A verdict as judges give it: a score of 0 to 10 with worst lines (or why they could not be read), or a number for each step. */
const verdictSchema = z.union([
  z.object({ score: z.number().min(0).max(10), lines: z.array(z.object({ line: z.int().min(1), impact: z.number(), reason: z.string() })).optional(), problem: z.string().optional() }),
  z.object({ steps: z.array(z.number().min(-1).max(1)) }),
])
const entrySchema = z.object({ key: z.string(), verdict: verdictSchema })

export type JudgeVerdict = z.infer<typeof verdictSchema>
export type ScoreVerdict = Extract<JudgeVerdict, { score: number }>
export type StepsVerdict = Extract<JudgeVerdict, { steps: number[] }>

export interface JudgeCache {
  /** The verdict under a key, from memory or disk, or what `ask` gives. One question under the same key is asked at a time; failures are not kept. */
  verdict<Verdict extends JudgeVerdict>(key: string, ask: () => Promise<Verdict>): Promise<Verdict>
  /** Waits until everything is on disk. @throws UserError `storage` when it cannot be written */
  settle(): Promise<void>
}

/** The newest verdicts that stay in memory; each takes a few hundred bytes. */
const remembered = 50_000

/** Key of a question: everything the answer depends on. */
export function judgeKey(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex')
}

/** @param file where verdicts are kept; without one they are forgotten with the process */
export function createJudgeCache(file?: string): JudgeCache {
  const open = new Map<string, Promise<JudgeVerdict>>()
  let loaded: Promise<Memory<JudgeVerdict>> | undefined
  let writing: Promise<void> = Promise.resolve()

  const find = async <Verdict extends JudgeVerdict>(key: string, ask: () => Promise<Verdict>): Promise<JudgeVerdict> => {
    const known = await (loaded ??= file === undefined ? Promise.resolve(createMemory<JudgeVerdict>(remembered)) : readVerdicts(file))
    const before = known.get(key)
    if (before !== undefined) return before
    const verdict = await ask()
    known.set(key, verdict)
    if (file !== undefined) writing = writing.then(() => append(file, { key, verdict }))
    writing.catch(() => undefined)
    return verdict
  }
  return {
    async verdict<Verdict extends JudgeVerdict>(key: string, ask: () => Promise<Verdict>): Promise<Verdict> {
      let found = open.get(key)
      if (found === undefined) {
        found = find(key, ask).finally(() => open.delete(key))
        open.set(key, found)
      }
      // A key names the kind of question as well, so the kind of verdict is the one asked for.
      return (await found) as Verdict
    },
    settle: () => writing,
  }
}

async function append(file: string, entry: z.infer<typeof entrySchema>): Promise<void> {
  try {
    await appendFile(file, `${JSON.stringify(entry)}\n`)
  } catch (error) {
    throw asStorageError(error, file)
  }
}

/** Lines a killed process left half-written, or that somebody damaged, are as good as not there: the judge is asked again. */
async function readVerdicts(file: string): Promise<Memory<JudgeVerdict>> {
  const known = createMemory<JudgeVerdict>(remembered)
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (fileErrorCode(error) === 'ENOENT') return ''
    throw asStorageError(error, file)
  })
  const lines = text.split('\n')
  for (const line of lines.slice(-remembered)) {
    const entry = parsedEntry(line)
    if (entry !== undefined) known.set(entry.key, entry.verdict)
  }
  // What follows must not be glued to half a line.
  if (lines.at(-1) !== '') await appendFile(file, '\n')
  return known
}

function parsedEntry(line: string): z.infer<typeof entrySchema> | undefined {
  if (line === '') return undefined
  try {
    return entrySchema.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}

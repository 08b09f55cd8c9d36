// A mapped dataset as the prompt file a run reads.
import type { DatasetMapping, PreparedDataset } from '../../contract/calls/datasets.ts'
import { UserError } from '../../contract/errors.ts'
import { writeFileAtomically, writeFully } from '../models/atomic-file.ts'
import type { Beat, DataSource } from './data-source.ts'
import { idProblem, sideIsHeldOut } from './dataset-report.ts'
import { mapRow } from './mapping.ts'

export interface WriteOptions {
  readonly mapping: DatasetMapping
  readonly heldoutShare: number
  readonly seed: number
  readonly beat?: Beat
}

const bufferedCharacters = 1 << 18

/**
 * Writes a prompt file (JSONL): one row a prompt, each with its side. Rows that make no prompt are left out and counted. The file is whole
 * or not there.
 * @throws UserError `storage` when it cannot be written, `bad-input` when no row makes a prompt
 */
export async function writePrompts(source: DataSource, out: string, options: WriteOptions): Promise<PreparedDataset> {
  const result = { rows: 0, skipped: 0, train: 0, heldout: 0 }
  await writeFileAtomically(out, async (handle) => {
    const ids = new Set<string>()
    let pending = ''
    for await (const row of source.scan(options.beat)) {
      const mapped = mapRow(row, options.mapping)
      if (!mapped.ok || idProblem(mapped.row.id, ids) !== undefined) {
        result.skipped += 1
        continue
      }
      const split = sideIsHeldOut(mapped.row, options) ? 'heldout' : 'train'
      result[split] += 1
      result.rows += 1
      pending += `${JSON.stringify({ ...mapped.row, id: mapped.row.id ?? `row-${row.index + 1}`, split })}\n`
      if (pending.length < bufferedCharacters) continue
      await writeFully(handle, Buffer.from(pending, 'utf8'))
      pending = ''
    }
    await writeFully(handle, Buffer.from(pending, 'utf8'))
    if (result.rows === 0) throw new UserError({ code: 'bad-input', what: 'no row of this dataset makes a prompt', remedy: 'Choose another column for the prompt.' })
    if (result.train === 0) throw new UserError({ code: 'bad-input', what: 'every prompt would be held out, none would be left to train on', remedy: 'Lower the held-out share.' })
  })
  return { prompts: out, ...result }
}

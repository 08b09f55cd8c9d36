// One hash over several files.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'

/** sha256 (hex) over name, size and every byte of each file, streamed. */
export async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) {
    const stream = createReadStream(path, { highWaterMark: 1 << 20 })
    let bytes = 0
    hash.update(`${basename(path)}\0`)
    for await (const piece of stream) {
      bytes += (piece as Buffer).length
      hash.update(piece as Buffer)
    }
    hash.update(`\0${bytes}\n`)
  }
  return hash.digest('hex')
}

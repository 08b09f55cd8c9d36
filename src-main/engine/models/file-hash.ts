// One hash over several files.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'

/** sha256 (hex) over name, size and every byte of each file, streamed. `nameOf` tells what stands for a file's name. */
export async function hashFiles(paths: readonly string[], nameOf: (path: string) => string = basename): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) {
    const stream = createReadStream(path, { highWaterMark: 1 << 20 })
    let bytes = 0
    hash.update(`${nameOf(path)}\0`)
    for await (const piece of stream) {
      bytes += (piece as Buffer).length
      hash.update(piece as Buffer)
    }
    hash.update(`\0${bytes}\n`)
  }
  return hash.digest('hex')
}

// How far reading or downloading files has come: one line that is rewritten on a terminal, one line a file elsewhere.
import { bytes } from './cli-output.ts'

export interface ByteProgress {
  /** @param done bytes of this file so far */
  update(file: string, done: number, total: number): void
  /** Ends the line; may be called more than once. */
  close(): void
}

const redrawMilliseconds = 100

/** @param stream where it is drawn: stderr, so that stdout holds results only */
export function createByteProgress(stream: { readonly isTTY?: boolean; write(text: string): unknown }): ByteProgress {
  const terminal = stream.isTTY === true
  let drawn = 0
  let open = false
  const line = (file: string, done: number, total: number): string => `${file}  ${bytes(done)} of ${bytes(total)}${total === 0 ? '' : ` (${Math.floor((100 * done) / total)} %)`}`
  return {
    update(file, done, total) {
      if (!terminal) {
        if (done >= total) stream.write(`${line(file, done, total)}\n`)
        return
      }
      const now = performance.now()
      if (done < total && now - drawn < redrawMilliseconds) return
      drawn = now
      open = true
      stream.write(`\r\u001b[K${line(file, done, total)}`)
    },
    close() {
      if (open) stream.write('\r\u001b[K')
      open = false
    },
  }
}

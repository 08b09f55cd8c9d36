// A disk that fills up: tests replace `open` of node:fs/promises by this one, as none of a chosen size can be mounted.
import type * as Files from 'node:fs/promises'

/** Bytes that still fit, and bytes written so far. Shared with the test, which sets it. */
export interface SmallDisk {
  bytesLeft: number
  bytesWritten: number
}

type Write = (data: Uint8Array, offset: number, length: number, position?: number) => Promise<{ bytesWritten: number }>

/** `open` whose handles write no more than the disk has room for: first a part, then ENOSPC, as the system does it. */
export function openOnSmallDisk(open: typeof Files.open, disk: SmallDisk): typeof Files.open {
  return async (...parameters) => {
    const handle = await open(...parameters)
    const write = handle.write.bind(handle) as Write
    const limited: Write = async (data, offset, length, position) => {
      const fits = Math.min(length, disk.bytesLeft)
      if (fits === 0 && length > 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      disk.bytesLeft -= fits
      disk.bytesWritten += fits
      return write(data, offset, fits, position)
    }
    return Object.assign(handle, { write: limited })
  }
}

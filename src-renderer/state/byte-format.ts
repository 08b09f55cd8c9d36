// Bytes and counts as people read them.
const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** Bytes in powers of 1000, as disks and downloads are sold: `6.2 GB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)}\u202f${units[unit] ?? ''}`
}

/** Memory in powers of 1024: `15.6 GiB`. */
export function memoryText(bytes: number): string {
  const gib = bytes / 2 ** 30
  return gib >= 1 ? `${gib.toFixed(1)}\u202fGiB` : `${Math.round(bytes / 2 ** 20)}\u202fMiB`
}

/** A count of parameters: `3.09 B`, `3.6 M`. */
export function parametersText(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(2)}\u202fB` : `${(count / 1e6).toFixed(1)}\u202fM`
}

/** A day and time of ISO 8601 as the person's system writes it, short. */
export function dayText(time: string): string {
  const day = new Date(time)
  return Number.isNaN(day.getTime()) ? '' : day.toLocaleString(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

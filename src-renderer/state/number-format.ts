// Numbers as the page writes them: a true minus sign, few digits, units apart.

const minus = '\u2212'
/** What stands where a number is not known. */
export const unknown = '\u2013'

/** A number with about `digits` significant digits; very small and large ones in powers of ten. */
export function compact(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return unknown
  if (value === 0) return '0'
  const size = Math.abs(value)
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : size >= 10 ** (digits - 1) ? String(Math.round(value)) : Number(value.toPrecision(digits)).toString()
  return text.replaceAll('-', minus)
}

/** A number with a fixed count of decimals and always a sign: for columns in which the sign matters. Zero has none. */
export function signed(value: number, decimals = 2): string {
  if (!Number.isFinite(value)) return unknown
  const text = Math.abs(value).toFixed(decimals)
  if (Number(text) === 0) return text
  return `${value < 0 ? minus : '+'}${text}`
}

/** Decimals that tell two neighbours on an axis apart. */
export function decimalsFor(spacing: number): number {
  if (!(spacing > 0)) return 0
  for (let decimals = 0; decimals < 6; decimals += 1) {
    const scaled = spacing * 10 ** decimals
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6) return decimals
  }
  return 6
}

/** A share, 0..1, as whole per cents; small and nearly whole ones with one decimal. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return unknown
  const value = share * 100
  const edge = (value > 0 && value < 10) || (value > 99 && value < 100)
  return `${edge ? Number(value.toFixed(1)) : Math.round(value)}\u202f%`
}

/** Seconds in words: '40 seconds', '3 minutes', '1 hour 20 minutes'. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 55) return plural(Math.max(1, whole < 10 ? whole : Math.round(whole / 5) * 5), 'second')
  const minutes = Math.round(whole / 60)
  if (minutes < 60) return plural(Math.max(1, minutes), 'minute')
  const rest = minutes % 60
  return `${plural(Math.floor(minutes / 60), 'hour')}${rest === 0 ? '' : ` ${plural(rest, 'minute')}`}`
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

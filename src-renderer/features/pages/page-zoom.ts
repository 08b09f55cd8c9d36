// How large a small picture of a page is drawn: most pages of small models fill one corner, and shown whole nothing on them could be read.

const sampleWidth = 320
const sampleHeight = 200
/** Difference of a channel, 0..255, that counts as something. */
const visible = 24
const largest = 2.5
/** Space left around what the page shows, as a share of the whole. */
const margin = 0.04

/** Factor to enlarge a picture by, from its top left corner, so that everything on it is still seen; 1 to 2.5. */
export function zoomOf(image: HTMLImageElement): number {
  const canvas = document.createElement('canvas')
  canvas.width = sampleWidth
  canvas.height = sampleHeight
  const context = canvas.getContext('2d')
  if (context === null) return 1
  context.drawImage(image, 0, 0, sampleWidth, sampleHeight)
  return zoomFor(context.getImageData(0, 0, sampleWidth, sampleHeight).data, sampleWidth, sampleHeight)
}

/** The same for pixels, four bytes each; the last one is taken for the ground. */
export function zoomFor(pixels: Uint8ClampedArray, width: number, height: number): number {
  const ground = pixels.length - 4
  let reach = 0
  for (let index = 0; index < width * height; index++) {
    const share = Math.max(((index % width) + 1) / width, (Math.floor(index / width) + 1) / height)
    if (share <= reach) continue
    const at = 4 * index
    if ([0, 1, 2].some((channel) => Math.abs((pixels[at + channel] ?? 0) - (pixels[ground + channel] ?? 0)) > visible)) reach = share
  }
  return Math.min(largest, Math.max(1, 1 / (reach + margin)))
}

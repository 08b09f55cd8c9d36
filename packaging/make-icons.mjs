// Draws the icon of the app (packaging/resources/icon.svg) in every size and form that installers want. Run after the drawing changes:
//
//   node packaging/make-icons.mjs CHROMIUM      CHROMIUM: the program of a Chromium or Chrome on this machine
//
// Writes packaging/resources/icons/*.png (Linux), icon.ico (Windows) and icon.icns (macOS), and resources/icons/window.png, which the app itself shows.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { root } from '../eslint.rooms.js'

const folder = join(root, 'packaging', 'resources')
const sizes = [16, 24, 32, 48, 64, 128, 256, 512, 1024]
/** Sizes in an .ico and the type codes of PNG images in an .icns. */
const icoSizes = [16, 24, 32, 48, 64, 128, 256]
const icnsTypes = [['icp4', 16], ['icp5', 32], ['ic07', 128], ['ic08', 256], ['ic09', 512], ['ic10', 1024], ['ic11', 32], ['ic12', 64], ['ic13', 256], ['ic14', 512]]

async function draw(program) {
  const drawing = readFileSync(join(folder, 'icon.svg'), 'utf8')
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage()
    const images = new Map()
    for (const size of sizes) {
      await page.setViewportSize({ width: size, height: size })
      await page.setContent(`<style>body{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${drawing}`)
      images.set(size, await page.screenshot({ omitBackground: true }))
    }
    return images
  } finally {
    await browser.close()
  }
}

/** Windows icon: a header of 6 bytes, an entry of 16 bytes an image, then the images as PNG. */
function ico(images) {
  const header = Buffer.alloc(6 + 16 * icoSizes.length)
  header.writeUInt16LE(1, 2)
  header.writeUInt16LE(icoSizes.length, 4)
  let offset = header.length
  icoSizes.forEach((size, index) => {
    const at = 6 + 16 * index
    header.writeUInt8(size % 256, at)
    header.writeUInt8(size % 256, at + 1)
    header.writeUInt16LE(1, at + 4)
    header.writeUInt16LE(32, at + 6)
    header.writeUInt32LE(images.get(size).length, at + 8)
    header.writeUInt32LE(offset, at + 12)
    offset += images.get(size).length
  })
  return Buffer.concat([header, ...icoSizes.map((size) => images.get(size))])
}

/** macOS icon: 'icns' and the length of the whole, then for each image its type, its length with these 8 bytes, and the PNG. */
function icns(images) {
  const block = (type, bytes) => {
    const head = Buffer.alloc(8)
    head.write(type, 'latin1')
    head.writeUInt32BE(bytes.length + 8, 4)
    return Buffer.concat([head, bytes])
  }
  return block('icns', Buffer.concat(icnsTypes.map(([type, size]) => block(type, images.get(size)))))
}

const program = process.argv[2]
if (program === undefined) {
  process.stderr.write('node packaging/make-icons.mjs CHROMIUM\n')
  process.exitCode = 2
} else {
  const images = await draw(program)
  mkdirSync(join(folder, 'icons'), { recursive: true })
  for (const size of sizes.filter((one) => one <= 512)) writeFileSync(join(folder, 'icons', `${size}x${size}.png`), images.get(size))
  writeFileSync(join(root, 'resources', 'icons', 'window.png'), images.get(256))
  writeFileSync(join(folder, 'icon.ico'), ico(images))
  writeFileSync(join(folder, 'icon.icns'), icns(images))
}

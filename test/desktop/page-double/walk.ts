// `npm run walk -- FOLDER [WORDS]`: a picture of every page in every state, in both themes and two sizes of window, for a person to look at.
// WORDS: only stops whose name holds one of them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openDouble } from './browser.ts'
import { goToStop, stops } from './stops.ts'

const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder for the pictures.')
mkdirSync(folder, { recursive: true })

const sizes = [{ width: 1280, height: 800 }, { width: 1920, height: 1080 }] as const
/** Curves and positions settle. */
const settlingMilliseconds = 350

async function take(page: Page, into: string, name: string): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size)
    for (const theme of ['light', 'dark']) {
      // The page's own switch, that charts hear of it; clicked from inside, wherever a dialog stands before it.
      await page.evaluate((chosen) => document.querySelector<HTMLElement>(`aside input[type="radio"][value="${chosen}"]`)?.click(), theme)
      await page.waitForTimeout(settlingMilliseconds)
      writeFileSync(join(into, `${name}-${size.width}-${theme}.png`), await page.screenshot())
    }
  }
}

const opened = await openDouble()
await opened.page.emulateMedia({ reducedMotion: 'reduce' })
for (const stop of stops.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)))) {
  await opened.page.setViewportSize(sizes[0])
  await opened.show(stop.scene)
  try {
    await goToStop(opened.page, stop)
  } catch (error) {
    console.error(`${stop.name}: ${String(error).split('\n')[0]}`)
    process.exitCode = 1
  }
  await take(opened.page, folder, stop.name)
}
for (const error of new Set(opened.errors)) console.error(error)
await opened.close()

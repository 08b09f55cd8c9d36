// The accessibility rules of axe-core, run inside a page of the app.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Violations as short texts: the rule and the places. The inspector runs the checker, because the content policy would not let the page. */
export async function violations(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axeSource })
  const answer = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }).then((result) => JSON.stringify(result.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? n.failureSummary)).join(' | '))))`,
    awaitPromise: true,
  })
  await session.detach()
  return JSON.parse(String(answer.result.value)) as string[]
}

/** Violations in both themes, chosen by the switch of the frame. */
export async function violationsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const theme of ['Light', 'Dark']) {
    await page.getByRole('group', { name: 'Theme', exact: true }).getByText(theme).click()
    await page.waitForFunction((name) => document.documentElement.dataset['theme'] === name, theme.toLowerCase())
    found.push(...(await violations(page)).map((violation) => `${theme}: ${violation}`))
  }
  return found
}

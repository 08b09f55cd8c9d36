// Every page in every state it has, and what to do there to see it: looked at by people (`npm run walk`) and held against the rules of
// accessibility.
import type { Page } from 'playwright-core'
import { goTo } from '../app-driver.ts'
import type { SceneName } from './scenes.ts'

export interface Stop {
  readonly name: string
  readonly scene: SceneName
  /** Title of the page. */
  readonly title: string
  /** What a person does there first. */
  readonly act?: (page: Page) => Promise<void>
}

const titles = ['Home', 'Models', 'Datasets', 'Rewards', 'Run setup', 'Monitor', 'Rollouts', 'Compare', 'Try it', 'Export and report', 'Settings'] as const

/** The name of a page in a file name. */
const short = (title: string): string => title.toLowerCase().replaceAll(' ', '-')
const everyPage = (scene: SceneName): Stop[] => titles.map((title) => ({ name: `${short(title)}-${scene}`, scene, title }))
const press = (name: string | RegExp) => (page: Page): Promise<void> => page.locator('main').getByRole('button', { name }).first().click()

async function openDataset(page: Page): Promise<void> {
  await page.locator('main').getByRole('button', { name: /\.jsonl/ }).first().click()
  await page.getByRole('grid', { name: 'Rows' }).waitFor()
}

/** Chooses one of a few choices by its label. */
const choose = (label: string) => (page: Page): Promise<void> => page.locator('main label', { hasText: new RegExp(`^\\s*${label}\\s*$`) }).first().click()

const further: readonly Stop[] = [
  { name: 'models-verified', scene: 'filled', title: 'Models', act: press('Verify') },
  { name: 'models-plan', scene: 'overfull', title: 'Models', act: press('Plan memory') },
  { name: 'datasets-open', scene: 'filled', title: 'Datasets', act: openDataset },
  {
    name: 'datasets-report', scene: 'filled', title: 'Datasets',
    act: async (page) => {
      await openDataset(page)
      await page.getByRole('button', { name: 'Check all rows' }).click()
      await choose('Report')(page)
    },
  },
  { name: 'datasets-wide', scene: 'overfull', title: 'Datasets', act: openDataset },
  { name: 'rewards-sources', scene: 'filled', title: 'Rewards', act: choose('Sources') },
  { name: 'rewards-replay', scene: 'filled', title: 'Rewards', act: choose('Replay a run') },
  { name: 'rewards-pasted', scene: 'filled', title: 'Rewards', act: choose('Pasted') },
  { name: 'rewards-own', scene: 'filled', title: 'Rewards', act: choose('Your own') },
  { name: 'setup-demo', scene: 'filled', title: 'Run setup', act: press('Demo') },
  {
    name: 'setup-everything', scene: 'overfull', title: 'Run setup',
    act: async (page) => {
      await press('Demo')(page)
      await page.getByLabel('Show every field').check()
      await page.locator('[id="rollout.groupSize"]').fill('1')
      await page.locator('[id="rollout.groupSize"]').press('Tab')
    },
  },
  { name: 'monitor-change', scene: 'filled', title: 'Monitor', act: press('Change…') },
  { name: 'monitor-table', scene: 'filled', title: 'Monitor', act: press('Reward as a table') },
  {
    name: 'rollouts-token', scene: 'filled', title: 'Rollouts',
    act: async (page) => {
      await page.getByRole('listbox', { name: 'Tokens of the completion' }).focus()
      for (let at = 0; at < 9; at += 1) await page.keyboard.press('ArrowRight')
    },
  },
  { name: 'rollouts-gallery', scene: 'filled', title: 'Rollouts', act: press('Same prompt across steps') },
  { name: 'rollouts-search', scene: 'filled', title: 'Rollouts', act: press('Search all steps') },
  {
    name: 'try-answers', scene: 'filled', title: 'Try it',
    act: async (page) => {
      await page.getByRole('group', { name: 'Held-out prompts' }).getByRole('button').first().click()
      await page.getByRole('button', { name: 'Ask both' }).click()
      await page.getByText('No browser was found').nth(1).waitFor()
    },
  },
  { name: 'export-written', scene: 'filled', title: 'Export and report', act: press('Write the report') },
  {
    name: 'palette', scene: 'filled', title: 'Home',
    act: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').waitFor()
    },
  },
]

export const stops: readonly Stop[] = [...(['filled', 'empty', 'loading', 'failing', 'failedRun', 'begun', 'overfull'] as const).flatMap(everyPage), ...further]

/** Goes to a stop; the page has been opened in its scene. */
export async function goToStop(page: Page, { title, act }: Stop): Promise<void> {
  await goTo(page, title)
  await act?.(page)
}

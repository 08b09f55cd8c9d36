// What a report says of pixels: whether pages were looked at, or judged by their document alone.
import type { MetricsRow } from '../../contract/events.ts'
import type { RewardConfig } from '../../contract/reward-config.ts'

/**
 * One sentence for a run of the React recipe; undefined for others.
 * @param pictures how many the run folder holds
 */
export function pixelSentence(reward: RewardConfig, metrics: readonly MetricsRow[], pictures: number): string | undefined {
  if (reward.recipe !== 'react') return undefined
  const sum = (name: string): number => metrics.reduce((total, { values }) => total + (values[name] ?? 0), 0)
  const kept = pictures === 0 ? '' : ` ${pictures} pictures of pages are in its folder.`
  switch (reward.screenshots.mode) {
    case 'off':
      return 'Pixels were not checked: pages were judged by their document alone (reward.screenshots.mode is off).'
    case 'audit':
      return pictures === 0 ? 'Pixels were not checked, and no pictures of pages could be taken.' : `Pixels were not checked: pages were judged by their document alone.${kept}`
    case 'reward': {
      const checked = sum('pixels/checked')
      if (checked === 0) return 'Pixels were not checked: no browser could show pages, or none rendered.'
      const failed = sum('pixels/unchecked')
      return `The pixels of ${checked} pages that rendered were checked; on ${sum('pixels/blank')} nothing could be seen.${failed === 0 ? '' : ` The browser failed at ${failed} more, which were judged by their document.`}${kept}`
    }
  }
}

// Pictures of a few pages of every step, for whoever looks at the run: taken beside the training, kept in the run folder, never part of a
// reward. A step whose turn comes while the pictures of the one before are still being taken goes without.
import { join } from 'node:path'
import type { RolloutRecord } from '../../contract/events.ts'
import type { PageCamera } from '../rewards/screenshots/camera.ts'
import { openPictureStore, picturesFolder } from '../rewards/screenshots/picture-store.ts'
import { programHash } from '../rewards/screenshots/screenshots.ts'

export interface RunPictures {
  /** Takes pictures of some of a step's pages; returns at once. */
  offer(records: readonly RolloutRecord[]): void
  /** Takes pictures of all these texts, after what was begun: held-out samples are few, and the report shows them. */
  offerSamples(texts: readonly string[]): void
  /** Waits until what was begun is done, at most so long (milliseconds); what is not done then is given up. */
  settle(milliseconds: number): Promise<void>
}

export interface RunPicturesOptions {
  readonly camera: Pick<PageCamera, 'screenshotOf'>
  readonly directory: string
  /** Pictures of one step. */
  readonly perStep: number
  /** Pictures the run folder holds at most. */
  readonly keep: number
  /** Hears the first thing that went wrong; the run goes on. */
  readonly onProblem: (message: string) => void
}

export function createRunPictures({ camera, directory, perStep, keep, onProblem }: RunPicturesOptions): RunPictures {
  const store = openPictureStore(join(directory, picturesFolder), keep)
  let working: Promise<void> | undefined
  let told = false

  async function take(texts: readonly string[]): Promise<void> {
    try {
      for (const text of texts) {
        const hash = programHash(text)
        if ((await store.read(hash)) !== undefined) continue
        const result = await camera.screenshotOf(text)
        if ('screenshot' in result) await store.write(hash, result.screenshot)
        else if (result.blame === 'service') throw new Error(result.failure)
      }
    } catch (error) {
      if (!told) onProblem(`Pictures of pages could not be kept: ${error instanceof Error ? error.message : String(error)}`)
      told = true
    }
  }

  /** Takes them after what is being taken. */
  function begin(texts: readonly string[]): void {
    const mine = (working ?? Promise.resolve()).then(() => take(texts))
    working = mine
    void mine.then(() => {
      if (working === mine) working = undefined
    })
  }

  return {
    offer(records) {
      if (working === undefined) begin(chosenPages(records, perStep).map(({ text }) => text))
    },
    offerSamples: begin,
    async settle(milliseconds) {
      let clock: NodeJS.Timeout | undefined
      await Promise.race([working, new Promise((resolve) => (clock = setTimeout(resolve, milliseconds)))])
      clearTimeout(clock)
      told = true
    },
  }
}

/** At most `most` rollouts whose page renders: of different prompts first, of each the one with the highest reward. */
export function chosenPages(records: readonly RolloutRecord[], most: number): RolloutRecord[] {
  const rendered = records.filter(({ stages }) => stages.render).sort((a, b) => b.reward - a.reward || a.index - b.index)
  const best = new Map(rendered.toReversed().map((record) => [record.promptId, record]))
  const firsts = rendered.filter((record) => best.get(record.promptId) === record)
  return [...firsts, ...rendered.filter((record) => best.get(record.promptId) !== record)].slice(0, most)
}

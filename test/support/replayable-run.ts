// A made-up run as it lies on the disk: its description, its rows and its rollouts, enough to be replayed and scored.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describeAsJson, runFiles } from '../../src-main/engine/training/run-folder-reading.ts'
import { exampleDescription, exampleRollout } from './run-folder.ts'

/** Writes a run of so many steps, four rollouts of one prompt each; every second one compiles. */
export function writeReplayableRun(directory: string, steps: number): void {
  const files = runFiles(directory)
  mkdirSync(files.rollouts, { recursive: true })
  writeFileSync(files.description, describeAsJson(exampleDescription()))
  const numbers = Array.from({ length: steps }, (_, at) => at + 1)
  writeFileSync(files.metrics, numbers.map((step) => `${JSON.stringify({ step, values: { reward: 0 } })}\n`).join(''))
  for (const step of numbers) {
    const file = files.rolloutsOf(step)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, gzipSync([0, 1, 2, 3].map((index) => `${JSON.stringify(exampleRollout(step, index))}\n`).join('')))
  }
}

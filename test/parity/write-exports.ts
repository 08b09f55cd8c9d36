// Writes every export of a moved policy over every parity fixture, for other programs to load (exports.py and exports.mjs do so).
//
//   node test/support/run-typescript.mjs test/parity/write-exports.ts FOLDER
//
// FOLDER/<fixture>/<format>-<type>/ holds an export; FOLDER/<fixture>/expected.json what the policy itself answers.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { exportPolicy } from '../../src-main/engine/models/export.ts'
import type { ExportFormat, ExportType } from '../../src-main/engine/models/export.ts'
import { askPolicy } from '../../src-main/engine/models/export-comparison.ts'
import { exportTypes } from '../../src-main/engine/models/export-writers.ts'
import { movedPolicy } from '../support/moved-policy.ts'
import { parityCases, parityFolder } from '../support/parity.ts'

const target = process.argv[2]
if (target === undefined) throw new Error('usage: write-exports.ts FOLDER')
await rm(target, { recursive: true, force: true })
for (const fixture of parityCases) {
  const folder = join(resolve(target), fixture)
  await mkdir(folder, { recursive: true })
  const source = await movedPolicy(folder, { kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['all-linear'] }, fixture)
  const answers = await askPolicy(source.device, source.policy, source.texts)
  await writeFile(join(folder, 'expected.json'), `${JSON.stringify({ base: parityFolder(fixture), texts: source.texts, ...answers })}\n`)
  for (const format of Object.keys(exportTypes) as ExportFormat[]) {
    const types: (ExportType | undefined)[] = format === 'onnx' ? ['float32', 'float16'] : [undefined]
    for (const storedType of types) {
      const { comparison, storedType: stored } = await exportPolicy(source, { format, folder: join(folder, `${format}${storedType === undefined ? '' : `-${storedType}`}`), ...(storedType === undefined ? {} : { storedType }) })
      process.stdout.write(`${fixture.padEnd(20)} ${format.padEnd(8)} ${stored.padEnd(9)} largest ${comparison.largestDifference.toExponential(1)} mean ${comparison.meanDifference.toExponential(1)} greedy ${comparison.greedy.equal}/${comparison.greedy.prompts}\n`)
    }
  }
}
process.exit()

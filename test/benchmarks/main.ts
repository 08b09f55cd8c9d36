// `npm run bench [-- --smoke] [--json FILE] [--precision-model DIR]`: every benchmark as a table, and as JSON. Goals are shown, never enforced.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { kernelReport } from '../../src-main/engine/runtime/kernels.ts'
import { runtimeVersions } from '../../src-main/engine/runtime/ort.ts'
import { benchmarkCost, benchmarkDecode, benchmarkTrainingStep } from './engine.bench.ts'
import { benchmarkKernels } from './kernels.bench.ts'
import { benchmarkMemory, measureMemory, memoryFlag } from './memory.bench.ts'
import { benchmarkPrecision, precisionModelFlag } from './precision.bench.ts'
import { benchmarkRewards } from './rewards.bench.ts'
import { benchmarkRunIndex } from './run-index.bench.ts'
import { rowsTable } from './rows.ts'
import type { BenchmarkRow } from './rows.ts'

async function main(options: readonly string[]): Promise<void> {
  const at = options.indexOf(memoryFlag)
  if (at >= 0) return measureMemory(Number(options[at + 1]))
  const quick = options.includes('--smoke')
  const machine = { processor: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), platform: `${process.platform}-${process.arch}`, node: process.versions.node, onnxruntime: runtimeVersions().onnxruntime, kernels: kernelReport() }
  process.stdout.write(`${Object.entries(machine).map(([name, value]) => `${name} ${value}`).join(', ')}${quick ? '\nSmoke run: too short to mean anything beyond that every benchmark runs.' : ''}\n\n`)
  const precisionAt = options.indexOf(precisionModelFlag)
  const precisionModel = precisionAt < 0 ? undefined : options[precisionAt + 1]
  const rows: BenchmarkRow[] = []
  for (const part of [() => benchmarkKernels(quick), () => benchmarkTrainingStep(quick), () => benchmarkDecode(quick), () => benchmarkCost(quick), () => benchmarkRewards(quick), () => benchmarkRunIndex(quick), () => benchmarkMemory(quick), () => benchmarkPrecision(quick, precisionModel)]) {
    const more = await part()
    process.stdout.write(`${rowsTable(more)}\n\n`)
    rows.push(...more)
  }
  const file = options[options.indexOf('--json') + 1]
  if (options.includes('--json') && file !== undefined) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify({ machine, smoke: quick, rows }, null, 2)}\n`)
  }
}

await main(process.argv.slice(2))

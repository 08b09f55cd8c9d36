// This machine for the app: what it is, and what it can do.
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { arch, availableParallelism, cpus, freemem, release, totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'
import { runtimeVersions } from '../../engine/runtime/ort.ts'
import { kernelReport } from '../../engine/runtime/kernels.ts'
import { satchelVersion } from '../../engine/training/run-folder.ts'
import { runTrials } from '../doctor.ts'
import type { Tools } from './tool-work.ts'

/** The folder runs go to, or the nearest one above it that exists. The app names it in SATCHEL_DISK. */
function diskFolder(): string {
  let folder = resolve(process.env['SATCHEL_DISK'] ?? '.')
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

const trialWords: Readonly<Record<string, string>> = { node: 'Node', cpu: 'the processor', webgpu: 'the graphics card', rewards: 'the rewards', browser: 'the browser' }

export const machineTools: Tools<'machine.facts' | 'machine.try'> = {
  'machine.facts': async () => {
    const folder = diskFolder()
    const disk = await statfs(folder)
    return {
      satchel: satchelVersion(),
      node: process.versions.node,
      onnxruntime: runtimeVersions().onnxruntime,
      platform: `${process.platform}-${arch()} ${release()}`,
      processor: { model: cpus()[0]?.model.trim() ?? 'unknown', threads: availableParallelism() },
      memory: { total: totalmem(), free: freemem() },
      disk: { folder, free: disk.bavail * disk.bsize },
    }
  },
  'machine.try': async (_parameters, work) => {
    const { ok, trials } = await runTrials({ before: (name, done, total) => work.tell({ what: `Trying ${trialWords[name] ?? `the ${name}`}`, done, total, unit: 'steps' }), signal: work.signal })
    return { ok, time: new Date().toISOString(), kernels: kernelReport(), trials: Object.entries(trials).map(([name, trial]) => ({ name, ...trial })) }
  },
}

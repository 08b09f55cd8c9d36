// What leaves a run: exports with their check, reports, and answers of the trained model.
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { exportReportSchema, trialSchema } from '../contract/calls/runs.ts'
import { UserError } from '../contract/errors.ts'
import { readStoredRun } from './run-files.ts'
import { ensureFolder } from './runs.ts'
import type { RunHandlers, RunServices } from './runs.ts'

type OutputCalls = 'runs.export' | 'runs.report' | 'runs.openReport' | 'runs.savePdf' | 'runs.showFolder' | 'runs.try'

const completionsSchema = z.object({ completions: z.array(trialSchema).min(1) })

/** The handlers about what leaves a run. */
export function createOutputHandlers({ library, commandLine, desktop, runsFolder, reportsFolder, exportsFolder, onProgress }: RunServices): Pick<RunHandlers, OutputCalls> {
  /** Reports written since the app started: the page may open nothing else. */
  const reports = new Set<string>()
  const run = (job: string, parameters: readonly string[]): Promise<unknown> => commandLine.run(job, parameters, (line) => onProgress(job, line))

  function writtenReport(file: string): string {
    const full = resolve(file)
    if (reports.has(full)) return full
    throw new UserError({ code: 'usage', what: 'This is no report that was just written.', place: { file }, remedy: 'Write the report again.' })
  }

  return {
    'runs.export': async ({ directory, format, type, job }) => {
      const parameters = ['export', library.allowed(directory), '--format', format, ...(type === null ? [] : ['--type', type])]
      // One folder a stored type, so that one export does not stand in the way of the next.
      const chosen = exportsFolder()
      const home = chosen === '' ? join(library.allowed(directory), 'export') : join(chosen, basename(directory))
      const folder = join(home, type === null ? format : `${format}-${type}`)
      return exportReportSchema.parse(await run(job, [...parameters, '--to', folder]))
    },
    'runs.report': async ({ directories, job }) => {
      const runs = directories.map((directory) => library.allowed(directory))
      const [only] = runs
      // Nothing is written into a run that lies outside the runs folder.
      const within = runs.length === 1 && only !== undefined && dirname(only) === resolve(runsFolder) ? only : undefined
      if (within === undefined) await ensureFolder(reportsFolder)
      const file = within !== undefined ? join(within, 'report.html') : join(reportsFolder, `comparison-${new Date().toISOString().replace(/[:.]/g, '-')}.html`)
      await run(job, ['report', ...runs, '--out', file])
      reports.add(resolve(file))
      return { file }
    },
    'runs.openReport': async ({ file }) => {
      await desktop.openFile(writtenReport(file))
      return {}
    },
    'runs.savePdf': async ({ file }) => {
      const report = writtenReport(file)
      const to = await desktop.choosePlace('Save the report as PDF', 'report.pdf', [{ name: 'PDF', extensions: ['pdf'] }])
      if (to !== null) await desktop.printPdf(report, to)
      return to === null ? null : { file: to }
    },
    'runs.showFolder': async ({ directory, folder }) => {
      const own = library.allowed(directory)
      const known = folder === null || (await library.open(own)).exports.some((note) => note.folder === folder)
      if (!known || !existsSync(folder ?? own)) throw new UserError({ code: 'not-found', what: 'This folder is not there any more.', place: { file: folder ?? own } })
      desktop.showFolder(folder ?? own)
      return {}
    },
    'runs.try': async ({ directory, who, prompt, seed, temperature, maxTokens, job }) => {
      const own = library.allowed(directory)
      const model = who === 'trained' ? own : (await readStoredRun(own)).model
      if (model === undefined) throw new UserError({ code: 'bad-input', what: 'This run does not name its base model.', place: { file: join(own, 'run.json'), field: 'model' } })
      const settings = ['--seed', String(seed), '--temperature', String(temperature), '--max-tokens', String(maxTokens)]
      const { completions } = completionsSchema.parse(await run(job, ['generate', model, '--prompt', prompt, ...settings]))
      return completions[0] as (typeof completions)[number]
    },
  }
}

// `npm run replicate [-- --out DIR] [--smoke] [--hours N] [--parallel N]`: the comparison of estimators, run after run. It may be stopped at any moment and
// started again: finished runs are kept, a run in progress resumes. After every run results.json and report.html are written anew.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { runtimeVersions } from '../../engine/runtime/ort.ts'
import { builtPath, resourcePath } from '../../engine/runtime/paths.ts'
import { readPromptFile } from '../../engine/training/prompts.ts'
import { readEvaluations, readMetrics, readStatus } from '../../engine/training/run-folder-reading.ts'
import { baseNames, makeBase, type BaseName } from './bases.ts'
import { mainBase, methodNames, planRest, planSweep, scales, type BaseFiles, type Experiment, type MethodName, type Task } from './experiments.ts'
import { replicationPage, type ReplicationResults } from './page.ts'
import { renderLooks, tally } from './preferences.ts'
import { chooseLearningRate, summariseRun, type RunResult } from './summary.ts'

interface Options {
  readonly out: string
  readonly scale: 'full' | 'smoke'
  /** Begin no further run after so many hours. */
  readonly hours: number
  /** Runs at a time, each on its share of the cores: a run alone leaves a core idle while it waits for scores. */
  readonly parallel: number
}

function readOptions(words: readonly string[]): Options {
  const after = (name: string): string | undefined => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined)
  const scale = words.includes('--smoke') ? 'smoke' : 'full'
  return { out: resolve(after('--out') ?? (scale === 'smoke' ? 'replication-smoke' : 'replication')), scale, hours: Number(after('--hours') ?? Infinity), parallel: Math.max(1, Number(after('--parallel') ?? Math.min(2, cpus().length))) }
}

const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** Runs the command line on one experiment; the exit code tells what became of it. */
function satchel(...words: string[]): Promise<number> {
  return new Promise((settle, reject) => {
    const child = spawn(process.execPath, [builtPath('cli.js'), ...words], { stdio: ['ignore', 'ignore', 'inherit'] })
    child.on('error', reject)
    child.on('exit', (code) => settle(code ?? 5))
  })
}

class Replication {
  private readonly options: Options
  private readonly results = new Map<string, RunResult>()
  private readonly deadline: number
  private readonly chosen: { task: Task; method: MethodName; learningRate: number }[] = []
  private planned: readonly string[] = []
  private ran = { runs: 0, seconds: 0 }
  private preferences: ReplicationResults['preferences'] = []
  private written = Promise.resolve()

  constructor(options: Options) {
    this.options = options
    this.deadline = Date.now() + options.hours * 3_600_000
  }

  private get scale() {
    return scales[this.options.scale]
  }

  private get tasks(): readonly Task[] {
    return Object.keys(this.scale.tasks) as Task[]
  }

  /** False when time ran out before all was done. */
  async run(): Promise<boolean> {
    await mkdir(join(this.options.out, 'runs'), { recursive: true })
    const bases = await this.makeBases()
    const plans = this.tasks.map((task) => ({ task, sweep: planSweep(this.scale, bases, task), rest: (chosen: (method: MethodName) => number) => planRest(this.scale, bases, task, chosen) }))
    this.planned = plans.flatMap(({ sweep, rest }) => [...sweep, ...rest(() => 1)]).map(({ id }) => id)
    for (const { task, sweep, rest } of plans) {
      if (!(await this.runAll(sweep))) return false
      this.chosen.push(...methodNames.map((method) => ({ task, method, learningRate: chooseLearningRate([...this.results.values()], task, method) as number })))
      const experiments = rest((method) => this.chosen.find((choice) => choice.task === task && choice.method === method)?.learningRate as number)
      const all = await this.runAll(experiments)
      if (task === 'react') this.preferences = await this.compareLooks(experiments.filter(({ id, stage }) => stage === 'compare' && this.results.has(id)))
      await this.write()
      if (!all) return false
    }
    return true
  }

  /** What every method wrote last, against what GRPO wrote for the same prompt with the same seed. */
  private async compareLooks(experiments: readonly Experiment[]): Promise<ReplicationResults['preferences']> {
    const references = new Map((await readPromptFile(resourcePath('demo', 'prompts.jsonl'))).map(({ id, reference }) => [id, reference ?? '']))
    const written = new Map<string, readonly { promptId: string; text: string }[]>()
    for (const experiment of experiments) {
      const { values } = await readEvaluations(this.directory(experiment))
      written.set(`${experiment.method} ${experiment.seed}`, values.at(-1)?.samplesShown ?? [])
    }
    const looks = await renderLooks([...written.values()].flat().flatMap(({ promptId, text }) => [text, references.get(promptId) ?? '']))
    return methodNames.filter((method) => method !== 'grpo').flatMap((method) => {
      const pairs = this.scale.seeds.flatMap((seed) => (written.get(`${method} ${seed}`) ?? []).flatMap(({ promptId, text }) => {
        const other = written.get(`grpo ${seed}`)?.find((sample) => sample.promptId === promptId)
        const reference = looks.get(references.get(promptId) ?? '') ?? null
        return other === undefined || reference === null ? [] : [{ first: looks.get(text) ?? null, second: looks.get(other.text) ?? null, reference }]
      }))
      return pairs.length === 0 ? [] : [{ method, tally: tally(pairs) }]
    })
  }

  private async makeBases(): Promise<Map<BaseName, BaseFiles>> {
    const wanted = new Set<BaseName>([...this.tasks.map((task) => mainBase[task]), ...(this.scale.regimes ? baseNames : [])])
    const files = new Map<BaseName, BaseFiles>()
    for (const name of wanted) {
      files.set(name, await makeBase(name, join(this.options.out, 'bases'), this.options.scale === 'smoke' ? 0.02 : 1, (step, steps) => {
        if (step % 50 === 0 || step === steps) say(`base ${name}: step ${step} of ${steps}`)
      }))
    }
    return files
  }

  /** False when time ran out first. */
  private async runAll(experiments: readonly Experiment[]): Promise<boolean> {
    const waiting: Experiment[] = []
    for (const experiment of experiments) if (!(await this.collect(experiment))) waiting.push(experiment)
    const begun = waiting.length
    await this.write()
    const worker = async (): Promise<void> => {
      while (Date.now() <= this.deadline) {
        const experiment = waiting.shift()
        if (experiment === undefined) return
        say(`${this.results.size} of ${this.planned.length} runs are done, now ${experiment.id}${this.timeLeft(waiting.length + 1)}`)
        await this.train(experiment)
        if (!(await this.collect(experiment))) throw new Error(`${experiment.id} ended without being done`)
        await this.write()
      }
    }
    await Promise.all(Array.from({ length: Math.min(begun, this.options.parallel) }, worker))
    return waiting.length === 0
  }

  private timeLeft(waiting: number): string {
    if (this.ran.runs === 0) return ''
    return `, about ${Math.ceil(((this.ran.seconds / this.ran.runs) * waiting) / 60 / this.options.parallel)} minutes left in this part`
  }

  private directory(experiment: Experiment): string {
    return join(this.options.out, 'runs', experiment.id)
  }

  private async train(experiment: Experiment): Promise<void> {
    const directory = this.directory(experiment)
    const before = Date.now()
    const file = `${directory}.json`
    if (!(await this.isOf(experiment))) await rm(directory, { recursive: true, force: true })
    await writeFile(file, JSON.stringify({ ...experiment.config, threads: Math.max(1, Math.floor(cpus().length / this.options.parallel)) }, null, 2))
    const code = existsSync(join(directory, 'run.json')) ? await satchel('resume', directory) : await satchel('train', file, '--out', directory)
    if (code !== 0) throw new Error(`${experiment.id} ended with exit code ${code}`)
    this.ran = { runs: this.ran.runs + 1, seconds: this.ran.seconds + (Date.now() - before) / 1000 }
  }

  /** Whether the folder holds a run of this very configuration: another base, reward or length is another run. Threads do not count. */
  private async isOf(experiment: Experiment): Promise<boolean> {
    const file = `${this.directory(experiment)}.json`
    if (!existsSync(file)) return false
    const { threads: _, ...config } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    return JSON.stringify(config) === JSON.stringify(experiment.config)
  }

  /** Takes up a finished run. */
  private async collect(experiment: Experiment): Promise<boolean> {
    const directory = this.directory(experiment)
    if (!(await this.isOf(experiment))) return false
    if ((await readStatus(directory))?.state !== 'done') return false
    const [{ values: evaluations }, { values: metrics }] = [await readEvaluations(directory), await readMetrics(directory)]
    this.results.set(experiment.id, summariseRun(experiment, evaluations, metrics))
    return true
  }

  /** One after another: two runs may end at once. */
  private write(): Promise<void> {
    this.written = this.written.then(() => this.writeNow())
    return this.written
  }

  private async writeNow(): Promise<void> {
    const results: ReplicationResults = {
      scale: this.options.scale,
      machine: { processor: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length, 'runs at a time': this.options.parallel, 'memory GiB': Math.round(totalmem() / 2 ** 30), platform: `${process.platform}-${process.arch}`, node: process.versions.node, onnxruntime: runtimeVersions().onnxruntime },
      missing: this.planned.filter((id) => !this.results.has(id)).length,
      chosen: this.chosen,
      runs: [...this.results.values()],
      preferences: this.preferences,
    }
    await writeFile(join(this.options.out, 'results.json'), `${JSON.stringify(results, null, 2)}\n`)
    await writeFile(join(this.options.out, 'report.html'), replicationPage(results))
  }
}

const options = readOptions(process.argv.slice(2))
const done = await new Replication(options).run()
say(`${done ? 'Done' : 'Time is up; start it again to go on'}: ${join(options.out, 'report.html')}`)

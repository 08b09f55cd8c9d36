import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { appendFile, chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import { createRunFolder, newRunDirectory, openRunFolder } from '../../../src-main/engine/training/run-folder.ts'
import { isRunLocked } from '../../../src-main/engine/training/run-folder-lock.ts'
import { readChanges, readChangesFile, readEvaluations, readMetrics, readRollouts, readRunDescription, readStatus, runFiles, stepConfig } from '../../../src-main/engine/training/run-folder-reading.ts'
import { exampleDescription, exampleEvaluation, exampleRollout, useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()
const isRoot = process.getuid?.() === 0
const row = (step: number) => ({ step, values: { reward: step / 10, kl: null } })

async function newRun(): Promise<string> {
  return join(await temporaryFolder(), 'run')
}

async function failure(promise: Promise<unknown>): Promise<UserError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a run folder', () => {
  it('gives back what was written to it', async () => {
    const directory = await newRun()
    const description = exampleDescription()
    const folder = await createRunFolder(directory, description)
    await folder.appendMetrics(row(1))
    await folder.appendMetrics(row(2))
    await folder.writeRollouts(2, [exampleRollout(2, 0), exampleRollout(2, 1)])
    await folder.writeEvaluation(exampleEvaluation(0, 2))
    await folder.setStatus({ state: 'running', step: 2, totalSteps: 4, message: 'Training.' })
    await folder.close()

    expect(await readRunDescription(directory)).toEqual(description)
    expect((await readMetrics(directory)).values).toEqual([row(1), row(2)])
    expect((await readRollouts(directory)).values).toEqual([exampleRollout(2, 0), exampleRollout(2, 1)])
    expect((await readEvaluations(directory)).values).toEqual([exampleEvaluation(0, 2)])
    expect(await readStatus(directory)).toMatchObject({ state: 'running', step: 2, totalSteps: 4, pid: process.pid, host: hostname() })
    expect((await readdir(join(directory, 'rollouts')))).toEqual(['000002.jsonl.gz'])
  })

  it('spells every default out in run.json, at the top, so that run.json is a configuration', async () => {
    const directory = await newRun()
    await (await createRunFolder(directory, exampleDescription())).close()
    const stored = JSON.parse(await readFile(join(directory, 'run.json'), 'utf8')) as { training: { checkpointEvery: number }; rollout: object; reward: object }
    expect(stored.training.checkpointEvery).toBe(exampleDescription().config.training.checkpointEvery)
    expect(Object.keys(stored.rollout)).toContain('temperature')
    expect(Object.keys(stored.reward)).toContain('ladder')
  })

  it('refuses to be made where files already are', async () => {
    const directory = await temporaryFolder()
    await writeFile(join(directory, 'notes.txt'), 'mine')
    expect((await failure(createRunFolder(directory, exampleDescription()))).envelope).toMatchObject({ code: 'bad-input', place: { file: directory } })
    expect(await readdir(directory)).toEqual(['notes.txt'])
  })

  it('of a newer version is refused, naming file and field', async () => {
    const directory = await temporaryFolder()
    await writeFile(join(directory, 'run.json'), JSON.stringify({ version: 7, anything: true }))
    const error = await failure(openRunFolder(directory))
    expect(error.envelope).toMatchObject({ code: 'newer-version', place: { file: join(directory, 'run.json'), field: 'version' } })
    expect(error.message).toContain('run format 7')
  })

  it('without run.json, with broken JSON or a wrong field is refused, naming the place', async () => {
    const directory = await temporaryFolder()
    expect((await failure(openRunFolder(directory))).envelope.code).toBe('not-found')
    await writeFile(join(directory, 'run.json'), '{"version": 1,')
    expect((await failure(openRunFolder(directory))).envelope).toMatchObject({ code: 'bad-input', place: { file: join(directory, 'run.json') } })
    await writeFile(join(directory, 'run.json'), JSON.stringify({ model: 'm', data: { prompts: 'p' }, rollout: { groupSize: 1 }, environment: exampleDescription().environment, hashes: exampleDescription().hashes, created: 'now' }))
    expect((await failure(openRunFolder(directory))).envelope.place.field).toBe('rollout.groupSize')
  })

  it('drops the half line a killed process left and cuts off what a resumed run does again', async () => {
    const directory = await newRun()
    const first = await createRunFolder(directory, exampleDescription())
    for (const step of [1, 2, 3]) {
      await first.appendMetrics(row(step))
      await first.writeRollouts(step, [exampleRollout(step, 0)])
    }
    await first.writeEvaluation(exampleEvaluation(0, 2))
    await first.writeEvaluation(exampleEvaluation(3, 4))
    await first.close()
    await appendFile(join(directory, 'metrics.jsonl'), '{"step": 4, "val')

    const second = await openRunFolder(directory)
    expect(await readFile(join(directory, 'metrics.jsonl'), 'utf8')).not.toContain('"val\n')
    await second.cutAfter(2)
    await second.appendMetrics(row(3))
    await second.close()
    expect((await readFile(join(directory, 'metrics.jsonl'), 'utf8')).trim().split('\n').map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1, 2, 3])
    expect(await readdir(join(directory, 'rollouts'))).toEqual(['000001.jsonl.gz', '000002.jsonl.gz'])
    expect((await readEvaluations(directory)).values.map(({ step }) => step)).toEqual([0])
  })

  it('names new runs by time and never twice', async () => {
    const runs = await temporaryFolder()
    const now = new Date(2026, 10, 30, 3, 20, 59)
    const first = newRunDirectory(runs, 'demo', now)
    expect(first).toBe(join(runs, 'demo-2026-11-30-032059'))
    await mkdir(first)
    expect(newRunDirectory(runs, 'demo', now)).toBe(`${first}-2`)
  })
})

describe('changes of a run in progress', () => {
  const change = { step: 3, field: 'optimizer.learningRate', from: 0.001, to: 0.0005, time: '2026-11-30T10:00:00.000Z' }

  it('outlive a killed engine, half a row apart', async () => {
    const directory = await newRun()
    const folder = await createRunFolder(directory, exampleDescription())
    await folder.appendChanges([change, { ...change, step: 5 }])
    await folder.close()
    await appendFile(runFiles(directory).changes, '{"step":6,"fie')
    const again = await openRunFolder(directory)
    await again.appendChanges([{ ...change, step: 7 }])
    await again.close()
    expect((await readChanges(directory)).values.map(({ step }) => step)).toEqual([3, 5, 7])
    expect((await readChangesFile(runFiles(directory).changes)).map(({ step }) => step)).toEqual([3, 5, 7])
  })

  it('that somebody wrote by hand are refused by field and file', async () => {
    const { config } = exampleDescription()
    expect(stepConfig('/runs/a', config, [change], 3).optimizer.learningRate).toBe(0.0005)
    expect(() => stepConfig('/runs/a', config, [{ ...change, to: -1 }], 3)).toThrow(/changes\.jsonl, optimizer\.learningRate/)
    const file = join(await temporaryFolder(), 'changes.jsonl')
    await writeFile(file, `${JSON.stringify(change)}\n{"step":0}\n`)
    expect((await failure(readChangesFile(file))).envelope.what).toBe('1 row cannot be read')
    expect((await failure(readChangesFile(join(file, 'nowhere')))).envelope.code).toBe('not-found')
  })
})

describe('the lock of a run folder', () => {
  it('keeps a second engine out until the first is done', async () => {
    const directory = await newRun()
    const first = await createRunFolder(directory, exampleDescription())
    expect(await isRunLocked(directory)).toBe(true)
    const error = await failure(openRunFolder(directory))
    expect(error.envelope.code).toBe('usage')
    expect(error.message).toContain(`process ${process.pid}`)
    await first.close()
    expect(await isRunLocked(directory)).toBe(false)
    await (await openRunFolder(directory)).close()
  })

  it('left by a process that is gone is taken over', async () => {
    const directory = await newRun()
    await (await createRunFolder(directory, exampleDescription())).close()
    const dead = spawnSync(process.execPath, ['-e', '']).pid
    await writeFile(runFiles(directory).lock, JSON.stringify({ pid: dead, host: hostname(), directory: resolve(directory), token: 'x', time: new Date().toISOString() }))
    await (await openRunFolder(directory)).close()
  })

  it('left half-written, or silent for long, or carried along by a copy of the folder is taken over', async () => {
    const directory = await newRun()
    await (await createRunFolder(directory, exampleDescription())).close()
    const living = { pid: process.pid, host: hostname(), directory: resolve(directory), token: 'x', time: new Date().toISOString() }
    const stale = ['{"pid": 1', JSON.stringify({ ...living, time: new Date(Date.now() - 3_600_000).toISOString() }), JSON.stringify({ ...living, directory: '/somewhere/else' })]
    for (const text of stale) {
      await writeFile(runFiles(directory).lock, text)
      await (await openRunFolder(directory)).close()
    }
    await writeFile(runFiles(directory).lock, JSON.stringify(living))
    expect((await failure(openRunFolder(directory))).envelope.code).toBe('usage')
  })

  it('lets exactly one of several engines take a dead lock', async () => {
    const directory = await newRun()
    await (await createRunFolder(directory, exampleDescription())).close()
    for (let round = 0; round < 20; round += 1) {
      await writeFile(runFiles(directory).lock, 'dead')
      const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => openRunFolder(directory)))
      const taken = attempts.filter((attempt) => attempt.status === 'fulfilled')
      expect(taken, `round ${round}`).toHaveLength(1)
      await taken[0]?.value.close()
    }
    expect((await readdir(directory)).filter((name) => name.includes('lock'))).toEqual([])
  })
})

describe('a folder that cannot be written', () => {
  it('because a file stands in its place is reported as storage', async () => {
    const directory = await temporaryFolder()
    await writeFile(join(directory, 'file'), '')
    const error = await failure(createRunFolder(join(directory, 'file', 'run'), exampleDescription()))
    expect(error.envelope.code).toBe('storage')
    expect(error.envelope.place.file).toContain(join(directory, 'file'))
  })

  // Root may write anywhere: there the read-only disk below stands for it. Windows has other permissions.
  if (!isRoot && process.platform !== 'win32') {
    it('because it is protected is reported as storage', async () => {
      const directory = await temporaryFolder()
      await chmod(directory, 0o500)
      expect((await failure(createRunFolder(join(directory, 'run'), exampleDescription()))).envelope.code).toBe('storage')
      await chmod(directory, 0o700)
    })
  }
})

/** A real disk that is full needs a disk of its own: a small memory file system, which only root on Linux may mount, and not in every container. */
function mountTiny(): { readonly folder: string; readonly reason?: undefined } | { readonly reason: string } {
  if (process.platform !== 'linux' || !isRoot) return { reason: 'only root on Linux can mount one' }
  const folder = mkdtempSync(join(tmpdir(), 'satchel-disk-'))
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], { encoding: 'utf8' })
  return status === 0 ? { folder } : { reason: stderr.trim() }
}

const tiny = mountTiny()
// What these tests hold is held everywhere by a disk that only pretends to be full: full-disk.test.ts.
if (tiny.reason !== undefined) console.warn(`No small disk here (${tiny.reason}): the tests on a real full disk are left out.`)
else describe('on a small disk', () => {
  const disk = tiny.folder
  afterAll(async () => {
    spawnSync('umount', [disk])
    await rm(disk, { recursive: true, force: true })
  })

  it('that fills up the failure is told at once, and nothing already written is harmed', async () => {
    const directory = join(disk, 'run')
    const folder = await createRunFolder(directory, exampleDescription())
    await folder.appendMetrics(row(1))
    await folder.writeRollouts(1, [exampleRollout(1, 0)])
    await writeFile(join(disk, 'filler'), Buffer.alloc(1 << 20)).catch(() => undefined)

    const large = { step: 2, values: Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`value ${index}`, index])) }
    for (const attempt of [() => folder.appendMetrics(large), () => folder.writeRollouts(2, [exampleRollout(2, 0)]), () => folder.writeEvaluation(exampleEvaluation(2, 3))]) {
      const error = await failure(attempt())
      expect(error.envelope.code).toBe('storage')
      expect(error.message).toContain('the disk is full')
    }
    await folder.close()
    expect((await readMetrics(directory)).values).toEqual([row(1)])
    expect(await readFile(join(directory, 'metrics.jsonl'), 'utf8')).toBe(`${JSON.stringify(row(1))}\n`)
    expect((await readRollouts(directory)).values).toEqual([exampleRollout(1, 0)])
    expect(await readRunDescription(directory)).toEqual(expect.objectContaining({ hashes: exampleDescription().hashes }))
    expect(await readdir(join(directory, 'eval'))).toEqual([])
    await rm(join(disk, 'filler'))
  })

  it('that is read-only the failure is told', async () => {
    const directory = join(disk, 'later')
    const folder = await createRunFolder(directory, exampleDescription())
    expect(spawnSync('mount', ['-o', 'remount,ro', disk]).status).toBe(0)
    expect((await failure(folder.appendMetrics(row(1)))).envelope.code).toBe('storage')
    expect((await failure(createRunFolder(join(disk, 'another'), exampleDescription()))).envelope.code).toBe('storage')
    expect(spawnSync('mount', ['-o', 'remount,rw', disk]).status).toBe(0)
    await folder.close()
  })
})

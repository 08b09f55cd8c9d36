import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandFileName, controlFolder, formerControlFile } from '../../../src-main/contract/run-control.ts'
import { dropCommands, sendCommand, takeCommand, withFolderCommands } from '../../../src-main/engine/training/run-commands.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()

describe('commands left in a run folder', () => {
  it('are all obeyed, each once, in the order they were given, however fast they come', async () => {
    const directory = await temporaryFolder()
    expect(takeCommand(directory)).toBeUndefined()
    for (const type of ['pause', 'checkpoint', 'resume', 'stop'] as const) await sendCommand(directory, { type })
    const taken = Array.from({ length: 5 }, () => takeCommand(directory)?.type)
    expect(taken).toEqual(['pause', 'checkpoint', 'resume', 'stop', undefined])
    expect(await readdir(join(directory, controlFolder))).toEqual([])
  })

  it('do not overwrite each other when several programs leave them at once', async () => {
    const directory = await temporaryFolder()
    await Promise.all(Array.from({ length: 12 }, () => sendCommand(directory, { type: 'checkpoint' })))
    const taken = Array.from({ length: 13 }, () => takeCommand(directory)?.type)
    expect(taken).toEqual([...Array.from({ length: 12 }, () => 'checkpoint'), undefined])
  })

  it('may be the one of an older program', async () => {
    const directory = await temporaryFolder()
    await sendCommand(directory, { type: 'checkpoint' })
    await writeFile(join(directory, formerControlFile), '{"type":"pause"}\n')
    expect([takeCommand(directory), takeCommand(directory), takeCommand(directory)]).toEqual([{ type: 'pause' }, { type: 'checkpoint' }, undefined])
  })

  it('are passed over where they are none, or not yet whole', async () => {
    const directory = await temporaryFolder()
    await mkdir(join(directory, controlFolder))
    await writeFile(join(directory, controlFolder, commandFileName('a', 1)), 'not a command')
    await writeFile(join(directory, controlFolder, commandFileName('b', 2)), '{"type":"dance"}')
    await writeFile(join(directory, controlFolder, '.000000000000003-c.json.tmp'), '{"type":"st')
    await sendCommand(directory, { type: 'stop' })
    expect(takeCommand(directory)).toEqual({ type: 'stop' })
    expect(takeCommand(directory)).toBeUndefined()
  })

  it('wake a paused run', async () => {
    const directory = await temporaryFolder()
    const commands = withFolderCommands(directory, { take: () => undefined, wait: () => new Promise(() => undefined) })
    const woken = commands.wait()
    await sendCommand(directory, { type: 'resume' })
    await woken
    expect(commands.take()).toEqual({ type: 'resume' })
  })

  it('come after those of the program that started it', async () => {
    const directory = await temporaryFolder()
    await sendCommand(directory, { type: 'stop' })
    const own = [{ type: 'pause' } as const]
    const commands = withFolderCommands(directory, { take: () => own.shift(), wait: () => new Promise(() => undefined) })
    expect([commands.take(), commands.take()]).toEqual([{ type: 'pause' }, { type: 'stop' }])
  })

  it('are dropped when an engine takes the folder: they were for another', async () => {
    const directory = await temporaryFolder()
    await sendCommand(directory, { type: 'stop' })
    await writeFile(join(directory, formerControlFile), '{"type":"stop"}\n')
    await dropCommands(directory)
    expect(takeCommand(directory)).toBeUndefined()
  })
})

describe('names of commands', () => {
  it('sort as commands were given, also within a millisecond and after the clock was set back', () => {
    const names = [commandFileName('z', 5_000_000_000_000), commandFileName('y', 5_000_000_000_000), commandFileName('x', 1)]
    expect(names.toSorted()).toEqual(names)
  })
})

// What the documents claim about the repository, where a machine can tell.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'
import { estimatorTables } from '../support/estimator-table.ts'

const read = (name: string): Promise<string> => readFile(join(projectRoot(), name), 'utf8')
const manifest = async (): Promise<{ scripts: Record<string, string>; dependencies: Record<string, string>; devDependencies: Record<string, string> }> => JSON.parse(await read('package.json')) as never

describe('CONTRIBUTING.md', () => {
  it('gives a reason for every dependency, and for none that is not there', async () => {
    const { dependencies, devDependencies } = await manifest()
    const section = (await read('CONTRIBUTING.md')).split('## Dependencies')[1] ?? ''
    const named = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| package') && !line.startsWith('| ---')).flatMap((line) => (line.split('|')[1] ?? '').trim().split(', '))
    expect(named.sort()).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)].sort())
  })
})

describe('README.md', () => {
  it('says which estimators and losses go together as the configuration has it', async () => {
    expect(await read('README.md')).toContain(estimatorTables())
  })
})

describe.each(['README.md', 'CONTRIBUTING.md'])('%s', (name) => {
  it('names only scripts that package.json has', async () => {
    const { scripts } = await manifest()
    const used = [...(await read(name)).matchAll(/npm (?:run (?:--silent )?)?([a-z:-]+)/g)].map(([, script]) => script as string).filter((script) => !['ci', 'install'].includes(script))
    expect(used.length).toBeGreaterThan(0)
    for (const script of used) expect(Object.keys(scripts)).toContain(script)
  })

  it('names only files that exist', async () => {
    const text = await read(name)
    // Recipes name sources from the engine's or the app's point of view.
    const places = ['', 'src-main', 'src-main/engine', 'test']
    const files = [...text.matchAll(/`([a-z][\w./-]*\/[\w./-]+\.(?:ts|mjs|js|py|cpp|md|svelte))`/g)].map(([, file]) => file as string).filter((file) => !file.startsWith('out/') && !/NAME/.test(file))
    expect(files.filter((file) => !places.some((place) => existsSync(join(projectRoot(), place, file))))).toEqual([])
  })
})

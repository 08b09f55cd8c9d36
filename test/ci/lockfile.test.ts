// The lockfile names packages, never the machine they came from: npm then takes each from the registry the person has set.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

const json = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(projectRoot(), name), 'utf8'))

describe('package-lock.json', () => {
  it('names no host for any package and pins each by its hash', async () => {
    const { packages } = (await json('package-lock.json')) as { packages: Record<string, LockedPackage> }
    const installed = Object.entries(packages).filter(([path]) => path !== '')
    expect(installed.length).toBeGreaterThan(100)
    for (const [path, entry] of installed) {
      expect(entry.resolved, path).toBeUndefined()
      expect(entry.integrity, path).toMatch(/^sha512-/)
    }
  })

  it('holds every package that one of them names, the optional ones too: npm ci refuses it otherwise', async () => {
    const { packages } = (await json('package-lock.json')) as { packages: Record<string, LockedPackage> }
    /** Node's way: the folder's own node_modules, then those of the folders above. */
    const found = (from: string, name: string): boolean => {
      const above = from.lastIndexOf('/node_modules/')
      return `${from === '' ? '' : `${from}/`}node_modules/${name}` in packages || (from !== '' && found(above < 0 ? '' : from.slice(0, above), name))
    }
    const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !found(path, name)).map((name) => `${path} needs ${name}`))
    expect(missing).toEqual([])
  })

  it('agrees with package.json, which pins every direct dependency', async () => {
    const { packages } = (await json('package-lock.json')) as { packages: Record<string, { dependencies?: unknown; devDependencies?: unknown }> }
    const own = (await json('package.json')) as { dependencies: Record<string, string>; devDependencies: Record<string, string> }
    expect(packages['']).toMatchObject({ dependencies: own.dependencies, devDependencies: own.devDependencies })
    for (const [name, version] of Object.entries({ ...own.dependencies, ...own.devDependencies })) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
  })
})

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bundledPackages, writeNotices } from '../../packaging/notices.mjs'
import { closure } from '../../packaging/packages.mjs'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const folder = mkdtempSync(join(tmpdir(), 'satchel-notices-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const declared = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
const carried = closure(Object.keys(declared.dependencies))

describe('the licences of a package', () => {
  it('count what is inside the built page: its folders are not carried, its code is', () => {
    expect(bundledPackages()).toEqual(expect.arrayContaining(['svelte', 'chart.js', '@fontsource/ibm-plex-sans', '@fontsource/ibm-plex-mono', 'zod', 'node-addon-api']))
  })

  it('are there in full for every package, and all of them may be given on under Apache-2.0', () => {
    writeNotices(folder, carried, { version: 'v20.19.0', licence: undefined }, false)
    const list = JSON.parse(readFileSync(join(folder, 'licences.json'), 'utf8')) as { name: string; version: string; licence: string }[]
    const text = readFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8')
    const sections = text.split(/^-{100}$/m).slice(1)
    expect(sections).toHaveLength(list.length - 1)
    for (const { name, version } of carried) expect(list).toContainEqual(expect.objectContaining({ name, version }))
    for (const section of sections) expect(section.trim().length, section.slice(0, 80)).toBeGreaterThan(300)
    const permissive = /^(?:MIT|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|OFL-1\.1|Python-2\.0|CC0-1\.0|Unlicense|\(MIT OR CC0-1\.0\))$/
    expect(list.filter(({ licence }) => !permissive.test(licence))).toEqual([])
    expect(text).toMatch(/LICENSE\.node\.txt of its release/)
    expect(existsSync(join(folder, 'LICENSE.satchel.txt'))).toBe(true)
  })

  it('are refused for a package to give away whose Node has none', () => {
    expect(() => writeNotices(folder, [], { version: 'v20.19.0', licence: undefined }, true)).toThrow(/no LICENSE beside it.*SATCHEL_PACKAGE_NODE/)
  })
})

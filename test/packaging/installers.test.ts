// What electron-builder hands to the tools that write AppImage and deb, as far as it gets without them: they are fetched where a release is
// made. The unpacked application is a stand-in; what a real one holds is tested in test/packaged.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'electron-builder'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import configuration from '../../electron-builder.config.mjs'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const folder = mkdtempSync(join(tmpdir(), 'satchel-installers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let debArguments: string[] = []
let menuEntry = ''
let appImageEntry = ''

beforeAll(async () => {
  const [unpacked, app] = [join(folder, 'unpacked'), join(folder, 'app')]
  mkdirSync(join(unpacked, 'resources'), { recursive: true })
  writeFileSync(join(unpacked, 'satchel'), '')
  mkdirSync(app)
  const { name, version, description, license } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as Record<string, string>
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name, version, description, license, main: 'app.js' }))
  // Answered with true it stops before the tool is called.
  const stopBeforeTool = async (computed: unknown): Promise<boolean> => {
    if (Array.isArray(computed)) {
      debArguments = computed[0] as string[]
      menuEntry = readFileSync(computed[1] as string, 'utf8')
    } else {
      appImageEntry = (computed as { desktop: string }).desktop
    }
    return true
  }
  await build({
    projectDir: projectRoot(), prepackaged: unpacked, linux: ['AppImage', 'deb'], x64: true, effectiveOptionComputed: stopBeforeTool,
    config: { ...structuredClone(configuration), electronVersion: '33.2.1', directories: { ...configuration.directories, app, output: join(folder, 'dist') } },
  })
}, 120_000)

/** The value behind an option of fpm. */
const after = (option: string): string | undefined => debArguments[debArguments.indexOf(option) + 1]

describe.skipIf(process.platform === 'win32')('the installers of Linux', () => {
  it('give the deb its name, maintainer, page and a description of two parts', () => {
    expect([after('--name'), after('--maintainer'), after('--url'), after('--category'), after('--license')]).toEqual(['satchel', 'Satchel contributors <contributors@satchel.invalid>', 'https://satchel.invalid', 'science', 'Apache-2.0'])
    expect(after('--description')).toMatch(/^Trains small language models on your own machine\n Offline desktop workstation/)
    expect(after('--package')).toMatch(/Satchel-\d+\.\d+\.\d+-linux-amd64\.deb$/)
  })

  it('install into one folder, with icons and an entry of the menu', () => {
    const files = debArguments.filter((argument) => argument.includes('=/')).map((argument) => argument.split('=/')[1])
    expect(files).toEqual(expect.arrayContaining(['opt/Satchel', 'usr/share/applications/satchel.desktop', 'usr/share/icons/hicolor/512x512/apps/satchel.png', 'usr/share/icons/hicolor/16x16/apps/satchel.png']))
  })

  it.each([['deb', () => menuEntry], ['AppImage', () => appImageEntry]])('show the app in the menu by a word of what it is (%s)', (_name, entry) => {
    const lines = Object.fromEntries(entry().split('\n').filter((line) => line.includes('=')).map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
    expect(lines).toMatchObject({ Name: 'Satchel', GenericName: 'Reinforcement learning workstation', Terminal: 'false', Type: 'Application', Icon: 'satchel', StartupWMClass: 'satchel' })
    expect(lines['Categories']).toMatch(/Science/)
    expect(lines['Exec']).toMatch(/satchel|AppRun/)
  })
})

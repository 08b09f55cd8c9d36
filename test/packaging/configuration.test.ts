// What electron-builder is told. Windows' and macOS' installers are made on their own systems; here their part is held against the schema
// and the files it names.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import configuration, { fuses } from '../../electron-builder.config.mjs'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const at = (path: string): string => join(projectRoot(), ...path.split('/'))
const resources = 'packaging/resources'

/** Width and height in the header of a PNG. */
function pngSize(bytes: Buffer): [number, number] {
  expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
}

describe('the configuration of electron-builder', () => {
  it('is one that it accepts, on every platform', async () => {
    const fromBuilder = createRequire(createRequire(join(projectRoot(), 'package.json')).resolve('electron-builder'))
    const { validateConfiguration } = fromBuilder('app-builder-lib/out/util/config/config') as { validateConfiguration: (config: unknown, log: unknown) => Promise<void> }
    await expect(validateConfiguration(structuredClone(configuration), { isEnabled: false, add: () => undefined })).resolves.toBeUndefined()
    await expect(validateConfiguration({ ...configuration, wondows: {} }, { isEnabled: false, add: () => undefined })).rejects.toThrow(/wondows/)
  })

  it('makes AppImage and deb, an installer and a disk image', () => {
    expect(configuration.linux?.target).toEqual(['AppImage', 'deb'])
    expect(configuration.win?.target).toEqual(['nsis'])
    expect(configuration.mac?.target).toEqual(['dmg'])
    expect(configuration.publish).toBeNull()
  })

  it('switches off every way to make the program run another one', () => {
    const { enableEmbeddedAsarIntegrityValidation, onlyLoadAppFromAsar, ...dangerous } = fuses
    expect([enableEmbeddedAsarIntegrityValidation, onlyLoadAppFromAsar]).toEqual([true, true])
    expect(dangerous).toEqual({
      runAsNode: false, enableNodeOptionsEnvironmentVariable: false, enableNodeCliInspectArguments: false, enableCookieEncryption: false,
      loadBrowserProcessSpecificV8Snapshot: false, grantFileProtocolExtraPrivileges: false,
    })
    expect(configuration.electronFuses).toBe(fuses)
    expect(configuration.asar).toBe(true)
  })

  it('puts what plain Node reads beside the archive', () => {
    const destinations = (configuration.extraResources as { from: string; to: string }[]).map(({ from, to }) => [from.replace('dist/stage/', ''), to])
    expect(destinations).toEqual([['engine', 'engine'], ['engine/node_modules', 'engine/node_modules'], ['node', 'node'], ['command-line', 'command-line'], ['notices', 'notices']])
  })

  it('names files that are there', () => {
    const { license } = configuration.nsis as { license: string }
    const named = [configuration.linux?.icon, configuration.win?.icon, configuration.mac?.icon].map((icon) => at(icon as string))
    expect([...named, license].filter((path) => !existsSync(path))).toEqual([])
    expect(configuration.directories?.buildResources).toBe(resources)
  })

  it('has an icon in every size that a desktop asks for', () => {
    const files = readdirSync(at(`${resources}/icons`))
    expect(files.sort()).toEqual(['128x128.png', '16x16.png', '24x24.png', '256x256.png', '32x32.png', '48x48.png', '512x512.png', '64x64.png'])
    for (const file of files) expect(pngSize(readFileSync(at(`${resources}/icons/${file}`))).join('x')).toBe(file.replace('.png', ''))
  })

  it('has a Windows icon up to 256 pixels: the installer refuses smaller ones', () => {
    const icon = readFileSync(at(`${resources}/icon.ico`))
    const entries = Array.from({ length: icon.readUInt16LE(4) }, (_, index) => icon.subarray(6 + 16 * index, 22 + 16 * index))
    const sizes = entries.map((entry) => {
      const offset = entry.readUInt32LE(12)
      return pngSize(icon.subarray(offset, offset + entry.readUInt32LE(8)))[0]
    })
    expect(sizes).toEqual([16, 24, 32, 48, 64, 128, 256])
    expect(entries.map((entry) => entry.readUInt8(0))).toEqual([16, 24, 32, 48, 64, 128, 0])
  })

  it('has a macOS icon whose blocks fill it, up to 1024 pixels', () => {
    const icon = readFileSync(at(`${resources}/icon.icns`))
    expect([icon.toString('latin1', 0, 4), icon.readUInt32BE(4)]).toEqual(['icns', icon.length])
    const sizes: Record<string, number> = {}
    for (let offset = 8; offset < icon.length; offset += icon.readUInt32BE(offset + 4)) sizes[icon.toString('latin1', offset, offset + 4)] = pngSize(icon.subarray(offset + 8))[0]
    expect(sizes).toEqual({ icp4: 16, icp5: 32, ic07: 128, ic08: 256, ic09: 512, ic10: 1024, ic11: 32, ic12: 64, ic13: 256, ic14: 512 })
  })
})

// Sensors as the Linux kernel shows them, in a folder of our own.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createThermometer } from '../../../src-main/engine/runtime/temperature.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()
const noCards = (): Promise<string> => Promise.reject(new Error('ENOENT'))

async function sensors(chips: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<string> {
  const root = await temporaryFolder()
  for (const [place, files] of Object.entries(chips)) {
    await mkdir(join(root, place), { recursive: true })
    for (const [name, text] of Object.entries(files)) await writeFile(join(root, place, name), `${text}\n`)
  }
  return root
}

describe('temperatures', () => {
  it('are those of the warmest sensor inside processor and card, in degrees; other chips are left alone', async () => {
    const root = await sensors({
      'hwmon/hwmon0': { name: 'nvme', temp1_input: '99000' },
      'hwmon/hwmon1': { name: 'coretemp', temp1_input: '51000', temp2_input: '63500', temp3_input: '255000', temp1_label: 'Package' },
      'hwmon/hwmon2': { name: 'amdgpu', temp1_input: '48000' },
    })
    expect(await createThermometer({ sensors: root, askCards: noCards }).read()).toEqual({ processor: 63.5, card: 48 })
  })

  it('come from thermal zones where the processor has no chip of its own', async () => {
    const root = await sensors({ 'thermal/thermal_zone0': { type: 'acpitz', temp: '20000' }, 'thermal/thermal_zone1': { type: 'x86_pkg_temp', temp: '44000' } })
    expect(await createThermometer({ sensors: root, askCards: noCards }).read()).toEqual({ processor: 44 })
  })

  it('of cards are asked of their program every few seconds, without anyone waiting for it', async () => {
    let asked = 0
    let clock = 0
    const thermometer = createThermometer({ sensors: '/nowhere', now: () => clock, askCards: () => Promise.resolve(`${60 + (asked += 1)}\n55\n`) })
    expect(await thermometer.read()).toEqual({})
    expect(await thermometer.read()).toEqual({ card: 61 })
    expect(asked).toBe(1)
    clock = 10_000
    await thermometer.read()
    expect(await thermometer.read()).toEqual({ card: 62 })
  })

  it('are not there where nobody tells them, and nobody is asked again', async () => {
    let asked = 0
    const thermometer = createThermometer({ sensors: '/nowhere', now: () => asked * 100_000, askCards: () => ((asked += 1), Promise.reject(new Error('ENOENT'))) })
    for (let time = 0; time < 3; time += 1) expect(await thermometer.read()).toEqual({})
    expect(asked).toBe(1)
  })
})

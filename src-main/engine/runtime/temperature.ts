// How warm the machine is, where that is known: the kernel's sensors on Linux, nvidia-smi for its cards. Elsewhere nothing is known, and nothing said.
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Degrees Celsius; a part whose temperature nobody tells is left out. */
export interface Temperatures {
  readonly processor?: number
  readonly card?: number
}

export interface Thermometer {
  /** The warmest sensor of each part. Never throws, and never waits for another program: a card's value may be a few seconds old. */
  read(): Promise<Temperatures>
}

export interface ThermometerOptions {
  /** Where the kernel shows its sensors. */
  readonly sensors?: string
  /** Asks for the temperatures of the cards; rejects where that program is not there. */
  readonly askCards?: () => Promise<string>
  readonly now?: () => number
}

/** Drivers of sensors inside processors and cards (documentation of the Linux kernel, hwmon). */
const processorDrivers: readonly string[] = ['coretemp', 'k10temp', 'zenpower', 'cpu_thermal', 'soc_thermal']
const cardDrivers: readonly string[] = ['amdgpu', 'nouveau', 'radeon', 'xe', 'i915']
const zones: readonly string[] = ['x86_pkg_temp', 'cpu-thermal', 'cpu_thermal', 'TCPU']
const askMilliseconds = 5_000

/** @returns a thermometer that finds out at its first reading which sensors there are */
export function createThermometer({ sensors = '/sys/class', askCards = askNvidia, now = () => performance.now() }: ThermometerOptions = {}): Thermometer {
  let files: Promise<SensorFiles> | undefined
  let card: number | undefined
  let asked = -Infinity
  let silent = false

  function refreshCard(): void {
    if (silent || now() - asked < askMilliseconds) return
    asked = now()
    askCards().then(
      (text) => (card = warmest(text.split(/\r?\n/).map((line) => (line.trim() === '' ? Number.NaN : Number(line))))),
      // Not there, or without a card: it will not be later either.
      () => (silent = true),
    )
  }

  return {
    async read() {
      files ??= findSensors(sensors)
      const found = await files
      const [processor, kernelCard] = await Promise.all([readWarmest(found.processor), readWarmest(found.card)])
      if (kernelCard === undefined) refreshCard()
      const known = kernelCard ?? card
      return { ...(processor === undefined ? {} : { processor }), ...(known === undefined ? {} : { card: known }) }
    },
  }
}

interface SensorFiles {
  readonly processor: readonly string[]
  readonly card: readonly string[]
}

async function findSensors(root: string): Promise<SensorFiles> {
  const [chips, thermal] = await Promise.all([foldersOf(join(root, 'hwmon')), foldersOf(join(root, 'thermal'))])
  const named = await Promise.all(chips.map(async (folder) => ({ folder, name: await textOf(join(folder, 'name')) })))
  const inputs = async (drivers: readonly string[]): Promise<string[]> =>
    (await Promise.all(named.filter(({ name }) => drivers.includes(name)).map(async ({ folder }) => (await foldersOf(folder)).filter((file) => /temp\d+_input$/.test(file))))).flat()
  const processor = await inputs(processorDrivers)
  const zoned = processor.length > 0 ? [] : (await Promise.all(thermal.map(async (folder) => (zones.includes(await textOf(join(folder, 'type'))) ? [join(folder, 'temp')] : [])))).flat()
  return { processor: [...processor, ...zoned], card: await inputs(cardDrivers) }
}

async function foldersOf(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).map((name) => join(folder, name))
}

async function textOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim()
}

/** Sensors tell thousandths of a degree; one that sleeps gives an error instead. */
async function readWarmest(files: readonly string[]): Promise<number | undefined> {
  const texts = await Promise.all(files.map(textOf))
  return warmest(texts.map((text) => (text === '' ? Number.NaN : Number(text) / 1000)))
}

/** The highest value that can be a temperature: broken sensors report 0, or hundreds of degrees. */
function warmest(degrees: readonly number[]): number | undefined {
  const likely = degrees.filter((value) => value > 0 && value < 130)
  return likely.length === 0 ? undefined : Math.max(...likely)
}

function askNvidia(): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('nvidia-smi', ['--query-gpu=temperature.gpu', '--format=csv,noheader,nounits'], { timeout: askMilliseconds, windowsHide: true }, (error, text) => {
      if (error === null) resolve(text)
      else reject(error instanceof Error ? error : new Error('nvidia-smi gave no temperature'))
    })
  })
}

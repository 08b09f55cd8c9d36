// The Node that runs engines and tools of a packaged app: found, checked and described.
// Electron's own Node cannot take its place: the fuse that lets it run scripts is off in a package, and Chromium's allocator ends any
// Electron process on one allocation above about 1 GiB.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

export const nodeFileName = process.platform === 'win32' ? 'node.exe' : 'node'

/** Libraries that every machine brings: a Node that needs others runs only where it was built. */
const systemLibraries = {
  linux: /^(?:linux-vdso\.so|ld-linux[^ ]*\.so|lib(?:dl|stdc\+\+|m|gcc_s|pthread|c|rt|atomic)\.so)/,
  darwin: /^(?:\/usr\/lib\/|\/System\/Library\/)/,
}

/** What a listing of `ldd` (Linux) or `otool -L` (macOS) names beside the system's own libraries. */
export function foreignLibraries(platform, listing) {
  const known = systemLibraries[platform]
  if (known === undefined) return []
  return listing
    .split('\n')
    .filter((line) => /^\s+\S/.test(line))
    .map((line) => line.trim().split(/\s/)[0])
    .filter((library) => !known.test(library.replace(/^\/lib(?:64)?\/(?:[^/]+\/)?(?=ld-linux)/, '')))
}

/** Whether Satchel runs on this version, written like v20.19.0. */
export function isSupportedNode(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number)
  return major > 20 || (major === 20 && minor >= 19)
}

function listLibraries(binary) {
  const command = { linux: ['ldd', [binary]], darwin: ['otool', ['-L', binary]] }[process.platform]
  if (command === undefined) return ''
  const listed = spawnSync(command[0], command[1], { encoding: 'utf8' })
  return listed.status === 0 ? listed.stdout : ''
}

/** The licence that belongs to a Node: at the root of its release archive, or where a distribution keeps it. */
function findLicence(binary) {
  const folder = dirname(binary)
  const places = [join(folder, 'LICENSE'), join(folder, '..', 'LICENSE'), '/usr/share/doc/nodejs/LICENSE', '/usr/share/doc/nodejs/copyright']
  return places.find((place) => existsSync(place))
}

/**
 * The Node binary to package: SATCHEL_PACKAGE_NODE (the binary, or the folder of an unpacked release archive), else the Node that runs this.
 * With SATCHEL_PACKAGE_NODE_SHA256 its hash must be that one.
 * @returns {{ binary: string, version: string, sha256: string, licence: string | undefined }}
 * @throws Error when it is too old, made for another processor, needs libraries that other machines lack, or is not the one that was named.
 */
export function chooseNode(environment = process.env) {
  const told = environment.SATCHEL_PACKAGE_NODE
  const place = told ? resolve(told) : process.execPath
  const binary = [place, join(place, nodeFileName), join(place, 'bin', nodeFileName)].find((path) => existsSync(path) && spawnSync(path, ['--version']).status === 0)
  if (binary === undefined) throw new Error(`SATCHEL_PACKAGE_NODE is ${told}: no ${nodeFileName} that runs here was found there. Expected is the folder of an unpacked Node release for ${process.platform}-${process.arch}.`)

  // Asked in an empty folder with an empty environment, which is how it will stand on another machine.
  const folder = mkdtempSync(join(tmpdir(), 'satchel-node-'))
  const asked = spawnSync(binary, ['-p', 'JSON.stringify([process.version, process.platform, process.arch])'], { cwd: folder, encoding: 'utf8', env: process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {} })
  rmSync(folder, { recursive: true, force: true })
  if (asked.status !== 0) throw new Error(`${binary} does not run outside of its place: ${(asked.error?.message ?? asked.stderr).trim()}`)
  const [version, platform, architecture] = JSON.parse(asked.stdout)
  if (!isSupportedNode(version)) throw new Error(`${binary} is Node ${version}; Satchel needs 20.19 or newer.`)
  if (platform !== process.platform || architecture !== process.arch) throw new Error(`${binary} is for ${platform}-${architecture}; this package is for ${process.platform}-${process.arch}.`)
  const foreign = foreignLibraries(process.platform, listLibraries(binary))
  if (foreign.length > 0) throw new Error(`${binary} needs ${foreign.join(', ')}, which other machines lack. Name the folder of an unpacked release from nodejs.org in SATCHEL_PACKAGE_NODE.`)

  const sha256 = createHash('sha256').update(readFileSync(binary)).digest('hex')
  const wanted = environment.SATCHEL_PACKAGE_NODE_SHA256
  if (wanted && wanted.toLowerCase() !== sha256) throw new Error(`${binary} has the SHA-256 ${sha256}; SATCHEL_PACKAGE_NODE_SHA256 names ${wanted}.`)
  return { binary, version, sha256, licence: findLicence(binary) }
}

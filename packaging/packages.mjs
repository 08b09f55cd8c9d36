// Which npm packages a packaged app carries, and which of their files.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../eslint.rooms.js'

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages

/** A package as the lockfile knows it: its folder from the root with forward slashes, its name and version. */
function entry(folder) {
  return { folder, name: folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length), version: lock[folder].version }
}

/** The folder Node finds `name` in when a file of the package in `from` asks for it; undefined when it is not in the lockfile. */
function find(from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (candidate in lock) return candidate
    if (folder === '') return undefined
  }
}

/**
 * Packages with everything they need when they run, as installed on this machine: those made for other platforms are not.
 * @param {readonly string[]} names packages that Satchel itself names
 * @throws Error when one is missing that is no optional one
 */
export function closure(names) {
  const found = new Set()
  const take = (from, name, optional) => {
    const folder = find(from, name)
    if (folder === undefined || !existsSync(join(root, folder, 'package.json'))) {
      if (optional) return
      throw new Error(`The package ${name}${from === '' ? '' : `, which ${from} needs,`} is not installed: npm ci installs it.`)
    }
    if (found.has(folder)) return
    found.add(folder)
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock[folder]
    for (const needed of Object.keys(dependencies)) take(folder, needed, false)
    for (const needed of Object.keys(optionalDependencies)) take(folder, needed, true)
    // npm installs these beside it, unless they are marked as optional.
    for (const needed of Object.keys(peerDependencies)) if (peerDependenciesMeta[needed]?.optional !== true) take(folder, needed, true)
  }
  for (const name of names) take('', name, false)
  return [...found].sort().map(entry)
}

/** TypeScript's command line, language server and messages in other languages: the engine uses its library. */
const typescriptTools = /^node_modules\/typescript\/(?:bin\/|lib\/(?:_?tsc|_?tsserver|_?typingsInstaller|watchGuard|tsserverlibrary)\.js$|lib\/[a-z]{2}(?:-[a-z]{2})?\/)/
/** Declarations that completions are checked against. */
const declarations = /^node_modules\/(?:typescript\/lib\/lib\.|@types\/react\/|csstype\/)/
const licenceFile = /^(?:licen[cs]e|notice|copying|authors|thirdparty|third-party)/i

/**
 * Whether a file of node_modules is needed when Satchel runs on a platform.
 * @param {string} path from the root, with forward slashes
 * @param {{ platform: string, architecture: string }} target
 */
export function isNeeded(path, { platform, architecture }) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (licenceFile.test(name)) return true
  const native = /^node_modules\/onnxruntime-node\/bin\/[^/]+\/([^/]+)\/([^/]+)\//.exec(path)
  if (native !== null) return native[1] === platform && native[2] === architecture
  if (typescriptTools.test(path) || path.includes('/.bin/')) return false
  if (/\.d\.[cm]?ts$/.test(name)) return declarations.test(path)
  return !/\.(?:map|md|markdown|flow|[cm]?ts|tsx|tsbuildinfo)$/i.test(name)
}

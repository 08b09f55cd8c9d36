// The rooms of the house: who may import what. eslint.config.js turns this table into a lint rule, test/ci/check.mjs holds
// the type-check projects against it, and test/ci/rooms.test.ts proves that both bite.
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, extname, basename, isAbsolute, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(fileURLToPath(import.meta.url))

/**
 * @typedef {object} Room
 * @property {string} name what an import error calls it
 * @property {string} folder relative to the root, with forward slashes
 * @property {readonly string[]} imports rooms it may import besides itself
 * @property {boolean} node whether Node's own modules may be imported
 * @property {readonly string[]} [packages] the only packages it may import; absent: any that is not reserved below
 */

/** @type {readonly Room[]} */
export const rooms = [
  { name: 'contract', folder: 'src-main/contract', imports: [], node: false, packages: ['zod'] },
  { name: 'native-kernels', folder: 'native-kernels', imports: [], node: true, packages: [] },
  { name: 'engine', folder: 'src-main/engine', imports: ['contract', 'native-kernels'], node: true },
  { name: 'engine-host', folder: 'src-main/engine-host', imports: ['engine', 'contract'], node: true },
  { name: 'app', folder: 'src-main/app', imports: ['contract'], node: true },
  { name: 'preload', folder: 'src-main/preload', imports: ['contract'], node: false, packages: ['electron'] },
  { name: 'renderer', folder: 'src-renderer', imports: ['contract'], node: false },
  { name: 'test', folder: 'test', imports: ['contract', 'native-kernels', 'engine', 'engine-host', 'app', 'preload', 'renderer'], node: true },
]

/** Packages that belong to a few places only (folders or files). */
const reservedPackages = {
  electron: ['src-main/app', 'src-main/preload', 'test'],
  'onnxruntime-node': ['src-main/engine/runtime/ort.ts', 'test'],
  '@huggingface/hub': ['src-main/engine/models/hub-client.ts', 'test'],
}

/** The two files that open sockets, what is built on them, and the only places that may import either: a download is loaded when it is asked for, a judge's server when a reward names one. */
const hubClient = 'src-main/engine/models/hub-client.ts'
const judgeClient = 'src-main/engine/rewards/judge/judge-client.ts'
export const socketFiles = [hubClient, judgeClient]
const reservedFiles = {
  [hubClient]: ['src-main/engine/models/hub-download.ts', 'test'],
  [judgeClient]: ['src-main/engine/rewards/judge/server-judge.ts', 'test'],
  'src-main/engine/rewards/judge/server-judge.ts': ['src-main/engine/rewards/judge/open-rewards.ts', 'src-main/engine-host/tools/judge.ts', 'test'],
  'src-main/engine/models/hub-download.ts': ['src-main/engine-host/cli-download.ts', 'src-main/engine-host/tools/download.ts', 'test'],
}

/** Modules that open a socket. Satchel works without a network: nothing but tests may import them; downloads and judges use the global fetch, in one file each. */
const socketModules = new Set(['net', 'http', 'https', 'http2', 'dgram', 'tls', 'dns', 'dns/promises', 'inspector', 'inspector/promises', 'undici', 'ws'])

/** Files that import socket modules in order to take them away from generated code. */
const socketRemovers = new Set(['src-main/engine-host/render-sandbox.ts'])

/** Globals that open a socket, forbidden in every room but the tests; `socketFiles` have fetch. */
export const socketGlobals = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'WebTransport', 'RTCPeerConnection']

/** @param {string} file absolute path @returns {string} path from the root with forward slashes */
export const fromRoot = (file) => relative(root, file).split(sep).join('/')

const within = (file, place) => file === place || file.startsWith(`${place}/`)

/** @param {string} file path from the root @returns {Room | undefined} */
export const roomOf = (file) => rooms.find(({ folder }) => within(file, folder))

const builtins = new Set(builtinModules)
const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const runtimePackages = new Set(Object.keys(declared.dependencies))
const allPackages = new Set([...runtimePackages, ...Object.keys(declared.devDependencies)])
/** Rooms whose packages stay outside the bundle and are found in node_modules when the product runs. */
const unbundled = new Set(['engine', 'engine-host', 'app'])

/**
 * Why `file` may not import `specifier`, or undefined where it may.
 * @param {string} file path from the root
 * @param {string} specifier as written
 * @param {boolean} typeOnly the import leaves nothing behind at run time
 * @returns {string | undefined}
 */
export function importProblem(file, specifier, typeOnly) {
  const room = roomOf(file)
  if (room === undefined) return undefined
  if (specifier.startsWith('.') || isAbsolute(specifier)) {
    const target = fromRoot(join(root, dirname(file), specifier.replace(/\?.*$/, '')))
    const importers = Object.hasOwn(reservedFiles, target) ? reservedFiles[target] : undefined
    if (importers !== undefined && !importers.some((place) => within(file, place))) return `${target} leads to a socket; only ${importers.join(', ')} may import it`
    const other = roomOf(target)
    if (room.name === 'test' || other === room || (other === undefined && within(target, 'resources'))) return undefined
    if (other === undefined) return `${room.name} imports ${target}, which lies in no room`
    return room.imports.includes(other.name) ? undefined : `${room.name} may import ${room.imports.join(', ') || 'no other room'}, not ${other.name}`
  }
  const module = specifier.replace(/^node:/, '')
  const name = module.startsWith('@') ? module.split('/').slice(0, 2).join('/') : (module.split('/')[0] ?? module)
  if (room.name !== 'test' && !socketRemovers.has(file) && (socketModules.has(module) || socketModules.has(name))) return `${specifier} opens sockets; Satchel opens none`
  if (specifier.startsWith('node:') || builtins.has(module)) return room.node ? undefined : `${room.name} runs without Node: ${specifier} is not there`
  const places = Object.hasOwn(reservedPackages, name) ? reservedPackages[name] : undefined
  if (places !== undefined && !places.some((place) => within(file, place))) return `${name} may be imported only in ${places.join(', ')}`
  if (room.packages !== undefined && !room.packages.includes(name)) return `${room.name} may import ${room.packages.join(', ') || 'no package'}, not ${name}`
  if (!allPackages.has(name)) return `${name} is not in package.json`
  // Electron is no module of ours to install: it is the program that runs the app.
  if (unbundled.has(room.name) && !typeOnly && name !== 'electron' && !runtimePackages.has(name)) return `${name} is needed at run time; it belongs into the dependencies of package.json`
  return undefined
}

/** @type {import('eslint').Rule.RuleModule} */
const imports = {
  meta: { type: 'problem', docs: { description: 'imports follow the rooms of the house' }, schema: [], messages: { forbidden: '{{problem}}' } },
  create(context) {
    const file = fromRoot(context.filename)
    const check = (source, typeOnly = false) => {
      if (source?.type !== 'Literal' || typeof source.value !== 'string') return
      const problem = importProblem(file, source.value, typeOnly)
      if (problem !== undefined) context.report({ node: source, messageId: 'forbidden', data: { problem } })
    }
    return {
      ImportDeclaration: (node) => {
        check(node.source, node.importKind === 'type')
        if (node.source.value !== 'electron') return
        const net = node.specifiers.find((specifier) => specifier.type === 'ImportSpecifier' && specifier.imported.name === 'net')
        if (net !== undefined) context.report({ node: net, messageId: 'forbidden', data: { problem: "electron's net opens sockets; Satchel opens none" } })
      },
      ExportNamedDeclaration: (node) => check(node.source, node.exportKind === 'type'),
      ExportAllDeclaration: (node) => check(node.source, node.exportKind === 'type'),
      ImportExpression: (node) => check(node.source),
      TSImportType: (node) => check(node.source ?? node.argument?.literal, true),
      CallExpression: (node) => {
        const callee = node.callee
        const name = callee.type === 'MemberExpression' ? callee.property.name : callee.name
        if (name === 'require' || name === 'getBuiltinModule') check(node.arguments[0])
      },
    }
  },
}

/** @type {import('eslint').Rule.RuleModule} */
const fileName = {
  meta: { type: 'suggestion', docs: { description: 'file names are kebab-case' }, schema: [], messages: { kebab: 'name files in kebab-case: {{name}}' } },
  create(context) {
    const name = basename(context.filename)
    const stem = name.slice(0, name.length - extname(name).length)
    return {
      Program: (node) => {
        if (!/^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(stem)) context.report({ node, messageId: 'kebab', data: { name } })
      },
    }
  },
}

export const house = { rules: { imports, 'file-name': fileName } }

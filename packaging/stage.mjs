// Lays out what a package holds, in dist/stage. Two programs, two folders:
//   app/     what Electron loads. It becomes resources/app.asar: one archive, whose hash Electron checks on Windows and macOS.
//   engine/  what plain Node runs: engines, tools, the command line, reward workers, with their packages, the built-in model and the kernels.
//            It becomes resources/engine, a folder of files: Node cannot read an archive, and onnxruntime and esbuild are programs of their own.
//   node/    the Node binary that runs it; it becomes resources/node.
//   command-line/  starts the command line with that Node; it becomes resources/command-line.
//   notices/ licences of everything inside.
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'esbuild'
import { build as buildKernels } from '../native-kernels/build.mjs'
import { root } from '../eslint.rooms.js'
import { chooseNode, nodeFileName } from './node-binary.mjs'
import { writeNotices } from './notices.mjs'
import { closure, isNeeded } from './packages.mjs'

export const stageFolder = join(root, 'dist', 'stage')
const builtFolder = join(root, 'out', 'main')
const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Processors the kernels of a package must run on: every x64 since 2009, every 64-bit ARM. Visual C++ does that without being told. */
const kernelTargets = { x64: process.platform === 'win32' ? '' : 'x86-64-v2', arm64: process.platform === 'win32' ? '' : 'armv8-a' }

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true, dereference: true, filter: (path) => !path.endsWith('.map') })
}

/** Copies a package without the packages inside it (they have entries of their own) and without files that are not needed. */
function copyPackage(folder, target, platform) {
  const walk = (path) => {
    for (const { name, isFolder } of readdirSync(join(root, path), { withFileTypes: true }).map((found) => ({ name: found.name, isFolder: found.isDirectory() }))) {
      const inside = `${path}/${name}`
      if (isFolder) {
        if (name !== 'node_modules') walk(inside)
      } else if (isNeeded(inside, platform)) {
        copy(join(root, inside), join(target, inside))
      }
    }
  }
  walk(folder)
}

/** What a built entry reaches: files of out/main, and the names of packages outside. */
async function reach(entryFile) {
  const { metafile } = await build({ entryPoints: [entryFile], bundle: true, packages: 'external', platform: 'node', format: 'esm', write: false, metafile: true, logLevel: 'silent', absWorkingDir: builtFolder })
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external, path }) => external && !path.startsWith('node:')).map(({ path }) => path))
  const packages = imported.map((path) => path.split('/').slice(0, path.startsWith('@') ? 2 : 1).join('/'))
  return { files: Object.keys(metafile.inputs), packages: [...new Set(packages)] }
}

/** Entries of the build that run inside Electron, known by what they import, and everything they reach. */
async function electronPrograms() {
  const entries = readdirSync(builtFolder).filter((name) => name.endsWith('.js'))
  const reached = await Promise.all(entries.map((name) => reach(join(builtFolder, name))))
  const inside = reached.filter(({ packages }) => packages.includes('electron'))
  const all = (field) => [...new Set(inside.flatMap((one) => one[field]))].sort()
  return { files: all('files'), packages: all('packages').filter((name) => name !== 'electron') }
}

async function stageApp(platform) {
  const target = join(stageFolder, 'app')
  const programs = await electronPrograms()
  for (const file of programs.files) copy(join(builtFolder, file), join(target, 'out', 'main', file))
  for (const part of ['preload', 'renderer']) copy(join(root, 'out', part), join(target, 'out', part))
  copy(join(root, 'resources', 'icons'), join(target, 'resources', 'icons'))
  for (const { folder } of closure(programs.packages)) copyPackage(folder, target, platform)
  // No productName: the name says where settings and runs lie, and a package shares them with the app of a checkout.
  const { name, version, description, license, type, main } = declared
  const dependencies = Object.fromEntries(programs.packages.map((needed) => [needed, declared.dependencies[needed]]))
  writeFileSync(join(target, 'package.json'), `${JSON.stringify({ name, version, description, license, type, main, dependencies }, undefined, 2)}\n`)
}

function stageEngine(packages, platform) {
  const target = join(stageFolder, 'engine')
  copy(builtFolder, join(target, 'out', 'main'))
  copy(join(root, 'resources'), join(target, 'resources'))
  for (const { folder } of packages) copyPackage(folder, target, platform)
  const { name, version, description, license, type, bin } = declared
  writeFileSync(join(target, 'package.json'), `${JSON.stringify({ name, version, description, license, type, bin }, undefined, 2)}\n`)
}

/** The kernels, compiled for every processor of the kind; TypeScript serves where no compiler is, which a package to give away must not need. */
function stageKernels(strict) {
  const folder = join(stageFolder, 'engine', 'native-kernels', 'build')
  const { status, message } = buildKernels({ folder, target: kernelTargets[process.arch] ?? '' })
  if (status === 'built' || status === 'current') return
  if (strict) throw new Error(message)
  process.stderr.write(`${message}\n`)
}

function stageNode() {
  const node = chooseNode()
  const target = join(stageFolder, 'node')
  mkdirSync(target, { recursive: true })
  copyFileSync(node.binary, join(target, nodeFileName))
  chmodSync(join(target, nodeFileName), 0o755)
  writeFileSync(join(target, 'node.json'), `${JSON.stringify({ version: node.version, platform: process.platform, architecture: process.arch, sha256: node.sha256 }, undefined, 2)}\n`)
  return node
}

/** Where the program of the app lies, from resources/. */
const programs = { linux: '../satchel', darwin: '../MacOS/Satchel' }

const shellScript = `#!/bin/sh
# The command line of Satchel: needs no Node of the machine. It may be linked to from anywhere.
file=$0
while [ -h "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=$(dirname "$file")/$link ;;
  esac
done
resources=$(cd "$(dirname "$file")/.." && pwd -P) || exit 1
# The browser that shows generated pages is the app itself.
if [ -z "\${SATCHEL_ELECTRON:-}" ]; then
  export SATCHEL_ELECTRON="$resources/${programs[process.platform]}" SATCHEL_ELECTRON_APP=
fi
exec "$resources/node/node" "$resources/engine/out/main/cli.js" "$@"
`

/** Without the browser: Windows has no variables with an empty value, which is what says that the app needs no other application. */
const batchFile = ['@echo off', 'setlocal', 'set "resources=%~dp0.."', '"%resources%\\node\\node.exe" "%resources%\\engine\\out\\main\\cli.js" %*', ''].join('\r\n')

function stageCommandLine() {
  const folder = join(stageFolder, 'command-line')
  mkdirSync(folder, { recursive: true })
  if (process.platform === 'win32') writeFileSync(join(folder, 'satchel.cmd'), batchFile)
  else writeFileSync(join(folder, 'satchel'), shellScript, { mode: 0o755 })
}

/**
 * Makes dist/stage anew for this platform.
 * @param {{ strict: boolean }} options strict: a package to give away, which may lack neither kernels nor the licence of its Node
 * @returns {Promise<{ node: { version: string, sha256: string } }>}
 */
export async function stage({ strict }) {
  if (!existsSync(join(root, 'out', 'renderer', 'index.html'))) throw new Error(`${basename(root)} is not built: npm run build`)
  rmSync(stageFolder, { recursive: true, force: true })
  const platform = { platform: process.platform, architecture: process.arch }
  const packages = closure(Object.keys(declared.dependencies))
  await stageApp(platform)
  stageEngine(packages, platform)
  stageKernels(strict)
  stageCommandLine()
  const node = stageNode()
  writeNotices(join(stageFolder, 'notices'), packages, node, strict)
  return { node }
}

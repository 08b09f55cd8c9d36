// Compiles the kernels to native-kernels/build/satchel_kernels.node with the compiler of the machine: no node-gyp, no Python, no
// download; the Node-API headers come from the npm packages node-addon-api and node-api-headers.
//
//   node native-kernels/build.mjs [--force] [--strict]
//
//   CXX                   compiler to use instead of looking for c++, g++, clang++ (cl.exe on Windows)
//   SATCHEL_KERNEL_ARCH   processor to compile for instead of this machine's: the value of -march (x86-64-v3, armv8-a; on Windows of
//                         /arch: AVX2). A binary that is given to others needs it.
//
// Nothing is compiled when the binary on disk was made from the same sources, flags and compiler. Without a compiler one line says so,
// and what a compiler that fails says is shown; the exit code is 0 both times, for the TypeScript kernels serve. With --strict it is 1.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const folder = dirname(fileURLToPath(import.meta.url))
const modules = join(folder, '..', 'node_modules')
const filesIn = (buildFolder) => ({ binary: join(buildFolder, 'satchel_kernels.node'), stamp: join(buildFolder, 'satchel_kernels.json') })
const ownBuildFolder = join(folder, 'build')
export const binaryPath = filesIn(ownBuildFolder).binary

/** The first compiler that answers, or undefined. */
export function findCompiler(platform = process.platform, environment = process.env) {
  const own = environment.CXX
  const names = own !== undefined && own !== '' ? [own] : platform === 'win32' ? ['cl.exe'] : ['c++', 'g++', 'clang++']
  for (const name of names) {
    // cl.exe prints its version on stderr when called without arguments; the others have --version.
    const answer = spawnSync(name, platform === 'win32' ? [] : ['--version'], { encoding: 'utf8', windowsHide: true })
    if (answer.error === undefined && answer.status === 0) return { name, version: `${answer.stdout}${answer.stderr}`.split('\n')[0].trim() }
  }
  return undefined
}

/**
 * The commands (program and arguments) that make `output` from `sources`. Pure, so the commands of every platform can be checked on any.
 * @param options { platform, architecture, target, compiler, sources, includes, definitions, workFolder, output }; `target` is
 *   SATCHEL_KERNEL_ARCH or '' for this machine's processor, `definitions` the .def file that lists the Node-API symbols (Windows).
 */
export function compileCommands({ platform, architecture, target, compiler, sources, includes, definitions, workFolder, output }) {
  const defines = ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS']
  if (platform === 'win32') {
    const importLibrary = join(workFolder, 'node_api.lib')
    return [
      ['lib.exe', '/nologo', `/def:${definitions}`, `/out:${importLibrary}`, `/machine:${architecture === 'arm64' ? 'ARM64' : 'X64'}`],
      [
        compiler, '/nologo', '/std:c++17', '/O2', '/fp:precise', '/EHsc', '/MT', '/LD', '/utf-8',
        ...(target === '' ? [] : [`/arch:${target}`]),
        ...defines.map((define) => `/D${define}`), '/DNOMINMAX',
        ...includes.map((include) => `/I${include}`),
        `/Fo${workFolder}\\`,
        ...sources,
        '/link', importLibrary, 'delayimp.lib', '/DELAYLOAD:node.exe', `/OUT:${output}`, `/IMPLIB:${join(workFolder, 'unused.lib')}`,
      ],
    ]
  }
  // Sums keep their written order and products are not fused with additions: the same bits on every processor.
  const arithmetic = ['-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math']
  const machine = target !== '' ? `-march=${target}` : architecture === 'arm64' ? '-mcpu=native' : '-march=native'
  return [
    [
      compiler, '-std=c++17', '-O3', machine, ...arithmetic, '-fPIC', '-fvisibility=hidden', '-pthread', '-shared', '-Wall', '-Wextra',
      ...(platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : []),
      ...defines.map((define) => `-D${define}`),
      ...includes.flatMap((include) => ['-isystem', include]),
      ...sources,
      '-o', output,
    ],
  ]
}

function sourceFiles(platform) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpp') && (platform === 'win32' || !name.startsWith('win-')))
    .sort()
}

/** Changes whenever the binary would: sources, commands, compiler, and the processor when the code is made for this one. */
function fingerprint(commands, compiler, target) {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([commands, compiler.version, process.arch, target === '' ? cpus()[0]?.model : target]))
  for (const name of readdirSync(folder).sort()) {
    if (name.endsWith('.cpp') || name.endsWith('.hpp')) hash.update(name).update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex')
}

function upToDate(paths, wanted) {
  if (!existsSync(paths.binary) || !existsSync(paths.stamp)) return false
  try {
    return JSON.parse(readFileSync(paths.stamp, 'utf8')).fingerprint === wanted
  } catch {
    return false
  }
}

/**
 * Builds when needed, into `folder` (native-kernels/build), for the processor `target` (SATCHEL_KERNEL_ARCH, else this machine's).
 * @returns { status: 'built' | 'current' | 'no-compiler' | 'failed', message } `message` is one line (after 'failed': with the compiler's output)
 */
export function build({ force = false, folder: buildFolder = ownBuildFolder, target = process.env.SATCHEL_KERNEL_ARCH ?? '' } = {}) {
  const platform = process.platform
  const paths = filesIn(buildFolder)
  const compiler = findCompiler()
  if (compiler === undefined) {
    const hint = platform === 'win32' ? 'a Visual Studio developer prompt with cl.exe' : 'c++, g++ or clang++'
    return { status: 'no-compiler', message: `native kernels: no C++ compiler found (${hint}); the TypeScript kernels serve, more slowly` }
  }
  const shape = {
    platform,
    architecture: process.arch,
    target,
    compiler: compiler.name,
    sources: sourceFiles(platform).map((name) => join(folder, name)),
    includes: [join(modules, 'node-addon-api'), join(modules, 'node-api-headers', 'include')],
    definitions: join(modules, 'node-api-headers', 'def', 'node_api.def'),
  }
  const wanted = fingerprint(compileCommands({ ...shape, workFolder: '', output: '' }), compiler, target)
  if (!force && upToDate(paths, wanted)) return { status: 'current', message: 'native kernels: up to date' }

  mkdirSync(buildFolder, { recursive: true })
  // A folder of its own and renames at the end: two builds at once, or one that is killed, leave a whole binary or none.
  const workFolder = mkdtempSync(join(buildFolder, 'work-'))
  try {
    const output = join(workFolder, 'satchel_kernels.node')
    for (const [program, ...rest] of compileCommands({ ...shape, workFolder, output })) {
      const result = spawnSync(program, rest, { encoding: 'utf8', windowsHide: true })
      if (result.status !== 0) {
        const said = result.error === undefined ? `${result.stdout}${result.stderr}`.trim() : result.error.message
        return { status: 'failed', message: `native kernels: ${program} failed\n${said}` }
      }
    }
    writeFileSync(join(workFolder, 'stamp.json'), JSON.stringify({ fingerprint: wanted, compiler: compiler.version, target: target === '' ? 'this machine' : target }) + '\n')
    rmSync(paths.stamp, { force: true })
    renameSync(output, paths.binary)
    renameSync(join(workFolder, 'stamp.json'), paths.stamp)
    return { status: 'built', message: `native kernels: built with ${compiler.version} for ${target === '' ? 'this processor' : target}` }
  } catch (error) {
    // Windows does not replace a file that another process has loaded; if that process built the same, nothing is lost.
    if (upToDate(paths, wanted)) return { status: 'current', message: 'native kernels: up to date' }
    return { status: 'failed', message: `native kernels: cannot write ${buildFolder}: ${error instanceof Error ? error.message : String(error)}` }
  } finally {
    rmSync(workFolder, { recursive: true, force: true })
  }
}

if (process.argv[1] !== undefined && pathToFileURL(resolve(process.argv[1])).href === import.meta.url) {
  const { status, message } = build({ force: process.argv.includes('--force') })
  const good = status === 'built' || status === 'current'
  console[status === 'failed' ? 'error' : 'log'](message)
  if (status === 'failed') console.error('native kernels: not built; the TypeScript kernels serve, more slowly')
  process.exitCode = good || !process.argv.includes('--strict') ? 0 : 1
}

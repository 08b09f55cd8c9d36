import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { build, compileCommands, findCompiler } from '../../native-kernels/build.mjs'
import { loadBinary } from '../../src-main/engine/runtime/kernels.ts'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'
import { buildOutcome, loaded } from './support.ts'

const script = join(projectRoot(), 'native-kernels', 'build.mjs')

describe('native-kernels/build.mjs', () => {
  it('builds a binary that loads wherever a C++ compiler is', () => {
    if (buildOutcome.status === 'no-compiler') {
      // Not a silent skip: what is absent, and what is therefore not tested.
      console.warn(`${buildOutcome.message}; absent here: every comparison with the native kernels`)
      expect(process.env['CI'], 'continuous integration needs a C++ compiler').not.toBe('true')
      return
    }
    expect(buildOutcome.status, buildOutcome.message).not.toBe('failed')
    expect(loaded.problem).toBeUndefined()
  })

  it('does nothing when sources, flags and compiler are the same', () => {
    const outcome = build()
    expect(['current', 'no-compiler']).toContain(outcome.status)
  })

  it('prints one line and leaves with 0 when there is no compiler', () => {
    const result = spawnSync(process.execPath, [script], { encoding: 'utf8', env: { ...process.env, CXX: 'satchel-has-no-such-compiler' } })
    expect(result.status).toBe(0)
    expect(result.stdout.trim().split('\n')).toHaveLength(1)
    expect(result.stdout).toContain('no C++ compiler')
    expect(result.stdout).toContain('TypeScript')
  })

  it('leaves with 1 under --strict when there is no compiler', () => {
    const result = spawnSync(process.execPath, [script, '--strict'], { encoding: 'utf8', env: { ...process.env, CXX: 'satchel-has-no-such-compiler' } })
    expect(result.status).toBe(1)
  })

  it('prefers the compiler that CXX names', () => {
    expect(findCompiler(process.platform, { ...process.env, CXX: 'satchel-has-no-such-compiler' })).toBeUndefined()
  })
})

describe('compileCommands', () => {
  const shape = { architecture: 'x64', target: '', compiler: 'c++', sources: ['a.cpp'], includes: ['inc'], definitions: 'node_api.def', workFolder: 'w', output: 'o.node' }

  it('compiles for this processor unless told otherwise, with the written order of arithmetic', () => {
    const [command] = compileCommands({ ...shape, platform: 'linux' })
    expect(command).toEqual(expect.arrayContaining(['c++', '-O3', '-march=native', '-ffp-contract=off', '-shared', '-pthread', 'a.cpp', '-o', 'o.node']))
    expect(command).not.toContain('-ffast-math')
    expect(compileCommands({ ...shape, platform: 'linux', target: 'x86-64-v3' })[0]).toContain('-march=x86-64-v3')
    expect(compileCommands({ ...shape, platform: 'linux', architecture: 'arm64' })[0]).toContain('-mcpu=native')
  })

  it('leaves the Node-API symbols to the running program on macOS', () => {
    const [command] = compileCommands({ ...shape, platform: 'darwin', architecture: 'arm64', compiler: 'clang++' })
    expect(command!.join(' ')).toContain('-undefined dynamic_lookup')
  })

  it('makes an import library from the symbol list on Windows and loads the host late', () => {
    const commands = compileCommands({ ...shape, platform: 'win32', compiler: 'cl.exe', target: 'AVX2' })
    expect(commands.map((command) => command[0])).toEqual(['lib.exe', 'cl.exe'])
    expect(commands[0]).toContain('/def:node_api.def')
    expect(commands[1]).toEqual(expect.arrayContaining(['/std:c++17', '/LD', '/arch:AVX2', '/DELAYLOAD:node.exe', 'delayimp.lib', '/OUT:o.node', 'a.cpp']))
    // Everything behind /link belongs to the linker.
    expect(commands[1]!.indexOf('/link')).toBeGreaterThan(commands[1]!.indexOf('a.cpp'))
  })
})

describe('loadBinary', () => {
  it('says what is wrong instead of throwing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'satchel-kernels-'))
    try {
      expect(loadBinary(join(folder, 'absent.node')).problem).toContain('no binary was built')
      const broken = join(folder, 'broken.node')
      writeFileSync(broken, 'not a library')
      expect(loadBinary(broken).problem).toContain('cannot be loaded')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { closure, isNeeded } from '../../packaging/packages.mjs'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const declared = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { dependencies: Record<string, string>; devDependencies: Record<string, string> }
const linux = { platform: 'linux', architecture: 'x64' }

describe('closure', () => {
  it('holds what the engine names and what that needs, in the version of each place', () => {
    const folders = closure(Object.keys(declared.dependencies)).map(({ folder }) => folder)
    for (const name of Object.keys(declared.dependencies)) expect(folders).toContain(`node_modules/${name}`)
    expect(folders).toContain('node_modules/csstype')
    expect(folders.filter((folder) => folder.startsWith('node_modules/@esbuild/'))).toEqual([`node_modules/@esbuild/${process.platform}-${process.arch}`])
    expect(folders.some((folder) => folder.includes('/node_modules/'))).toBe(true)
  })

  it('holds nothing that only builds or tests', () => {
    const names = new Set(closure(Object.keys(declared.dependencies)).map(({ name }) => name))
    expect(Object.keys(declared.devDependencies).filter((name) => names.has(name) && name !== '@eslint/js' && !name.startsWith('@typescript-eslint/'))).toEqual([])
  })

  it('names a package that is not installed', () => {
    expect(() => closure(['no-such-package'])).toThrow('The package no-such-package is not installed: npm ci installs it.')
  })
})

describe('isNeeded', () => {
  it('keeps the declarations that completions are checked against, and no others', () => {
    const kept = ['typescript/lib/lib.dom.d.ts', 'typescript/lib/typescript.js', '@types/react/jsx-runtime.d.ts', 'csstype/index.d.ts', 'zod/index.js', 'zod/package.json']
    const left = ['typescript/lib/typescript.d.ts', 'typescript/lib/_tsc.js', 'typescript/lib/de/diagnosticMessages.generated.json', 'typescript/bin/tsc', 'zod/index.d.cts', 'zod/src/index.ts', 'zod/index.js.map', 'zod/README.md']
    expect(kept.filter((path) => !isNeeded(`node_modules/${path}`, linux))).toEqual([])
    expect(left.filter((path) => isNeeded(`node_modules/${path}`, linux))).toEqual([])
  })

  it('keeps every licence, whatever it is written in', () => {
    expect(['zod/LICENSE', 'a/license.md', 'typescript/ThirdPartyNoticeText.txt', 'b/NOTICE', 'c/LICENCE.markdown'].filter((path) => !isNeeded(`node_modules/${path}`, linux))).toEqual([])
  })

  it('keeps onnxruntime’s binaries of the platform alone', () => {
    const at = (platform: string, architecture: string): string => `node_modules/onnxruntime-node/bin/napi-v6/${platform}/${architecture}/onnxruntime_binding.node`
    expect(isNeeded(at('linux', 'x64'), linux)).toBe(true)
    expect([at('linux', 'arm64'), at('win32', 'x64'), at('darwin', 'arm64')].filter((path) => isNeeded(path, linux))).toEqual([])
    expect(isNeeded(at('darwin', 'arm64'), { platform: 'darwin', architecture: 'arm64' })).toBe(true)
  })
})

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chooseNode, foreignLibraries, isSupportedNode } from '../../packaging/node-binary.mjs'

const folder = mkdtempSync(join(tmpdir(), 'satchel-packaged-node-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A program that answers as a Node of that version and platform would. */
function pretendNode(name: string, version: string, platform: string, architecture: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\nif [ "$1" = --version ]; then echo '${version}'; else echo '["${version}","${platform}","${architecture}"]'; fi\n`)
  chmodSync(file, 0o755)
  return file
}

describe('foreignLibraries', () => {
  it('finds nothing in what a release of Node needs', () => {
    const release = [
      '\tlinux-vdso.so.1 (0x00007ffd)', '\tlibdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x00007f)', '\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f)',
      '\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)', '\tlibgcc_s.so.1 => /lib/libgcc_s.so.1 (0x00007f)', '\tlibpthread.so.0 => /lib/libpthread.so.0 (0x00007f)',
      '\tlibc.so.6 => /lib/libc.so.6 (0x00007f)', '\t/lib64/ld-linux-x86-64.so.2 (0x00007f)', '',
    ].join('\n')
    expect(foreignLibraries('linux', release)).toEqual([])
    expect(foreignLibraries('linux', '\t/lib/ld-linux-aarch64.so.1 (0x0000)\n')).toEqual([])
    expect(foreignLibraries('darwin', '/opt/node/bin/node:\n\t/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation (compatibility version 150.0.0)\n\t/usr/lib/libc++.1.dylib (compatibility version 1.0.0)\n')).toEqual([])
  })

  it('names those of a Node that a distribution or Homebrew has taken apart', () => {
    expect(foreignLibraries('linux', '\tlibnode.so.115 => /usr/lib/x86_64-linux-gnu/libnode.so.115 (0x00)\n\tlibc.so.6 => /lib/libc.so.6 (0x00)\n\tlibuv.so.1 => not found\n')).toEqual(['libnode.so.115', 'libuv.so.1'])
    expect(foreignLibraries('darwin', '/opt/homebrew/bin/node:\n\t/opt/homebrew/opt/libuv/lib/libuv.1.dylib (compatibility version 2.0.0)\n\t/usr/lib/libc++.1.dylib (x)\n')).toEqual(['/opt/homebrew/opt/libuv/lib/libuv.1.dylib'])
  })
})

describe('isSupportedNode', () => {
  it('draws the line at 20.19', () => {
    expect(['v18.20.0', 'v20.18.3', 'v20.19.0', 'v21.0.0', 'v22.1.0', 'v24.9.1'].map(isSupportedNode)).toEqual([false, false, true, true, true, true])
  })
})

describe.skipIf(process.platform === 'win32')('chooseNode', () => {
  it('takes the Node that runs it, with its hash', () => {
    const { binary, version, sha256 } = chooseNode({ SATCHEL_PACKAGE_NODE: process.execPath })
    expect({ binary, version }).toEqual({ binary: process.execPath, version: process.version })
    expect(sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(chooseNode({ SATCHEL_PACKAGE_NODE: process.execPath, SATCHEL_PACKAGE_NODE_SHA256: sha256.toUpperCase() }).sha256).toBe(sha256)
  })

  it('refuses another one than was named', () => {
    expect(() => chooseNode({ SATCHEL_PACKAGE_NODE: process.execPath, SATCHEL_PACKAGE_NODE_SHA256: '0'.repeat(64) })).toThrow(/has the SHA-256 [0-9a-f]{64}; SATCHEL_PACKAGE_NODE_SHA256 names 0{64}/)
  })

  it('refuses one that is too old, for another processor, or not there', () => {
    expect(() => chooseNode({ SATCHEL_PACKAGE_NODE: pretendNode('old', 'v20.18.0', process.platform, process.arch) })).toThrow(/is Node v20\.18\.0; Satchel needs 20\.19/)
    expect(() => chooseNode({ SATCHEL_PACKAGE_NODE: pretendNode('foreign', 'v22.1.0', process.platform, 'mips') })).toThrow(/is for \w+-mips; this package is for/)
    expect(() => chooseNode({ SATCHEL_PACKAGE_NODE: join(folder, 'nowhere') })).toThrow(/no node that runs here was found there/)
  })
})

// npm run package: installers of this platform in dist/, or with --dir the unpacked application alone.
//
//   npm run package                      Linux: AppImage and deb, Windows: nsis, macOS: dmg
//   npm run package -- --dir             dist/linux-unpacked and its like; needs no tools but Electron
//   ... --electron FOLDER VERSION        an unpacked Electron that is already here, instead of the one electron-builder fetches
//
// A package is made on the platform it is for: the kernels are compiled there, and npm installs esbuild and its like for one platform.
// SATCHEL_PACKAGE_NODE names the Node to put inside (packaging/node-binary.mjs).
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'electron-builder'
import config from '../electron-builder.config.mjs'
import { root } from '../eslint.rooms.js'
import { stage } from './stage.mjs'

const usage = 'npm run package -- [--dir] [--electron FOLDER VERSION]'

function readOptions(words) {
  const { values, positionals } = parseArgs({ args: words, allowPositionals: true, options: { dir: { type: 'boolean', default: false }, electron: { type: 'string' } } })
  if (positionals.length !== (values.electron === undefined ? 0 : 1)) throw new Error(usage)
  return { unpackedOnly: values.dir, electron: values.electron === undefined ? {} : { electronDist: resolve(values.electron), electronVersion: positionals[0] } }
}

async function main(words) {
  const { unpackedOnly, electron } = readOptions(words)
  const { node } = await stage({ strict: !unpackedOnly })
  process.stdout.write(`Node ${node.version} runs the engine (SHA-256 ${node.sha256})\n`)
  const made = await build({ projectDir: root, config: { ...config, ...electron }, ...(unpackedOnly ? { dir: true } : {}) })
  for (const file of made) process.stdout.write(`${file}\n`)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`The package could not be made: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

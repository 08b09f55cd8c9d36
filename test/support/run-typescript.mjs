// Runs one TypeScript file with the Node at hand, which need not know TypeScript: bundles it, npm packages external, and starts the bundle.
//
//   node test/support/run-typescript.mjs FILE.ts [arguments]
import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const [entry, ...parameters] = process.argv.slice(2)
if (entry === undefined) {
  console.error('usage: node test/support/run-typescript.mjs FILE.ts [arguments]')
  process.exit(2)
}
// Inside the checkout, so that packages and resources are found by walking up.
const scratch = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '.tmp')
mkdirSync(scratch, { recursive: true })
const folder = mkdtempSync(join(scratch, 'script-'))
const bundle = join(folder, `${basename(entry, '.ts')}.mjs`)
try {
  await build({ entryPoints: [resolve(entry)], outfile: bundle, bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20', sourcemap: 'inline', logLevel: 'error' })
  const child = spawn(process.execPath, ['--enable-source-maps', bundle, ...parameters], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise((done, fail) => {
    child.on('error', fail)
    child.on('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}

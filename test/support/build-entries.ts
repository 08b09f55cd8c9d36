// Builds the child process entries of the rewards into out/main, as the product's build does: npm packages stay external.
import { build } from 'esbuild'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const entries = ['reward-worker', 'render-sandbox', 'render-sandbox-environment', 'render-sandbox-kit']

/** Builds the reward entries. Safe to call from several test processes at once: files appear whole. */
export async function buildForTests(): Promise<void> {
  const root = projectRoot()
  const target = join(root, 'out', 'main')
  await mkdir(target, { recursive: true })
  for (const entry of entries) {
    const result = await build({ entryPoints: [join(root, 'src-main', 'engine-host', `${entry}.ts`)], bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20', write: true, outfile: join(target, `.${entry}.${process.pid}.js`), logLevel: 'error' })
    if (result.errors.length > 0) throw new Error(`building ${entry} failed`)
    await rename(join(target, `.${entry}.${process.pid}.js`), join(target, `${entry}.js`))
  }
}

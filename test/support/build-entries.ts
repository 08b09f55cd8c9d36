// Builds the child process entries of the rewards into out/main, as the product's build does: npm packages stay external.
// Where the product's own build is there and newer than the sources, that one is tested.
import { build } from 'esbuild'
import { mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const entries = ['reward-worker', 'judge-worker', 'render-sandbox', 'render-sandbox-environment', 'render-sandbox-kit', 'maths-sandbox-kit', 'script-sandbox-kit', 'page-kit-environment', 'page-kit']
const sources = [['contract'], ['engine', 'rewards'], ['engine', 'runtime'], ['engine-host']]

/** Builds the reward entries. Safe to call from several test processes at once: files appear whole. */
export async function buildForTests(): Promise<void> {
  const root = projectRoot()
  const target = join(root, 'out', 'main')
  await mkdir(target, { recursive: true })
  const newest = Math.max(...(await Promise.all(sources.map((parts) => newestFile(join(root, 'src-main', ...parts))))))
  for (const entry of entries) {
    const built = await stat(join(target, `${entry}.js`)).catch(() => undefined)
    if (built !== undefined && built.mtimeMs > newest) continue
    const temporary = join(target, `.${entry}.${process.pid}.js`)
    await build({ entryPoints: [join(root, 'src-main', 'engine-host', `${entry}.ts`)], bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20', outfile: temporary, logLevel: 'error' })
    await rename(temporary, join(target, `${entry}.js`))
  }
}

/** Time of the newest file below a folder, in milliseconds. */
async function newestFile(folder: string): Promise<number> {
  const files = (await readdir(folder, { withFileTypes: true, recursive: true })).filter((entry) => entry.isFile())
  return Math.max(0, ...(await Promise.all(files.map(async ({ name, parentPath }) => (await stat(join(parentPath, name))).mtimeMs))))
}

// Where files that are not code lie: in a checkout, in the build (out/), and in the packaged app, whose folder resources/engine looks like a checkout.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let cachedRoot: string | undefined

/** The folder that holds package.json, resources and node_modules. `SATCHEL_ROOT` overrides it. */
export function projectRoot(): string {
  if (cachedRoot !== undefined) return cachedRoot
  const override = process.env['SATCHEL_ROOT']
  if (override !== undefined && override !== '') return (cachedRoot = override)
  // Bundled code sits in out/main, source code in src-main/engine/runtime: walk up until the package is met.
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!(existsSync(join(folder, 'package.json')) && existsSync(join(folder, 'resources')))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('Satchel cannot find its own folder (package.json beside resources) above ' + fileURLToPath(import.meta.url))
    folder = parent
  }
  return (cachedRoot = folder)
}

/** A file under `resources/`. */
export function resourcePath(...parts: string[]): string {
  return join(projectRoot(), 'resources', ...parts)
}

/** A file under `out/main/`, where the build puts entry points (workers, sandbox scripts). Tests build them first. */
export function builtPath(...parts: string[]): string {
  return join(projectRoot(), 'out', 'main', ...parts)
}

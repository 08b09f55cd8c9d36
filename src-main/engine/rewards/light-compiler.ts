// TypeScript without what it does for nobody here. For every element of HTML in a program the checker makes a signature, and writes its
// declaration down as syntax: each name in the types of the element's attributes is looked up in every scope, the two thousand names of the
// libraries included, twice an element. Only an editor's tooltip reads it. That was two fifths of the time of a type check; errors do not
// depend on it, which the recorded verdicts hold (test/engine/rewards/verdicts.test.ts).
import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname, join } from 'node:path'
import { compileFunction } from 'node:vm'
import { projectRoot } from '../runtime/paths.ts'

const signature = /function createSignatureForJSXIntrinsic\(node, result\) \{[^]*?\n {2}\}\n/
const writtenNames = /nodeBuilder\.(?:symbolToEntityName|typeToTypeNode)\((?:[^()]*)\)/g

/** The compiler's source with the declaration of that signature left without types; a source that says it otherwise stays as it is. */
export function lightened(source: string): string {
  return source.replace(signature, (text) => text.replace(writtenNames, 'void 0'))
}

/** Puts the lightened compiler where whoever asks for `typescript` finds it. Does nothing once the compiler is loaded. */
export function lightenCompiler(): void {
  const require = createRequire(join(projectRoot(), 'package.json'))
  const path = require.resolve('typescript')
  require.cache[path] ??= loadLightened(path)
}

/** Loads the compiler that lies at `path` (its CommonJS file), lightened. */
export function loadLightened(path: string): NodeJS.Module {
  const module = new Module(path)
  const run = compileFunction(lightened(readFileSync(path, 'utf8')), ['exports', 'require', 'module', '__filename', '__dirname'], { filename: path }) as (...parts: unknown[]) => void
  run(module.exports, createRequire(path), module, path, dirname(path))
  module.filename = path
  module.loaded = true
  return module
}

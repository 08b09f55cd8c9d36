// TSX -> one classic script: the bundle stage. The only module an application can reach is React.
import type ts from 'typescript'
import { transformProgram, type BundleResult } from './transform-program.ts'
import { missingImports } from './typescript-check.ts'

/** Bundles one program. Positions of diagnostics are UTF-16 units of the program. */
export async function bundleProgram(file: ts.SourceFile): Promise<BundleResult> {
  const missing = missingImports(file)
  return missing.length > 0 ? { errors: missing } : transformProgram(file.text)
}

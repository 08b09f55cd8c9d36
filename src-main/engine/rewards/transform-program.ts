// TSX -> one classic script, through esbuild. Loads no compiler: whoever shows a program that was judged before needs no more than this.
import { transform } from 'esbuild'
import type { CodeDiagnostic } from './diagnostic.ts'

export type BundleResult = { readonly script: string } | { readonly errors: readonly CodeDiagnostic[] }

/** Transforms one program; imports become calls of `require`. Positions of esbuild's messages are UTF-16 units of the program. */
export async function transformProgram(text: string): Promise<BundleResult> {
  try {
    const { code } = await transform(text, {
      loader: 'tsx',
      format: 'cjs',
      jsx: 'automatic',
      target: 'es2022',
      charset: 'utf8',
      // Without this an import() would survive into the script, and its failure would hand the script an object of the process that runs it.
      supported: { 'dynamic-import': false },
      logLevel: 'silent',
      // Each such warning holds its whole line: fifty thousand equal attributes on one line took 10 GiB.
      logOverride: { 'duplicate-object-key': 'silent' },
      tsconfigRaw: '{}',
    })
    return { script: code }
  } catch (error) {
    return { errors: transformErrors(error, text) }
  }
}

interface EsbuildMessage {
  readonly text: string
  readonly location: { readonly line: number; readonly column: number; readonly length: number } | null
}

function transformErrors(error: unknown, code: string): CodeDiagnostic[] {
  const messages = error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors as EsbuildMessage[]) : []
  if (messages.length === 0) throw error
  const lines = code.split(/\r\n|\n|\r/)
  return messages.map(({ text, location }) => ({
    start: location === null ? undefined : positionOf(code, lines, location.line, location.column),
    length: location === null ? 0 : Math.max(1, location.length),
    severity: 'error' as const,
    rule: 'esbuild',
    message: text.slice(0, 500),
  }))
}

/** esbuild counts lines from 1 and columns in UTF-8 bytes; we want UTF-16 units. */
function positionOf(code: string, lines: readonly string[], line: number, column: number): number {
  let start = 0
  for (let index = 0; index < line - 1 && index < lines.length; index++) {
    start += lines[index]!.length
    start += code.startsWith('\r\n', start) ? 2 : 1
  }
  const prefix = Buffer.from(lines[line - 1] ?? '', 'utf8').subarray(0, column).toString('utf8')
  return Math.min(code.length, start + prefix.length)
}

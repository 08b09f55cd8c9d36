// The compiler with the declaration of JSX signatures left out, against the compiler as it is installed.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { lightened, loadLightened } from '../../../src-main/engine/rewards/light-compiler.ts'
import { compilerOptions, createLibraryHost } from '../../../src-main/engine/rewards/typescript-libraries.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'
import { projectRoot } from '../../../src-main/engine/runtime/paths.ts'

const path = createRequire(join(projectRoot(), 'package.json')).resolve('typescript')

/** The errors a compiler finds in a program, and how it writes the type of the first element's attributes. */
function checked(compiler: typeof ts, code: string): { readonly errors: readonly string[]; readonly writtenAs: ts.SyntaxKind | undefined } {
  const { file } = parseProgram(code, 'light')
  const program = compiler.createProgram([file.fileName], compilerOptions, createLibraryHost(new Map([[file.fileName, file]])))
  const errors = program.getSemanticDiagnostics(file).map(({ messageText }) => compiler.flattenDiagnosticMessageText(messageText, '\n'))
  const elements: ts.JsxOpeningLikeElement[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isJsxOpeningLikeElement(node)) elements.push(node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  const signature = program.getTypeChecker().getResolvedSignature(elements[0]!)
  return { errors, writtenAs: (signature?.declaration as ts.FunctionTypeNode | undefined)?.parameters[0]?.type?.kind }
}

test('the installed compiler holds what is left out, in both places', () => {
  const source = readFileSync(path, 'utf8')
  const places = (text: string): number => text.split(/nodeBuilder\.(?:symbolToEntityName|typeToTypeNode)\(/).length
  expect(places(source) - places(lightened(source))).toBe(2)
})

test('a source that says it otherwise stays as it is', () => {
  expect(lightened('function createSignature() {}\n')).toBe('function createSignature() {}\n')
})

test('the lightened compiler finds the same errors and writes no declaration of an element', () => {
  const light = loadLightened(path).exports as typeof ts
  const code = "import * as React from 'react';\nexport default function App() {\n  return <button onclick={1} disabled='no' onClick={(event) => event.nothing}>{missing}</button>;\n}\n"
  const [usual, lighter] = [checked(ts, code), checked(light, code)]
  expect(usual.errors.length).toBeGreaterThan(1)
  expect(usual.writtenAs).toBe(ts.SyntaxKind.TypeReference)
  expect(lighter.writtenAs).toBeUndefined()
  expect(lighter.errors).toEqual(usual.errors)
})

// Independent of the rewards: does a text parse and type check as a single-file React program under TypeScript's strict rules?
import { join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  jsx: ts.JsxEmit.ReactJSX,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
}

/** The diagnostics of each program, all checked in one go; an empty list means that it parses and type checks. */
export function typeCheck(programs: readonly string[]): readonly (readonly string[])[] {
  const names = programs.map((_, index) => join(projectRoot(), `type-check-${index}.tsx`).replaceAll('\\', '/'))
  const texts = new Map(names.map((name, index) => [name, programs[index] ?? '']))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => texts.has(name) || fileExists.call(host, name)
  host.readFile = (name) => texts.get(name) ?? readFile.call(host, name)
  host.getSourceFile = (name, languageVersion, ...rest) => {
    const text = texts.get(name)
    return text === undefined ? getSourceFile.call(host, name, languageVersion, ...rest) : ts.createSourceFile(name, text, languageVersion)
  }
  const program = ts.createProgram(names, options, host)
  return names.map((name) => {
    const file = program.getSourceFile(name)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
      .map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '))
  })
}

// Lint findings of one program: ESLint's core rules about mistakes, a few of typescript-eslint, and our own about React.
import { Linter, type SourceCode } from 'eslint'
import type ts from 'typescript'
import tseslint from 'typescript-eslint'
import type { CodeDiagnostic } from './diagnostic.ts'
import { reactRules } from './lint-rules.ts'

/** Lints one program; positions are UTF-16 units of the program. With `parsed`, its tree of the compiler, it is not parsed again. */
export type ProgramLinter = (code: string, parsed?: ts.SourceFile) => CodeDiagnostic[]

// The parser takes the compiler's tree in the place of a text, which its types do not say, but ESLint hands on texts only.
const parse = tseslint.parser.parseForESLint as (code: string | ts.SourceFile, options?: object) => Linter.ESLintParseResult
let handedOver: ts.SourceFile | undefined
const parser: Linter.Parser = { ...tseslint.parser, parseForESLint: (text: string, options?: object) => parse(handedOver?.text === text ? handedOver : text, options) }

const configuration: Linter.Config[] = [
  {
    files: ['**/*.tsx'],
    linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'off' },
    languageOptions: { parser, parserOptions: { ecmaFeatures: { jsx: true } } },
    plugins: { typescript: tseslint.plugin, react: { rules: reactRules } },
    rules: {
      'no-unreachable': 'error',
      'no-dupe-keys': 'error',
      'no-dupe-else-if': 'error',
      'no-duplicate-case': 'error',
      'no-self-assign': 'error',
      'no-self-compare': 'error',
      'no-cond-assign': 'error',
      'no-constant-condition': 'error',
      'no-debugger': 'error',
      'no-sparse-arrays': 'error',
      'no-unsafe-finally': 'error',
      'no-eval': 'error',
      'no-empty': 'warn',
      'no-empty-pattern': 'warn',
      'no-useless-escape': 'warn',
      'no-var': 'warn',
      'prefer-const': 'warn',
      eqeqeq: ['warn', 'smart'],
      'typescript/no-explicit-any': 'error',
      'typescript/no-unused-vars': 'warn',
      'typescript/no-unused-expressions': 'error',
      'typescript/no-empty-function': 'warn',
      'react/jsx-key': 'error',
      'react/hooks': 'error',
      'react/blank-lines': 'warn',
      'react/empty-element': 'warn',
    },
  },
]

/** A linter that is loaded once and used for many programs. */
export function createProgramLinter(): ProgramLinter {
  const linter = new Linter({ configType: 'flat' })
  return (code, parsed) => {
    handedOver = parsed
    const messages = linter.verify(code, configuration, { filename: 'completion.tsx' })
    handedOver = undefined
    // There is none when the program cannot be read; ESLint's types do not say so.
    const source = linter.getSourceCode() as SourceCode | null
    return messages.map((message) => {
      const start = source === null ? undefined : indexOf(source, message.line, message.column)
      const end = source === null ? undefined : indexOf(source, message.endLine, message.endColumn)
      return {
        start,
        length: start === undefined || end === undefined ? 0 : Math.max(0, end - start),
        severity: message.fatal === true ? ('fatal' as const) : message.severity === 2 ? ('error' as const) : ('warning' as const),
        rule: message.ruleId ?? 'parse',
        message: message.message.slice(0, 500),
      }
    })
  }
}

/** Position of a 1-based line and column, clamped to the line; undefined when the message has no place. */
function indexOf(source: SourceCode, line: number | undefined, column: number | undefined): number | undefined {
  if (line === undefined || column === undefined || line < 1 || line > source.lines.length) return undefined
  const width = source.lines[line - 1]!.length
  return source.getIndexFromLoc({ line, column: Math.min(width, Math.max(0, column - 1)) })
}

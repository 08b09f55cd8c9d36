import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import type { PromptRow } from '../../../src-main/contract/rewards.ts'
import { compilerOptions, createLibraryHost } from '../../../src-main/engine/rewards/typescript-libraries.ts'
import { uncheckedJsx } from '../../../src-main/engine/rewards/unchecked-jsx.ts'
import { findTricks } from '../../../src-main/engine/rewards/tricks.ts'
import { resourcePath } from '../../../src-main/engine/runtime/paths.ts'
import { cheats } from '../../abuse/hostile-programs.ts'
import { checkTypes, missingImports, parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'

const check = (...codes: string[]) => codes.map((code, index) => checkTypes(parseProgram(code, String(index))))
const rules = (code: string): string[] => check(code)[0]!.map((diagnostic) => diagnostic.rule)

const counter = `import { useState } from 'react';
export default function App() {
  const [count, setCount] = useState(0);
  return <button onClick={() => setCount(count + 1)}>{count}</button>;
}
`

describe('parseProgram', () => {
  test('a well-formed program has no syntax errors', () => {
    expect(parseProgram(counter, '0').syntax).toEqual([])
  })
  test('a lost closing tag is reported where TypeScript sees it, in UTF-16 units', () => {
    const code = 'export default () => <p>😀<b>x</p>;'
    const { syntax } = parseProgram(code, '0')
    expect(syntax.map(({ rule, start, length }) => [rule, code.slice(start, start! + length)])).toContainEqual(['TS17008', 'b'])
  })
  test('a lost brace at the end is reported at the end', () => {
    const code = 'export default function App() { return <p>x</p>'
    expect(parseProgram(code, '0').syntax.at(-1)?.start).toBe(code.length)
  })
  test('knows React by its elements or its import', () => {
    const isReact = (code: string): boolean => parseProgram(code, '0').isReact
    expect([isReact('const a = <p />'), isReact("import { useState } from 'react'"), isReact('const a = 1'), isReact('')]).toEqual([true, true, false, false])
  })
})

describe('checkTypes', () => {
  test('an honest program has no errors', () => {
    expect(rules(counter)).toEqual([])
  })
  test.each([
    ['an unknown name', 'export default () => <p>{nothing}</p>', 'TS2304'],
    ['a misspelt attribute', 'export default () => <button onclick={() => {}}>x</button>', 'TS2322'],
    ['a word as an attribute', 'export default () => <h1 Apples>x</h1>', 'TS2322'],
    ['a function without a body', 'export default function App()', 'TS2391'],
    ['a number where a text belongs', 'const a: string = 1; export default () => <p>{a}</p>', 'TS2322'],
    ['an object as a child', 'export default () => <p>{{ a: 1 }}</p>', 'TS2353'],
    ['an unknown element', 'export default () => <aple>x</aple>', 'TS2339'],
  ])('%s is an error', (_name, code, rule) => {
    expect(rules(code)).toContain(rule)
  })

  test('programs of one batch do not see each other', () => {
    const first = 'const shared = 1; function App() { return <p>{shared}</p> } export default App'
    const second = 'function App() { return <p>{shared}</p> } export default App'
    expect(check(first, second, first).map((errors) => errors.map(({ rule }) => rule))).toEqual([[], ['TS2304'], []])
  })
  test('a program without import or export is a module all the same', () => {
    expect(check('function App() { return <p>a</p> }', 'function App() { return <p>b</p> }')).toEqual([[], []])
  })
  test('a program gets the same errors alone and among others', () => {
    const broken = 'export default () => <button onclick={1} data-x={nothing}>x</button>'
    expect(check(counter, broken, counter)[1]).toEqual(check(broken)[0])
  })
  test('the browser is known: an input event has a value', () => {
    expect(rules('export default () => <input onChange={(event) => { document.title = event.target.value }} />')).toEqual([])
  })
  test('a module that does not exist is left to the bundle stage', () => {
    expect(rules("import { x } from 'lodash'; export default () => <p>{x}</p>")).toEqual([])
  })
})

describe('what TypeScript lets through', () => {
  test.each([
    ['a hyphenated word as an attribute', 'export default () => <p add-apples>x</p>', ['unknown-attribute']],
    ['an aria attribute that does not exist', 'export default () => <p aria-apples="1">x</p>', ['unknown-attribute']],
    ['real hyphenated attributes', 'export default () => <p data-x="1" aria-label="a">x</p>', []],
    ['a tag of type any', 'const Tag: any = "p"; export default () => <Tag foo>x</Tag>', ['unchecked-tag']],
    ['a spread of type any', 'export default () => <p {...({} as any)}>x</p>', ['unchecked-attributes']],
  ])('%s', (_name, code, expected) => {
    expect(rules(code)).toEqual(expected)
  })
})

describe('missingImports', () => {
  test('names the module and its place', () => {
    const code = "import { useState } from 'react';\nimport _ from 'lodash';"
    const [found, ...rest] = missingImports(parseProgram(code, '0').file)
    expect(rest).toEqual([])
    expect(code.slice(found!.start, found!.start! + found!.length)).toBe("'lodash'")
    expect(found!.message).toContain('lodash')
  })
})

describe('the kept checker', () => {
  const published = new Map<string, ts.SourceFile>()
  /** A host that reads React's types as they were published. */
  function plainHost(files: ReadonlyMap<string, ts.SourceFile>): ts.CompilerHost {
    const host = createLibraryHost(files)
    return {
      ...host,
      getSourceFile(path, options) {
        if (!path.endsWith('/@types/react/index.d.ts')) return host.getSourceFile(path, options)
        const file = published.get(path) ?? ts.createSourceFile(path, readFileSync(path, 'utf8'), options)
        published.set(path, file)
        return file
      },
    }
  }
  /** What the compiler says of a program in a program of its own, through its public interface alone. */
  function alone(code: string): string[] {
    const { file } = parseProgram(code, 'alone')
    const program = ts.createProgram([file.fileName], compilerOptions, plainHost(new Map([[file.fileName, file]])))
    const errors = program.getSemanticDiagnostics(file).filter(({ category, code: number }) => category === ts.DiagnosticCategory.Error && ![2307, 2792, 2882].includes(number))
    return [...errors.map(({ code: number, start }) => `TS${number === 2552 ? 2304 : number} ${start}`), ...uncheckedJsx(file, program.getTypeChecker()).map(({ rule, start }) => `${rule} ${start}`)].sort()
  }
  const among = (codes: readonly string[]): string[][] => check(...codes).map((errors) => errors.map(({ rule, start }) => `${rule} ${start}`).sort())

  test('says of every program what the compiler says of it alone', () => {
    const rows = readFileSync(resourcePath('demo', 'prompts.jsonl'), 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as PromptRow)
    const references = rows.flatMap(({ reference }) => reference ?? []).filter((_, index) => index % 30 === 0)
    const mistakes: ((code: string) => string)[] = [(code) => code.replace('useState', 'useStat'), (code) => code.replace('onClick', 'onclick'), (code) => code.replace('<h1', '<h1 zap'), (code) => code.replace('return (', 'return 1 + (')]
    const odd = [
      "import React, { type ReactNode, type FC } from 'react';\nconst A: FC<{ c: ReactNode }> = ({ c }) => <div>{c}</div>;\nexport default () => <A c={1} d={2} />",
      "import type { X } from 'nowhere';\nexport default function App() { const x = null as X; return <p>{x}</p> }",
      'export default function App() { const f = (x) => x; return <div>{f(1)}</div> }',
      // Everything whose attributes are not simply those of its first parameter.
      "import { Component, forwardRef, lazy, memo } from 'react';\nconst M = memo(({ a }: { a: number }) => <p>{a}</p>);\nconst F = forwardRef<HTMLParagraphElement, { b: string }>(({ b }, ref) => <p ref={ref}>{b}</p>);\nclass D extends Component<{ c: number; d: string }> { static defaultProps = { c: 1 }; override render() { return <p>{this.props.c}{this.props.d}</p> } }\nfunction E({ e }: { e: number }) { return <p>{e}</p> }\nE.defaultProps = { e: 1 };\nconst L = lazy(async () => ({ default: D }));\nconst N = memo(D);\nexport default () => <main><M /><M a={1} /><F /><F b=\"x\" /><D /><D d=\"x\" /><E /><E e=\"x\" /><L /><L d=\"x\" /><N /><N d=\"x\" /></main>",
      "import type { ComponentType } from 'react';\nexport default function Wrap<P extends object>({ of: Of, ...rest }: { of: ComponentType<P> } & P) { return <Of {...(rest as unknown as P)} extra={1} /> }",
      "const Tag: 'p' | 'button' = Math.random() > 2 ? 'p' : 'button';\nexport default () => <Tag disabled>x</Tag>",
      'interface Array<T> { hop: 1 }\nexport default () => <p>{[].hop}</p>',
      'class A { #x = 1; static y = A.z }\nexport default () => <p/>',
      'let a = 1; let a = 2;\nexport default () => <p>{a}</p>',
      'export default () => { return <p/>; const never = 1 }',
      'export default () => { enum E { a } return <p>{E.b}</p> }\nexport const x = 1, y = x;',
      'type T<A extends unknown[]> = A extends [infer H, ...infer R] ? [H, ...T<R>] : [];\nconst t: T<[1, 2]> = [1, 3];\nexport default () => <p>{t}</p>',
      "import { useState } from 'react';\nimport { useState as u } from './other';\nexport * from './more';\nexport default () => <p>{typeof u}{typeof useState}</p>",
    ]
    const codes = [...references, ...references.map((code, index) => mistakes[index % mistakes.length]!(code)), ...odd, ...cheats.map(({ code }) => code)].filter((code) => parseProgram(code, 'x').syntax.length === 0 && findTricks(parseProgram(code, 'x').file).length === 0)
    expect(codes.length).toBeGreaterThan(30)
    const expected = codes.map(alone)
    expect(among(codes)).toEqual(expected)
    expect(among(codes.toReversed())).toEqual(expected.toReversed())
  }, 600_000)
  test('is given up after a program the compiler fails on, and the next one is checked as ever', () => {
    const { file, ...rest } = parseProgram(counter, '0')
    const broken = new Proxy(file, { get: (target, key) => (key === 'statements' ? (() => { throw new RangeError('no') })() : Reflect.get(target, key) as unknown) })
    expect(() => checkTypes({ ...rest, file: broken })).toThrow('no')
    expect(rules(counter)).toEqual([])
  })
})

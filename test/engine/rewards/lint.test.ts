import { describe, expect, test } from 'vitest'
import { createProgramLinter } from '../../../src-main/engine/rewards/lint.ts'

const lint = createProgramLinter()
const rules = (code: string): string[] => lint(code).map(({ rule, severity }) => `${severity} ${rule}`)

describe('the linter', () => {
  test('finds nothing in an honest program', () => {
    expect(
      rules(`import { useState } from 'react';
export default function App() {
  const [items, setItems] = useState<string[]>([]);
  return (
    <ul onClick={() => setItems([...items, 'a'])}>
      {items.map((item) => <li key={item}>{item}</li>)}
    </ul>
  );
}
`),
    ).toEqual([])
  })

  test.each([
    ['a list item without a key', 'export default () => <ul>{[1].map((n) => <li>{n}</li>)}</ul>', 'error react/jsx-key'],
    ['a hook in a condition', 'export default function App({ on }: { on: boolean }) { if (on) { useState(0) } return <p>x</p> }', 'error react/hooks'],
    ['a hook after a return', 'export default function App({ on }: { on: boolean }) { if (on) return null; useState(0); return <p>x</p> }', 'error react/hooks'],
    ['a hook in a callback', 'export default function App() { return <p onClick={() => { useState(0) }}>x</p> }', 'error react/hooks'],
    ['a hook outside a component', 'useState(0); export default () => <p>x</p>', 'error react/hooks'],
    ['code after a return', 'export default function App() { return <p>x</p>; console.log(1) }', 'error no-unreachable'],
    ['an explicit any', 'export default (props: any) => <p>{props.x}</p>', 'error typescript/no-explicit-any'],
    ['an unused name', 'const a = 1; export default () => <p>x</p>', 'warning typescript/no-unused-vars'],
    ['two blank lines', 'const a = 1\n\n\nexport default () => <p>{a}</p>', 'warning react/blank-lines'],
    ['an empty heading', 'export default () => <h1></h1>', 'warning react/empty-element'],
    ['a program it cannot read', 'export default () => <p>', 'fatal parse'],
  ])('%s', (_name, code, expected) => {
    expect(rules(code)).toContain(expected)
  })

  test('a comment cannot switch it off', () => {
    expect(rules('/* eslint-disable */\nexport default (props: any) => <p>{props.x}</p>')).toContain('error typescript/no-explicit-any')
  })

  test('positions are UTF-16 units of the program', () => {
    const code = "const text = '😀'\nexport default (props: any) => <p>{text}{props.x}</p>"
    const found = lint(code).find(({ rule }) => rule === 'typescript/no-explicit-any')
    expect(code.slice(found!.start, found!.start! + found!.length)).toBe('any')
  })
})

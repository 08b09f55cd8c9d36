// Completions everybody who cheats a reward comes up with, and an honest attempt that failed: no reward should prefer the former.
import type { Recipe } from '../../../contract/reward-config.ts'
import type { PromptRow } from '../../../contract/rewards.ts'

export interface Attempt {
  readonly name: string
  readonly text: string
}

const emptyReact = 'export default function App() {\n  return null;\n}\n'
const exampleReact = `import { useState } from 'react';
export default function App() {
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>Counter</h1>
      <p>{count}</p>
      <button onClick={() => setCount(count + 1)}>Add</button>
    </main>
  );
}
`

/** The cheats of a recipe, for one row. */
export function knownCheats(recipe: Recipe, row: PromptRow): Attempt[] {
  const common = [{ name: 'nothing at all', text: '' }, { name: 'blank lines', text: '\n'.repeat(40) }, { name: 'the prompt again', text: row.prompt }]
  switch (recipe) {
    case 'react':
      return [
        ...common,
        { name: 'a component that shows nothing', text: emptyReact },
        { name: 'a component without a body', text: 'export default function App()\n' },
        { name: 'checks switched off', text: `// @ts-nocheck\n/* eslint-disable */\n${emptyReact}` },
        { name: 'words as attributes', text: `export default function App() { return <div ${row.prompt.replace(/[^a-z ]/gi, '').toLowerCase()} /> }` },
        { name: 'blank lines inside', text: exampleReact.replaceAll('\n', '\n\n\n').replace('</p>', '') },
      ]
    case 'maths':
      return [
        ...common,
        { name: 'a bare guess', text: '<step_1> </step_1>\n<final> 1 </final>' },
        { name: 'many guesses', text: Array.from({ length: 20 }, (_, index) => `\\boxed{${index}}`).join(' ') },
        { name: 'true but pointless steps', text: `${Array.from({ length: 12 }, (_, index) => `<step_${index + 1}> ${index} + 1 = ${index + 1} </step_${index + 1}>`).join('\n')}\n<final> 1 </final>` },
      ]
    case 'code': {
      const entry = row.entry ?? 'main'
      const first = JSON.stringify(row.tests?.[0]?.expected ?? null)
      return [...common, { name: 'a function without a body', text: `function ${entry}() {}` }, { name: 'the first expected result, always', text: `function ${entry}() {\n  return ${first};\n}` }]
    }
    case 'custom':
      return [...common, { name: 'one word many times', text: 'the '.repeat(200) }, ...(row.reference === undefined ? [] : [{ name: 'the first line many times', text: `${row.reference.split('\n')[0]}\n`.repeat(20) }])]
  }
}

/** An honest attempt that went wrong late; undefined where the row has nothing to make one from. */
export function honestFailure(recipe: Recipe, row: PromptRow): Attempt | undefined {
  switch (recipe) {
    case 'react': {
      const whole = row.reference ?? exampleReact
      const lost = whole.lastIndexOf('</')
      return { name: 'a closing tag lost', text: lost < 0 ? whole : whole.slice(0, lost) + whole.slice(whole.indexOf('>', lost) + 1) }
    }
    case 'maths': {
      const { reference } = row
      if (reference === undefined) return undefined
      // The last result is off by one, and the answer with it.
      const wrong = String(Number(row.answer ?? 0) + 1)
      return { name: 'the last step wrong', text: reference.replace(/(\S+)(\s*<\/step_\d+>\s*<final>)[^<]*(<\/final>)\s*$/, (_all, _result: string, between: string, end: string) => `${wrong}${between} ${wrong} ${end}`) }
    }
    case 'code':
      return row.reference === undefined ? undefined : { name: 'an error in the last line', text: row.reference.replace(/\}\s*$/, '  undefinedName();\n}') }
    case 'custom':
      return row.reference === undefined ? undefined : { name: 'two thirds of the reference', text: row.reference.slice(0, Math.ceil((row.reference.length * 2) / 3)) }
  }
}

import { describe, expect, test } from 'vitest'
import { bundleProgram } from '../../../src-main/engine/rewards/bundle.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'

const bundle = (code: string) => bundleProgram(parseProgram(code, '0').file)

describe('bundleProgram', () => {
  test('turns an application into one script that asks only for React', async () => {
    const result = await bundle("import { useState } from 'react'; export default () => <p>{useState(1)[0]}</p>")
    const script = 'script' in result ? result.script : ''
    expect([...script.matchAll(/require\("([^"]+)"\)/g)].map((match) => match[1]).sort()).toEqual(['react', 'react/jsx-runtime'])
  })
  test('a module that does not exist is an error with its place', async () => {
    const code = "import x from 'lodash'; export default () => <p>{x}</p>"
    const result = await bundle(code)
    expect('errors' in result && result.errors.map(({ start, length }) => code.slice(start, start! + length))).toEqual(["'lodash'"])
  })
  test('an import while running never survives into the script', async () => {
    const result = await bundle("const load = (name: string) => import(name); export default () => <p>{String(load)}</p>")
    expect('script' in result && /\bimport\s*\(/.test(result.script)).toBe(false)
  })
  test("esbuild's own errors are placed in UTF-16 units", async () => {
    // TypeScript leaves a second declaration to its type check; esbuild refuses it.
    const code = "const text = '😀é'; const a = 1; const a = 2\nexport default () => <p>{text}{a}</p>"
    const result = await bundle(code)
    expect('errors' in result && result.errors[0]?.start).toBe(code.indexOf('a = 2'))
  })
  test('unpaired surrogates do not stop it', async () => {
    expect('script' in (await bundle("export default () => <p>{'\ud800'}</p>"))).toBe(true)
  })
})

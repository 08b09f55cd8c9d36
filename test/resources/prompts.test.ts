import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { compileFunction } from 'node:vm'
import { transformSync } from 'esbuild'
import { createElement } from 'react'
import type { FunctionComponent, ReactElement } from 'react'
import * as react from 'react'
import * as jsxRuntime from 'react/jsx-runtime'
import { describe, expect, it } from 'vitest'
import type { DemoRow } from '../../src-main/engine-host/make-demo/prompts.ts'
import { demoPrompts } from '../../src-main/engine-host/make-demo/prompts.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { typeCheck } from './type-check.ts'

// react-dom ships no types of its own.
const { renderToStaticMarkup } = createRequire(import.meta.url)('react-dom/server') as { renderToStaticMarkup: (element: ReactElement) => string }

const rows = readFileSync(resourcePath('demo', 'prompts.jsonl'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as DemoRow)
const kindOf = (row: DemoRow): string => row.id.replace(/-\d+$/, '')

/** Runs a reference as a CommonJS module and renders it once, without a document. */
function markup(program: string): string {
  const { code } = transformSync(program, { loader: 'tsx', format: 'cjs', jsx: 'automatic', charset: 'utf8' })
  const module: { exports: { default?: FunctionComponent } } = { exports: {} }
  const require = (name: string): unknown => ({ react, 'react/jsx-runtime': jsxRuntime })[name]
  const run = compileFunction(code, ['module', 'exports', 'require']) as (own: unknown, exports: unknown, load: unknown) => void
  run(module, module.exports, require)
  const component = module.exports.default
  if (component === undefined) throw new Error('the program exports no component')
  return renderToStaticMarkup(createElement(component))
}

describe('the built-in prompt set', () => {
  it('is what the generator makes', () => {
    expect(rows).toEqual(demoPrompts())
  })

  it('has at least 240 rows, a fifth of every kind held out', () => {
    expect(rows.length).toBeGreaterThanOrEqual(240)
    for (const kind of new Set(rows.map(kindOf))) {
      const sides = rows.filter((row) => kindOf(row) === kind).map((row) => row.split)
      expect(sides.filter((side) => side === 'heldout').length / sides.length, kind).toBe(0.2)
    }
  })

  it('repeats no id, no prompt and no reference', () => {
    for (const field of ['id', 'prompt', 'reference'] as const) expect(new Set(rows.map((row) => row[field])).size, field).toBe(rows.length)
  })

  it('asks for every kind in at least five ways on both sides of the split', () => {
    for (const kind of new Set(rows.map(kindOf))) {
      for (const split of ['train', 'heldout']) {
        // Capitalised words that are not the first one, and digits, are what varies between rows of one phrasing.
        const shapes = rows.filter((row) => kindOf(row) === kind && row.split === split)
          .map((row) => row.prompt.replace(/(?<=[ "])[A-Z][a-z]+( [A-Z][a-z]+)?/g, '*').replace(/\d/g, '#'))
        expect(new Set(shapes).size, `${kind} ${split}`).toBeGreaterThanOrEqual(5)
      }
    }
  })

  it('places in the reference every text that the prompt names', () => {
    for (const row of rows) {
      for (const requirement of row.requirements) {
        if (requirement.kind === 'role' && requirement.name !== undefined) {
          expect(row.prompt, row.id).toContain(requirement.name)
          expect(row.reference, row.id).toContain(requirement.name)
        }
      }
    }
  })

  it('has references of 8 to 14 lines that parse and type check strictly', () => {
    for (const row of rows) {
      const lines = row.reference.split('\n').length
      expect(lines >= 8 && lines <= 14, `${row.id} has ${lines} lines`).toBe(true)
    }
    expect(typeCheck(rows.map((row) => row.reference)).flatMap((errors, index) => errors.map((error) => `${rows[index]?.id}: ${error}`))).toEqual([])
  })

  it('has references that render what is required before any click', () => {
    for (const row of rows) {
      const page = markup(row.reference)
      for (const requirement of row.requirements) {
        if (requirement.kind === 'text') expect(page, row.id).toContain(requirement.text)
        if (requirement.kind === 'role' && requirement.name !== undefined) expect(page, row.id).toContain(requirement.name)
      }
    }
  })

  it('demands after a click only what is not there before it, unless the click leads back', () => {
    for (const row of rows) {
      const page = markup(row.reference).replace(/<[^>]*>/g, ' ')
      const before = row.requirements.flatMap((requirement) => (requirement.kind === 'text' ? [requirement.text] : []))
      for (const requirement of row.requirements) {
        if (requirement.kind === 'after-click' && !before.includes(requirement.text)) expect(page, row.id).not.toContain(requirement.text)
      }
    }
  })
})

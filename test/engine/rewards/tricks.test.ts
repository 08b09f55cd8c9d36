import { describe, expect, test } from 'vitest'
import { findTricks, silencingAssertions } from '../../../src-main/engine/rewards/tricks.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'

const tricks = (code: string): string[] => findTricks(parseProgram(code, '0').file).map(({ rule }) => rule)

describe('findTricks', () => {
  test.each([
    ['// @ts-nocheck', 'suppression'],
    ['/* @ts-ignore */', 'suppression'],
    ['// @ts-expect-error', 'suppression'],
    ['/* eslint-disable no-undef */', 'suppression'],
    ['// eslint-disable-next-line', 'suppression'],
    ['/* eslint eqeqeq: 0 */', 'suppression'],
    ['/** @jsx h */', 'suppression'],
    ['/** @jsxImportSource preact */', 'suppression'],
    ['/// <reference lib="dom" />', 'suppression'],
    ['declare const useState: any', 'ambient'],
    ['declare global { }', 'ambient'],
    ["declare module 'react' { }", 'ambient'],
    ['namespace JSX { export type A = 1 }', 'ambient'],
    ["import fs = require('fs')", 'ambient'],
    ["import('react')", 'dynamic-import'],
    ['import.meta.url', 'dynamic-import'],
  ])('%s is refused', (code, rule) => {
    expect(tricks(`${code}\nexport default () => <p>x</p>`)).toEqual([rule])
  })

  test('an honest program has none', () => {
    expect(tricks("import { useState } from 'react'; // state\nexport default () => <p>{/* a note */}x</p>")).toEqual([])
  })
  test('a million blank lines are read once', () => {
    expect(tricks(`${'\n'.repeat(1_000_000)}/// <reference lib="dom" />\nexport default () => <p>x</p>`)).toEqual(['suppression'])
  })
  test('each is placed', () => {
    const code = 'const a = 1\n// @ts-ignore\nexport default () => <p>x</p>'
    expect(findTricks(parseProgram(code, '0').file)[0]?.start).toBe(code.indexOf('@ts-ignore'))
  })
})

describe('silencingAssertions', () => {
  test('counts assertions that silence the checker, not honest ones', () => {
    expect(silencingAssertions(parseProgram('const a = 1 as any; const b = a as never; const c = (a as unknown) as string; const d = a as string; const e = [1] as const', '0').file)).toBe(3)
  })
})

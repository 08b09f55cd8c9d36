// The shape of the built-in prompts: a kind of tiny app has slots (the words to place), several ways to ask for it, the
// program that answers, and what the rendered page must contain. The kinds themselves are in kinds.ts.
import type { Requirement } from '../../contract/rewards.ts'
import type { RandomStream } from '../../engine/runtime/random.ts'
import { adjectives, titles } from './vocabulary.ts'

/** The words a prompt asks to place, by slot name. Numbers are written as digits. */
export type Slots = Readonly<Record<string, string>>

/** How a program is laid out; `main` with text before buttons is the layout of every reference. */
export interface Layout {
  readonly wrapper: 'main' | 'div' | 'section'
  /** Buttons stand before the text they change. */
  readonly buttonsFirst: boolean
}

export const layouts: readonly [Layout, Layout, Layout] = [
  { wrapper: 'main', buttonsFirst: false },
  { wrapper: 'div', buttonsFirst: false },
  { wrapper: 'section', buttonsFirst: true },
]

/** One kind of tiny app. */
export interface AppKind {
  readonly name: string
  /** Draws the words to place; no two slots of a row hold the same text. */
  readonly draw: (stream: RandomStream) => Slots
  /** Ways to ask for it, in natural but compact English. */
  readonly phrasings: readonly ((slots: Slots) => string)[]
  readonly requirements: (slots: Slots) => readonly Requirement[]
  readonly program: (slots: Slots, layout: Layout) => string
}

/** The value of a slot; a missing slot is a mistake in a kind's definition. */
export function slot(slots: Slots, name: string): string {
  const value = slots[name]
  if (value === undefined) throw new Error(`a kind of app uses slot ${name}, which it never draws; slots are ${Object.keys(slots).join(', ')}`)
  return value
}

/** One element of a list that is not empty. */
export function choose<T>(stream: RandomStream, list: readonly T[]): T {
  const value = list[stream.integer(list.length)]
  if (value === undefined) throw new Error('cannot choose from an empty list')
  return value
}

/** `count` different elements, in the order drawn. */
export function chooseDistinct<T>(stream: RandomStream, list: readonly T[], count: number): readonly T[] {
  if (count > list.length) throw new Error(`cannot choose ${count} different elements of ${list.length}`)
  const chosen: T[] = []
  while (chosen.length < count) {
    const value = choose(stream, list)
    if (!chosen.includes(value)) chosen.push(value)
  }
  return chosen
}

/** A heading: one title word, in a quarter of the cases after an adjective. */
export function drawTitle(stream: RandomStream): string {
  const title = choose(stream, titles)
  return stream.uniform() < 0.25 ? `${choose(stream, adjectives)} ${title}` : title
}

/** A digit from `low` to 9. */
export function drawDigit(stream: RandomStream, low: number): string {
  return String(low + stream.integer(10 - low))
}

/** Identity of a prompt whatever its phrasing: the kind and every slot. Two prompts with one key ask for the same app. */
export function combinationKey(kind: AppKind, slots: Slots): string {
  const parts = Object.keys(slots).sort().map((name) => `${name}=${slot(slots, name)}`)
  return [kind.name, ...parts].join('|')
}

/** State a program keeps: `const [name, setName] = useState(initial);`. */
export interface State {
  readonly name: string
  readonly setter: string
  readonly initial: string
}

/** A complete single-file program. `body` holds the lines inside the wrapper, each relative to it. Ends without a line end. */
export function reactProgram(layout: Layout, body: readonly string[], state?: State): string {
  const head = state === undefined ? [] : [`import { useState } from 'react';`, '']
  const stateLine = state === undefined ? [] : [`  const [${state.name}, ${state.setter}] = useState(${state.initial});`]
  return [
    ...head,
    'export default function App() {',
    ...stateLine,
    '  return (',
    `    <${layout.wrapper}>`,
    ...body.map((line) => `      ${line}`),
    `    </${layout.wrapper}>`,
    '  );',
    '}',
  ].join('\n')
}

/** Heading, then text and buttons in the layout's order. */
export function headingThen(layout: Layout, title: string, text: readonly string[], buttons: readonly string[]): readonly string[] {
  return [`<h1>${title}</h1>`, ...(layout.buttonsFirst ? [...buttons, ...text] : [...text, ...buttons])]
}

export function headingRequirement(name: string): Requirement {
  return { kind: 'role', role: 'heading', name }
}

export function buttonRequirement(name: string): Requirement {
  return { kind: 'role', role: 'button', name }
}

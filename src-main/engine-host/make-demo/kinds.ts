// The kinds of tiny apps without state. Those with state are in stateful-kinds.ts.
import type { Requirement } from '../../contract/rewards.ts'
import type { AppKind } from './grammar.ts'
import {
  buttonRequirement, choose, chooseDistinct, drawTitle, headingRequirement, headingThen, reactProgram, slot,
} from './grammar.ts'
import { statefulKinds } from './stateful-kinds.ts'
import { greetings, items, labels, names, verbs } from './vocabulary.ts'

/** A heading, three list items and a button. */
const list: AppKind = {
  name: 'list',
  draw: (stream) => {
    const [first = '', second = '', third = ''] = chooseDistinct(stream, items, 3)
    return { title: drawTitle(stream), first, second, third, button: choose(stream, verbs) }
  },
  phrasings: [
    (s) => `Make a list titled "${slot(s, 'title')}" with ${slot(s, 'first')}, ${slot(s, 'second')} and ${slot(s, 'third')} and a button "${slot(s, 'button')}".`,
    (s) => `Build a list called ${slot(s, 'title')} of ${slot(s, 'first')}, ${slot(s, 'second')} and ${slot(s, 'third')}. The button says ${slot(s, 'button')}.`,
    (s) => `Under "${slot(s, 'title')}" list "${slot(s, 'first')}", "${slot(s, 'second')}" and "${slot(s, 'third')}" and put the button "${slot(s, 'button')}".`,
    (s) => `I need the items ${slot(s, 'first')}, ${slot(s, 'second')} and ${slot(s, 'third')} in a list for ${slot(s, 'title')} with the button ${slot(s, 'button')}.`,
    (s) => `Write a list: heading "${slot(s, 'title')}", items ${slot(s, 'first')}, ${slot(s, 'second')}, ${slot(s, 'third')}, button "${slot(s, 'button')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    { kind: 'role', role: 'listitem' },
    ...['first', 'second', 'third'].map((name): Requirement => ({ kind: 'text', text: slot(s, name) })),
    buttonRequirement(slot(s, 'button')),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    ['<ul>', ...['first', 'second', 'third'].map((name) => `  <li>${slot(s, name)}</li>`), '</ul>'],
    [`<button>${slot(s, 'button')}</button>`],
  )),
}

/** A heading and two labelled checkboxes. */
const checklist: AppKind = {
  name: 'checklist',
  draw: (stream) => {
    const [first = '', second = ''] = chooseDistinct(stream, items, 2)
    return { title: drawTitle(stream), first, second }
  },
  phrasings: [
    (s) => `Make a checklist titled "${slot(s, 'title')}" with "${slot(s, 'first')}" and "${slot(s, 'second')}".`,
    (s) => `Build a checklist called ${slot(s, 'title')} with boxes for ${slot(s, 'first')} and ${slot(s, 'second')}.`,
    (s) => `I want checkboxes for ${slot(s, 'first')} and ${slot(s, 'second')} under "${slot(s, 'title')}".`,
    (s) => `Write a checklist to tick off ${slot(s, 'first')} and ${slot(s, 'second')}. Title: ${slot(s, 'title')}.`,
    (s) => `Two checkboxes, "${slot(s, 'first')}" and "${slot(s, 'second')}", headed "${slot(s, 'title')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    { kind: 'role', role: 'checkbox', name: slot(s, 'first') },
    { kind: 'role', role: 'checkbox', name: slot(s, 'second') },
  ],
  program: (s, layout) => reactProgram(layout, [
    `<h1>${slot(s, 'title')}</h1>`,
    `<label><input type="checkbox" /> ${slot(s, 'first')}</label>`,
    `<label><input type="checkbox" /> ${slot(s, 'second')}</label>`,
  ]),
}

/** Two labelled text fields and a button. */
const form: AppKind = {
  name: 'form',
  draw: (stream) => {
    const [first = '', second = ''] = chooseDistinct(stream, labels, 2)
    return { title: drawTitle(stream), first, second, button: choose(stream, verbs) }
  },
  phrasings: [
    (s) => `Make a form titled "${slot(s, 'title')}" with fields "${slot(s, 'first')}" and "${slot(s, 'second')}" and a button "${slot(s, 'button')}".`,
    (s) => `Build a form called ${slot(s, 'title')} that asks for ${slot(s, 'first')} and ${slot(s, 'second')}. The button says ${slot(s, 'button')}.`,
    (s) => `I need text fields ${slot(s, 'first')} and ${slot(s, 'second')} and the button ${slot(s, 'button')} under ${slot(s, 'title')}.`,
    (s) => `Write a form: heading "${slot(s, 'title')}", inputs "${slot(s, 'first')}" and "${slot(s, 'second')}", button "${slot(s, 'button')}".`,
    (s) => `My ${slot(s, 'title')} form has ${slot(s, 'first')} and ${slot(s, 'second')} to fill in and ${slot(s, 'button')} to press.`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    { kind: 'role', role: 'textbox', name: slot(s, 'first') },
    { kind: 'role', role: 'textbox', name: slot(s, 'second') },
    buttonRequirement(slot(s, 'button')),
  ],
  program: (s, layout) => reactProgram(layout, [
    `<h1>${slot(s, 'title')}</h1>`,
    `<label>${slot(s, 'first')} <input /></label>`,
    `<label>${slot(s, 'second')} <input /></label>`,
    `<button>${slot(s, 'button')}</button>`,
  ]),
}

/** A greeting for somebody, and a button. */
const card: AppKind = {
  name: 'card',
  draw: (stream) => (
    { title: drawTitle(stream), greeting: choose(stream, greetings), person: choose(stream, names), button: choose(stream, verbs) }),
  phrasings: [
    (s) => `Make a card titled "${slot(s, 'title')}" that says "${slot(s, 'greeting')}" to "${slot(s, 'person')}" with a button "${slot(s, 'button')}".`,
    (s) => `Build a card for ${slot(s, 'person')} with the message ${slot(s, 'greeting')}, the title ${slot(s, 'title')} and the button ${slot(s, 'button')}.`,
    (s) => `I want to tell ${slot(s, 'person')} "${slot(s, 'greeting')}" on a card headed "${slot(s, 'title')}". The button says "${slot(s, 'button')}".`,
    (s) => `Write a card: heading "${slot(s, 'title')}", message "${slot(s, 'greeting')}", name "${slot(s, 'person')}", button "${slot(s, 'button')}".`,
    (s) => `One ${slot(s, 'title')} card with ${slot(s, 'greeting')} for ${slot(s, 'person')} and ${slot(s, 'button')} on the button.`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    { kind: 'text', text: slot(s, 'greeting') },
    { kind: 'text', text: slot(s, 'person') },
    buttonRequirement(slot(s, 'button')),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    [`<h2>${slot(s, 'greeting')}</h2>`, `<p>${slot(s, 'person')}</p>`],
    [`<button>${slot(s, 'button')}</button>`],
  )),
}

/** Every kind, in the order the prompt file lists them. */
export const appKinds: readonly AppKind[] = [...statefulKinds, list, checklist, form, card]

// The kinds of tiny apps that keep one piece of state and change it on a click.
import type { Requirement } from '../../contract/rewards.ts'
import type { AppKind, State } from './grammar.ts'
import {
  buttonRequirement, choose, chooseDistinct, drawDigit, drawTitle, headingRequirement, headingThen, reactProgram, slot,
} from './grammar.ts'
import { greetings, items, ratings, states, verbs } from './vocabulary.ts'

function afterClick(name: string, text: string, times = 1): Requirement {
  return { kind: 'after-click', role: 'button', name, times, text }
}

function buttonLine(action: string, content: string): string {
  return `<button onClick={() => ${action}}>${content}</button>`
}

const count = (initial: string): State => ({ name: 'count', setter: 'setCount', initial })

/** Counts up by one. */
const counter: AppKind = {
  name: 'counter',
  draw: (stream) => ({ title: drawTitle(stream), button: choose(stream, verbs) }),
  phrasings: [
    (s) => `Make a counter titled "${slot(s, 'title')}" with a button named "${slot(s, 'button')}".`,
    (s) => `Build a counter called ${slot(s, 'title')}. The button says ${slot(s, 'button')}.`,
    (s) => `I want to count ${slot(s, 'title')} with the button ${slot(s, 'button')}.`,
    (s) => `Write a counter: heading "${slot(s, 'title')}", button "${slot(s, 'button')}".`,
    (s) => `A counter for "${slot(s, 'title')}" that goes up when I press "${slot(s, 'button')}".`,
    (s) => `Count the clicks on ${slot(s, 'button')} under the heading ${slot(s, 'title')}.`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')), buttonRequirement(slot(s, 'button')), { kind: 'text', text: '0' }, afterClick(slot(s, 'button'), '2', 2),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    ['<p>{count}</p>'],
    [buttonLine('setCount(count + 1)', slot(s, 'button'))],
  ), count('0')),
}

/** Counts up by a given amount. */
const stepper: AppKind = {
  name: 'stepper',
  draw: (stream) => ({ title: drawTitle(stream), button: choose(stream, verbs), step: drawDigit(stream, 2) }),
  phrasings: [
    (s) => `Make a counter titled "${slot(s, 'title')}" with a button named "${slot(s, 'button')}" that adds ${slot(s, 'step')}.`,
    (s) => `Build a counter called ${slot(s, 'title')} that grows by ${slot(s, 'step')}. The button says ${slot(s, 'button')}.`,
    (s) => `I count ${slot(s, 'title')} in steps of ${slot(s, 'step')} with the button ${slot(s, 'button')}.`,
    (s) => `Write a counter: heading "${slot(s, 'title')}", button "${slot(s, 'button')}", step ${slot(s, 'step')}.`,
    (s) => `Each press of "${slot(s, 'button')}" adds ${slot(s, 'step')} to the number under "${slot(s, 'title')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')), buttonRequirement(slot(s, 'button')), { kind: 'text', text: '0' }, afterClick(slot(s, 'button'), slot(s, 'step')),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    ['<p>{count}</p>'],
    [buttonLine(`setCount(count + ${slot(s, 'step')})`, slot(s, 'button'))],
  ), count('0')),
}

/** Counts down by one from a given number. */
const countdown: AppKind = {
  name: 'countdown',
  draw: (stream) => ({ title: drawTitle(stream), button: choose(stream, verbs), from: drawDigit(stream, 3) }),
  phrasings: [
    (s) => `Make a countdown titled "${slot(s, 'title')}" from ${slot(s, 'from')} with a button named "${slot(s, 'button')}".`,
    (s) => `Build a countdown called ${slot(s, 'title')} that starts at ${slot(s, 'from')}. The button says ${slot(s, 'button')}.`,
    (s) => `There are ${slot(s, 'from')} ${slot(s, 'title')} left. The button ${slot(s, 'button')} takes one away.`,
    (s) => `Write a countdown: heading "${slot(s, 'title')}", start ${slot(s, 'from')}, button "${slot(s, 'button')}".`,
    (s) => `Count down "${slot(s, 'title')}" from ${slot(s, 'from')} when I press "${slot(s, 'button')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    buttonRequirement(slot(s, 'button')),
    { kind: 'text', text: slot(s, 'from') },
    afterClick(slot(s, 'button'), String(Number(slot(s, 'from')) - 1)),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    ['<p>{count}</p>'],
    [buttonLine('setCount(count - 1)', slot(s, 'button'))],
  ), count(slot(s, 'from'))),
}

/** A price that grows with the number of pieces. */
const price: AppKind = {
  name: 'price',
  draw: (stream) => ({ title: drawTitle(stream), price: drawDigit(stream, 2), button: choose(stream, verbs) }),
  phrasings: [
    (s) => `Make a price tag titled "${slot(s, 'title')}" at $${slot(s, 'price')} each with a button named "${slot(s, 'button')}".`,
    (s) => `Build a price tag: ${slot(s, 'title')} cost $${slot(s, 'price')} each, the button says ${slot(s, 'button')}.`,
    (s) => `Show the total under "${slot(s, 'title')}": $${slot(s, 'price')} each, and the button "${slot(s, 'button')}" takes one more.`,
    (s) => `I sell ${slot(s, 'title')} at $${slot(s, 'price')} each. Total them with the button ${slot(s, 'button')}.`,
    (s) => `Write a price tag: heading "${slot(s, 'title')}", price $${slot(s, 'price')} each, button "${slot(s, 'button')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    buttonRequirement(slot(s, 'button')),
    { kind: 'text', text: `$${slot(s, 'price')}` },
    afterClick(slot(s, 'button'), `$${2 * Number(slot(s, 'price'))}`),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    [`<p>\${count * ${slot(s, 'price')}}</p>`],
    [buttonLine('setCount(count + 1)', slot(s, 'button'))],
  ), count('1')),
}

/** Switches between two words. */
const toggle: AppKind = {
  name: 'toggle',
  draw: (stream) => {
    const [off = '', on = ''] = chooseDistinct(stream, states, 2)
    return { title: drawTitle(stream), button: choose(stream, verbs), off, on }
  },
  phrasings: [
    (s) => `Make a toggle titled "${slot(s, 'title')}" from "${slot(s, 'off')}" to "${slot(s, 'on')}" with a button "${slot(s, 'button')}".`,
    (s) => `Build a toggle called ${slot(s, 'title')}. It is ${slot(s, 'off')}, then ${slot(s, 'on')}. The button says ${slot(s, 'button')}.`,
    (s) => `The ${slot(s, 'title')} is ${slot(s, 'off')} until I press ${slot(s, 'button')}, then ${slot(s, 'on')}.`,
    (s) => `Write a toggle: heading "${slot(s, 'title')}", off "${slot(s, 'off')}", on "${slot(s, 'on')}", button "${slot(s, 'button')}".`,
    (s) => `The "${slot(s, 'button')}" button that switches "${slot(s, 'title')}" from "${slot(s, 'off')}" to "${slot(s, 'on')}".`,
  ],
  requirements: (s) => [
    headingRequirement(slot(s, 'title')),
    { kind: 'text', text: slot(s, 'off') },
    afterClick(slot(s, 'button'), slot(s, 'on')),
    afterClick(slot(s, 'button'), slot(s, 'off'), 2),
  ],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    [`<p>{on ? '${slot(s, 'on')}' : '${slot(s, 'off')}'}</p>`],
    [buttonLine('setOn(!on)', slot(s, 'button'))],
  ), { name: 'on', setter: 'setOn', initial: 'false' }),
}

/** Shows a word after a click. */
const reveal: AppKind = {
  name: 'reveal',
  draw: (stream) => ({ title: drawTitle(stream), button: choose(stream, verbs), secret: choose(stream, items) }),
  phrasings: [
    (s) => `Make a page titled "${slot(s, 'title')}" with a button "${slot(s, 'button')}" that reveals "${slot(s, 'secret')}".`,
    (s) => `Build a page called ${slot(s, 'title')}. Clicking ${slot(s, 'button')} reveals ${slot(s, 'secret')}.`,
    (s) => `Hide ${slot(s, 'secret')} under ${slot(s, 'title')} until I press ${slot(s, 'button')}.`,
    (s) => `Write a surprise: heading "${slot(s, 'title')}", button "${slot(s, 'button')}", hidden text "${slot(s, 'secret')}".`,
    (s) => `The "${slot(s, 'button')}" button reveals "${slot(s, 'secret')}" below the heading "${slot(s, 'title')}".`,
  ],
  requirements: (s) => [headingRequirement(slot(s, 'title')), buttonRequirement(slot(s, 'button')), afterClick(slot(s, 'button'), slot(s, 'secret'))],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    [`{open && <p>${slot(s, 'secret')}</p>}`],
    [buttonLine('setOpen(true)', slot(s, 'button'))],
  ), { name: 'open', setter: 'setOpen', initial: 'false' }),
}

/** Two buttons, each showing its own word. */
const tabs: AppKind = {
  name: 'tabs',
  draw: (stream) => {
    const [firstTab = '', secondTab = ''] = chooseDistinct(stream, verbs, 2)
    const [first = '', second = ''] = chooseDistinct(stream, items, 2)
    return { firstTab, first, secondTab, second }
  },
  phrasings: [
    (s) => `Make two tabs: "${slot(s, 'firstTab')}" shows "${slot(s, 'first')}" and "${slot(s, 'secondTab')}" shows "${slot(s, 'second')}".`,
    (s) => `Build two tabs. ${slot(s, 'firstTab')} shows ${slot(s, 'first')}, ${slot(s, 'secondTab')} shows ${slot(s, 'second')}.`,
    (s) => `I want tabs: ${slot(s, 'firstTab')} for ${slot(s, 'first')}, ${slot(s, 'secondTab')} for ${slot(s, 'second')}.`,
    (s) => `Write a page with tab "${slot(s, 'firstTab')}" for "${slot(s, 'first')}" and tab "${slot(s, 'secondTab')}" for "${slot(s, 'second')}".`,
    (s) => `The first tab ${slot(s, 'firstTab')} holds ${slot(s, 'first')}, the second tab ${slot(s, 'secondTab')} holds ${slot(s, 'second')}.`,
  ],
  requirements: (s) => [
    buttonRequirement(slot(s, 'firstTab')),
    { kind: 'text', text: slot(s, 'first') },
    afterClick(slot(s, 'secondTab'), slot(s, 'second')),
  ],
  program: (s, layout) => {
    const buttons = [buttonLine('setTab(1)', slot(s, 'firstTab')), buttonLine('setTab(2)', slot(s, 'secondTab'))]
    return reactProgram(layout, [...buttons, `<p>{tab === 1 ? '${slot(s, 'first')}' : '${slot(s, 'second')}'}</p>`],
      { name: 'tab', setter: 'setTab', initial: '1' })
  },
}

/** Two buttons that set a score of 1 or 5. */
const rating: AppKind = {
  name: 'rating',
  draw: (stream) => {
    const [low, high] = choose(stream, ratings)
    return { title: drawTitle(stream), low, high }
  },
  phrasings: [
    (s) => `Make a rating titled "${slot(s, 'title')}" where "${slot(s, 'low')}" gives 1 and "${slot(s, 'high')}" gives 5.`,
    (s) => `Build a rating called ${slot(s, 'title')} with the buttons ${slot(s, 'low')} for 1 and ${slot(s, 'high')} for 5.`,
    (s) => `I want to rate ${slot(s, 'title')}: ${slot(s, 'low')} is 1, ${slot(s, 'high')} is 5.`,
    (s) => `Write a rating: heading "${slot(s, 'title')}", button "${slot(s, 'low')}" sets 1, button "${slot(s, 'high')}" sets 5.`,
    (s) => `Opinions on ${slot(s, 'title')}: button ${slot(s, 'low')} scores 1, button ${slot(s, 'high')} scores 5.`,
  ],
  requirements: (s) => [headingRequirement(slot(s, 'title')), afterClick(slot(s, 'low'), '1'), afterClick(slot(s, 'high'), '5')],
  program: (s, layout) => reactProgram(layout, headingThen(
    layout,
    slot(s, 'title'),
    ['<p>{score}</p>'],
    [buttonLine('setScore(1)', slot(s, 'low')), buttonLine('setScore(5)', slot(s, 'high'))],
  ), { name: 'score', setter: 'setScore', initial: '0' }),
}

/** A button that answers with a word once pressed. */
const thanks: AppKind = {
  name: 'thanks',
  draw: (stream) => ({ title: drawTitle(stream), button: choose(stream, verbs), answer: choose(stream, greetings) }),
  phrasings: [
    (s) => `Make a page titled "${slot(s, 'title')}" with a button "${slot(s, 'button')}" that turns into "${slot(s, 'answer')}".`,
    (s) => `Build a page called ${slot(s, 'title')}. The ${slot(s, 'button')} button says ${slot(s, 'answer')} once clicked.`,
    (s) => `Under ${slot(s, 'title')} put a button that changes from ${slot(s, 'button')} to ${slot(s, 'answer')}.`,
    (s) => `Write a page: heading "${slot(s, 'title')}", button "${slot(s, 'button')}", after the click "${slot(s, 'answer')}".`,
    (s) => `When I press "${slot(s, 'button')}" below "${slot(s, 'title')}" the button answers "${slot(s, 'answer')}".`,
  ],
  requirements: (s) => [headingRequirement(slot(s, 'title')), buttonRequirement(slot(s, 'button')), afterClick(slot(s, 'button'), slot(s, 'answer'))],
  program: (s, layout) => reactProgram(layout, [
    `<h1>${slot(s, 'title')}</h1>`,
    buttonLine('setDone(true)', `{done ? '${slot(s, 'answer')}' : '${slot(s, 'button')}'}`),
  ], { name: 'done', setter: 'setDone', initial: 'false' }),
}

export const statefulKinds: readonly AppKind[] = [counter, stepper, countdown, price, toggle, reveal, tabs, rating, thanks]

// Every sentence of the pages, in one place: another language is other files like those beside this one. What goes into a sentence (numbers,
// names) comes as an argument, so that its order is the language's own.
import { prepareWords } from './words/prepare.ts'
import { runWords } from './words/runs.ts'
import { startWords } from './words/start.ts'

export const words = { ...startWords, ...prepareWords, ...runWords } as const

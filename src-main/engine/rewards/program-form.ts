// The form of a program: its text with the words between tags replaced by one letter. What the compiler and the linter say of a program
// follows from its form: to both, the words of an element are a text and nothing more.
//
//   <h1>Giant Cards</h1>  ──>  <h1>x</h1>     the same form as  <h1>Tickets</h1>
//
// Trained models write the same few forms with other words in them, so findings are remembered by form and moved to each program's positions.
import ts from 'typescript'
import { createMemory } from './bounded-memory.ts'
import type { CodeDiagnostic } from './diagnostic.ts'

/** Where words were replaced: UTF-16 ranges in the program and in its form, in order. */
interface Replaced {
  readonly start: number
  readonly end: number
  readonly formStart: number
  readonly formEnd: number
}

export interface ProgramForm {
  readonly text: string
  readonly replaced: readonly Replaced[]
}

// Words of one line. White space stays as it is, and so does every character that one of the readers may take for white space or a mistake.
const words = /[!-%'-;=?-z|~\p{L}\p{N}]+(?: [!-%'-;=?-z|~\p{L}\p{N}]+)*/gu

/** The form where there is no program. */
export const noForm: ProgramForm = { text: '', replaced: [] }

/** The form of a program that parsed; one that is nested too deeply to be walked has itself as its form. */
export function formOf(file: ts.SourceFile): ProgramForm {
  try {
    return withoutWords(file)
  } catch (error) {
    if (error instanceof RangeError) return { text: file.text, replaced: [] }
    throw error
  }
}

function withoutWords(file: ts.SourceFile): ProgramForm {
  const { text } = file
  const replaced: Replaced[] = []
  const parts: string[] = []
  let taken = 0
  let length = 0
  const visit = (node: ts.Node): void => {
    // An entity may stand for white space, which the linter tells from words.
    if (ts.isJsxText(node) && !node.text.includes('&')) {
      for (const { 0: found, index } of text.slice(node.pos, node.end).matchAll(words)) {
        const start = node.pos + index
        const formStart = length + (start - taken)
        parts.push(text.slice(taken, start), 'x')
        taken = start + found.length
        length = formStart + 1
        replaced.push({ start, end: taken, formStart, formEnd: length })
      }
    } else ts.forEachChild(node, visit)
  }
  visit(file)
  parts.push(text.slice(taken))
  return { text: parts.join(''), replaced }
}

/** Findings of a program by its form: remembered, or found now. A finding inside of words belongs to one program and is never remembered. */
export type FormMemory = (form: ProgramForm, find: () => readonly CodeDiagnostic[]) => readonly CodeDiagnostic[]

/** Remembers the findings of the newest `capacity` forms. What `find` throws is not remembered. */
export function createFormMemory(capacity: number): FormMemory {
  const memory = createMemory<readonly CodeDiagnostic[]>(capacity)
  return (form, find) => {
    const known = memory.get(form.text)
    if (known !== undefined) return known.map((finding) => moved(finding, (position) => toProgram(form, position)) as CodeDiagnostic)
    const found = find()
    const general = found.map((finding) => moved(finding, (position) => toForm(form, position)))
    if (general.every((finding) => finding !== undefined)) memory.set(form.text, general)
    return found
  }
}

/** A finding at other positions; undefined when one of its ends has no counterpart. */
function moved(finding: CodeDiagnostic, move: (position: number) => number | undefined): CodeDiagnostic | undefined {
  if (finding.start === undefined) return finding
  const start = move(finding.start)
  const end = move(finding.start + finding.length)
  return start === undefined || end === undefined ? undefined : { ...finding, start, length: end - start }
}

function toForm({ replaced }: ProgramForm, position: number): number | undefined {
  const before = replaced.findLast(({ start }) => start <= position)
  if (before === undefined) return position
  if (position === before.start) return before.formStart
  return position < before.end ? undefined : before.formEnd + (position - before.end)
}

function toProgram({ replaced }: ProgramForm, position: number): number {
  const before = replaced.findLast(({ formStart }) => formStart <= position)
  if (before === undefined) return position
  return position === before.formStart ? before.start : before.end + (position - before.formEnd)
}

// What judges are asked, kept as files a person can edit (resources/prompts): sections, each the text of one message.
//
//   === system ===          who the judge is
//   === score ===           {{prompt}} {{code}} ... and how to answer
//   === lines ===           the second turn
import { readFile } from 'node:fs/promises'
import { UserError } from '../../../contract/errors.ts'
import { fileErrorCode } from '../../models/json-file.ts'
import { resourcePath } from '../../runtime/paths.ts'

/** What is judged, and which file says how. */
export type JudgeRole = 'code' | 'screenshot' | 'steps' | 'answer'

/** Sections a role needs, and the placeholders its texts may hold. */
const roles: Readonly<Record<JudgeRole, { readonly sections: readonly string[]; readonly optional: readonly string[]; readonly placeholders: readonly string[] }>> = {
  code: { sections: ['score'], optional: ['system', 'lines', 'score-and-lines'], placeholders: ['prompt', 'code'] },
  screenshot: { sections: ['score'], optional: ['system'], placeholders: ['prompt'] },
  steps: { sections: ['steps'], optional: ['system'], placeholders: ['prompt', 'steps'] },
  answer: { sections: ['score'], optional: ['system'], placeholders: ['prompt', 'completion'] },
}

/** The texts of one prompt file. */
export interface JudgePrompts {
  /** The whole file, for the cache: a changed question has another answer. */
  readonly source: string
  /** A section with its placeholders filled in. */
  fill(section: string, values: Readonly<Record<string, string>>): string
  has(section: string): boolean
}

/**
 * Reads a prompt file.
 * @param file path, or '' for the one that comes with Satchel
 * @param needed sections the configuration asks for beyond those every file of the role has
 * @throws UserError naming file and section
 */
export async function readJudgePrompts(role: JudgeRole, file: string, needed: readonly string[] = []): Promise<JudgePrompts> {
  const path = file === '' ? resourcePath('prompts', `judge-${role}.txt`) : file
  const source = (await readText(path)).replaceAll('\r\n', '\n')
  const { sections: required, optional, placeholders } = roles[role]
  const sections = sectionsOf(source)
  const wrong = (what: string, expected: string): UserError => new UserError({ code: 'bad-input', what, place: { file: path }, expected, remedy: 'Correct the file; resources/prompts has one that works.' })
  for (const name of [...required, ...needed]) if (!sections.has(name)) throw wrong(`the section ${name} is missing`, `a line === ${name} === and the text under it`)
  for (const [name, text] of sections) {
    if (!required.includes(name) && !optional.includes(name)) throw wrong(`nothing reads the section ${name}`, `the sections ${[...required, ...optional].join(', ')}`)
    if (text === '') throw wrong(`the section ${name} is empty`, 'a text')
    for (const [, placeholder = ''] of text.matchAll(/\{\{\s*(\w*)\s*\}\}/g)) if (!placeholders.includes(placeholder)) throw wrong(`{{${placeholder}}} in the section ${name} stands for nothing`, placeholders.map((known) => `{{${known}}}`).join(' or '))
  }
  return {
    source,
    has: (section) => sections.has(section),
    fill(section, values) {
      const text = sections.get(section)
      if (text === undefined) throw new Error(`the judge's prompts have no section ${section}`)
      return text.replace(/\{\{\s*(\w+)\s*\}\}/g, (_whole, name: string) => values[name] ?? '')
    },
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UserError({ code: fileErrorCode(error) === 'ENOENT' ? 'not-found' : 'bad-input', what: 'the judge\'s prompts cannot be read', place: { file: path, field: 'promptFile' }, expected: 'a text file with sections such as === score ===', remedy: 'Correct the path, or leave promptFile empty.' }, { cause: error })
  }
}

/** Text before the first heading is for whoever reads the file. */
function sectionsOf(source: string): Map<string, string> {
  const headings = [...source.matchAll(/^=== *([a-z-]+) *===[ \t]*$/gm)]
  return new Map(headings.map((heading, index) => [heading[1]!, source.slice(heading.index + heading[0].length, headings[index + 1]?.index ?? source.length).trim()]))
}

/** Text with its lines numbered from 1: what a judge needs to name one, and no line of it can pass for a heading or a fence of ours. */
export function numberedLines(text: string): string {
  const lines = text.split(/\r\n|\n|\r/)
  const width = String(lines.length).length
  return lines.map((line, index) => `${String(index + 1).padStart(width)} | ${line}`).join('\n')
}

/** Text in which every line begins with a bar. */
export function barredLines(text: string): string {
  return text.split(/\r\n|\n|\r/).map((line) => `| ${line}`).join('\n')
}

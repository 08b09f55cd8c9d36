// What is wrong with a value, in words: those of the schema speak of types and signs.
import type { z } from 'zod'
import { words } from '../../words.ts'

/** One sentence about a problem of the schema; its own where it says what a person can use. */
export function issueWords(issue: z.core.$ZodIssue): string {
  const say = words.setup.problems
  switch (issue.code) {
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int' ? (issue.inclusive === false ? say.above(Number(issue.minimum)) : say.least(Number(issue.minimum))) : issue.message
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int' ? (issue.inclusive === false ? say.below(Number(issue.maximum)) : say.most(Number(issue.maximum))) : issue.message
    case 'invalid_type':
      return issue.expected === 'int' ? say.whole : issue.expected === 'number' ? say.number : issue.message
    case 'unrecognized_keys':
      return say.unknown
    default:
      return issue.message
  }
}

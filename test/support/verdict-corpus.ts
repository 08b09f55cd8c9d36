// A fixed set of React completions for holding verdicts: whatever makes scoring faster must change none of them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rewardConfig } from '../../src-main/contract/reward-config.ts'
import type { PromptRow, Requirement, ScoredCompletion } from '../../src-main/contract/rewards.ts'
import { createRewardPool } from '../../src-main/engine/rewards/reward-pool.ts'
import type { ScoreItem } from '../../src-main/engine/rewards/scorer.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { createStream, type RandomStream } from '../../src-main/engine/runtime/random.ts'
import { cheats, tampering, unreadable } from '../abuse/hostile-programs.ts'
import { variedPrograms } from './verdict-programs.ts'

const variants = 20
const pieces = /\w+|\s+|[^\w\s]/gu

/** Every third built-in prompt is answered as it should be, the others with one to three mistakes; the varied programs in many broken forms; cheats and tampering. */
export function verdictCorpus(): ScoreItem[] {
  const rows = readFileSync(resourcePath('demo', 'prompts.jsonl'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as PromptRow)
  const builtIn = rows.map((row, index): ScoreItem => ({ id: row.id, row, text: spoilt(row.reference ?? '', createStream(1, 'verdict-corpus', index), index % 4) }))
  const varied = Object.entries(variedPrograms).flatMap(([name, program], kind) => Array.from({ length: variants }, (_, variant) => variedItem(name, program, kind, variant)))
  const hostile = [...cheats, ...tampering, ...unreadable].map(({ name, code }): ScoreItem => ({ id: name, row: { id: name, prompt: '' }, text: code }))
  return [...builtIn, ...varied, ...hostile]
}

function variedItem(name: string, program: string, kind: number, variant: number): ScoreItem {
  const id = `${name} ${variant}`
  const text = spoilt(program, createStream(2, 'verdict-corpus', kind, variant), variant === 0 ? 0 : 1 + (variant % 3))
  // Fences, a thinking section and Windows' line ends move every position.
  const shapes = [text, `Here it is:\n\`\`\`tsx\n${text}\`\`\`\nDone.`, text.replaceAll('\n', '\r\n'), `<think>\nA page.\n</think>\n${text}`]
  const requirements: Requirement[] = [
    { kind: 'role', role: 'heading' },
    { kind: 'after-click', role: 'button', name: 'Add', text: 'Milk' },
    { kind: 'after-click', role: 'button', name: 'Add two', times: 2, text: 'Total 4' },
  ]
  return { id, row: { id, prompt: '', requirements, reference: program }, text: shapes[variant % shapes.length] as string }
}

/** A program with words, signs and spaces lost, doubled, exchanged or put in another's place. */
function spoilt(program: string, stream: RandomStream, mistakes: number): string {
  const parts = program.match(pieces) ?? []
  for (let mistake = 0; mistake < mistakes && parts.length > 1; mistake++) {
    const at = stream.integer(parts.length - 1)
    const [here, next] = [parts[at] as string, parts[at + 1] as string]
    const forms = [[next], [here, here, next], [next, here], [parts[stream.integer(parts.length)] as string, next], [here, '\n\n\n', next]]
    parts.splice(at, 2, ...(forms[stream.integer(forms.length)] as string[]))
  }
  return parts.join('')
}

/** A verdict without times and without the wording of run-time failures, which differs between versions of Node. */
export function verdictDigest({ global, outcome, spans, stages, requirementScore, audit, sources }: ScoredCompletion): string {
  const told = sources.map(({ source, global: own, failure, spans: owned }) => [source, own, failure !== undefined, owned.length])
  const parts = [global, outcome, spans.map(({ start, end, value, source, message }) => [start, end, value, source, message ?? '']), Object.values(stages), requirementScore, audit.failures, told]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12)
}

/** The digest of every completion's verdict, by its id. */
export async function verdictsOf(items: readonly ScoreItem[], workers: number): Promise<Record<string, string>> {
  // A machine that does much else beside is slow, and that is no verdict.
  const pool = createRewardPool({ workers, config: rewardConfig({ limits: { startSeconds: 1_800, itemSeconds: 600, renderSeconds: 300 } }) })
  try {
    const scored = await pool.score(items)
    return Object.fromEntries(items.map(({ id }, index) => [id, verdictDigest(scored[index] as ScoredCompletion)]))
  } finally {
    pool.dispose()
  }
}

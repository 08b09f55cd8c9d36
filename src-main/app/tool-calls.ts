// Calls of the page that the tools process answers: their paths are looked at, then they are handed on.
import { resolve } from 'node:path'
import { forwardedCalls } from '../contract/tools.ts'
import type { ForwardedName, ToolRequest, ToolResponse } from '../contract/tools.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import type { GrantedPaths } from './granted-paths.ts'
import type { LongWork } from './long-work.ts'
import type { ToolsClient } from './tools-client.ts'

export type ToolHandlers = HandlersOf<typeof forwardedCalls>

/** Fields of requests that hold paths. */
const pathFields = ['path', 'model'] as const
/** A person may type a run's model and prompts into the form; a plan tells their geometry and a length, and nothing that stands in them. */
const ofAnyPath: readonly ForwardedName[] = ['models.plan']

export interface ToolCallOptions {
  readonly tools: ToolsClient
  readonly paths: GrantedPaths
  readonly work: LongWork
  /** Hears what was answered, after the paths in it were granted. */
  readonly onAnswer: <Name extends ForwardedName>(name: Name, value: ToolResponse<Name>) => void
}

export function createToolHandlers({ tools, paths, work, onAnswer }: ToolCallOptions): ToolHandlers {
  async function forward<Name extends ForwardedName>(name: Name, request: ToolRequest<Name>): Promise<ToolResponse<Name>> {
    const given = request as Readonly<Record<string, unknown>>
    const checked: Record<string, unknown> = { ...given }
    for (const field of pathFields) if (typeof given[field] === 'string') checked[field] = ofAnyPath.includes(name) ? resolve(given[field]) : paths.require(given[field])
    const task = given['task']
    const ask = (options = {}): Promise<ToolResponse<Name>> => tools.ask(name, checked as ToolRequest<Name>, options)
    const value = typeof task === 'string' ? await work.run(task, ask) : await ask()
    grantAnswered(name, value)
    onAnswer(name, value)
    return value
  }

  /** The page may work with the models it was told of. */
  function grantAnswered(name: ForwardedName, value: unknown): void {
    if (name === 'models.list') for (const { path } of (value as ToolResponse<'models.list'>).models) paths.grant(path)
    if (name === 'models.add' || name === 'models.import' || name === 'models.download') paths.grant((value as ToolResponse<'models.add'>).path)
  }

  const entries = Object.keys(forwardedCalls).map((name) => [name, (request: never) => forward(name as ForwardedName, request)])
  return Object.fromEntries(entries) as ToolHandlers
}

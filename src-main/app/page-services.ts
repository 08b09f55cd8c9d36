// Pages of rollouts and answers for the page: the text is found here, the tools process shows it.
import type { pageCalls } from '../contract/calls/pages.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { UserError } from '../contract/errors.ts'
import { createRolloutReader } from './rollout-files.ts'
import type { ToolsClient } from './tools-client.ts'

export interface PageServices {
  readonly tools: Pick<ToolsClient, 'ask'>
  /** The run folder itself. @throws UserError for a folder that is none of the app's runs */
  readonly allowedRun: (directory: string) => string
}

export function createPageHandlers({ tools, allowedRun }: PageServices): HandlersOf<typeof pageCalls> {
  const rollouts = createRolloutReader()

  async function textOf(directory: string, step: number, order: number): Promise<string> {
    const found = (await rollouts.step(directory, step)).find((rollout) => rollout.order === order)
    if (found === undefined) throw new UserError({ code: 'not-found', what: `Step ${step} has no rollout ${order}.`, place: { file: directory }, remedy: 'Choose another rollout.' })
    return found.record.text
  }

  return {
    'pages.render': async (page) => {
      const directory = page.directory === null ? null : allowedRun(page.directory)
      const text = 'text' in page ? page.text : await textOf(allowedRun(page.directory), page.step, page.order)
      return tools.ask('pages.show', { directory, text })
    },
  }
}

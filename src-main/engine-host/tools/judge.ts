// A judge's server, tried for the app.
import { judgeSchema } from '../../contract/judge-config.ts'
import type { ToolRequest, ToolResponse } from '../../contract/tools.ts'
import { openServerJudge } from '../../engine/rewards/judge/server-judge.ts'
import { refuseCancelled } from './tool-work.ts'
import type { ToolWork } from './tool-work.ts'

/**
 * Has the server's model say one word.
 * @throws UserError of `openServerJudge`: nobody answers, no such model, the key is not there, the address lies outside this machine
 */
export async function tryServer({ server }: ToolRequest<'judge.try'>, work: ToolWork): Promise<ToolResponse<'judge.try'>> {
  const judge = judgeSchema.parse({ kind: 'server', ...server })
  if (judge.kind !== 'server') throw new Error(`a judge's server was parsed as ${judge.kind}`)
  const { signal } = work
  const started = performance.now()
  const opened = await openServerJudge(judge, AbortSignal.any([signal, AbortSignal.timeout(judge.timeoutSeconds * 1000)])).catch((error: unknown) => {
    refuseCancelled(work)
    throw error
  })
  opened.dispose()
  return { model: opened.model, seconds: (performance.now() - started) / 1000 }
}

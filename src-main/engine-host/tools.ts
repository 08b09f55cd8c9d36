// Entry of the tools process: works on models, datasets and plans for the app, one answer for each request. It ends with the app.
//
// As `probe DEVICE` it is the throw-away process in which the doctor tries a device.
import { z } from 'zod'
import type { Progress } from '../contract/calls/tasks.ts'
import { toEnvelope, UserError } from '../contract/errors.ts'
import { toolMessageSchema, toolMethods } from '../contract/tools.ts'
import type { ToolName, ToolReply } from '../contract/tools.ts'
import { printFailure, printResult } from './cli-output.ts'
import { probe } from './doctor.ts'
import { datasetTools } from './tools/dataset-tools.ts'
import { judgeTools } from './tools/judge-tools.ts'
import { machineTools } from './tools/machine-tools.ts'
import { modelTools } from './tools/model-tools.ts'
import { pageTools } from './tools/page-tools.ts'
import { placeTools } from './tools/place.ts'
import { rewardTools } from './tools/reward-tools.ts'
import type { Tools, ToolWork } from './tools/tool-work.ts'

const tools: Tools<ToolName> = { ...datasetTools, ...judgeTools, ...machineTools, ...modelTools, ...pageTools, ...placeTools, ...rewardTools }
const progressMilliseconds = 100
const running = new Map<number, AbortController>()

function tell(reply: ToolReply): void {
  if (process.connected) process.send?.(reply)
}

function workOf(id: number, signal: AbortSignal): ToolWork {
  let last = -Infinity
  let lastWhat = ''
  return {
    signal,
    tell: (progress: Progress) => {
      const now = performance.now()
      if (progress.what === lastWhat && now - last < progressMilliseconds) return
      last = now
      lastWhat = progress.what
      tell({ type: 'progress', id, progress })
    },
  }
}

/** Both ends hold the contract: a request that does not fit is answered, an answer that does not fit is not sent. */
async function answer(id: number, method: string, parameters: unknown): Promise<void> {
  const control = new AbortController()
  running.set(id, control)
  try {
    if (!isToolName(method)) throw new UserError({ code: 'usage', what: `There is no tool named ${JSON.stringify(method)}.`, remedy: 'Use an app and tools of the same version.' })
    const parsed = toolMethods[method].request.safeParse(parameters)
    if (!parsed.success) throw new UserError({ code: 'usage', what: `The request of ${method} is malformed: ${z.prettifyError(parsed.error)}` })
    const tool = tools[method] as (parameters: unknown, work: ToolWork) => Promise<unknown>
    const value = toolMethods[method].response.parse(await tool(parsed.data, workOf(id, control.signal)))
    tell({ type: 'answer', id, outcome: { ok: true, value } })
  } catch (error) {
    const { place, ...envelope } = toEnvelope(error)
    const known = Object.fromEntries(Object.entries(place).filter(([, part]) => part !== undefined))
    tell({ type: 'answer', id, outcome: { ok: false, error: { ...envelope, place: known } } })
  } finally {
    running.delete(id)
  }
}

function isToolName(method: string): method is ToolName {
  return Object.hasOwn(toolMethods, method)
}

function listen(): void {
  process.on('disconnect', () => process.exit(0))
  process.on('message', (message) => {
    const parsed = toolMessageSchema.safeParse(message)
    if (!parsed.success) return
    if (parsed.data.type === 'cancel') running.get(parsed.data.id)?.abort()
    else void answer(parsed.data.id, parsed.data.method, parsed.data.parameters)
  })
}

if (process.argv[2] === 'probe') {
  probe(process.argv[3] === 'webgpu' ? 'webgpu' : 'cpu').then((result) => printResult(result, true), (error: unknown) => printFailure(error, true))
} else if (process.send === undefined) {
  process.stderr.write('This is the tools process of Satchel; it is started by the app. Use `satchel` instead.\n')
  process.exitCode = 2
} else {
  listen()
}

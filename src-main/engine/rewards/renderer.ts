// The worker's side of the render process: starts it locked down, gives it one program at a time, and kills it when it does not answer.
import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { RenderedPage } from '../../contract/rendered-document.ts'
import { builtPath, projectRoot } from '../runtime/paths.ts'
import type { RenderAnswer, RenderRequest } from './render-protocol.ts'

/** `starved`: the program ran out of time while the machine was busy with other things. */
export type RenderResult = { readonly page: RenderedPage } | { readonly failure: string; readonly starved?: boolean }

export interface Renderer {
  /** Starts the process now instead of with the first program. Throws when it cannot start. */
  start(): Promise<void>
  /** Runs a program in a context of its own and reads the page once it has come to rest. */
  open(script: string): Promise<RenderResult>
  /** Mounts the open program afresh. */
  reopen(): Promise<RenderResult>
  /** Clicks an element of the open page and reads the page again. */
  click(element: number): Promise<RenderResult>
  dispose(): void
}

/** Flags that lock a Node process down as far as this version of Node can; the first two need the permission model. */
function lockedDownFlags(script: string, megabytes: number): string[] {
  const known = process.allowedNodeEnvironmentFlags
  const permission = known.has('--permission') ? '--permission' : '--experimental-permission'
  const flags = ['--disallow-code-generation-from-strings', '--no-warnings', '--no-addons', '--disable-proto=delete', `--max-old-space-size=${megabytes}`, '--max-semi-space-size=8', '--stack-size=900']
  return [permission, ...[script, ...packageFiles(script)].map((file) => `--allow-fs-read=${file}`), ...flags]
}

/** Where Node looks whether a script is a module, upwards. Node 20.19.0 ends when it may not look, even where there is no such file. */
function packageFiles(script: string): string[] {
  const files: string[] = []
  for (let folder = dirname(script); ; folder = dirname(folder)) {
    files.push(join(folder, 'package.json'))
    if (folder === projectRoot() || folder === dirname(folder)) return files
  }
}

/** How a render process is started: locked down, with a small heap and (but for Windows' system folder) an empty environment. */
export function renderProcessOptions(script: string, megabytes: number): ForkOptions {
  const environment: NodeJS.ProcessEnv = { TZ: 'UTC', LANG: 'C' }
  if (process.platform === 'win32') environment['SystemRoot'] = process.env['SystemRoot'] ?? 'C:\\Windows'
  return { execArgv: lockedDownFlags(script, megabytes), env: environment, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'json' }
}

/**
 * Makes a renderer. Its process starts with the first program and is replaced after a crash or time-out.
 * @param kit the script of `bundleSandboxKit`
 */
export function createRenderer(kit: string, limits: RewardConfig['limits']): Renderer {
  let child: RunningChild | undefined
  let nextId = 1

  const ask = async (request: (id: number) => RenderRequest): Promise<RenderResult> => {
    child ??= await startChild(kit, limits)
    const id = nextId++
    const answer = await child.ask(request(id), limits.renderSeconds * 1_000)
    if (answer.kind === 'page') return { page: JSON.parse(answer.page) as RenderedPage }
    if (answer.kind === 'lost') {
      child = undefined
      return { failure: answer.reason }
    }
    if (answer.kind === 'failed') return { failure: answer.reason, starved: answer.starved }
    return { failure: 'the render process answered out of turn' }
  }

  return {
    start: async () => {
      child ??= await startChild(kit, limits)
    },
    open: (script) => ask((id) => ({ kind: 'open', id, script })),
    reopen: () => ask((id) => ({ kind: 'reopen', id })),
    click: (element) => ask((id) => ({ kind: 'click', id, element })),
    dispose: () => {
      child?.process.kill('SIGKILL')
      child = undefined
    },
  }
}

type Answer = RenderAnswer | { readonly kind: 'lost'; readonly reason: string }

interface RunningChild {
  readonly process: ChildProcess
  ask(request: RenderRequest, milliseconds: number): Promise<Answer>
}

async function startChild(kit: string, limits: RewardConfig['limits']): Promise<RunningChild> {
  const script = builtPath('render-sandbox.js')
  const child = fork(script, [], renderProcessOptions(script, limits.renderMegabytes))
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString('utf8')).slice(-2_000)))
  const running: RunningChild = { process: child, ask: (request, milliseconds) => ask(child, request, milliseconds) }
  const answer = await running.ask({ kind: 'start', kit, limits }, limits.startSeconds * 1_000)
  if (answer.kind === 'ready') return running
  throw new Error(`the render process did not start: ${answer.kind === 'lost' ? answer.reason : answer.kind} ${complaint}`.trim())
}

/** One question, one answer; a child that is silent for too long is killed. */
function ask(child: ChildProcess, request: RenderRequest, milliseconds: number): Promise<Answer> {
  return new Promise((resolve) => {
    const finish = (answer: Answer): void => {
      clearTimeout(clock)
      child.off('message', onMessage)
      child.off('exit', onExit)
      child.off('error', onExit)
      resolve(answer)
    }
    const onMessage = (answer: RenderAnswer): void => finish(answer)
    const onExit = (): void => finish({ kind: 'lost', reason: 'the render process ended (out of memory, or a crash)' })
    const clock = setTimeout(() => {
      child.kill('SIGKILL')
      finish({ kind: 'lost', reason: `the program kept the render process for more than ${milliseconds / 1_000} s` })
    }, milliseconds)
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.on('error', onExit)
    child.send(request, (error) => {
      if (error !== null) onExit()
    })
  })
}

// The worker's side of the locked-down process: starts it, asks it one thing at a time, and kills it when it does not answer.
import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { RewardConfig } from '../../contract/reward-config.ts'
import { builtPath, projectRoot } from '../runtime/paths.ts'
import type { RenderAnswer, RenderRequest } from './render-protocol.ts'

/** Flags that lock a Node process down as far as this version of Node can; the first two need the permission model. */
function lockedDownFlags(script: string, megabytes: number): string[] {
  const known = process.allowedNodeEnvironmentFlags
  const permission = known.has('--permission') ? '--permission' : '--experimental-permission'
  const flags = ['--disallow-code-generation-from-strings', '--no-warnings', '--no-addons', '--disable-proto=delete', `--max-old-space-size=${megabytes}`, '--max-semi-space-size=16', '--stack-size=900']
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

/** An answer, or the word that the process is gone. */
export type SandboxAnswer = RenderAnswer | { readonly kind: 'lost'; readonly reason: string }

export interface SandboxProcess {
  /** One question, one answer. After `lost` the process is gone and another has to be started. */
  ask(request: RenderRequest, milliseconds: number): Promise<SandboxAnswer>
  dispose(): void
}

/** Starts a locked-down process with its kit. Throws when it cannot start. */
export async function startSandbox(first: RenderRequest, limits: RewardConfig['limits']): Promise<SandboxProcess> {
  const script = builtPath('render-sandbox.js')
  const child = fork(script, [], renderProcessOptions(script, limits.renderMegabytes))
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString('utf8')).slice(-2_000)))
  const answer = await ask(child, first, limits.startSeconds * 1_000)
  if (answer.kind === 'ready') return { ask: (request, milliseconds) => ask(child, request, milliseconds), dispose: () => void child.kill('SIGKILL') }
  child.kill('SIGKILL')
  throw new Error(`the render process did not start: ${answer.kind === 'lost' ? answer.reason : answer.kind} ${complaint}`.trim())
}

/** One question, one answer; a child that is silent for too long is killed. */
function ask(child: ChildProcess, request: RenderRequest, milliseconds: number): Promise<SandboxAnswer> {
  return new Promise((resolve) => {
    const finish = (answer: SandboxAnswer): void => {
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

// The engine's side of the render service: starts it with the first page, gives it one page at a time, and replaces it after a crash, a hang
// or many pages.
//
//   render(script) ──> queue ──> service process ──> PNG and facts
//                        │         └─ gone or silent: killed, another one is started, the page is tried once more
//                        └─ idle for a while: the process is ended, the next page starts another
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../../contract/errors.ts'
import { pageHeight, pageWidth, renderServiceReplySchema, waitingFactor, type RenderServiceReply, type RenderServiceRequest } from '../../../contract/render-service.ts'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import { processExists } from '../../runtime/process-exists.ts'
import { bundlePageKit } from '../sandbox-bundle.ts'
import type { RenderHost } from './render-host.ts'

export interface RenderServiceOptions {
  readonly host: RenderHost
  /** Processor time a page gets until it is at rest; seconds. */
  readonly seconds: number
  /** Memory of a page's process; MiB. */
  readonly megabytes: number
  /** Whether pictures are wanted, or only facts. */
  readonly picture?: boolean
  /** Pages after which the process is replaced: each leaves a session behind that Chromium does not give back. */
  readonly pagesPerProcess?: number
  /** The process is ended when nothing was asked for so long; seconds. */
  readonly idleSeconds?: number
  readonly startSeconds?: number
  /** A question that gets no answer at all is given up so many seconds after the page should have been ended. */
  readonly graceSeconds?: number
  /** Makes the script that furnishes pages. */
  readonly kit?: () => Promise<string>
}

export interface RenderService {
  /**
   * Shows one bundled program.
   * @throws UserError 'device' when the service cannot be started on this machine
   */
  render(script: string): Promise<ScreenshotResult>
  dispose(): void
}

interface Running {
  readonly child: ChildProcess
  readonly profile: string
  pages: number
  lastWords: string
}

const keptErrorCharacters = 4_096

export function createRenderService(options: RenderServiceOptions): RenderService {
  const { host, seconds, megabytes, picture = true, pagesPerProcess = 200, idleSeconds = 60, startSeconds = 180, graceSeconds = 10, kit: makeKit = bundlePageKit } = options
  let running: Running | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let nextId = 1
  let idle: NodeJS.Timeout | undefined
  let disposed = false

  async function start(): Promise<Running> {
    await removeStrays()
    const profile = await mkdtemp(join(tmpdir(), `satchel-render-${process.pid}-`))
    const kit = await makeKit()
    const child = spawn(host.command, [...host.parameters, `--user-data-dir=${profile}`], { env: { ...host.environment }, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], windowsHide: true })
    const started: Running = { child, profile, pages: 0, lastWords: '' }
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (started.lastWords = (started.lastWords + text).slice(-keptErrorCharacters)))
    // Told by `ask`; without a listener it would end this process.
    child.on('error', () => undefined)
    child.once('close', () => {
      if (running === started) running = undefined
      // Its profile holds nothing; where a straggler still has a file open it is left to the system's cleaning.
      rm(profile, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
    })
    const ready = await ask(started, { type: 'start', kit }, startSeconds)
    if (ready.kind === 'reply' && ready.reply.type === 'ready') return started
    end(started)
    throw cannotStart(host, ready.kind === 'reply' ? 'it answered out of turn' : ready.reason, started.lastWords)
  }

  function end({ child }: Running): void {
    child.kill('SIGKILL')
  }

  async function attempt(script: string): Promise<ScreenshotResult> {
    if (running !== undefined && running.pages >= pagesPerProcess) {
      end(running)
      running = undefined
    }
    running ??= await start()
    running.pages += 1
    const id = nextId++
    const request: RenderServiceRequest = { type: 'render', id, script, width: pageWidth, height: pageHeight, milliseconds: Math.round(seconds * 1_000), megabytes, picture }
    const answer = await ask(running, request, waitingFactor * seconds + graceSeconds)
    if (answer.kind === 'reply') {
      const { reply } = answer
      if (reply.type === 'rendered' && reply.id === id) return { screenshot: { png: Buffer.from(reply.png, 'base64'), facts: reply.facts } }
      if (reply.type === 'failed' && reply.id === id) return { failure: reply.reason, blame: 'page' }
    }
    if (running !== undefined) end(running)
    running = undefined
    return { failure: answer.kind === 'lost' ? answer.reason : 'the render service answered out of turn', blame: 'service' }
  }

  function rest(): void {
    clearTimeout(idle)
    idle = setTimeout(() => {
      if (running !== undefined) end(running)
      running = undefined
    }, idleSeconds * 1_000)
    idle.unref()
  }

  return {
    render(script) {
      const mine = turn.then(async () => {
        if (disposed) throw new UserError({ code: 'stopped', what: 'the render service has been ended' })
        clearTimeout(idle)
        const first = await attempt(script)
        const result = 'failure' in first && first.blame === 'service' && !disposed ? await attempt(script) : first
        rest()
        return result
      })
      turn = mine.catch(() => undefined)
      return mine
    },
    dispose() {
      disposed = true
      clearTimeout(idle)
      if (running !== undefined) end(running)
      running = undefined
    },
  }
}

type Answer = { readonly kind: 'reply'; readonly reply: RenderServiceReply } | { readonly kind: 'lost'; readonly reason: string }

/** One message, one reply; never rejects. */
function ask({ child }: Running, request: RenderServiceRequest, seconds: number): Promise<Answer> {
  return new Promise((resolve) => {
    const finish = (answer: Answer): void => {
      clearTimeout(clock)
      child.off('message', onMessage)
      child.off('error', onError)
      child.off('close', onClose)
      resolve(answer)
    }
    const onMessage = (message: unknown): void => {
      const reply = renderServiceReplySchema.safeParse(message)
      finish(reply.success ? { kind: 'reply', reply: reply.data } : { kind: 'lost', reason: 'the render service said something that is not understood' })
    }
    const onError = (error: Error): void => finish({ kind: 'lost', reason: error.message })
    const onClose = (code: number | null, signal: string | null): void => finish({ kind: 'lost', reason: `the render service ended (${signal ?? `code ${code ?? 'unknown'}`})` })
    const clock = setTimeout(() => finish({ kind: 'lost', reason: `the render service was silent for ${seconds} s` }), seconds * 1_000)
    child.on('message', onMessage)
    child.on('error', onError)
    child.on('close', onClose)
    if (!child.connected) return finish({ kind: 'lost', reason: 'the render service is gone' })
    child.send(request, (error) => {
      if (error !== null) finish({ kind: 'lost', reason: error.message })
    })
  })
}

const profileName = /^satchel-render-(\d+)-/

/** Profiles of processes that were killed before they could remove them. */
async function removeStrays(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const owner = profileName.exec(name)?.[1]
    if (owner !== undefined && !processExists(Number(owner))) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)
  }
}

/** Lines of Chromium that say why it ended, without its place in Chromium's sources. */
function cannotStart(host: RenderHost, reason: string, lastWords: string): UserError {
  const fatal = lastWords.split('\n').filter((line) => /FATAL|error while loading/.test(line)).at(-1)
  const words = fatal === undefined ? '' : ` It said: ${fatal.replace(/^\[[^\]]*\]\s*/, '').slice(0, 300)}.`
  return new UserError({ code: 'device', what: `Pages cannot be rendered here: ${reason}.${words}`, place: { file: host.command }, expected: 'an Electron that starts', remedy: 'Start the app once to see whether Electron works on this machine, or set reward.screenshots.mode to off.' })
}

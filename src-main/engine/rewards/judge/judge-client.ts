// One of the two files of Satchel that open a socket: a request to the server of a judge, on this machine unless the configuration says
// otherwise. It hands on text and pictures that the caller made, follows no redirect, and reads no more of an answer than a judge can mean.
import { UserError } from '../../../contract/errors.ts'
import { JudgeFailure } from './judge-failure.ts'

export interface JudgeRequest {
  /** Sent as JSON with POST; without it the request is a GET. */
  readonly body?: unknown
  readonly key: string | undefined
  readonly signal: AbortSignal
}

export interface JudgeClient {
  /** The address requests go to, without a slash at its end. */
  readonly address: string
  /** The JSON a server answered with. @throws JudgeFailure for everything else, and when `signal` is aborted */
  request(path: string, request: JudgeRequest): Promise<unknown>
}

/** An answer is a few thousand tokens; a server's list of models some hundred entries. */
const largestAnswerBytes = 4 * 1024 * 1024

/**
 * A client of one server.
 * @throws UserError when the address lies outside this machine and the configuration does not allow that
 */
export function createJudgeClient(url: string, allowOtherMachines: boolean): JudgeClient {
  if (!allowOtherMachines && !isLoopback(url)) {
    throw new UserError({ code: 'bad-input', what: `the judge's address ${url} lies outside this machine`, place: { field: 'reward.judge.url' }, expected: 'an address on this machine, such as http://127.0.0.1:8080/v1', remedy: 'Run the server here, or set reward.judge.allowOtherMachines to true: prompts, completions and pictures are then sent there.' })
  }
  const address = url.replace(/\/+$/, '')
  return { address, request: (path, request) => send(`${address}${path}`, request) }
}

/** Whether an address names this machine by itself: nothing has to be looked up, and nobody else can answer. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}

async function send(url: string, { body, key, signal }: JudgeRequest): Promise<unknown> {
  const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) }
  try {
    const response = await fetch(url, { method: body === undefined ? 'GET' : 'POST', headers, redirect: 'manual', signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel()
      throw new JudgeFailure(`the server sends elsewhere (${response.status} to ${short(response.headers.get('location') ?? 'an unnamed place')}), which is not followed`, false)
    }
    const text = await readBounded(response)
    if (!response.ok) throw new JudgeFailure(`the server answered ${response.status}: ${short(errorText(text))}`, [408, 425, 429].includes(response.status) || response.status >= 500, waitOf(response.headers.get('retry-after')))
    return parsed(text)
  } catch (error) {
    if (error instanceof JudgeFailure || signal.aborted) throw error
    throw new JudgeFailure(`the connection failed: ${short(reasonOf(error))}`, true)
  }
}

async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return ''
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    // Leaving the loop cancels the stream, and with it the connection.
    if (bytes > largestAnswerBytes) throw new JudgeFailure(`the answer is longer than ${largestAnswerBytes} bytes`, false)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new JudgeFailure(`the answer is no JSON: ${short(text)}`, true)
  }
}

/** Servers wrap their reason: {"error": {"message": ...}} or {"error": ...}. */
function errorText(text: string): string {
  try {
    const value = JSON.parse(text) as { error?: { message?: unknown } | string } | null
    const error = value?.error
    const message = typeof error === 'object' ? error.message : error
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}

/** Seconds, the only form these servers use. */
function waitOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,4}$/.test(header) ? Number(header) * 1_000 : undefined
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}

const short = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 200)

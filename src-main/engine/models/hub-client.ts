// The only file of Satchel that opens a socket, and only when a download was asked for: which files a repository of the Hugging Face hub
// (or of a mirror) holds, and their bytes from any position on. Nothing is sent but the names asked for: no token, no cookie.
import { HubApiError, listFiles, modelInfo } from '@huggingface/hub'
import { UserError } from '../../contract/errors.ts'
import { publishedHash } from './verify.ts'
import type { ExpectedHash } from './verify.ts'

/** A file at the top of a repository. */
export interface HubFile {
  readonly name: string
  readonly bytes: number
  readonly expected: ExpectedHash
}

export interface HubRepository {
  /** The commit the revision stood for when it was asked: everything is fetched from it. */
  readonly commit: string
  readonly files: readonly HubFile[]
}

/** Bytes of a file from `start` on, which is 0 where the server cannot begin in the middle. */
export interface HubBody {
  readonly start: number
  readonly chunks: AsyncIterable<Uint8Array>
}

export interface HubClientOptions {
  /** Address of the hub or a mirror of it, without a path after the host unless the mirror needs one. */
  readonly mirror: string
  readonly signal: AbortSignal
  /** A server that sends nothing for so long is given up on. */
  readonly stallMilliseconds: number
}

export interface HubClient {
  /** @throws UserError for what trying again will not change, {@link TransferError} for what it may. */
  describe(repository: string, revision: string | undefined): Promise<HubRepository>
  /** @throws as `describe`; so do its chunks */
  open(repository: string, commit: string, name: string, from: number): Promise<HubBody>
}

/** A transfer that failed and may succeed when tried again: the line dropped, the server stalled or was busy. */
export class TransferError extends Error {
  /** What the server asks to wait, or undefined. */
  readonly waitMilliseconds: number | undefined

  constructor(message: string, waitMilliseconds?: number, options?: { cause?: unknown }) {
    super(message, options)
    this.waitMilliseconds = waitMilliseconds
  }
}

/** Lists of files and descriptions are small; what is larger is none. */
const largestAnswerBytes = 16 * 1024 * 1024
const mostFiles = 10_000

export function createHubClient({ mirror, signal, stallMilliseconds }: HubClientOptions): HubClient {
  const hubUrl = checkMirror(mirror)
  const request = (url: string, headers: Readonly<Record<string, string>>): Promise<GuardedResponse> => guardedRequest(url, headers, signal, stallMilliseconds)
  /** What the library is given for its own requests: bounded in time and size, and to this host only. */
  const libraryFetch = async (target: string | URL | Request): Promise<Response> => {
    const url = target instanceof Request ? target.url : String(target)
    if (new URL(url).origin !== new URL(hubUrl).origin) throw refused(url, 'the list of files goes on at another host')
    const { response, chunks } = await request(url, { accept: 'application/json' })
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > largestAnswerBytes) throw refused(url, `its answer is longer than ${largestAnswerBytes} bytes`)
      pieces.push(chunk)
    }
    return new Response(bytes === 0 ? null : Buffer.concat(pieces), { status: response.status, headers: response.headers })
  }
  return {
    async describe(repository, revision) {
      try {
        const { sha } = await modelInfo({ name: repository, additionalFields: ['sha'], hubUrl, fetch: libraryFetch, ...(revision === undefined ? {} : { revision }) })
        if (typeof sha !== 'string' || !/^[0-9a-f]{40}$/.test(sha)) throw refused(hubUrl, 'it names no commit')
        const files: HubFile[] = []
        for await (const { type, path, size, oid, lfs } of listFiles({ repo: { type: 'model', name: repository }, revision: sha, hubUrl, fetch: libraryFetch })) {
          const expected = publishedHash(lfs?.oid ?? oid ?? '')
          const bytes = lfs?.size ?? size
          if (type === 'file' && expected !== null && Number.isSafeInteger(bytes) && bytes >= 0) files.push({ name: path, bytes, expected })
          if (files.length > mostFiles) throw refused(hubUrl, `it lists more than ${mostFiles} files`)
        }
        return { commit: sha, files }
      } catch (error) {
        throw asDownloadError(error, `${hubUrl}/${repository}`, revision)
      }
    },
    async open(repository, commit, name, from) {
      const url = `${hubUrl}/${repository}/resolve/${commit}/${encodeURIComponent(name)}`
      const { response, chunks } = await request(url, { 'accept-encoding': 'identity', ...(from === 0 ? {} : { range: `bytes=${from}-` }) })
      try {
        if (!response.ok) throw statusError(response, url, commit)
        return { start: response.status === 206 ? startOf(response, from) : 0, chunks }
      } catch (error) {
        await drop(chunks)
        throw error
      }
    },
  }
}

/** @returns the address without a slash at its end. @throws UserError for anything but http and https */
export function checkMirror(mirror: string): string {
  const url = URL.canParse(mirror) ? new URL(mirror) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new UserError({ code: 'usage', what: `"${mirror}" is no address of a hub`, place: { field: '--mirror' }, expected: 'an address such as https://huggingface.co' })
  }
  return mirror.replace(/\/+$/, '')
}

interface GuardedResponse {
  readonly response: Response
  readonly chunks: AsyncGenerator<Uint8Array>
}

/** One GET whose head and every piece must come in time. Redirects are followed, but never from https to http. */
async function guardedRequest(url: string, headers: Readonly<Record<string, string>>, stopped: AbortSignal, stallMilliseconds: number): Promise<GuardedResponse> {
  const stall = new AbortController()
  const signal = AbortSignal.any([stopped, stall.signal])
  let timer = setTimeout(() => stall.abort(), stallMilliseconds)
  const failure = (error: unknown): Error => {
    clearTimeout(timer)
    if (stopped.aborted) return new UserError({ code: 'stopped', what: 'the download was stopped; what has come is kept', remedy: 'The same command goes on from there.' })
    if (stall.signal.aborted) return new TransferError(`nothing came for ${stallMilliseconds / 1000} seconds`)
    return new TransferError(reasonOf(error), undefined, { cause: error })
  }
  let response: Response
  try {
    response = await fetch(url, { headers, signal })
  } catch (error) {
    throw failure(error)
  }
  if (new URL(url).protocol === 'https:' && URL.canParse(response.url) && new URL(response.url).protocol !== 'https:') {
    clearTimeout(timer)
    stall.abort()
    throw refused(response.url, 'the address leads from https to http')
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      const reader = response.body?.getReader()
      for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
        clearTimeout(timer)
        yield part.value
        timer = setTimeout(() => stall.abort(), stallMilliseconds)
      }
    } catch (error) {
      throw failure(error)
    } finally {
      clearTimeout(timer)
      // Whoever has read enough leaves the rest of the answer behind; the connection must not wait for it.
      stall.abort()
    }
  }
  return { response, chunks: chunks() }
}

async function drop(chunks: AsyncGenerator<Uint8Array>): Promise<void> {
  await chunks.next().then(() => chunks.return(undefined), () => undefined)
}

/** First byte of a partial answer. @throws UserError when it is not the one asked for */
function startOf(response: Response, from: number): number {
  const start = Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? NaN)
  if (start === from) return start
  throw refused(response.url, `asked for bytes from ${from} on, it sends others (${response.headers.get('content-range') ?? 'it does not say which'})`)
}

/** What `fetch` knows of a failure stands in its cause: "connect ECONNREFUSED ...", "other side closed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const text = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name) : String(cause)
  return `the connection failed (${text})`
}

function asDownloadError(error: unknown, url: string, revision: string | undefined): unknown {
  if (error instanceof UserError || error instanceof TransferError) return error
  if (error instanceof HubApiError) return statusError({ status: error.statusCode, headers: new Headers() }, url, revision)
  // The library read an answer that is not what the hub sends.
  return refused(url, `its answer is not that of a hub (${error instanceof Error ? error.message : String(error)})`)
}

function statusError({ status, headers }: Pick<Response, 'status' | 'headers'>, url: string, revision: string | undefined): Error {
  if (status === 401 || status === 403) {
    return new UserError({ code: 'bad-input', what: `the hub does not give this out without an account (${status})`, place: { file: url }, remedy: 'Check the spelling: unknown repositories are answered like this too. A gated one is downloaded with the hub\'s own tools; satchel models list then finds it in their cache.' })
  }
  if (status === 404) {
    return new UserError({ code: 'not-found', what: `the hub has no such repository${revision === undefined ? '' : `, or not at revision ${revision}`} (404)`, place: { file: url }, remedy: 'Check the spelling of repository and --revision.' })
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const seconds = Number(headers.get('retry-after') ?? NaN)
    return new TransferError(`the server answered ${status}`, Number.isFinite(seconds) ? seconds * 1000 : undefined)
  }
  return refused(url, `it answered ${status}`)
}

function refused(url: string, what: string): UserError {
  return new UserError({ code: 'network', what: `this server cannot be used: ${what}`, place: { file: url }, remedy: 'Check --mirror, or leave it out.' })
}

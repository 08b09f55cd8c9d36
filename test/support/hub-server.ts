// A hub of one repository on this machine, as well-behaved or as broken as a test wants it.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface HubRequest {
  readonly path: string
  /** Name of the file, for requests of one. */
  readonly file: string | undefined
  /** First byte asked for. */
  readonly from: number
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** How often this path was asked for before. */
  readonly before: number
}

export interface HubServer {
  readonly url: string
  readonly commit: string
  readonly files: Map<string, Buffer>
  /** Paths in the order they were asked for, with the first byte where it is not 0. */
  readonly asked: string[]
  /** Answers a request itself by returning true. */
  misbehave: (request: HubRequest) => boolean
  close(): Promise<void>
}

export const repository = 'lab/tiny'

/** Serves the files of a folder. Weights are listed by sha256 as large files are, others by git's hash. */
export async function startHub(folder: string): Promise<HubServer> {
  const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  const commit = 'f'.repeat(40)
  const counts = new Map<string, number>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://hub')
    const path = decodeURIComponent(url.pathname)
    const file = new RegExp(`^/${repository}/resolve/${commit}/(.+)$`).exec(path)?.[1]
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const before = counts.get(path) ?? 0
    counts.set(path, before + 1)
    hub.asked.push(from === 0 ? path : `${path} from ${from}`)
    if (hub.misbehave({ path, file, from, request, response, before })) return
    if (path === `/api/models/${repository}/revision/HEAD` || path === `/api/models/${repository}/revision/main`) return sendJson(response, { _id: '1', id: repository, sha: commit, lastModified: '2026-01-01T00:00:00.000Z' })
    if (path === `/api/models/${repository}/tree/${commit}`) return sendJson(response, [...hub.files].map(([name, bytes]) => listed(name, bytes)))
    const content = file === undefined ? undefined : hub.files.get(file)
    if (content === undefined) return sendJson(response, { error: 'Repository not found' }, 404)
    sendBytes(response, content, from)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hub: HubServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commit,
    files,
    asked: [],
    misbehave: () => false,
    close: () => new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    }),
  }
  return hub
}

/** The whole of a file, or what follows a byte of it. */
export function sendBytes(response: ServerResponse, content: Buffer, from: number): void {
  if (from === 0) response.writeHead(200, { 'content-length': content.length })
  else response.writeHead(206, { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}`, 'content-length': content.length - from })
  response.end(content.subarray(from))
}

/** Sends the next `bytes` of a file and then nothing more. Whoever wants the connection broken destroys the response once they have arrived. */
export function sendSome(response: ServerResponse, content: Buffer, from: number, bytes: number): void {
  response.writeHead(from === 0 ? 200 : 206, from === 0 ? { 'content-length': content.length } : { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}`, 'content-length': content.length - from })
  response.write(content.subarray(from, from + bytes))
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

export function listed(name: string, bytes: Buffer): object {
  const git = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { type: 'file', path: name, size: bytes.length, oid: git, ...(name.endsWith('.safetensors') ? { lfs: { oid: sha256, size: bytes.length, pointerSize: 130 } } : {}) }
}

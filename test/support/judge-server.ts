// A judge's server for tests: speaks as much of the OpenAI chat protocol as a judge needs, and misbehaves on demand. Loopback only.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A message as it arrived. */
export interface ReceivedMessage {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly text?: string; readonly image_url?: { readonly url: string } }[]
}

export interface ReceivedQuestion {
  readonly model: string
  readonly messages: readonly ReceivedMessage[]
  readonly max_tokens: number
  readonly temperature: number
}

/** What the server does with a question: a text to answer with, or a hand on the response. */
export type Reply = string | ((response: ServerResponse, request: IncomingMessage) => void)

export interface JudgeServer {
  /** Up to and including /v1. */
  readonly url: string
  /** Every question but the first ones that try the server out. */
  readonly questions: ReceivedQuestion[]
  readonly authorizations: (string | undefined)[]
  /** Most questions that were open at the same time. */
  readonly mostAtOnce: () => number
  close(): Promise<void>
}

export interface JudgeServerOptions {
  /** null is the list of a server that has none and says so as Ollama does. */
  readonly models?: readonly string[] | null
  /** Answers the n-th question (from 0). */
  readonly reply: (question: ReceivedQuestion, index: number) => Reply | Promise<Reply>
  /** Answers the question of one token that tries the server out. */
  readonly trial?: (question: ReceivedQuestion) => Reply
}

/** A chat answer as llama.cpp gives it. */
export function chatAnswer(content: unknown, finish = 'stop'): string {
  return JSON.stringify({ id: 'x', object: 'chat.completion', choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content } }] })
}

export async function startJudgeServer({ models = ['judge'], reply, trial }: JudgeServerOptions): Promise<JudgeServer> {
  const questions: ReceivedQuestion[] = []
  const authorizations: (string | undefined)[] = []
  let open = 0
  let most = 0
  const answer = (response: ServerResponse, request: IncomingMessage, said: Reply): void => {
    if (typeof said === 'function') return said(response, request)
    response.writeHead(200, { 'content-type': 'application/json' }).end(chatAnswer(said))
  }
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    authorizations.push(request.headers.authorization)
    if (request.url === '/v1/models') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data: models?.map((id) => ({ id, object: 'model' })) ?? null }))
      return
    }
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const question = JSON.parse(Buffer.concat(pieces).toString('utf8')) as ReceivedQuestion
    if (question.max_tokens === 1) return answer(response, request, trial?.(question) ?? 'H')
    most = Math.max(most, ++open)
    response.on('close', () => (open -= 1))
    answer(response, request, await reply(question, questions.push(question) - 1))
  }
  const server = createServer((request, response) => {
    hear(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    questions,
    authorizations,
    mostAtOnce: () => most,
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

// A judge behind a server: what is sent, what is understood, and every way a server can misbehave. The server is a stub on loopback.
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { judgeSchema, type ServerJudgeConfig } from '../../../../src-main/contract/judge-config.ts'
import { isLoopback } from '../../../../src-main/engine/rewards/judge/judge-client.ts'
import { createPatientJudge, type PatientJudge } from '../../../../src-main/engine/rewards/judge/patience.ts'
import { openServerJudge } from '../../../../src-main/engine/rewards/judge/server-judge.ts'
import { chatAnswer, startJudgeServer, type JudgeServer, type JudgeServerOptions, type Reply } from '../../../support/judge-server.ts'

const opened: { close?: () => Promise<void>; dispose?: () => void }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) {
    one.dispose?.()
    await one.close?.()
  }
})

async function serve(options: JudgeServerOptions): Promise<JudgeServer> {
  const server = await startJudgeServer(options)
  opened.push(server)
  return server
}

const configOf = (url: string, change: Partial<ServerJudgeConfig> = {}): ServerJudgeConfig => judgeSchema.parse({ kind: 'server', url, ...change }) as ServerJudgeConfig

async function judgeAt(url: string, change: Partial<ServerJudgeConfig> = {}, restSeconds = 0): Promise<PatientJudge> {
  const config = configOf(url, change)
  const judge = createPatientJudge(await openServerJudge(config, AbortSignal.timeout(30_000)), { ...config, restSeconds })
  opened.push(judge)
  return judge
}

const question = [{ role: 'system', text: 'You judge.' }, { role: 'user', text: 'How good?' }] as const

describe('a judge behind a server', () => {
  it('is asked for the likeliest answer, in full, without a key', async () => {
    const server = await serve({ reply: () => 'SCORE: 7' })
    const judge = await judgeAt(server.url)
    expect(await judge.ask(question)).toBe('SCORE: 7')
    expect(server.questions).toEqual([{ model: 'judge', messages: [{ role: 'system', content: 'You judge.' }, { role: 'user', content: 'How good?' }], temperature: 0, seed: 0, max_tokens: 512, stream: false }])
    expect(server.authorizations).toEqual([undefined, undefined, undefined])
  })

  it('is held to a form where the configuration asks for it, under an identity of its own', async () => {
    const server = await serve({ reply: () => '{"score": 7}' })
    const [text, schema] = [await judgeAt(server.url), await judgeAt(server.url, { answers: 'schema' })]
    await schema.ask(question, { type: 'object' })
    expect(server.questions[0]).toMatchObject({ response_format: { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema: { type: 'object' } } } })
    expect(schema.identity).not.toBe(text.identity)
  })

  it('is sent pictures as data', async () => {
    const server = await serve({ reply: () => 'SCORE: 7' })
    const judge = await judgeAt(server.url)
    await judge.ask([{ role: 'user', text: 'Look.', picture: Uint8Array.of(137, 80, 78, 71) }])
    expect(server.questions[0]!.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Look.' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==' } }] }])
  })

  it.each([
    ['parts', chatAnswer([{ type: 'text', text: 'SCORE: ' }, { type: 'text', text: '7' }])],
    ['thinking beside it', JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'SCORE: 7', reasoning_content: 'SCORE: 1' }, finish_reason: 'stop' }] })],
    ['more fields and choices', JSON.stringify({ object: 'x', usage: {}, choices: [{ index: 0, message: { content: 'SCORE: 7' } }, { message: { content: 'no' } }] })],
  ])('is understood when it answers with %s', async (_what, body) => {
    const server = await serve({ reply: () => (response) => response.end(body) })
    expect(await (await judgeAt(server.url)).ask(question)).toBe('SCORE: 7')
  })

  it('reads the key from the environment and sends it, and misses it by name', async () => {
    const server = await serve({ reply: () => 'SCORE: 7' })
    process.env['SATCHEL_TEST_KEY'] = 'secret'
    await (await judgeAt(server.url, { apiKeyVariable: 'SATCHEL_TEST_KEY' })).ask(question)
    delete process.env['SATCHEL_TEST_KEY']
    expect(new Set(server.authorizations)).toEqual(new Set(['Bearer secret']))
    await expect(judgeAt(server.url, { apiKeyVariable: 'SATCHEL_TEST_KEY' })).rejects.toThrow(/SATCHEL_TEST_KEY is not set/)
  })

  it('asks no more than so many questions at a time', async () => {
    const server = await serve({
      async reply() {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return 'SCORE: 7'
      },
    })
    const judge = await judgeAt(server.url, { concurrency: 2 })
    await Promise.all(Array.from({ length: 6 }, () => judge.ask(question)))
    expect(server.questions).toHaveLength(6)
    expect(server.mostAtOnce()).toBe(2)
  })
})

describe('choosing the model', () => {
  const open = async (models: string[], model: string): Promise<string> => {
    const server = await serve({ models, reply: () => 'SCORE: 7' })
    await (await judgeAt(server.url, { model })).ask(question)
    return server.questions[0]!.model
  }

  it('takes the only one, or the one that is named', async () => {
    expect(await open(['only'], '')).toBe('only')
    expect(await open(['a', 'b'], 'b')).toBe('b')
    expect(await open(['a:latest', 'b'], 'a')).toBe('a')
    expect(await open(['/models/llama.gguf'], 'llama')).toBe('llama')
  })

  it('names the models there are when none or an unknown one was chosen', async () => {
    await expect(open(['a', 'b'], '')).rejects.toThrow(/reward\.judge\.model.*2 models, and none was chosen.*one of a, b/)
    await expect(open(['a', 'b'], 'c')).rejects.toThrow(/no model named c.*one of a, b/)
    await expect(open([], '')).rejects.toThrow(/0 models.*load one in the server first/)
  })

  it('understands the list of an Ollama that has no model yet', async () => {
    const server = await serve({ models: null, reply: () => '' })
    await expect(judgeAt(server.url)).rejects.toThrow(/0 models.*load one in the server first/)
  })
})

/** A question on which the server misbehaves; its reason is told, and costs no more than the question's time. */
async function failureOf(reply: Reply, change: Partial<ServerJudgeConfig> = {}): Promise<{ message: string; questions: number }> {
  const server = await serve({ reply: () => reply })
  const judge = await judgeAt(server.url, { timeoutSeconds: 2, retries: 0, ...change })
  const message = await judge.ask(question).then((answer) => `answered ${answer}`, (error: Error) => `${error.name}: ${error.message}`)
  return { message, questions: server.questions.length }
}

describe('a server that misbehaves', () => {
  it.each<[string, Reply, RegExp]>([
    ['answers no JSON', (response) => response.end('<html>SCORE: 10</html>'), /no JSON: <html>/],
    ['answers something else', (response) => response.end('{"choices": []}'), /not that of a chat/],
    ['answers a number', (response) => response.end('7'), /not that of a chat/],
    ['answers null', (response) => response.end('null'), /not that of a chat/],
    ['answers nothing', (response) => response.end(), /no JSON/],
    ['answers an empty text', '', /the answer is empty/],
    ['stops while thinking', (response) => response.end(chatAnswer(null, 'length')), /cut off before it began: raise reward\.judge\.maximumAnswerTokens/],
    ['reports an error as if all were well', (response) => response.end('{"error": "Unexpected endpoint"}'), /the server answered: Unexpected endpoint/],
    ['refuses the question', (response) => response.writeHead(400).end('{"error": {"message": "context too long"}}'), /400: context too long/],
    ['is out of order', (response) => response.writeHead(500).end('boom'), /500: boom/],
    ['sends elsewhere', (response) => response.writeHead(302, { location: 'http://192.0.2.1/v1/chat/completions' }).end(), /sends elsewhere \(302 to http:\/\/192\.0\.2\.1/],
    ['closes the connection at once', (response) => response.destroy(), /the connection failed/],
    ['closes it in the middle', (response) => void response.writeHead(200, { 'content-length': '1000' }).write('{"choices"', () => response.destroy()), /the connection failed/],
    ['answers as a stream', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"choices": []}\n\ndata: [DONE]\n\n'), /no JSON: data:/],
  ])('that %s', async (_what, reply, message) => {
    expect((await failureOf(reply)).message).toMatch(message)
  })

  it('that never answers costs one time-out', async () => {
    expect((await failureOf(() => undefined, { timeoutSeconds: 0.3, retries: 3 })).message).toBe('JudgeFailure: no answer within 0.3 s')
  })

  it('that sends rubbish without an end costs one time-out', async () => {
    const trickle: Reply = (response) => {
      const clock = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(clock))
    }
    expect((await failureOf(trickle, { timeoutSeconds: 0.5 })).message).toBe('JudgeFailure: no answer within 0.5 s')
  })

  it('that sends a gigabyte is cut off after a few megabytes', async () => {
    let sent = 0
    const piece = Buffer.alloc(1 << 20, 32)
    const flood: Reply = (response) => {
      const more = (): void => {
        while (sent < 1_024 && !response.destroyed && response.write(piece)) sent++
      }
      response.on('drain', more)
      more()
    }
    expect((await failureOf(flood, { timeoutSeconds: 30 })).message).toMatch(/longer than 4194304 bytes/)
    expect(sent).toBeLessThan(64)
  })
})

describe('asking again', () => {
  it('helps when the server was busy or the connection broke, and nothing else', async () => {
    const replies: Reply[] = [(response) => response.destroy(), (response) => response.writeHead(503).end(), 'SCORE: 4']
    const server = await serve({ reply: (_question, index) => replies[index]! })
    expect(await (await judgeAt(server.url, { retries: 2 })).ask(question)).toBe('SCORE: 4')
    expect(await failureOf((response) => response.writeHead(400).end('no'), { retries: 5 })).toMatchObject({ questions: 1 })
    expect(await failureOf((response) => response.writeHead(503).end('busy'), { retries: 1 })).toMatchObject({ questions: 2, message: expect.stringMatching(/503: busy/) as string })
  })

  it('waits as long as the server asks, but not beyond the time of the question', async () => {
    const failure = await failureOf((response) => response.writeHead(429, { 'retry-after': '60' }).end('slow down'), { retries: 5, timeoutSeconds: 0.3 })
    expect(failure).toEqual({ message: 'JudgeFailure: no answer within 0.3 s', questions: 1 })
  })

  it('is left off for a while after three failures in a row, and taken up again', async () => {
    let healthy = false
    const server = await serve({ reply: () => (healthy ? 'SCORE: 4' : (response) => response.destroy()) })
    const judge = await judgeAt(server.url, { retries: 0, concurrency: 1 }, 0.4)
    const ask = (): Promise<string> => judge.ask(question).catch((error: Error) => error.message)
    const failures = await Promise.all([ask(), ask(), ask(), ask(), ask()])
    expect(failures.filter((message) => message.includes('left alone'))).toHaveLength(2)
    expect(server.questions).toHaveLength(3)
    healthy = true
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await ask()).toBe('SCORE: 4')
  })

  it('ends with the run', async () => {
    const server = await serve({ reply: () => () => undefined })
    const judge = await judgeAt(server.url)
    const asked = judge.ask(question)
    setTimeout(() => judge.dispose(), 100)
    await expect(asked).rejects.toThrow('the run has ended')
    await expect(judge.ask(question)).rejects.toThrow('the run has ended')
  })
})

describe('opening', () => {
  it('says that a server was too slow', async () => {
    const server = await serve({ trial: () => () => undefined, reply: () => '' })
    await expect(openServerJudge(configOf(server.url), AbortSignal.timeout(200))).rejects.toThrow(/cannot be used: it did not answer in time\./)
  })

  it('says what to do when nobody answers', async () => {
    const free = createServer()
    const port = await new Promise<number>((resolve) => free.listen(0, '127.0.0.1', () => resolve((free.address() as { port: number }).port)))
    await new Promise((resolve) => free.close(resolve))
    await expect(judgeAt(`http://127.0.0.1:${port}/v1`)).rejects.toThrow(/reward\.judge\.url: the judge's server at .* cannot be used: the connection failed.*Start it \(llama-server/)
  })

  it('refuses a server that is none, or whose model fails on the first question', async () => {
    const web = await serve({ models: ['x'], reply: () => '', trial: () => (response) => response.end('<html>') })
    await expect(judgeAt(web.url)).rejects.toThrow(/cannot be used: the answer is no JSON/)
    const broken = await serve({ models: ['x'], reply: () => '', trial: () => (response) => response.writeHead(500).end('{"error": {"message": "out of memory"}}') })
    await expect(judgeAt(broken.url)).rejects.toThrow(/500: out of memory/)
  })

  it('tries with a picture whether the model sees', async () => {
    const blind = await serve({ models: ['blind'], reply: () => '', trial: ({ messages }) => (typeof messages[0]!.content === 'string' ? 'H' : (response) => response.writeHead(500).end('{"error": {"message": "image input is not supported"}}')) })
    await expect(openServerJudge(configOf(blind.url), AbortSignal.timeout(30_000), Uint8Array.of(1))).rejects.toThrow(/takes no pictures with the model blind: .*image input is not supported.*--mmproj/)
    await expect(judgeAt(blind.url)).resolves.toBeDefined()
  })

  it.each(['http://192.0.2.7:8080/v1', 'https://judge.example/v1', 'http://localhost.example/v1', 'http://127.0.0.1.example/v1', 'http://0.0.0.0/v1', 'http://[::2]/v1'])('refuses %s unless the configuration names other machines', async (url) => {
    await expect(judgeAt(url)).rejects.toThrow(/lies outside this machine.*reward\.judge\.allowOtherMachines/)
  })

  it('knows the addresses of this machine', () => {
    for (const url of ['http://127.0.0.1/v1', 'http://127.8.4.2:1/v1', 'http://localhost:11434/v1', 'http://[::1]:80/v1', 'http://2130706433/v1']) expect(isLoopback(url), url).toBe(true)
    for (const url of ['http://user@192.0.2.1/', 'http://127.0.0.1@192.0.2.1/', 'http://128.0.0.1/']) expect(isLoopback(url), url).toBe(false)
  })
})

// A judge's server tried from the settings: what is asked of it, and what is said where nobody answers.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { settingsSchema } from '../../src-main/contract/calls/settings.ts'
import { judgeTools } from '../../src-main/engine-host/tools/judge-tools.ts'

const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  if (request.url === '/v1/silent/models') return
  response.setHeader('content-type', 'application/json')
  if (request.url === '/v1/models') response.end(JSON.stringify({ data: [{ id: 'grader' }] }))
  else request.resume().on('end', () => response.end(JSON.stringify({ choices: [{ message: { content: 'Hi' }, finish_reason: 'length' }] })))
})
let asked: string[] = []
const listening = (): Promise<string> => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)))
afterEach(() => {
  asked = []
  server.closeAllConnections()
  return new Promise<void>((resolve) => server.close(() => resolve()))
})

const { judge } = settingsSchema.parse({})
const tryServer = (change: Partial<typeof judge>, signal = new AbortController().signal) => judgeTools['judge.try']({ server: { ...judge, ...change }, task: 'judge-1' }, { signal, tell: () => undefined })

describe("a judge's server", () => {
  it('that answers is told with the model that did', async () => {
    const url = await listening()
    expect(await tryServer({ url })).toMatchObject({ model: 'grader', seconds: expect.any(Number) as number })
    expect(asked).toEqual(['/v1/models', '/v1/chat/completions'])
  })

  it('that is not there, lies elsewhere or wants a key nobody set is refused in words', async () => {
    const url = await listening()
    await expect(tryServer({ url: `${url}/nothing` })).rejects.toThrow(/reward\.judge\.url: the judge's server at .* cannot be used/)
    await expect(tryServer({ url: 'https://example.org/v1' })).rejects.toThrow(/lies outside this machine/)
    await expect(tryServer({ url, apiKeyVariable: 'SATCHEL_NO_SUCH_KEY' })).rejects.toThrow(/SATCHEL_NO_SUCH_KEY is not set/)
  })

  it('that says nothing can be left', async () => {
    const url = await listening()
    const control = new AbortController()
    setTimeout(() => control.abort(), 50)
    await expect(tryServer({ url: `${url}/silent` }, control.signal)).rejects.toThrow('stopped before it was done')
  })
})

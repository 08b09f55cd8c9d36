import { describe, expect, it } from 'vitest'
import { UserError } from '../../src-main/contract/errors.ts'
import { answerCall } from '../../src-main/app/router.ts'
import type { CallHandlers } from '../../src-main/contract/calls.ts'

const summary = { name: 'demo-1', directory: '/runs/demo-1', state: 'running' as const, step: 1, totalSteps: 2 }
const handlers = {
  'runs.list': async () => [summary],
  'runs.open': async ({ directory }: { directory: string }) => {
    throw new UserError({ code: 'not-found', what: 'gone', place: { file: directory } })
  },
  'runs.startDemo': async ({ seed }: { seed: number }) => ({ ...summary, step: seed }),
  'runs.pause': async () => {
    throw new TypeError('a bug')
  },
  'runs.continue': async () => ({}),
  'runs.stop': async () => ({}),
  'runs.resume': async () => ({ ...summary, state: 'flying' }),
} as unknown as CallHandlers

describe('answerCall', () => {
  it('answers a known call', async () => {
    expect(await answerCall(handlers, 'runs.startDemo', { seed: 7 })).toEqual({ ok: true, value: { ...summary, step: 7 } })
  })

  it.each([['runs.erase'], ['toString'], ['__proto__'], [undefined], [{ name: 'runs.list' }]])('refuses a call it does not know: %j', async (name) => {
    expect(await answerCall(handlers, name, {})).toMatchObject({ ok: false, error: { code: 'usage' } })
  })

  it.each([[{ seed: -1 }], [{ seed: '1' }], [{ seed: 1, extra: true }], [null], [undefined]])('refuses a malformed request: %j', async (request) => {
    expect(await answerCall(handlers, 'runs.startDemo', request)).toMatchObject({ ok: false, error: { code: 'usage', what: 'The request of runs.startDemo is malformed.' } })
  })

  it('puts expected failures and bugs into an envelope', async () => {
    expect(await answerCall(handlers, 'runs.open', { directory: '/x' })).toEqual({ ok: false, error: { code: 'not-found', what: 'gone', place: { file: '/x' }, expected: '', remedy: '' } })
    expect(await answerCall(handlers, 'runs.pause', { directory: '/x' })).toMatchObject({ ok: false, error: { code: 'engine', what: 'a bug' } })
  })

  it('does not hand the page an answer outside the contract', async () => {
    expect(await answerCall(handlers, 'runs.resume', { directory: '/x' })).toMatchObject({ ok: false })
  })
})

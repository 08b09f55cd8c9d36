import { describe, expect, it } from 'vitest'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import type { Answers, BridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import { createRunController } from '../../../src-renderer/state/run-controller.ts'
import type { AppView, RunController } from '../../../src-renderer/state/run-controller.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import { noSeries, pointsOf } from '../../../src-renderer/state/run-series.ts'
import { curvesOf, directory, metricsEvent, snapshotOf, stateEvent } from '../samples.ts'

const summary = snapshotOf('running').summary
const other = { ...summary, name: 'demo-0', directory: '/runs/demo-0', state: 'done' as const, step: 10 }

function open(answers: Answers): { bridge: BridgeDouble; controller: RunController; views: AppView[]; last: () => AppView } {
  const bridge = createBridgeDouble(answers)
  const views: AppView[] = []
  const controller = createRunController(bridge, (view) => views.push(view))
  return { bridge, controller, views, last: () => views.at(-1) as AppView }
}

describe('loading', () => {
  it('opens the run that is in progress, wherever it stands in the list', async () => {
    const { controller, last } = open({ 'runs.list': () => [other, summary], 'runs.open': (request) => snapshotOf('running', { summary: request.directory === directory ? summary : other }) })
    await controller.load()
    expect(last().load).toBe('ready')
    expect(last().selected?.summary.directory).toBe(directory)
  })

  it('is ready and empty when there is no run', async () => {
    const { controller, last } = open({ 'runs.list': () => [] })
    await controller.load()
    expect(last()).toMatchObject({ load: 'ready', selected: null, runs: [] })
  })

  it('says why when the list cannot be had, and can be tried again', async () => {
    let broken = true
    const { controller, last } = open({
      'runs.list': () => {
        if (broken) throw new UserError({ code: 'storage', what: 'no such disk' })
        return []
      },
    })
    await controller.load()
    expect(last()).toMatchObject({ load: 'failed', problem: { what: 'no such disk' } })
    broken = false
    await controller.load()
    expect(last().load).toBe('ready')
  })
})

describe('listening', () => {
  it('misses no event that arrives while the snapshot is on its way', async () => {
    let deliver: (() => void) | undefined
    const { bridge, controller, last } = open({
      'runs.open': () => new Promise((resolve) => (deliver = () => resolve(snapshotOf('running', curvesOf([{ step: 1, values: { reward: 1 } }]))))),
    })
    const selecting = controller.select(directory)
    bridge.announce('run.event', { directory, event: metricsEvent(2, { reward: 2 }) })
    deliver?.()
    await selecting
    expect(pointsOf(last().selected?.series ?? noSeries, 'reward').map(({ x }) => x)).toEqual([1, 2])
  })

  it('keeps the run that was chosen last when two snapshots cross', async () => {
    const waiting = new Map<string, () => void>()
    const { controller, last } = open({
      'runs.open': (request) => new Promise((resolve) => waiting.set(request.directory, () => resolve(snapshotOf('done', { summary: { ...summary, directory: request.directory } })))),
    })
    const first = controller.select('/runs/a')
    const second = controller.select('/runs/b')
    waiting.get('/runs/b')?.()
    waiting.get('/runs/a')?.()
    await Promise.all([first, second])
    expect(last().selected?.summary.directory).toBe('/runs/b')
  })

  it('follows the state of runs it does not show', async () => {
    const { bridge, controller, last } = open({ 'runs.list': () => [summary, other], 'runs.open': () => snapshotOf('running') })
    await controller.load()
    bridge.announce('run.event', { directory: other.directory, event: { ...stateEvent('failed', 4), runDirectory: other.directory } })
    expect(last().runs.find((run) => run.directory === other.directory)).toMatchObject({ state: 'failed', step: 4 })
    expect(last().selected?.summary.state).toBe('running')
  })

  it('stops listening when it is disposed', () => {
    const { bridge, controller } = open({})
    expect(bridge.subscriptions()).toBeGreaterThan(0)
    controller.dispose()
    expect(bridge.subscriptions()).toBe(0)
  })
})

describe('acting', () => {
  it('shows a run as soon as it is started', async () => {
    const { bridge, controller, views, last } = open({ 'runs.startDemo': () => summary, 'runs.open': () => snapshotOf('running') })
    await controller.startDemo(7)
    expect(bridge.made).toEqual([{ name: 'runs.startDemo', request: { seed: 7 } }, { name: 'runs.open', request: { directory } }])
    expect(views[0]?.pending).toBe('start')
    expect(last()).toMatchObject({ pending: null, problem: null, runs: [summary] })
  })

  it('shows why a call failed, until the next one', async () => {
    let full = true
    const { controller, last } = open({
      'runs.startDemo': () => {
        if (full) throw new UserError({ code: 'storage', what: 'the disk is full' })
        return summary
      },
      'runs.open': () => snapshotOf('running'),
    })
    await controller.startDemo(1)
    expect(last()).toMatchObject({ pending: null, selected: null, problem: { code: 'storage', what: 'the disk is full' } })
    full = false
    await controller.startDemo(1)
    expect(last().problem).toBeNull()
  })

  it('asks for the run that is shown', async () => {
    const { bridge, controller } = open({ 'runs.open': () => snapshotOf('running'), 'runs.pause': () => ({}), 'runs.continue': () => ({}), 'runs.stop': () => ({}), 'runs.resume': () => summary })
    await controller.select(directory)
    await controller.pause()
    await controller.continueRun()
    await controller.stop()
    await controller.resume()
    expect(bridge.made.slice(1).map((call) => call.name)).toEqual(['runs.pause', 'runs.continue', 'runs.stop', 'runs.resume', 'runs.open'])
    expect(bridge.made.every((call) => (call.request as { directory: string }).directory === directory)).toBe(true)
  })

  it('asks for nothing when no run is shown', async () => {
    const { bridge, controller } = open({})
    await controller.stop()
    expect(bridge.made).toEqual([])
  })
})

describe('the queue', () => {
  const queued = { id: '1', name: 'second', what: 'start', detail: '' } as const

  it('shows a run that could start, and tells of one that waits', async () => {
    let free = true
    const { bridge, controller, last } = open({ 'runs.start': () => (free ? { started: summary } : { waiting: queued }), 'runs.open': () => snapshotOf('running') })
    expect(await controller.start({ name: 'first' })).toBe('started')
    expect(last().selected?.summary.directory).toBe(directory)
    free = false
    expect(await controller.start({ name: 'second' })).toBe('waiting')
    bridge.announce('runs.queued', { queue: [queued], started: null, problem: null })
    expect(last().queue).toEqual([queued])
  })

  it('answers with nothing and says why when a run is refused', async () => {
    const { controller, last } = open({
      'runs.start': () => {
        throw new UserError({ code: 'bad-input', what: 'no such model' })
      },
    })
    expect(await controller.start({})).toBeUndefined()
    expect(last()).toMatchObject({ pending: null, problem: { what: 'no such model' } })
  })

  it('shows the run whose turn has come when nothing else is at work on the screen', async () => {
    const { bridge, controller, last } = open({ 'runs.list': () => [other], 'runs.open': (request) => snapshotOf('running', { summary: request.directory === directory ? summary : other }) })
    await controller.load()
    bridge.announce('runs.queued', { queue: [], started: summary, problem: null })
    await expect.poll(() => last().selected?.summary.directory).toBe(directory)
    expect(last().runs.map((run) => run.name)).toContain('demo-0')
  })

  it('takes over runs that come and go in the folder', async () => {
    let runs = [summary]
    const { bridge, controller, last } = open({ 'runs.list': () => runs, 'runs.open': () => snapshotOf('running') })
    await controller.load()
    runs = [other, summary]
    bridge.announce('runs.changed', {})
    await expect.poll(() => last().runs.map((run) => run.name)).toEqual(['demo-0', 'demo-1'])
  })
})

describe('a long run', () => {
  it('asks for its curves anew once many rows have come, and loses none that come meanwhile', async () => {
    let deliver: (() => void) | undefined
    const { bridge, controller, last } = open({
      'runs.open': () => snapshotOf('running'),
      'runs.metrics': () => new Promise((resolve) => (deliver = () => resolve([{ name: 'reward', steps: [1, 1501], values: [0, 1] }]))),
    })
    await controller.select(directory)
    for (let step = 1; step <= 1501; step += 1) bridge.announce('run.event', { directory, event: metricsEvent(step, { reward: 0 }) })
    await expect.poll(() => deliver).toBeDefined()
    bridge.announce('run.event', { directory, event: metricsEvent(1502, { reward: 7 }) })
    deliver?.()
    await expect.poll(() => pointsOf(last().selected?.series ?? noSeries, 'reward')).toEqual([{ x: 1, y: 0 }, { x: 1501, y: 1 }, { x: 1502, y: 7 }])
    expect(bridge.made.filter(({ name }) => name === 'runs.metrics')).toHaveLength(1)
  })
})

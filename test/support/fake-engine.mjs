// A scripted engine for tests of the app: speaks the engine protocol, writes a run folder, trains nothing.
// SATCHEL_FAKE_ENGINE chooses how it behaves:
//   normal    works through its steps
//   crash     dies in step 3 with an error on stderr and code 7
//   hang      stops answering in step 3 (a blocked event loop)
//   garbage   says things that are no engine events, then works
//   deaf      never answers its start
//   refuse    reports a bad-input error instead of starting
//   unready   names its folder, then fails before it is made
//   lingering reports `done` and then does not leave
// SATCHEL_FAKE_STEP_MILLISECONDS (default 40) and SATCHEL_FAKE_STEPS (default 12) set its pace.
import { existsSync, mkdirSync, readdirSync, readFileSync, appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const mode = process.env.SATCHEL_FAKE_ENGINE ?? 'normal'
const stepMilliseconds = Number(process.env.SATCHEL_FAKE_STEP_MILLISECONDS ?? 40)
let totalSteps = Number(process.env.SATCHEL_FAKE_STEPS ?? 12)
const evaluateEvery = 4

const titles = ['Apples', 'Lantern', 'Harbour', 'Quartz', 'Meadow', 'Ember', 'Tides', 'Violet']
const mistakes = [
  { find: '</h1>', replace: '</h2>', source: 'parse', message: "Expected corresponding JSX closing tag for 'h1'." },
  { find: 'setCount(count', replace: 'setCuont(count', source: 'types', message: "Cannot find name 'setCuont'. Did you mean 'setCount'?" },
  { find: 'onClick=', replace: 'onclick=', source: 'types', message: "Property 'onclick' does not exist on this element. Did you mean 'onClick'?" },
  { find: "import { useState } from 'react';\n", replace: '', source: 'types', message: "Cannot find name 'useState'." },
]

/** A number in [0, 1) that depends on its keys alone. */
function noise(...keys) {
  let hash = 2166136261
  for (const key of keys) hash = Math.imul(hash ^ (key + 0x9e37), 16777619) >>> 0
  hash ^= hash >>> 15
  hash = Math.imul(hash, 2246822519) >>> 0
  return ((hash ^ (hash >>> 13)) >>> 0) / 4294967296
}

function program(title) {
  return [
    "import { useState } from 'react';",
    '',
    'export default function App() {',
    '  const [count, setCount] = useState(0);',
    '  return (',
    '    <main>',
    `      <h1>${title}</h1>`,
    '      <p>{count}</p>',
    '      <button onClick={() => setCount(count + 1)}>Add</button>',
    '    </main>',
    '  );',
    '}',
  ].join('\n')
}

function lineOf(text, offset) {
  return text.slice(0, offset).split('\n').length - 1
}

/** One rollout: the better the step, the fewer mistakes. Token rewards fall off by line around a mistake, as the real map does. */
function makeRollout(seed, step, group, index) {
  const title = titles[(step + group) % titles.length]
  const prompt = `Make a counter titled "${title}" with a button named "Add".`
  let text = program(title)
  const spans = []
  const broken = noise(seed, step, group, index) > step / totalSteps
  if (broken) {
    const mistake = mistakes[Math.floor(noise(seed, step, group, index, 1) * mistakes.length)]
    const start = text.indexOf(mistake.find)
    text = text.replace(mistake.find, mistake.replace)
    spans.push({ start, end: start + Math.max(1, mistake.replace.trim().length), value: -1, source: mistake.source, message: mistake.message })
  }
  const starts = []
  const ends = []
  for (const match of text.matchAll(/\n+ *|[A-Za-z]+|\d+|\s+|[^\sA-Za-z\d]{1,2}/g)) {
    starts.push(match.index)
    ends.push(match.index + match[0].length)
  }
  starts.push(text.length)
  ends.push(text.length)
  const global = broken ? -1 : 1
  const tokenRewards = starts.map((start) => {
    const local = spans.map((span) => {
      const distance = Math.abs(lineOf(text, Math.min(start, text.length - 1)) - lineOf(text, span.start))
      return span.value * Math.max(0, 1 - distance / 4)
    })
    return global + 0.5 * local.reduce((sum, value) => sum + value, 0)
  })
  const stages = { parse: !broken || spans[0].source !== 'parse', types: !broken, bundle: !broken, render: !broken }
  return {
    step, promptId: `demo-${group}`, prompt, index, text,
    ids: starts.map((_, token) => Math.floor(noise(seed, token, starts[token]) * 2048)),
    starts, ends,
    logprobs: starts.map((_, token) => -3 * noise(seed, step, group, index, token) ** 3),
    entropies: starts.map((_, token) => 1.8 * noise(seed, step, group, index, token, 2) ** 2),
    tokenRewards, advantages: [], reward: tokenRewards.reduce((sum, value) => sum + value, 0) / tokenRewards.length, outcome: global,
    finish: 'stop', stages, requirementScore: broken ? 0 : 1, auditPassed: !broken,
    sources: [{ source: 'compile', global }, { source: 'requirements', global: broken ? 0 : 0.5 }], spans,
  }
}

/** Advantages of a group as the paper defines them: the token's reward, centred and scaled by the group. */
function withAdvantages(rollouts) {
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const mu = mean(rollouts.map((rollout) => mean(rollout.tokenRewards)))
  const sigma = Math.sqrt(mean(rollouts.map((rollout) => mean(rollout.tokenRewards.map((reward) => (reward - mu) ** 2)))))
  return rollouts.map((rollout) => ({ ...rollout, advantages: rollout.tokenRewards.map((reward) => (reward - mu) / (sigma + 1e-6)) }))
}

function rate(value, n) {
  return { rate: value, low: Math.max(0, value - 0.08), high: Math.min(1, value + 0.08), n }
}

function makeEvaluation(step, rollouts) {
  const share = step / totalSteps
  return {
    step, prompts: 48, samples: 2, temperature: 1,
    stages: { parse: rate(Math.min(1, 0.25 + share * 0.75), 96), types: rate(0.1 + share * 0.85, 96), bundle: rate(0.1 + share * 0.84, 96), render: rate(0.08 + share * 0.84, 96) },
    compile: rate(0.08 + share * 0.84, 96), requirementScore: share * 0.9, hackRate: rate(0.01, 96), passAtK: { 1: share, 2: Math.min(1, share * 1.2) }, reward: -1 + share * 2, meanLength: 70 + share * 20,
    samplesShown: rollouts.slice(0, 2).map((rollout) => ({ promptId: rollout.promptId, prompt: rollout.prompt, text: rollout.text, compiles: rollout.stages.render, requirementScore: rollout.requirementScore })),
  }
}

let paused = false
let stopping = false
let directory = ''
let seed = 1
let step = 0
let config = {}
let checkpointAsked = false
let leaving = false

function say(event) {
  if (process.connected) process.send(event)
}

function sayState(state, message) {
  // The step that was cut short must not take back the last word.
  if (leaving) return
  const status = { state, step, totalSteps, pid: process.pid, host: hostname(), time: new Date().toISOString(), message }
  // Whole or not at all: others read it meanwhile.
  writeFileSync(join(directory, '.status.tmp'), JSON.stringify(status))
  renameSync(join(directory, '.status.tmp'), join(directory, 'status.json'))
  const left = state === 'running' ? ((totalSteps - step) * stepMilliseconds) / 1000 : null
  say({ type: 'state', state, step, totalSteps, secondsLeft: left, runDirectory: directory, message })
}

function leave(code) {
  leaving = true
  // The last message must have left before the process does.
  setTimeout(() => process.exit(code), 30)
}

function openFolder(start) {
  if ('resume' in start) {
    directory = start.runDirectory
    config = JSON.parse(readFileSync(join(directory, 'run.json'), 'utf8'))
    seed = config.seed
    totalSteps = config.training.steps
    step = readdirSync(join(directory, 'checkpoints')).map(Number).sort((a, b) => a - b).at(-1) ?? 0
    cutAfterStep()
    return
  }
  config = start.config ?? { seed: start.demo.seed }
  seed = config.seed ?? 1
  totalSteps = config.training?.steps ?? totalSteps
  const runs = start.runsDirectory ?? start.demo.runsDirectory
  const name = config.name ?? 'demo'
  let number = 1
  while (existsSync(join(runs, `${name}-${number}`))) number += 1
  directory = join(runs, `${name}-${number}`)
}

function makeFolder() {
  for (const folder of ['rollouts', 'eval', 'checkpoints']) mkdirSync(join(directory, folder), { recursive: true })
  writeFileSync(join(directory, 'run.json'), JSON.stringify({ ...config, version: 1, name: basename(directory), seed, training: { ...config.training, steps: totalSteps }, created: new Date().toISOString() }))
}

/** What the killed engine did after its checkpoint is done again. */
function cutAfterStep() {
  const file = join(directory, 'metrics.jsonl')
  if (existsSync(file)) writeFileSync(file, readFileSync(file, 'utf8').split('\n').filter((line) => line !== '' && JSON.parse(line).step <= step).map((line) => `${line}\n`).join(''))
  for (const folder of ['rollouts', 'eval']) {
    for (const name of readdirSync(join(directory, folder))) if (Number.parseInt(name, 10) > step) rmSync(join(directory, folder, name))
  }
}

function stepFile(folder, extension) {
  return join(directory, folder, `${String(step).padStart(6, '0')}${extension}`)
}

function evaluate(rollouts) {
  const result = makeEvaluation(step, rollouts)
  writeFileSync(stepFile('eval', '.json'), JSON.stringify(result))
  say({ type: 'evaluation', result })
}

/** Marks a change of rates or weights as the engine does; what it trains does not depend on them. */
function change(settings) {
  const valueAt = (field) => field.split('.').reduce((block, name) => block?.[name], config) ?? 0
  const changes = settings.map(({ field, value }) => ({ step: step + 1, field, from: valueAt(field), to: value, time: new Date().toISOString() }))
  appendFileSync(join(directory, 'changes.jsonl'), changes.map((row) => `${JSON.stringify(row)}\n`).join(''))
  say({ type: 'changed', changes })
}

function checkpoint() {
  mkdirSync(stepFile('checkpoints', ''), { recursive: true })
  say({ type: 'checkpoint', step, path: stepFile('checkpoints', '') })
}

/** The rest of what a real step reports, without any meaning. */
function moreMetrics() {
  const wave = (key, low, high) => low + (high - low) * noise(seed, step, key)
  return {
    reward_std_between: wave(1, 0.2, 0.4), 'rewards/compiler/mean': wave(2, -0.9, -0.2), 'rewards/lint/mean': wave(3, -0.4, -0.1), 'rewards/requirements/mean': wave(4, 0.1, 0.6), learning_rate: 0.002 * (1 - step / totalSteps),
    ratio: wave(5, 0.99, 1.01), 'clip_ratio/region_mean': wave(6, 0, 0.05), 'clip_ratio/low_mean': wave(7, 0, 0.03), 'clip_ratio/high_mean': wave(8, 0, 0.03), 'completions/max_length': 90, 'audit/hack_rate': 0,
    'time/generate': wave(9, 0.5, 0.7), 'time/score_wait': wave(10, 0.2, 0.4), 'time/update': wave(11, 1.8, 2.4), 'tokens_per_second/generate': wave(12, 5000, 5800), 'memory/resident_gib': 0.83, 'memory/peak_gib': 0.86, 'memory/planned_gib': 0.95,
  }
}

async function oneStep() {
  const next = step + 1
  const groups = [0, 1, 2, 3]
  for (const [done, phase] of [[0, 'generate'], [32, 'generate'], [16, 'score'], [32, 'score']]) {
    say({ type: 'progress', phase, step: next, done, total: 32 })
    await sleep(stepMilliseconds / 4)
  }
  const rollouts = groups.flatMap((group) => withAdvantages([0, 1, 2, 3].map((index) => makeRollout(seed, next, group, index))))
  step = next
  const length = rollouts.reduce((sum, rollout) => sum + rollout.ids.length, 0) / rollouts.length
  const reward = rollouts.reduce((sum, rollout) => sum + rollout.reward, 0) / rollouts.length
  const row = { step, values: { reward, reward_std: 0.8, 'completions/mean_length': length, entropy: 0.4 - 0.2 * (step / totalSteps), grad_norm: 0.3, step_time: stepMilliseconds / 1000, frac_reward_zero_std: 0.2, 'completions/clipped_ratio': 0, kl: null, ...moreMetrics() } }
  appendFileSync(join(directory, 'metrics.jsonl'), `${JSON.stringify(row)}\n`)
  writeFileSync(stepFile('rollouts', '.jsonl'), rollouts.map((rollout) => `${JSON.stringify(rollout)}\n`).join(''))
  say({ type: 'metrics', row })
  say({ type: 'rollouts', rollouts })
  if (step % evaluateEvery === 0 || step === totalSteps) {
    evaluate(rollouts)
    checkpoint()
  } else if (checkpointAsked) checkpoint()
  checkpointAsked = false
}

function sayNonsense() {
  for (const nonsense of [42, 'hello', { type: 'applause' }, { type: 'metrics', row: { step: 'one' } }]) say(nonsense)
}

function misbehave() {
  if (mode === 'garbage') sayNonsense()
  if (step !== 2) return
  if (mode === 'crash') {
    process.stderr.write('Error: the tensor arena is empty\n    at allocate (arena.js:1:1)\n')
    process.exit(7)
  }
  if (mode === 'hang') for (;;);
}

async function train(start) {
  openFolder(start)
  // As the real engine: the folder is named before it is made, and how many steps there are is not known yet.
  say({ type: 'state', state: 'starting', step: 0, totalSteps: 0, secondsLeft: null, runDirectory: directory, message: 'Starting.' })
  if (mode === 'unready') {
    say({ type: 'error', error: { code: 'not-found', what: 'the built-in model is not there', place: { file: 'model.safetensors' }, expected: '', remedy: 'Install Satchel again.' } })
    say({ type: 'state', state: 'failed', step: 0, totalSteps: 0, secondsLeft: null, runDirectory: directory, message: 'the built-in model is not there' })
    return leave(3)
  }
  await sleep(stepMilliseconds)
  if (!('resume' in start)) makeFolder()
  sayState('running', 'Training.')
  if (step === 0) evaluate([makeRollout(seed, 0, 0, 0), makeRollout(seed, 0, 0, 1)])
  while (step < totalSteps) {
    if (stopping) {
      checkpoint()
      sayState('stopped', `Stopped after step ${step}.`)
      return leave(0)
    }
    if (paused) {
      sayState('paused', `Paused after step ${step}.`)
      while (paused && !stopping) await sleep(10)
      if (!stopping) sayState('running', 'Training.')
      continue
    }
    if (!('resume' in start)) misbehave()
    await oneStep()
    sayState('running', 'Training.')
  }
  sayState('done', 'Done.')
  if (mode !== 'lingering') leave(0)
}

process.on('message', (message) => {
  if (message.type === 'start') {
    if (mode === 'deaf') return
    if (mode === 'garbage') sayNonsense()
    if (mode === 'refuse') {
      say({ type: 'error', error: { code: 'bad-input', what: 'the built-in model is damaged', place: { file: 'model.safetensors' }, expected: 'a whole file', remedy: 'Install Satchel again.' } })
      return leave(3)
    }
    void train(message)
  } else if (message.type === 'pause') paused = true
  else if (message.type === 'resume') paused = false
  else if (message.type === 'stop') stopping = true
  else if (message.type === 'checkpoint') checkpointAsked = true
  else if (message.type === 'set') change(message.settings)
  else if (message.type === 'stop-now') {
    sayState('stopped', 'Stopped at once.')
    leave(0)
  }
})
process.on('disconnect', () => process.exit(0))

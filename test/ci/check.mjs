// `npm run check`: the strict type check of every room in a project of its own, two at a time. A room sees only the globals and the rooms it
// may use: wrong globals are type errors, and a file of a room that may not be imported (even through another file) is reported here.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fromRoot, roomOf, rooms, root } from '../../eslint.rooms.js'

/** Runs a package's command with the Node that runs this script; resolves to its exit code and output. */
function run(script, parameters) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', script), ...parameters], { cwd: root })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('error', fail)
    child.on('close', (code) => done({ code, output }))
  })
}

/** Rooms reachable from `room`, itself included. */
function reachable(room) {
  return new Set([room.name, ...room.imports.flatMap((name) => [...reachable(rooms.find((other) => other.name === name))])])
}

/** @param {string} output of tsc --listFiles: its listing and its errors, line by line */
function foreignFiles(output, room) {
  const allowed = reachable(room)
  const files = output.split(/\r?\n/).filter((line) => /\.(?:ts|mts|js|mjs|json)$/.test(line) && existsSync(line)).map((line) => fromRoot(resolve(line)))
  return files.filter((file) => {
    const other = roomOf(file)
    return other !== undefined && !allowed.has(other.name)
  })
}

async function checkRoom(room) {
  const started = Date.now()
  const project = join(room.folder, 'tsconfig.json')
  const { code, output } = room.name === 'renderer'
    ? await run('svelte-check/bin/svelte-check', ['--tsconfig', project, '--output', 'human', '--fail-on-warnings'])
    : await run('typescript/bin/tsc', ['-p', project, '--noEmit', '--listFiles'])
  const foreign = room.name === 'renderer' ? [] : foreignFiles(output, room)
  const errors = room.name === 'renderer' ? output : output.split(/\r?\n/).filter((line) => !existsSync(line)).join('\n').trim()
  const failed = code !== 0 || foreign.length > 0
  console.log(`${failed ? 'FAILED' : 'ok    '} ${room.name} (${((Date.now() - started) / 1000).toFixed(1)} s)`)
  if (code !== 0) console.log(errors)
  for (const file of foreign) console.log(`${project}: ${room.name} reaches ${file}, which it may not import (${dirname(file)})`)
  return !failed
}

const waiting = rooms.filter(({ folder }) => existsSync(join(root, folder, 'tsconfig.json')))
let failures = 0
async function worker() {
  for (let room = waiting.shift(); room !== undefined; room = waiting.shift()) if (!(await checkRoom(room))) failures++
}
// The longest first, so that both processors end together.
waiting.reverse()
await Promise.all([worker(), worker()])
process.exitCode = failures === 0 ? 0 : 1

// A display to show windows on where there is none.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

/** Starts a virtual display unless there is one; resolves with its name once it accepts connections. */
export async function startDisplay(): Promise<{ display: string; server: ChildProcess | undefined }> {
  const present = process.env['DISPLAY']
  if (present !== undefined && present !== '') return { display: present, server: undefined }
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  const number = await new Promise<string>((resolvePromise, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`Xvfb ended with code ${code}`)))
    server.stdio[3]?.once('data', (data: Buffer) => resolvePromise(data.toString('utf8').trim()))
  })
  return { display: `:${number}`, server }
}

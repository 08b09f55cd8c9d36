import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

describe('npm start', () => {
  it('says how to get Electron, and the way without a window, when its binary is not there', () => {
    const done = spawnSync(process.execPath, [resolve('src-main/app/launch.mjs')], { encoding: 'utf8', env: { ...process.env, SATCHEL_ELECTRON: resolve('no', 'such', 'electron') } })
    expect(done.status).toBe(5)
    expect(done.stdout).toBe('')
    expect(done.stderr).toMatch(/not on this machine[\s\S]*npx install-electron[\s\S]*npm run demo/)
  })

  it('starts the Electron it is given with the folder of the app, and ends as it ends', () => {
    const script = 'if (process.env.ELECTRON_RUN_AS_NODE !== undefined) process.exit(9); process.exit(7)'
    const done = spawnSync(process.execPath, [resolve('src-main/app/launch.mjs')], {
      encoding: 'utf8',
      env: { ...process.env, SATCHEL_ELECTRON: process.execPath, ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(`if (process.argv[1] === ${JSON.stringify(resolve('.'))}) { ${script} }`)}` },
    })
    expect(done.stderr).toBe('')
    expect(done.status).toBe(7)
  })
})

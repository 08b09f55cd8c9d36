import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { engineEnvironment, findNodeBinary } from '../../src-main/app/engine-environment.ts'

describe('the key of a judge', () => {
  it('is handed on by the one name the settings have, unless that would change how Node runs', () => {
    const environment = { PATH: '/bin', JUDGE_KEY: 'secret', OTHER_KEY: 'other', NODE_OPTIONS: '--inspect' }
    expect(engineEnvironment(environment, 'JUDGE_KEY')).toEqual({ PATH: '/bin', JUDGE_KEY: 'secret' })
    expect(engineEnvironment(environment, 'NODE_OPTIONS')).toEqual({ PATH: '/bin' })
    expect(engineEnvironment(environment)).toEqual({ PATH: '/bin' })
  })
})

describe('engineEnvironment', () => {
  it('keeps what an engine needs, whatever its case', () => {
    const kept = { PATH: '/bin', HOME: '/home/a', LC_ALL: 'C', SystemRoot: 'C:\\Windows', SATCHEL_KERNELS: 'typescript', VK_ICD_FILENAMES: '/x.json', CUDA_VISIBLE_DEVICES: '0' }
    expect(engineEnvironment(kept)).toEqual(kept)
  })

  it('leaves behind what changes Node, names a proxy or holds a secret', () => {
    expect(engineEnvironment({ NODE_OPTIONS: '--require x', ELECTRON_RUN_AS_NODE: '1', HTTPS_PROXY: 'p', npm_config_token: 't', GITHUB_TOKEN: 's', NODE_PATH: '/x', LD_PRELOAD: '/x.so' })).toEqual({})
  })
})

describe('findNodeBinary', () => {
  const file = process.platform === 'win32' ? 'node.exe' : 'node'
  const search = (existing: string[], environment: NodeJS.ProcessEnv, packagedResources?: string): string =>
    findNodeBinary({ environment, platform: process.platform, packagedResources, exists: (path) => existing.includes(path) })

  it('takes the chosen one first, then in a checkout npm’s own, and the PATH', () => {
    const environment = { SATCHEL_NODE: '/chosen', npm_node_execpath: '/npm', PATH: ['/a', '/b'].join(delimiter) }
    const onPath = join('/b', file)
    expect(search(['/chosen', '/npm', onPath], environment)).toBe('/chosen')
    expect(search(['/npm', onPath], environment)).toBe('/npm')
    expect(search([onPath], environment)).toBe(onPath)
  })

  it('takes in a packaged app the one inside, whatever else the machine has', () => {
    const inside = join('/resources', 'node', file)
    const environment = { npm_node_execpath: '/npm', PATH: '/b' }
    expect(search([inside, '/npm', join('/b', file)], environment, '/resources')).toBe(inside)
    expect(search([inside, '/chosen'], { ...environment, SATCHEL_NODE: '/chosen' }, '/resources')).toBe('/chosen')
    expect(() => search(['/npm', join('/b', file)], environment, '/resources')).toThrow(/gone from the installation.*Install Satchel again/s)
  })

  it('says what to do when there is none', () => {
    expect(() => search([], {})).toThrow(/Install Node, or set SATCHEL_NODE/)
  })
})

// A configuration may name its model by path or by name.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { readRunConfigFile } from '../../src-main/engine-host/run-config-file.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

it('a path beside the file comes first, then a name from the library; what is neither stays a path for the error to name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'satchel-config-'))
  try {
    vi.stubEnv('SATCHEL_MODELS', join(folder, 'library'))
    vi.stubEnv('HOME', folder)
    vi.stubEnv('USERPROFILE', folder)
    vi.stubEnv('HF_HUB_CACHE', '')
    for (const name of ['library/mine', 'library/both', 'both']) mkdirSync(join(folder, name), { recursive: true })
    const modelOf = async (model: string): Promise<string> => {
      writeFileSync(join(folder, 'run.json'), JSON.stringify({ model, data: { prompts: 'p.jsonl' } }))
      return (await readRunConfigFile(join(folder, 'run.json'))).model
    }
    expect(await modelOf('both')).toBe(join(folder, 'both'))
    expect(await modelOf('mine')).toBe(join(folder, 'library', 'mine'))
    expect(await modelOf('built-in')).toBe(resourcePath('demo', 'model'))
    expect(await modelOf('nowhere')).toBe(join(folder, 'nowhere'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

// Shared by the model tests: where the parity fixtures lie, temporary folders, and what a UserError says.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'
import { projectRoot } from '../../../src-main/engine/runtime/paths.ts'

export const MODEL_FIXTURES = ['llama-tied', 'llama-biases', 'qwen2-tied-sharded', 'qwen2-untied', 'smollm3', 'phi3-short', 'phi3-long'] as const

export const TOKENIZER_FIXTURES = ['qwen2', 'llama3', 'smollm', 'smollm3', 'phi4', 'llama2', 'llama2-normalized', 'mistral'] as const

/** A file or folder under test/parity/fixtures (made by test/parity/make-fixtures.py). */
export function fixture(...parts: string[]): string {
  return join(projectRoot(), 'test', 'parity', 'fixtures', ...parts)
}

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'satchel-models-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A copy of a fixture model that a test may damage. */
export function copyOfFixture(name: string): string {
  const folder = join(temporaryFolder(), name)
  cpSync(fixture(name), folder, { recursive: true })
  return folder
}

/** The envelope of the UserError that a call throws; anything else fails the test. */
export async function userError(call: () => unknown): Promise<ErrorEnvelope> {
  try {
    await call()
  } catch (error) {
    if (error instanceof UserError) return error.envelope
    throw error
  }
  throw new Error('the call was expected to fail, but it did not')
}

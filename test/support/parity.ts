// The reference fixtures of test/parity (made with transformers and peft; make-fixtures.py tells how).
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

export const parityCases = ['llama-tied', 'llama-biases', 'qwen2-tied-sharded', 'qwen2-untied', 'smollm3', 'phi3-short', 'phi3-long'] as const

export interface ParityExpectation {
  /** Longest prompt plus completion of the run that is imitated; 64 where the fixture does not care. */
  readonly contextTokens?: number
  readonly sequences: readonly (readonly number[])[]
  readonly logprobs: readonly (readonly (number | null)[])[]
  readonly loss: number
  readonly greedy: readonly { readonly prompt: readonly number[]; readonly continuation: readonly number[]; readonly smallestLogitGap: number }[]
  readonly adapter: { readonly logprobs: readonly (readonly (number | null)[])[]; readonly loss: number }
  /** Sequences on both sides of LongRoPE's boundary, each computed alone. */
  readonly alone?: { readonly sequences: readonly (readonly number[])[]; readonly logprobs: readonly (readonly (number | null)[])[] }
}

export const parityFolder = (name: string): string => join(projectRoot(), 'test', 'parity', 'fixtures', name)

export async function parityExpectation(name: string): Promise<ParityExpectation> {
  return JSON.parse(await readFile(join(parityFolder(name), 'expected.json'), 'utf8')) as ParityExpectation
}

export async function parityContext(name: string): Promise<number> {
  return (await parityExpectation(name)).contextTokens ?? 64
}

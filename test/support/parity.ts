// The reference fixtures of test/parity (made with transformers and peft; make-fixtures.py tells how).
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

export const parityCases = ['llama-tied', 'llama-biases', 'qwen2-tied-sharded', 'qwen2-untied'] as const

export interface ParityExpectation {
  readonly sequences: readonly (readonly number[])[]
  readonly logprobs: readonly (readonly (number | null)[])[]
  readonly loss: number
  readonly greedy: readonly { readonly prompt: readonly number[]; readonly continuation: readonly number[]; readonly smallestLogitGap: number }[]
  readonly adapter: { readonly logprobs: readonly (readonly (number | null)[])[]; readonly loss: number }
}

export const parityFolder = (name: string): string => join(projectRoot(), 'test', 'parity', 'fixtures', name)

export async function parityExpectation(name: string): Promise<ParityExpectation> {
  return JSON.parse(await readFile(join(parityFolder(name), 'expected.json'), 'utf8')) as ParityExpectation
}

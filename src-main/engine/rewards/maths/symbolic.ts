// Equality of expressions by an algebra library that runs in the locked-down process, each comparison under its own time limit.
import type { MathsRewardConfig } from '../../../contract/reward-config.ts'
import { bundleKit } from '../sandbox-bundle.ts'
import { createScriptSandbox, type ScriptSandbox } from '../script-sandbox.ts'
import type { SymbolicEquality } from './answers.ts'

/** The comparison, and its end. The process starts with the first comparison. */
export function createSymbolicEquality(config: Pick<MathsRewardConfig, 'limits' | 'symbolicMilliseconds'>): { readonly equal: SymbolicEquality; dispose(): void } {
  let sandbox: Promise<ScriptSandbox> | undefined
  const known = new Map<string, boolean>()
  return {
    async equal(a, b) {
      const input = JSON.stringify({ a, b })
      const before = known.get(input)
      if (before !== undefined) return before
      sandbox ??= bundleKit(['maths-sandbox-kit.js']).then((kit) => createScriptSandbox(kit, config.limits))
      const answer = await (await sandbox).call(input, config.symbolicMilliseconds)
      // Out of time or out of range: whoever writes such an answer has not given the one asked for.
      const same = 'text' in answer && answer.text === '"equal"'
      if (known.size < 10_000) known.set(input, same)
      return same
    },
    dispose: () => void sandbox?.then((open) => open.dispose(), () => undefined),
  }
}

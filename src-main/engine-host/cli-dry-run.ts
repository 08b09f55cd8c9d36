// train --dry-run: one step of the longest case, measured and thrown away.
import type { Phase } from '../contract/events.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { dryRun, type DryRun } from '../engine/training/dry-run.ts'
import { planVerdict } from '../engine/training/memory-plan.ts'
import { bytes, duration, log, type CommandResult } from './cli-output.ts'
import { abortOnInterrupt } from './command-queue.ts'

const phaseWords: Readonly<Partial<Record<Phase, string>>> = { load: 'opening model and prompts', generate: 'writing completions', score: 'scoring', update: 'updating the weights' }
const lineMilliseconds = 1_000

/** Tries the longest case of a configuration; Ctrl-C ends it with code 4. */
export async function tryLongestCase(config: RunConfig): Promise<CommandResult> {
  const { signal, release } = abortOnInterrupt()
  let last = -Infinity
  let begun = performance.now()
  let lastPhase: Phase | undefined
  try {
    const result = await dryRun(config, {
      signal,
      onProgress(phase, done, total) {
        const now = performance.now()
        if (phase === lastPhase && now - last < lineMilliseconds) return
        last = now
        if (phase !== lastPhase) begun = now
        lastPhase = phase
        // Completions of full length end together: the seconds tell that something is going on.
        const part = phase === 'load' ? '' : total > 1 ? ` ${done} of ${total}` : ` ${Math.round((100 * done) / Math.max(1, total))} %`
        log(`${phaseWords[phase] ?? phase}${part}, ${Math.round((now - begun) / 1000)} s`)
      },
    })
    return { json: result, text: described(result, config).join('\n') }
  } finally {
    release()
  }
}

function described({ rollouts, promptTokens, newTokens, seconds, peakBytes, plannedBytes, memoryBytes, updates }: DryRun, { training }: RunConfig): string[] {
  const gib = 2 ** 30
  return [
    `${rollouts} completions of ${newTokens} tokens after ${promptTokens} of prompt, ${updates} ${updates === 1 ? 'update' : 'updates'}; nothing was kept`,
    plannedBytes === null ? `Memory: measured peak ${bytes(peakBytes)}; there is no plan for this device.` : planVerdict(plannedBytes / gib, peakBytes / gib),
    `This machine has ${bytes(memoryBytes)}.`,
    `Time: ${seconds.load.toFixed(1)} s to open, then ${seconds.step.toFixed(1)} s a step at most (writing ${seconds.generate.toFixed(1)} s, updating ${seconds.update.toFixed(1)} s, scoring aside): ${duration(seconds.step * training.steps)} for ${training.steps} steps.`,
  ]
}

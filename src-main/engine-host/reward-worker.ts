// Entry of a reward worker: a child process that scores batches of completions for the pool (engine/rewards/reward-pool.ts).
import { createRecipeScorer } from '../engine/rewards/recipes.ts'
import type { RecipeScorer } from '../engine/rewards/scorer.ts'
import type { WorkerAnswer, WorkerRequest } from '../engine/rewards/worker-protocol.ts'

let scorer: RecipeScorer | undefined

function answer(message: WorkerAnswer): void {
  process.send?.(message)
}

async function handle(message: WorkerRequest): Promise<void> {
  if (message.kind === 'configure') {
    scorer = await createRecipeScorer(message.config)
    return answer({ kind: 'ready' })
  }
  if (scorer === undefined) throw new Error('the worker was asked to score before it was configured')
  await scorer.score(
    message.items,
    (index, stage) => answer({ kind: 'working', index, stage }),
    (index, scored) => answer({ kind: 'scored', index, scored }),
  )
  answer({ kind: 'done' })
}

process.on('message', (message: WorkerRequest) => {
  handle(message).catch((error: unknown) => {
    answer({ kind: 'fatal', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  })
})
// Ctrl-C in a terminal reaches every process of its group; when to end is decided by whoever started this one.
process.on('SIGINT', () => undefined)
process.on('disconnect', () => {
  scorer?.dispose()
  process.exit(0)
})

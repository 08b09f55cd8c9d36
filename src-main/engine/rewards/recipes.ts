// Recipe -> scorer: the one registry of reward recipes. A reward worker makes its scorer here.
import type { RewardConfig } from '../../contract/reward-config.ts'
import { lightenCompiler } from './light-compiler.ts'
import type { RecipeScorer } from './scorer.ts'

/** Loads everything a worker needs for its recipe, once. Recipes are loaded on demand: the compiler alone takes half a second. */
export async function createRecipeScorer(config: RewardConfig): Promise<RecipeScorer> {
  switch (config.recipe) {
    case 'react':
      lightenCompiler()
      return (await import('./react-scorer.ts')).createReactScorer(config)
    case 'maths':
      return (await import('./maths/maths-scorer.ts')).createMathsScorer(config)
    case 'code':
      return (await import('./code/code-scorer.ts')).createCodeScorer(config)
    case 'custom':
      return (await import('./custom/custom-scorer.ts')).createCustomScorer(config)
  }
}

// What the person has chosen for the next run on the way: a model on its page, a dataset on its page. Run setup begins from it.

import type { Recipe } from '../../src-main/contract/reward-config.ts'

export interface ChosenModel {
  readonly name: string
  readonly path: string
}

export interface ChosenDataset {
  readonly name: string
  /** A prompt file (JSONL) ready for training. */
  readonly prompts: string
  /** Prompts to train on; the held-out ones are not among them. */
  readonly rows: number
  /** The recipe its rows are made for; null where they say nothing of it. */
  readonly recipe: Recipe | null
}

export interface RunDraft {
  readonly model: ChosenModel | null
  readonly dataset: ChosenDataset | null
  /** A configuration that was dropped on the window; it takes the place of what the form says. */
  readonly config: Readonly<Record<string, unknown>> | null
  chooseModel(model: ChosenModel | null): void
  chooseDataset(dataset: ChosenDataset | null): void
  chooseConfig(config: Readonly<Record<string, unknown>>): void
}

export function createRunDraft(): RunDraft {
  let model = $state.raw<ChosenModel | null>(null)
  let dataset = $state.raw<ChosenDataset | null>(null)
  let config = $state.raw<Readonly<Record<string, unknown>> | null>(null)
  return {
    get model() {
      return model
    },
    get dataset() {
      return dataset
    },
    get config() {
      return config
    },
    chooseModel(chosen) {
      model = chosen
    },
    chooseDataset(chosen) {
      dataset = chosen
    },
    chooseConfig(chosen) {
      config = chosen
    },
  }
}

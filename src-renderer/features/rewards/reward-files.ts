// Files of rewards through the system's dialogs: a function opened and saved, a composition imported and exported.
import type { AppState } from '../../state/app-state.svelte.ts'
import { words } from '../../words.ts'
import { rewardOf } from './composition.ts'
import { rememberedReward } from './reward-memory.svelte.ts'
import type { EditedCode } from './reward-memory.svelte.ts'

export interface RewardFiles {
  /** Replaces the text by the template; a file that was open is no longer the one written to. */
  template(): Promise<void>
  open(): Promise<void>
  /** Writes the function; whether it lies in its file now. */
  save(elsewhere: boolean): Promise<boolean>
  importReward(): Promise<void>
  exportReward(): Promise<void>
}

export function rewardFiles(app: AppState): RewardFiles {
  const memory = rememberedReward
  const say = words.rewards

  /** Puts another function into the editor; a text that was not saved can be brought back. */
  function replaceBy(next: EditedCode): void {
    const before = memory.code
    memory.edit(next)
    if (before === null || before.text === before.saved || before.text === next.text) return
    app.notices.tell(say.replaced, say.replacedText, { label: say.bringBack, act: () => memory.edit(before) })
  }

  return {
    async template() {
      const answer = await app.ask('rewards.template', {})
      if (answer !== undefined) replaceBy({ text: answer.text, path: null, saved: answer.text })
    },
    async open() {
      const answer = await app.ask('rewards.openFile', {})
      if (answer !== undefined && answer !== null) replaceBy({ ...answer, saved: answer.text })
    },
    async save(elsewhere) {
      if (memory.code === null) return false
      const { text, path } = memory.code
      const answer = await app.ask('rewards.saveFile', { text, path: elsewhere ? null : path })
      if (answer === undefined || answer === null) return false
      memory.edit({ text: memory.code.text, path: answer.path, saved: text })
      app.notices.tell(say.saved, answer.path)
      return true
    },
    async importReward() {
      const answer = await app.ask('rewards.import', {})
      if (answer === undefined || answer === null) return
      const { file, ...reward } = answer.reward
      memory.take(reward)
      if (typeof file === 'string') {
        const read = await app.ask('rewards.readFile', { path: file })
        if (read !== undefined) replaceBy({ text: read.text, path: file, saved: read.text })
      }
      app.notices.tell(say.imported, answer.file)
    },
    async exportReward() {
      const { code, recipe, draft } = memory
      const file = recipe === 'custom' && code !== null && code.path !== null ? { file: code.path } : {}
      const answer = await app.ask('rewards.export', { reward: { ...rewardOf(draft), ...file } })
      if (answer !== undefined && answer !== null) app.notices.tell(say.exported, answer.file)
    },
  }
}

// Prompt rows to ids the way a run puts them to its model.
import type { ChatConfig } from '../../contract/chat-config.ts'
import { UserError } from '../../contract/errors.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import { createChatTemplate, encodePromptRow } from './chat-template.ts'
import type { Tokenizer } from './tokenizer.ts'

/**
 * Makes the function that encodes prompts. A row's own system text wins over the configuration's.
 * @param template source of the model's chat template, or null for a model without one: then prompts are plain text
 * @throws UserError when thinking is switched on a model whose template has no switch for it, or when the template cannot be parsed
 */
export function createPromptEncoder(tokenizer: Tokenizer, template: string | null, chat: ChatConfig): (row: Pick<PromptRow, 'prompt' | 'system'>) => number[] {
  if (chat.thinking !== 'model') refuseWithoutSwitch(template, chat.thinking)
  const prepared = template === null ? null : createChatTemplate(template, tokenizer)
  const options = { date: chat.date, ...(chat.thinking === 'model' ? {} : { enableThinking: chat.thinking === 'on' }) }
  return (row) => encodePromptRow(tokenizer, prepared, chat.system === null || row.system !== undefined ? row : { ...row, system: chat.system }, options)
}

/** Templates of models that can do both (SmolLM3, Qwen3) read `enable_thinking`; to any other the switch would mean nothing. */
function refuseWithoutSwitch(template: string | null, thinking: 'on' | 'off'): void {
  if (template !== null && /\benable_thinking\b/.test(template)) return
  throw new UserError({
    code: 'bad-input',
    what: `thinking cannot be switched ${thinking}: ${template === null ? 'this model has no chat template' : "this model's chat template has no switch for it"}`,
    place: { field: 'chat.thinking' },
    expected: '"model", which leaves it as the model has it',
    remedy: 'Leave the setting out, or choose a model whose template knows enable_thinking, such as SmolLM3.',
  })
}

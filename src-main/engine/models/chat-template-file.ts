// Where a model folder keeps its chat template: chat_template.jinja, otherwise tokenizer_config.json.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { checkFile, fileErrorCode, readOptionalJsonFile } from './json-file.ts'

const schema = z.looseObject(
  { chat_template: z.union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))], 'must be a template or a list of named templates').nullish() },
  'must hold one JSON object',
)

/**
 * A folder's template source, or null for a model without one. Of several named templates it is the one called "default".
 * @throws UserError naming the file when it is there but wrong.
 */
export async function readChatTemplate(folder: string): Promise<string | null> {
  const own = join(folder, 'chat_template.jinja')
  try {
    return await readFile(own, 'utf8')
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') {
      throw new UserError(
        {
          code: 'bad-input',
          what: `the chat template cannot be read (${String(error)})`,
          place: { file: own },
          remedy: 'Check that it is a file you may read.',
        },
        { cause: error },
      )
    }
  }
  const file = join(folder, 'tokenizer_config.json')
  const config = await readOptionalJsonFile(file)
  if (config === undefined) return null
  const template = checkFile(schema, config, file, 'Copy the tokenizer files of this model again.').chat_template
  if (template === undefined || template === null || typeof template === 'string') return template ?? null
  return template.find((named) => named.name === 'default')?.template ?? null
}

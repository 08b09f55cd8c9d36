// The page may name only files and folders that a person chose in a dialog or dropped on the window, or that the app itself told it of.
import { resolve } from 'node:path'
import { UserError } from '../contract/errors.ts'

export interface GrantedPaths {
  grant(path: string): void
  /** The absolute path. @throws UserError for a path that was never granted */
  require(path: string): string
}

export function createGrantedPaths(): GrantedPaths {
  const granted = new Set<string>()
  return {
    grant: (path) => granted.add(resolve(path)),
    require(path) {
      const full = resolve(path)
      if (granted.has(full)) return full
      throw new UserError({ code: 'usage', what: 'The page may not name this path.', place: { file: path }, expected: 'a file or folder that was chosen in a dialog or dropped on the window', remedy: 'Choose it again.' })
    },
  }
}

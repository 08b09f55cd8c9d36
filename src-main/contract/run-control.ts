// How programs that did not start an engine steer it: they leave commands in its run folder, a file each, and the engine takes them in order.

/** Folder in a run folder where commands lie. */
export const controlFolder = 'control'

/** The one command that older programs leave; they wrote over each other's. The engine still obeys it. */
export const formerControlFile = 'control.json'

let last = 0

/**
 * A name for a command's file: names sort as commands were given. It has to appear whole under this name, by a rename; names that begin with
 * a dot are not looked at.
 * @param id unlike that of any other command @param now milliseconds since 1970
 */
export function commandFileName(id: string, now: number): string {
  // Two commands of one millisecond, or of a clock that was set back, keep their order.
  last = Math.max(last + 1, now)
  return `${String(last).padStart(15, '0')}-${id}.json`
}

/** Whether a file of that folder is a command. */
export function isCommandFile(name: string): boolean {
  return /^\d.*\.json$/.test(name)
}

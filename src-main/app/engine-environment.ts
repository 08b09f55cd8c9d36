// What an engine process inherits: enough to find libraries, folders and devices, and nothing that changes how Node itself behaves.
import { delimiter, join } from 'node:path'
import { UserError } from '../contract/errors.ts'

const keptNames = new Set([
  'PATH', 'PATHEXT', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR', 'TEMP', 'TMP',
  'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'SYSTEMROOT', 'WINDIR', 'COMSPEC',
  'NUMBER_OF_PROCESSORS', 'PROCESSOR_ARCHITECTURE',
  'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'VK_ICD_FILENAMES', 'VK_DRIVER_FILES',
])
/** Named as a key by mistake or on purpose, these would change how Node or Electron run. */
const changesNode = /^(node|electron|npm)_/i
const keptPrefixes = ['LC_', 'XDG_', 'CUDA_', 'SATCHEL_']

/**
 * The environment of an engine: an allow list, so NODE_OPTIONS, ELECTRON_*, proxies, tokens and npm's variables stay behind.
 * @param keyVariable the one variable with a key that the person named in the settings, for the server of a judge; empty for none
 */
export function engineEnvironment(environment: NodeJS.ProcessEnv, keyVariable = ''): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    const upper = name.toUpperCase()
    if (value !== undefined && (keptNames.has(upper) || keptPrefixes.some((prefix) => upper.startsWith(prefix)))) kept[name] = value
  }
  const key = keyVariable === '' || changesNode.test(keyVariable) ? undefined : environment[keyVariable]
  return key === undefined ? kept : { ...kept, [keyVariable]: key }
}

export interface NodeSearch {
  readonly environment: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
  /** Folder of the packaged app's extra resources; undefined in a checkout. */
  readonly packagedResources: string | undefined
  readonly exists: (path: string) => boolean
}

/**
 * The Node binary that runs engines. The engine is no Electron process: Chromium's allocator ends any Electron process on one
 * allocation above about 1 GiB, and one embedding matrix of a 3B model is larger.
 * @throws UserError 'not-found' when there is none.
 */
export function findNodeBinary(search: NodeSearch): string {
  const file = search.platform === 'win32' ? 'node.exe' : 'node'
  const onPath = (search.environment['PATH'] ?? search.environment['Path'] ?? '').split(delimiter).filter((folder) => folder !== '').map((folder) => join(folder, file))
  // A packaged app brings the one it was tested with and takes no other, unless it is told to.
  const elsewhere = [search.environment['npm_node_execpath'], ...onPath]
  const candidates = [search.environment['SATCHEL_NODE'], ...(search.packagedResources === undefined ? elsewhere : [join(search.packagedResources, 'node', file)])]
  const found = candidates.find((candidate) => candidate !== undefined && candidate !== '' && search.exists(candidate))
  if (found !== undefined) return found
  if (search.packagedResources !== undefined) {
    throw new UserError({
      code: 'not-found',
      what: 'The Node binary that runs the training engine is gone from the installation.',
      place: { file: join(search.packagedResources, 'node', file) },
      remedy: 'Install Satchel again.',
    })
  }
  throw new UserError({
    code: 'not-found',
    what: 'No Node binary was found to run the training engine.',
    expected: 'Node 20.19 or newer on the PATH, or its path in SATCHEL_NODE',
    remedy: 'Install Node, or set SATCHEL_NODE to a Node binary, and start Satchel again.',
  })
}

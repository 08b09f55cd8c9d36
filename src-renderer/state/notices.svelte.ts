// Short messages of the app that any page may show: what was done, what went wrong. Errors stay until they are dismissed.
import { describeError } from '../../src-main/contract/errors.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { words } from '../words.ts'

export interface NoticeEntry {
  readonly id: number
  readonly tone: 'bad' | 'info'
  readonly title: string
  readonly text: string
  /** A next step the person may take. */
  readonly action?: { readonly label: string; readonly act: () => void } | undefined
}

export interface Notices {
  readonly entries: readonly NoticeEntry[]
  /** Something worth knowing; leaves by itself. */
  tell(title: string, text?: string, action?: NoticeEntry['action']): void
  /** An offer that stays until it is taken or dismissed. */
  offer(title: string, text: string, action: NonNullable<NoticeEntry['action']>): void
  /** Something failed; stays. An error that says the person stopped it is not worth a notice. */
  fail(error: ErrorEnvelope, title?: string): void
  dismiss(id: number): void
}

const shownMilliseconds = 8_000
const most = 4

export function createNotices(): Notices {
  let entries = $state.raw<readonly NoticeEntry[]>([])
  let next = 1
  const dismiss = (id: number): void => {
    entries = entries.filter((entry) => entry.id !== id)
  }
  const add = (entry: Omit<NoticeEntry, 'id'>): number => {
    const id = next
    next += 1
    // The same again takes the place of what is there already.
    entries = [...entries.filter(({ title, text }) => title !== entry.title || text !== entry.text), { ...entry, id }].slice(-most)
    return id
  }
  return {
    get entries() {
      return entries
    },
    tell(title, text = '', action = undefined) {
      const id = add({ tone: 'info', title, text, action })
      setTimeout(() => dismiss(id), shownMilliseconds)
    },
    offer: (title, text, action) => void add({ tone: 'info', title, text, action }),
    fail(error, title: string = words.common.failed) {
      if (error.code !== 'stopped') add({ tone: 'bad', title, text: describeError(error) })
    },
    dismiss,
  }
}

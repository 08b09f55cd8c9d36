// Light, dark, or as the system has it. Remembered in the page's own storage.
export type ThemeChoice = 'system' | 'light' | 'dark'

const storageKey = 'satchel.theme'
const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)')

function remembered(): ThemeChoice {
  const stored = localStorage.getItem(storageKey)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

let choice = $state<ThemeChoice>(remembered())
let systemDark = $state(systemIsDark.matches)
systemIsDark.addEventListener('change', (event) => {
  systemDark = event.matches
  apply()
})

function apply(): void {
  document.documentElement.dataset['theme'] = theme.shown
}

export const theme = {
  get choice(): ThemeChoice {
    return choice
  },
  /** What is on the screen: charts read their colours again when it changes. */
  get shown(): 'light' | 'dark' {
    return choice === 'system' ? (systemDark ? 'dark' : 'light') : choice
  },
  choose(next: ThemeChoice): void {
    choice = next
    localStorage.setItem(storageKey, next)
    apply()
  },
}
apply()

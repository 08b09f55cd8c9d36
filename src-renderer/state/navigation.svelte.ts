// Where the person is: a page, and what the page was asked to show.

export interface Navigation {
  /** Id of the page, as the table of pages has it. */
  readonly page: string
  /** What the page was opened for, such as a model or a run; empty when it was opened for nothing special. */
  readonly parameters: Readonly<Record<string, string>>
  go(page: string, parameters?: Readonly<Record<string, string>>): void
  /** To where the person was before; nothing happens on the first page. */
  back(): void
}

interface Place {
  readonly page: string
  readonly parameters: Readonly<Record<string, string>>
}

const keptPlaces = 50

export function createNavigation(first: string): Navigation {
  let place = $state.raw<Place>({ page: first, parameters: {} })
  let before: Place[] = []
  return {
    get page() {
      return place.page
    },
    get parameters() {
      return place.parameters
    },
    go(page, parameters = {}) {
      before = [...before, place].slice(-keptPlaces)
      place = { page, parameters }
    },
    back() {
      const last = before.at(-1)
      if (last === undefined) return
      before = before.slice(0, -1)
      place = last
    },
  }
}

// What comes next for a thing somebody dropped: a dataset is opened, a model is offered to be added, a run to be opened.
import type { Place } from '../../src-main/contract/calls/files.ts'
import { words } from '../words.ts'
import type { AppState } from './app-state.svelte.ts'

/** Takes dropped files to where they belong. Several at once are each told of; the last dataset is the one that is shown. */
export async function takeDropped(app: AppState, files: readonly object[]): Promise<void> {
  const outcome = await app.bridge.offer(files)
  if (!outcome.ok) {
    app.notices.fail(outcome.error)
    return
  }
  for (const place of outcome.value) await takePlace(app, place)
}

/** Takes a chosen or dropped place to where it belongs. */
export async function takePlace(app: AppState, place: Place): Promise<void> {
  switch (place.kind) {
    case 'dataset':
      app.navigation.go('datasets')
      await app.datasets.openPath(place.path)
      return
    case 'model':
      app.navigation.go('models')
      await app.models.refresh()
      if (app.models.list?.models.some(({ path }) => path === place.path) === true) {
        app.notices.tell(place.name, words.drop.knownModel)
        return
      }
      app.notices.tell(place.name, place.what, { label: words.drop.addModel, act: () => void app.models.add(place.path) })
      return
    case 'run': {
      const known = app.view.runs.find(({ directory }) => directory === place.path)
      if (known === undefined) {
        if (await app.controller.openFolder(place.path)) {
          app.navigation.go('monitor')
          app.notices.tell(place.name, words.drop.outside)
        }
        return
      }
      app.navigation.go('monitor')
      await app.controller.select(known.directory)
      return
    }
    case 'run-config': {
      const read = await app.ask('runs.readConfig', { path: place.path })
      if (read === undefined) return
      app.draft.chooseConfig(read.config)
      app.navigation.go('setup')
      app.notices.tell(place.name, words.drop.config)
      return
    }
    case 'unknown':
      app.notices.fail({ code: 'bad-input', what: place.what, place: { file: place.name }, expected: '', remedy: '' }, words.drop.unknown)
  }
}

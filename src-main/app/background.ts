// A run goes on while nobody looks: the machine stays awake, closing the window asks, a tray entry leads back, the end is told.
import { app, BrowserWindow, dialog, Menu, nativeImage, Notification, powerSaveBlocker, Tray } from 'electron'
import type { PageRunEvent } from '../contract/calls/runs.ts'
import { activityAfter, activityLine, closeChoiceOf, closeChoices, endNotice, keepsAwake } from './activity.ts'
import type { Activity } from './activity.ts'

export interface Background {
  /** Hears what every run does. */
  hear(directory: string, event: PageRunEvent): void
  hearQueue(waiting: number): void
  /** Makes a window ask before it closes while a run is at work. */
  guard(window: BrowserWindow): void
  /** Whether a run is at work behind a closed window: the app then stays. */
  staysAlive(): boolean
  dispose(): void
}

export interface BackgroundOptions {
  /** Image of the tray entry. */
  readonly trayIcon: string
  /** Opens the window again, or brings it to the front. */
  readonly showWindow: () => void
}

export function createBackground({ trayIcon, showWindow }: BackgroundOptions): Background {
  let activity: Activity | undefined
  let waiting = 0
  let quitting = false
  let tray: Tray | undefined
  let blocker: number | undefined
  app.on('before-quit', () => {
    quitting = true
  })

  function keepAwake(): void {
    const wanted = keepsAwake(activity)
    if (wanted && blocker === undefined) blocker = powerSaveBlocker.start('prevent-app-suspension')
    if (wanted || blocker === undefined) return
    powerSaveBlocker.stop(blocker)
    blocker = undefined
  }

  function showTray(): void {
    if (tray !== undefined) return
    tray = new Tray(nativeImage.createFromPath(trayIcon))
    tray.setContextMenu(Menu.buildFromTemplate([{ label: 'Open Satchel', click: showWindow }, { type: 'separator' }, { label: 'Stop after this step and quit', click: () => app.quit() }]))
    tray.on('click', showWindow)
    tray.setToolTip(activityLine(activity, waiting))
  }

  function hideTray(): void {
    tray?.destroy()
    tray = undefined
  }

  async function ask(window: BrowserWindow): Promise<void> {
    const { response } = await dialog.showMessageBox(window, {
      type: 'question',
      message: 'A run is in progress.',
      detail: `${activityLine(activity, waiting).replace('Satchel: ', '')}. In the background it goes on with a tray entry; stopped, it can be resumed from its checkpoint.${waiting === 0 ? '' : ' Runs that wait are kept for the next start.'}`,
      buttons: [...closeChoices],
      defaultId: 0,
      cancelId: 2,
    })
    const choice = closeChoiceOf(response)
    if (choice === 'quit') app.quit()
    if (choice !== 'background') return
    showTray()
    window.destroy()
  }

  return {
    hear(directory, event) {
      activity = activityAfter(activity, directory, event)
      keepAwake()
      tray?.setToolTip(activityLine(activity, waiting))
      const notice = endNotice(directory, event)
      if (notice === undefined) return
      if (Notification.isSupported() && BrowserWindow.getFocusedWindow() === null) {
        const shown = new Notification(notice)
        shown.on('click', showWindow)
        shown.show()
      }
      // Nobody looks and nothing is left to do.
      if (BrowserWindow.getAllWindows().length === 0 && waiting === 0) app.quit()
    },
    hearQueue(count) {
      waiting = count
      tray?.setToolTip(activityLine(activity, waiting))
    },
    guard(window) {
      hideTray()
      window.on('close', (event) => {
        if (quitting || activity === undefined) return
        event.preventDefault()
        void ask(window)
      })
    },
    staysAlive: () => activity !== undefined && !quitting,
    dispose() {
      hideTray()
      if (blocker !== undefined) powerSaveBlocker.stop(blocker)
      blocker = undefined
    },
  }
}

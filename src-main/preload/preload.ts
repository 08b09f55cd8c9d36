// Runs in the sandboxed page's isolated world: hands the page three functions and nothing else.
// Names and payloads are checked in the app, where the page cannot reach.
import { contextBridge, ipcRenderer, webUtils } from 'electron'
import { callChannel, eventChannel, offerChannel } from '../contract/bridge.ts'
import type { SatchelBridge } from '../contract/bridge.ts'

const bridge: SatchelBridge = {
  call: (name, request) => ipcRenderer.invoke(callChannel, name, request),
  // A file the page made itself has no path.
  offer: (files) => ipcRenderer.invoke(offerChannel, files.map((file) => webUtils.getPathForFile(file as File)).filter((path) => path !== '')),
  subscribe: (name, listener) => {
    const forward = (_event: unknown, announced: unknown, payload: Parameters<typeof listener>[0]): void => {
      if (announced === name) listener(payload)
    }
    ipcRenderer.on(eventChannel, forward)
    return () => {
      ipcRenderer.removeListener(eventChannel, forward)
    }
  },
}

contextBridge.exposeInMainWorld('satchel', bridge)

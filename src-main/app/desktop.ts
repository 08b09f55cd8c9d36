// What only the desktop can do for runs: ask for files and places, open a report, print it, show a folder.
import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { BrowserWindow, dialog, session, shell } from 'electron'
import type { FileFilter } from 'electron'
import { UserError } from '../contract/errors.ts'

/** The desktop as the handlers see it; tests bring another. */
export interface Desktop {
  /** The file or folder the person chose; null when they chose none. */
  chooseFile(title: string, filters: readonly FileFilter[]): Promise<string | null>
  chooseFolder(title: string): Promise<string | null>
  choosePlace(title: string, suggested: string, filters: readonly FileFilter[]): Promise<string | null>
  /** Opens a file with the program the system has for it. */
  openFile(file: string): Promise<void>
  showFolder(folder: string): void
  /** Prints a page of ours to a PDF file. */
  printPdf(file: string, to: string): Promise<void>
}

function parent(): BrowserWindow | undefined {
  return BrowserWindow.getFocusedWindow() ?? BrowserWindow.getAllWindows()[0]
}

async function choose(properties: ('openFile' | 'openDirectory')[], title: string, filters: readonly FileFilter[] = []): Promise<string | null> {
  const options = { title, properties, filters: [...filters] }
  const window = parent()
  const { canceled, filePaths } = await (window === undefined ? dialog.showOpenDialog(options) : dialog.showOpenDialog(window, options))
  return canceled ? null : (filePaths[0] ?? null)
}

/** A page without scripts in a session of its own that can load this one file and nothing else. */
async function printPdf(file: string, to: string): Promise<void> {
  const address = pathToFileURL(file).href
  const own = session.fromPartition('report', { cache: false })
  own.webRequest.onBeforeRequest((details, answer) => answer({ cancel: details.url !== address }))
  const window = new BrowserWindow({ show: false, webPreferences: { session: own, sandbox: true, contextIsolation: true, nodeIntegration: false, javascript: false } })
  try {
    await window.loadURL(address)
    await writeFile(to, await window.webContents.printToPDF({ printBackground: true, pageSize: 'A4', margins: { top: 0.5, bottom: 0.5, left: 0.5, right: 0.5 } }))
  } catch (error) {
    throw new UserError({ code: 'storage', what: 'The report could not be written as PDF.', place: { file: to }, expected: 'a place Satchel may write to', remedy: 'Choose another place.' }, { cause: error })
  } finally {
    window.destroy()
  }
}

export const desktop: Desktop = {
  chooseFile: (title, filters) => choose(['openFile'], title, filters),
  chooseFolder: (title) => choose(['openDirectory'], title),
  async choosePlace(title, suggested, filters) {
    const options = { title, defaultPath: suggested, filters: [...filters] }
    const window = parent()
    const { canceled, filePath } = await (window === undefined ? dialog.showSaveDialog(options) : dialog.showSaveDialog(window, options))
    return canceled || filePath === '' ? null : filePath
  },
  async openFile(file) {
    const problem = await shell.openPath(file)
    if (problem !== '') throw new UserError({ code: 'engine', what: `The system could not open the file: ${problem}`, place: { file }, remedy: 'Open it by hand.' })
  },
  showFolder: (folder) => shell.showItemInFolder(folder),
  printPdf,
}

// Judges for the app.
import type { Tools } from './tool-work.ts'

export const judgeTools: Tools<'judge.try'> = {
  'judge.try': async (request, work) => {
    // Loaded when a person presses the button and never before: nothing else has code in memory that could open a socket.
    const { tryServer } = await import('./judge.ts')
    return tryServer(request, work)
  },
}

// Whether another process still lives.
import { fileErrorCode } from '../models/json-file.ts'

/** @param id of a process on this machine; the system may have given it to another one since */
export function processExists(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    // It lives and belongs to somebody else.
    return fileErrorCode(error) === 'EPERM'
  }
}

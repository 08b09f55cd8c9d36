// What the processes of the app have to do with the network, by the system's own tables (these tests run on Linux only).
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { z } from 'zod'

interface TableRow {
  readonly inode: string
  /** Address and port of the other side, hexadecimal. */
  readonly remote: string
}

function tableRows(id: number, names: readonly string[]): TableRow[] {
  const lines = names.flatMap((name) => (existsSync(`/proc/${id}/net/${name}`) ? readFileSync(`/proc/${id}/net/${name}`, 'utf8').split('\n').slice(1) : []))
  return lines.map((line) => line.trim().split(/\s+/)).filter((columns) => columns.length > 9).map((columns) => ({ inode: columns[9] ?? '', remote: columns[2] ?? '' }))
}

function openSockets(id: number): string[] {
  try {
    return readdirSync(`/proc/${id}/fd`).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${id}/fd/${name}`))?.[1] ?? []
      } catch {
        // It was closed while we looked.
        return []
      }
    })
  } catch {
    // The process ended while we looked.
    return []
  }
}

const tables = ['tcp', 'tcp6', 'udp', 'udp6']

/** Inodes of the network sockets a process holds: those of its open files that stand in the system's tables of TCP and UDP. */
export function networkSockets(id: number): string[] {
  const known = new Set(tableRows(id, tables).map(({ inode }) => inode))
  return openSockets(id).filter((inode) => known.has(inode))
}

/** Loopback as the tables write it (little-endian words), and the address of a socket that has no other side. */
const staysHere = /^(?:[0-9A-F]{6}7F|0{8}|0{32}|0{24}01000000|0{16}F{4}0{4}[0-9A-F]{6}7F):/

/** Other sides of a process's sockets that are not on this machine. */
export function outsideConnections(id: number): string[] {
  const rows = new Map(tableRows(id, tables).map(({ inode, remote }) => [inode, remote]))
  return openSockets(id).flatMap((inode) => rows.get(inode) ?? []).filter((remote) => !staysHere.test(remote))
}

const eventSchema = z.object({ params: z.object({ url: z.string() }).optional().catch(undefined) })
const logSchema = z.object({ events: z.array(eventSchema) })

/** Addresses in a log that Chromium wrote of its network (`--log-net-log`), files of the app left out. */
export function requestsInLog(file: string): string[] {
  const { events } = logSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  return [...new Set(events.flatMap(({ params }) => params?.url ?? []))].filter((url) => !/^(?:app|data|devtools|blob):/.test(url))
}

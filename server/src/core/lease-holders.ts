import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

const activeHolders = new Set<string>()
const ownSpace = processSpace()

/** The scope in which process IDs are unique: on Linux this boot and PID namespace, since containers may share a host name. */
function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`
  } catch {
    // Not Linux.
    return hostname()
  }
}

/** A lease holder's unique name: the scope of its process ID, the process ID, and a random part. */
export function registerLeaseHolder(): string {
  const name = `${ownSpace}/${process.pid}/${randomUUID()}`
  activeHolders.add(name)
  return name
}

export const unregisterLeaseHolder = (name: string): void => void activeHolders.delete(name)

/** Whether a process has ended but its parent has not noticed yet. A service manager restarts it within a second. */
function isZombie(pid: number): boolean {
  try {
    return /.*\) [XZ] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    // Not Linux.
    return false
  }
}

/** Whether a holder has certainly ended. On other machines, only an expired lease shows it. */
export function hasEnded(name: string): boolean {
  const [space, pid] = name.split('/')
  if (activeHolders.has(name) || space !== ownSpace) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    // The process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

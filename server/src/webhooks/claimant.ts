import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** A claim that was not renewed for so long may be taken by others; and how often claims are renewed. */
export const SILENT_MS = 15_000
export const RENEW_MS = 5000

const living = new Set<string>()

/** The name under which a dispatcher claims deliveries: machine, process, and a part of its own. */
export function joinClaimants(): string {
  const name = `${hostname()}/${process.pid}/${randomUUID()}`
  living.add(name)
  return name
}

export const leaveClaimants = (name: string): void => void living.delete(name)

/** Whether a claimant was of this machine and its process has ended. Of other machines only silence tells. */
export function isGone(name: string): boolean {
  const [machine, pid] = name.split('/')
  if (living.has(name) || machine !== hostname()) return false
  return Number(pid) === process.pid || !runs(Number(pid))
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not ours to signal, but there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

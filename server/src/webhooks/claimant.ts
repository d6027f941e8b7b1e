import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Trx } from '../db/database.ts'
import { type Claimant, listClaimants, releaseAllOf, renewDestinations } from '../repositories/subscriptions.ts'

/** How often a process says that it still sends, and how long after that others may take over, in milliseconds. */
export const RENEW_MS = 5000
const SILENT_MS = 15_000

const living = new Set<string>()

/** The name of a dispatcher: machine, process, and a part of its own. */
export function joinClaimants(): string {
  const name = `${hostname()}/${process.pid}/${randomUUID()}`
  living.add(name)
  return name
}

export const leaveClaimants = (name: string): void => void living.delete(name)

/** A dispatcher at a time in milliseconds since 1970. */
export const claimantAt = (by: string, now: number): Claimant => ({
  by,
  at: new Date(now).toISOString(),
  silentSince: new Date(now - SILENT_MS).toISOString(),
})

/** Speaks for what this dispatcher sends to, and sets free what processes of this machine that ended have left. */
export async function renew(trx: Trx, claimant: Claimant): Promise<void> {
  await renewDestinations(trx, claimant)
  for (const name of await listClaimants(trx)) if (isGone(name)) await releaseAllOf(trx, name)
}

/** Of other machines only silence tells. */
function isGone(name: string): boolean {
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

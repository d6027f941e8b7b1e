import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Transaction } from '../../database/access.ts'
import { type Claimant, listClaimants, releaseAllOf, renewDestinations } from '../queries.ts'

/** How often a process says that it still sends, and how long after that others may take over, in milliseconds. */
export const RENEW_MS = 5000
const SILENT_MS = 15_000

const living = new Set<string>()
const here = processSpace()

/** What process ids are unique in: on Linux this boot and this container, for containers may share a host's name. */
function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`
  } catch {
    // Not Linux.
    return hostname()
  }
}

/** The name of a dispatcher: where its process runs, the process, and a part of its own. */
export function joinClaimants(): string {
  const name = `${here}/${process.pid}/${randomUUID()}`
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
export async function renew(trx: Transaction, claimant: Claimant): Promise<void> {
  await renewDestinations(trx, claimant)
  for (const name of await listClaimants(trx)) if (isGone(name)) await releaseAllOf(trx, name)
}

/** Of processes elsewhere only silence tells. */
function isGone(name: string): boolean {
  const [space, pid] = name.split('/')
  if (living.has(name) || space !== here) return false
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

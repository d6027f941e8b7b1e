import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Transaction } from '../../database/database.ts'
import { type LeaseHolder, listLeaseHolders, releaseAllDestinations, renewDestinations } from '../queries.ts'

/** How often a process says that it still sends, and how long after that others may take over, in milliseconds. */
export const RENEW_INTERVAL_MS = 5000
const LEASE_MS = 15_000

const activeHolders = new Set<string>()
const ownSpace = processSpace()

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
export function registerLeaseHolder(): string {
  const name = `${ownSpace}/${process.pid}/${randomUUID()}`
  activeHolders.add(name)
  return name
}

export const unregisterLeaseHolder = (name: string): void => void activeHolders.delete(name)

/** A dispatcher at a time in milliseconds since 1970. */
export const leaseHolderAt = (by: string, now: number): LeaseHolder => ({
  holder: by,
  now: new Date(now).toISOString(),
  expiredBefore: new Date(now - LEASE_MS).toISOString(),
})

/** Speaks for what this dispatcher sends to, and sets free what processes of this machine that ended have left. */
export async function renewLeases(trx: Transaction, claimant: LeaseHolder): Promise<void> {
  await renewDestinations(trx, claimant)
  for (const name of await listLeaseHolders(trx)) if (isGone(name)) await releaseAllDestinations(trx, name)
}

/** Of processes elsewhere only silence tells. */
function isGone(name: string): boolean {
  const [space, pid] = name.split('/')
  if (activeHolders.has(name) || space !== ownSpace) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not ours to signal, but there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

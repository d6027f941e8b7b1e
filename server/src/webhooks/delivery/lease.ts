import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Transaction } from '../../database/database.ts'
import { type LeaseHolder, listLeaseHolders, releaseAllDestinations, renewDestinations } from '../queries.ts'

/** How often a process renews its leases, and how long they last, in milliseconds. */
export const RENEW_INTERVAL_MS = 5000
const LEASE_MS = 15_000

const activeHolders = new Set<string>()
const ownSpace = processSpace()

/** The scope in which process ids are unique: on Linux this boot and PID namespace, since containers may share a host name. */
function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`
  } catch {
    // Not Linux.
    return hostname()
  }
}

/** A unique name for a dispatcher: the scope of its process id, the process id, and a random part. */
export function registerLeaseHolder(): string {
  const name = `${ownSpace}/${process.pid}/${randomUUID()}`
  activeHolders.add(name)
  return name
}

export const unregisterLeaseHolder = (name: string): void => void activeHolders.delete(name)

/** @param now milliseconds since 1970 */
export const leaseHolderAt = (holder: string, now: number): LeaseHolder => ({
  holder,
  now: new Date(now).toISOString(),
  expiredBefore: new Date(now - LEASE_MS).toISOString(),
})

/** Renews the leases of a dispatcher, and releases those of ended processes of this machine. */
export async function renewLeases(trx: Transaction, leaseHolder: LeaseHolder): Promise<void> {
  await renewDestinations(trx, leaseHolder)
  for (const name of await listLeaseHolders(trx)) if (isGone(name)) await releaseAllDestinations(trx, name)
}

/** Processes of other machines are detected by their expired leases only. */
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
    // The process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

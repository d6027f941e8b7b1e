import { hasEnded } from '../../core/lease-holders.ts'
import type { Transaction } from '../../database/database.ts'
import { type LeaseHolder, listLeaseHolders, releaseAllDestinations, renewDestinations } from '../queries.ts'

/** How often a process renews its leases, and how long they last, in milliseconds. */
export const RENEW_INTERVAL_MS = 5000
const LEASE_MS = 15_000

/** @param now milliseconds since 1970 */
export const leaseHolderAt = (holder: string, now: number): LeaseHolder => ({
  holder,
  now: new Date(now).toISOString(),
  expiredBefore: new Date(now - LEASE_MS).toISOString(),
})

/** Renews the leases of a dispatcher, and releases those of ended processes of this machine. */
export async function renewLeases(trx: Transaction, leaseHolder: LeaseHolder): Promise<void> {
  await renewDestinations(trx, leaseHolder)
  for (const name of await listLeaseHolders(trx)) if (hasEnded(name)) await releaseAllDestinations(trx, name)
}

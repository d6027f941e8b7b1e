import fc from 'fast-check'
import type { DocumentedOperation } from '../support/document.ts'
import { updateRows } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { expectOk } from '../support/shop.ts'
import { whyNotAcceptable } from './accepted.ts'
import { type Call, callsOf } from './call.ts'
import type { FuzzWorld } from './world.ts'

export interface Tally {
  calls: number
  byStatus: Record<number, number>
}

/**
 * Sends `numRuns` requests of an operation. No response may be a 5xx or violate the document (the world's fetch checks that),
 * a rejected request must not change a row, and a request that the document rejects must not be accepted. @throws with the call that broke it.
 */
export async function fuzz(world: FuzzWorld, op: DocumentedOperation, numRuns: number, seed: number): Promise<Tally> {
  const tally: Tally = { calls: 0, byStatus: {} }
  const property = fc.asyncProperty(callsOf(op, world), async (call) => {
    const before = world.state()
    const status = await statusOf(world, op, call)
    tally.calls++
    tally.byStatus[status] = (tally.byStatus[status] ?? 0) + 1
    if (status >= 500) throw new Error(`answered ${status}: ${newest(world)}`)
    if (status >= 400 && world.state() !== before) throw new Error(`answered ${status} and changed something`)
    const wrong = status < 300 ? whyNotAcceptable(op, call.body) : []
    if (wrong.length > 0) throw new Error(`answered ${status} although ${wrong.join('; ')}`)
    if (status < 300) await undo(world, op)
  })
  // A smaller call would be tried on a state that the larger one has changed.
  await fc.assert(property, { numRuns, seed, endOnFailure: true })
  return tally
}

async function statusOf({ send }: FuzzWorld, op: DocumentedOperation, call: Call): Promise<number> {
  const response = await send(op, call)
  await response.arrayBuffer()
  return response.status
}

const newest = ({ server }: FuzzWorld) => server.logs.findLast((line) => line.includes('"bug"')) ?? server.logs.at(-1)

/** A shop that was disabled, or whose store secret was changed, would reject every later request. */
async function undo({ server, storeSecret }: FuzzWorld, op: DocumentedOperation): Promise<void> {
  if (op.path.startsWith('/operator/'))
    updateRows(server, 'shops', { plan: 'PROFESSIONAL', apiEnabled: 1, suspendedAt: null })
  if (op.id !== 'updateSettings') return
  updateRows(server, 'shops', { apiEnabled: 1 })
  await expectOk(admin(server, 'PATCH', '/settings', { storeWebhookSecret: storeSecret }))
}

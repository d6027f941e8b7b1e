import { callOperation, exampleServer, ID } from '../contract/fixture.ts'
import { operations, ownerOperations } from '../support/document.ts'
import { callOwner, FRESH, ownerServer, sessionFor } from '../support/owner.ts'
import type { Reply, TestServer } from '../support/server.ts'

/** One operation that changes something, on a server where its example succeeds. */
export interface ReadyMutation {
  id: string
  server: TestServer
  call: () => Promise<Reply>
}

/** Where the document's first example would change nothing. */
const CHANGE: Record<string, object> = {
  updateAffiliate: { body: { status: 'REJECTED' } },
  assignCoupon: { body: { affiliateId: ID.affiliate } },
}

/** Each operation that changes something, of the public API and of the owner's side. */
export const mutations: (() => Promise<ReadyMutation>)[] = [
  ...operations
    .filter((op) => op.method !== 'GET')
    .map((op) => async () => {
      const server = await exampleServer()
      return { id: op.id, server, call: () => callOperation(server, op, CHANGE[op.id] ?? {}) }
    }),
  ...ownerOperations
    .filter((op) => op.path.startsWith('/admin/') && op.method !== 'GET' && op.id !== 'runBacktest')
    .map((op) => async () => {
      const server = await ownerServer()
      const id = await FRESH[op.id]?.(server)
      const given = { ...sessionFor(server, op), ...(id && { id }) }
      return { id: op.id, server, call: () => callOwner(server, op, given) }
    }),
]

// Full: it revokes credentials of hundreds of open requests.
import { afterAll, describe, expect } from 'vitest'
import { callOperation, snapshot } from '../contract/fixture.ts'
import { type DocumentedOperation, operations, ownerOperations, requiredHeaders } from '../support/document.ts'
import { beforeTransaction } from '../support/faults.ts'
import { bytesOf, type Captured, capture, type HeldRequests, holdRequests } from '../support/held-requests.ts'
import { callOwner, type OwnerServer } from '../support/owner.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { callSite, isOfSite, siteOperations } from '../support/site.ts'
import { stripeSignature } from '../support/store-signature.ts'
import { test } from '../support/test.ts'
import {
  keyWays,
  type OtherProcess,
  otherProcess,
  STRIPE_SECRET,
  sessionWays,
  signed,
  siteWays,
  storeWays,
  stripeWays,
  tokenWays,
  type Way,
} from './ways.ts'

let held: HeldRequests
let other: OtherProcess
test.beforeAll(async ({ ownerServer: server }) => {
  held = await holdRequests(server)
  other = await otherProcess(server)
})
afterAll(async () => {
  await held.close()
  await other.close()
})

const changes = (op: DocumentedOperation) => op.method !== 'GET'
const ofKeys = operations.filter(changes)
const ofOwners = ownerOperations.filter(
  (op) => changes(op) && op.path.startsWith('/admin/') && op.id !== 'createSession',
)
const ofStores = ownerOperations.filter(({ path }) => path.startsWith('/integrations/shopify/'))
const ofSites = siteOperations.filter(changes)
const ofStripe = ownerOperations.filter(({ path }) => path.startsWith('/integrations/stripe/'))

const requestOf = (server: OwnerServer, op: DocumentedOperation): Promise<Captured> =>
  capture(server, (fake) => {
    if (isOfSite(op)) return callSite(fake, op)
    return op.path.startsWith('/api/v1/') ? callOperation(fake, op) : callOwner(fake, op)
  })

/** The bytes of a valid call of an operation with this credential. */
async function bytesFor(
  server: OwnerServer,
  op: DocumentedOperation,
  credential: Record<string, string>,
): Promise<Buffer> {
  const request = await requestOf(server, op)
  if (!op.path.startsWith('/integrations/')) return bytesOf(request, credential)
  const raw = JSON.stringify(request.options.body)
  const path = op.path.replace('{shopId}', server.shop.shopId)
  const signatures = { ...signed(raw), ...stripeSignature(raw, STRIPE_SECRET, server.deps.now()) }
  return bytesOf({ ...request, path, options: { raw } }, { ...credential, ...requiredHeaders(op), ...signatures })
}

const statusAndCode = (answer: RawAnswer | undefined) => [answer?.status, answer?.headers['x-error-code']]

/** The credential is revoked after all but the last byte of the request has arrived. */
async function whileOpen(server: OwnerServer, op: DocumentedOperation, { make, rejection }: Way): Promise<void> {
  const { headers, revoke, restore } = await make(other)
  const finish = await held.hold(await bytesFor(server, op, headers))
  await revoke()
  const before = snapshot(server)
  const answer = await finish()
  expect(statusAndCode(answer), answer?.body).toEqual(rejection)
  expect(snapshot(server), 'a refused request changed the database').toBe(before)
  await restore?.()
}

/** The credential is revoked after the request was authorized and before the transaction begins. */
async function beforeCommit(server: OwnerServer, op: DocumentedOperation, { make, rejection }: Way): Promise<void> {
  const { headers, revoke, restore } = await make(other)
  let before = ''
  const end = beforeTransaction(server, async (shopId) => {
    // Transactions without a shop, such as the one of the last use of a key, are not changes by the caller.
    if (shopId === undefined || before !== '') return
    await revoke()
    before = snapshot(server)
  })
  const answer = await (await held.hold(await bytesFor(server, op, headers)))()
  end()
  expect(before, 'the operation began no transaction').not.toBe('')
  expect(statusAndCode(answer), answer?.body).toEqual(rejection)
  expect(snapshot(server), 'a refused request changed the database').toBe(before)
  await restore?.()
}

/** Operations without a change are not checked at the commit. */
const READS = ['runBacktest']

const cases: [what: string, ops: DocumentedOperation[], ways: Record<string, Way>][] = [
  ['an API key', ofKeys, keyWays],
  ['an owner token', ofOwners.filter(({ id }) => id !== 'deleteSession'), tokenWays],
  ['a session', ofOwners, sessionWays],
  ['a store', ofStores, storeWays],
  ['Stripe', ofStripe, stripeWays],
  ['a page of the shop', ofSites, siteWays],
]

describe.each(cases)('%s', (_what, ops, ways) => {
  for (const [name, way] of Object.entries(ways)) {
    describe(name, () => {
      for (const op of ops) {
        // Staff may do it too.
        if (way.rejection[1] === 'role_missing' && op.roles.includes('STAFF')) continue
        test(`${op.id} while the request was open`, ({ ownerServer: server }) => whileOpen(server, op, way))
        if (!READS.includes(op.id))
          test(`${op.id} before the transaction began`, ({ ownerServer: server }) => beforeCommit(server, op, way))
      }
    })
  }
})

test('every operation that changes something is tried', () => {
  const tried = cases.flatMap(([, ops]) => ops.map(({ id }) => id))
  const all = [...operations, ...ownerOperations].filter(changes).map(({ id }) => id)
  expect(all.filter((id) => !tried.includes(id))).toEqual(['createSession'])
})

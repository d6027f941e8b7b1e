import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { withoutMemory, withStalledBody } from '../support/bodies.ts'
import { type DocumentedOperation, examplesOf, operatorOperations as ops } from '../support/document.ts'
import {
  beforeTransaction,
  failStatement,
  loseCommits,
  rejectTransactions,
  rejectWrites,
  whileBroken,
} from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import {
  callOperator,
  callOperatorOperation,
  deletionOf,
  freshCall,
  newTenant,
  type OperatorCall,
  operate,
} from '../support/operator.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { exampleServer, snapshot } from './fixture.ts'

let server: TestServer
beforeAll(async () => {
  server = await exampleServer()
})
afterAll(() => server.close())

type Cause = (op: DocumentedOperation) => Promise<Reply>

const calling =
  (given: OperatorCall): Cause =>
  (op) =>
    callOperator(server, op, given)
const badBody = (body: unknown): Cause => calling({ body })

/** Another process changes the shop, its user and its key after they were read and before the transaction. */
const raced: Cause = async (op) => {
  const call = await freshCall(server, op)
  const { shopId, userId = '', keyId = '' } = call
  const end = beforeTransaction(server, (changed) => {
    if (changed !== shopId) return
    updateRows(server, 'shops', { version: 99 }, { id: shopId })
    updateRows(server, 'users', { tokenHash: 'a'.repeat(64) }, { id: userId })
    updateRows(server, 'apiKeys', { secretHash: 'a'.repeat(64) }, { id: keyId })
  })
  const reply = await callOperator(server, op, call)
  end()
  updateRows(server, 'users', { tokenHash: userId }, { id: userId })
  updateRows(server, 'apiKeys', { secretHash: keyId }, { id: keyId })
  return reply
}

const revoked =
  (by: string): Cause =>
  async (op) => {
    const tenant = await newTenant(server)
    await expectOk(callOperatorOperation(server, by, tenant))
    return callOperator(server, op, tenant)
  }

async function shopWithBatch() {
  const tenant = await newTenant(server)
  const shop = await server.createShop()
  const asShop = { ...server, ...server.asShop(shop) }
  await withAffiliate(asShop)
  await expectOk(convert(asShop, { externalOrderId: 'x', amountCents: 10_000, couponCode: 'NISA16' }))
  const october = { periodStart: '2026-10-01', periodEnd: '2026-11-30' }
  await expectOk(asShop.request('POST', '/api/v1/payouts', { body: october }))
  return { ...tenant, shopId: shop.shopId }
}

const sharedCauses: Record<string, Cause> = {
  operator_credentials_missing: calling({ key: null }),
  operator_credentials_malformed: calling({ key: null, headers: { Authorization: 'Basic abc' } }),
  operator_token_unknown: (op) => callOperator(server, op, { key: server.shop.ownerToken }),
  operator_throttled: async (op) => {
    server.exhausted.add('operator:unknown')
    const reply = await callOperator(server, op, { key: server.shop.key })
    server.exhausted.clear()
    return reply
  },
  path_unknown: async (op) => {
    const { config } = server.deps
    server.deps.config = { ...config, operatorToken: undefined }
    const reply = await callOperator(server, op)
    server.deps.config = config
    return reply
  },
  shop_not_found: async (op) =>
    callOperator(server, op, { ...(op.id === 'deleteShop' && { query: NOBODY }), shopId: 'shp_none' }),
  user_not_found: calling({ userId: 'usr_none' }),
  key_not_found: calling({ keyId: 'key_none' }),
  user_already_revoked: revoked('revokeShopUser'),
  key_already_revoked: revoked('revokeShopKey'),
  concurrent_change: raced,
  method_not_allowed: calling({ method: 'PUT' }),
  internal_error: async (op) => {
    const call = await freshCall(server, op)
    const { now } = server.deps
    server.deps.now = () => {
      throw new TypeError('a bug')
    }
    const reply = await callOperator(server, op, call)
    server.deps.now = now
    return reply
  },
  storage_unavailable: (op) => whileBroken(rejectTransactions(server), () => callOperator(server, op, VALID(op))),
  audit_unavailable: (op) =>
    whileBroken(rejectWrites(server, 'insert', 'audits'), () => callOperator(server, op, VALID(op))),
  outcome_unknown: (op) => whileBroken(loseCommits(server), () => callOperator(server, op, VALID(op))),
  invalid_parameter: calling({ query: 'dryRun=1' }),
  invalid_json: calling({ raw: '{"name": ' }),
  body_timeout: (op) => withStalledBody(server, (given) => callOperator(server, op, given)),
  server_busy: (op) => withoutMemory(server, () => callOperator(server, op)),
  body_too_large: calling({ raw: JSON.stringify({ note: 'x'.repeat(2 * 1024 * 1024) }) }),
}

const NOBODY = `name=Hats&digest=${'0'.repeat(64)}`
/** Parameters that are valid without changing anything. */
const VALID = (op: DocumentedOperation): OperatorCall => (op.id === 'deleteShop' ? { query: NOBODY } : {})

const causes: Record<string, Cause> = {
  'listShops invalid_parameter': calling({ query: 'limit=101' }),
  'createShop invalid_body': badBody({ name: 'X', currency: 'usd' }),
  'createShop unknown_property': badBody({ name: 'X', owner: 'x' }),
  'updateShop invalid_body': badBody({ name: ' ' }),
  'updateShop unknown_property': badBody({ currency: 'EUR' }),
  'deleteShop invalid_parameter': calling({}),
  'deleteShop shop_not_suspended': calling({ query: NOBODY }),
  'deleteShop shop_name_mismatch': async (op) => {
    const { shopId } = await newTenant(server)
    const query = await deletionOf(server, shopId)
    return callOperator(server, op, { shopId, query: query.replace('Test', 'Best') })
  },
  'deleteShop shop_export_required': async (op) => {
    const { shopId } = await newTenant(server)
    await deletionOf(server, shopId)
    return callOperator(server, op, { shopId, query: `name=Test+shop&digest=${'0'.repeat(64)}` })
  },
  'deleteShop shop_has_open_batch': async (op) => {
    const { shopId } = await shopWithBatch()
    return callOperator(server, op, { shopId, query: await deletionOf(server, shopId) })
  },
  'resumeShop shop_deletion_started': async (op) => {
    const { shopId } = await newTenant(server)
    const query = await deletionOf(server, shopId)
    const restore = rejectWrites(server, 'delete', 'shops')
    await callOperatorOperation(server, 'deleteShop', { shopId, query })
    restore()
    return callOperator(server, op, { shopId })
  },
  'createShopUser invalid_body': badBody({ email: 'x' }),
  'createShopUser unknown_property': badBody({ email: 'x@example.com', name: 'X' }),
  'createShopUser user_exists': badBody({ email: 'OWNER@shop.example' }),
  'createShopKey invalid_body': badBody({ label: 'X', scopes: [] }),
  'createShopKey unknown_property': badBody({ label: 'X', scopes: ['events:write'], scope: 'x' }),
  'createShopKey key_limit_reached': async (op) => {
    const { shopId } = await newTenant(server)
    for (let i = 0; i < 19; i++) await expectOk(callOperator(server, op, { shopId }))
    return callOperator(server, op, { shopId })
  },
  'rotateShopKey invalid_body': badBody({ overlapSeconds: 604_801 }),
  'rotateShopKey unknown_property': badBody({ overlap: 1 }),
  'listOperatorAudit invalid_parameter': calling({ query: 'limit=101' }),
  'listOperatorAudit period_invalid': calling({ query: 'from=2026-10-02&to=2026-10-01' }),
}

/** These cases create or change rows before the request is rejected. */
const CHANGES = /concurrent|already|limit_reached|mismatch|required|open_batch|deletion_started|internal_error/

describe.each(ops.map((op) => [op.id, op] as const))('%s', (id, op) => {
  for (const [status, codes] of Object.entries(op.responses)) {
    for (const code of codes) {
      test(`${status} ${code}`, async () => {
        // Every request with a valid token is audited, whatever becomes of it.
        const before = CHANGES.test(code) ? undefined : snapshot(server, ['audits'])
        const reply = await (causes[`${id} ${code}`] ?? sharedCauses[code])?.(op)
        expect(reply, `nothing brings ${code} about`).toBeDefined()
        expect({ status: String(reply?.status), code: reply?.headers.get('X-Error-Code') }).toEqual({ status, code })
        if (op.sentences[code]) expect(reply?.body.error).toBe(op.sentences[code])
        if (before) expect(snapshot(server, ['audits']), 'a rejected request changed the database').toBe(before)
      })
    }
  }
})

test('no test causes an undocumented error', () => {
  const documented = ops.flatMap((op) =>
    Object.values(op.responses).flatMap((codes) => codes.map((code) => `${op.id} ${code}`)),
  )
  expect(Object.keys(causes).filter((one) => !documented.includes(one))).toEqual([])
})

/** An export and a deletion are several transactions; both have their own tests. */
const SEVERAL = ['exportShop', 'deleteShop']

describe('every example of the document works after errors, and the audit of the installation names the operation', () => {
  for (const { op, name, value } of examplesOf(ops)) {
    test(`${op.id} ${name}`, async () => {
      const call = { ...(await freshCall(server, op)), ...(value !== undefined && { body: value }) }
      const before = snapshot(server, ['audits'])
      for (let n = 1; !SEVERAL.includes(op.id); n++) {
        const restore = failStatement(server, n)
        const { status, body } = await callOperator(server, op, call)
        restore()
        if (status < 300) break
        expect([n, status], JSON.stringify(body)).toEqual([n, 503])
        expect(snapshot(server, ['audits']), `statement ${n}`).toBe(before)
      }
      if (SEVERAL.includes(op.id)) expect((await callOperator(server, op, call)).status).toBe(200)
      const shopId = op.path.includes('{shopId}') ? (call.shopId ?? server.shop.shopId) : null
      const record = { actor: 'operator', subjectId: shopId, data: { operation: op.id } }
      // The newest record is that of this request itself.
      const [, latest] = await expectOk(operate(server, 'GET', '/audit?action=operator.requested&limit=2'))
      expect(latest).toMatchObject(record)
    })
  }
})

test('without an operator token on the server, no path of the operator exists', async () => {
  const { config } = server.deps
  server.deps.config = { ...config, operatorToken: undefined }
  const reply = await operate(server, 'GET', '/shops')
  server.deps.config = config
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([404, 'path_unknown'])
})

test('owner tokens and API keys are rejected, and the operator token is rejected elsewhere', async () => {
  for (const key of [server.shop.key, server.shop.ownerToken]) {
    const reply = await callOperatorOperation(server, 'listShops', { key })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([403, 'operator_token_unknown'])
  }
  const { operatorToken = '' } = server.deps.config
  const asKey = await server.request('GET', '/api/v1/programs', { key: operatorToken })
  const asOwner = await server.request('GET', '/admin/v1/keys', { key: operatorToken })
  expect([asKey, asOwner].map(({ headers }) => headers.get('X-Error-Code'))).toEqual([
    'key_unknown',
    'owner_token_unknown',
  ])
})

test('a suspended shop stays suspended for every operation of the operator that does not resume it', async () => {
  const { shopId } = await newTenant(server)
  await shops.suspend(server.deps, shopId)
  await expectOk(callOperatorOperation(server, 'updateShop', { shopId }))
  expect(await expectOk(callOperatorOperation(server, 'getShop', { shopId }))).toMatchObject({ status: 'SUSPENDED' })
})

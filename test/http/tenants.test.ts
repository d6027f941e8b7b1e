import { describe, expect } from 'vitest'
import { callOperation, ID, snapshot } from '../contract/fixture.ts'
import { operations } from '../support/document.ts'
import type { TestShop } from '../support/server.ts'
import { test } from '../support/test.ts'

let stranger: TestShop
test.beforeAll(async ({ exampleServer: server }) => {
  stranger = await server.createShop()
})

/** Every id of the first shop that another might send. */
const foreign = [...Object.values(ID), 'NISA16', 'nisa-karim', 'nisa@example.com', 's-1', '1000', 'api:1000']
const leaks = /nisa|1440|Friends|hooks\.example/i

describe('another shop finds nothing and changes nothing', () => {
  // A refund that another shop reported is unknown here, so canceling it is stored; see refund-cancellations.test.ts.
  for (const op of operations.filter((one) => !one.isPublic && one.id !== 'cancelRefund')) {
    const named = op.parameters.filter(({ in: place, name }) => place === 'query' && /id$|email|code|^q$/i.test(name))
    for (const { name } of named) {
      for (const value of foreign) {
        test(`${op.id}: ${name} = ${value}`, async ({ exampleServer: server }) => {
          const before = snapshot(server, ['audits'])
          const query = new URLSearchParams({
            ...(op.id === 'payPayout' ? { action: 'pay' } : {}),
            ...(op.id === 'getJourney' ? { sessionId: 's-1' } : {}),
            ...(op.id === 'getUnpaid' ? { periodStart: '2026-10-01', periodEnd: '2026-11-01' } : {}),
            [name]: value,
          })
          const reply = await callOperation(server, op, { key: stranger.key, query: query.toString() })
          const rows = reply.body.data ?? reply.body.journey ?? reply.body.topAffiliates ?? []
          expect([404, 200]).toContain(reply.status)
          expect(rows).toEqual([])
          expect(JSON.stringify(reply.body)).not.toMatch(leaks)
          expect(snapshot(server, ['audits'])).toBe(before)
        })
      }
    }
  }

  test.for([
    ['POST', '/api/v1/affiliates', { email: 'x@example.com', name: 'X', campaignId: ID.program }],
    ['POST', '/api/v1/coupons', { affiliateId: ID.affiliate, code: 'STEAL' }],
    ['POST', '/api/v1/affiliates/aliases', { affiliateId: ID.affiliate, kind: 'CODE', value: 'STEAL' }],
    ['POST', '/api/v1/payouts', { periodStart: '2026-10-01', periodEnd: '2026-11-01', affiliateIds: [ID.affiliate] }],
    ['POST', '/api/v1/payouts', { periodStart: '2026-10-01', periodEnd: '2026-11-01', programId: ID.program }],
  ])('%s %s with a foreign id in the body: 404', async ([method, path, body], { exampleServer: server }) => {
    const before = snapshot(server)
    expect((await server.request(method, path, { key: stranger.key, body })).status).toBe(404)
    expect(snapshot(server)).toBe(before)
  })

  test('an order that names an affiliate of another shop in every way is not attributed', async ({
    exampleServer: server,
  }) => {
    const body = {
      externalOrderId: '1000',
      amountCents: 100,
      couponCode: 'NISA16',
      affiliateCode: 'nisa-karim',
      ref: ID.affiliate,
      clickId: 'jrn_01KAH0000000000000000000J1',
      sessionId: 's-1',
      customerEmail: 'buyer@example.com',
    }
    const reply = await server.request('POST', '/api/v1/events', {
      key: stranger.key,
      body,
      headers: { 'Idempotency-Key': 'x' },
    })
    expect(reply.body).toEqual({
      attribution: { affiliateId: null, method: null, confidence: 0, reasonCode: 'NO_MATCH' },
      commission: {
        id: null,
        eligible: false,
        affiliateId: null,
        amountCents: 0,
        status: null,
        restrictionReasonCode: null,
      },
    })
  })

  test('a shop id in the body or the query is ignored', async ({ exampleServer: server }) => {
    const { body } = await server.request('POST', `/api/v1/events?shopId=${server.shop.shopId}`, {
      key: stranger.key,
      body: { externalOrderId: '7', amountCents: 100, couponCode: 'NISA16', shopId: server.shop.shopId },
      headers: { 'Idempotency-Key': 'y' },
    })
    expect(body.commission.id).toBeNull()
  })
})

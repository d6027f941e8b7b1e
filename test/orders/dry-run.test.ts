import { expect } from 'vitest'
import { ENGINE_VERSION } from '../../server/src/engine/decide.ts'
import { snapshot } from '../contract/fixture.ts'
import { subscribe } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let nisa: { id: string; campaignId: string }
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  subscribe(server)
})

const order = { externalOrderId: 'dry', amountCents: 10_000, discountCents: 1000, couponCode: 'NISA', ref: 'nobody' }
const dryRun = (server: TestServer, body: object, headers = {}) =>
  server.request('POST', '/api/v1/events?dryRun=1', { body, headers })

test('200 with the decision and its trace, without a key, and nothing is written', async ({ server }) => {
  const before = snapshot(server)
  const reply = await dryRun(server, order)
  expect([reply.status, reply.headers.get('X-Order-Already-Recorded'), reply.body]).toEqual([
    200,
    null,
    {
      dryRun: true,
      attribution: { affiliateId: nisa.id, method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
      commission: {
        id: null,
        eligible: true,
        affiliateId: nisa.id,
        amountCents: 1440,
        status: 'APPROVED',
        restrictionReasonCode: null,
      },
      trace: {
        engineVersion: ENGINE_VERSION,
        candidates: [
          {
            kind: 'COUPON',
            source: 'couponCode',
            value: 'NISA',
            alias: null,
            affiliateId: nisa.id,
            confidence: 1,
            reasonCode: 'COUPON_MATCH',
            won: true,
          },
          {
            kind: 'DIRECT_LINK',
            source: 'ref',
            value: 'nobody',
            alias: null,
            affiliateId: null,
            confidence: 0,
            reasonCode: 'NO_MATCH',
            won: false,
          },
        ],
        programId: nisa.campaignId,
        commissionType: 'PERCENT_OF_SALE',
        rateBps: 1600,
        subtotalCents: 10_000,
        baseCents: 9000,
        amountCents: 1440,
        taxWithheldCents: 0,
        terms: null,
        currency: 'USD',
        groups: [
          {
            commissionType: 'PERCENT_OF_SALE',
            rate: 1600,
            baseCents: 9000,
            quantity: 1,
            amountCents: 1440,
            unpaidReasonCode: null,
            lines: [],
          },
        ],
      },
    },
  ])
  expect(snapshot(server)).toBe(before)
})

test('200 and nothing written, even with a key, which can be used again', async ({ server }) => {
  const before = snapshot(server)
  const headers = { 'Idempotency-Key': 'dry-key' }
  expect((await dryRun(server, order, headers)).status).toBe(200)
  expect((await dryRun(server, { ...order, amountCents: 1 }, headers)).status).toBe(200)
  expect(snapshot(server)).toBe(before)
  expect(
    (await convert(server, { externalOrderId: 'free', amountCents: 1 }, { idempotencyKey: 'dry-key' })).status,
  ).toBe(201)
})

test('200 without attribution and for a restricted order, with nothing written', async ({ server, client }) => {
  const before = snapshot(server)
  const nobody = await client.events.dryRun({ externalOrderId: 'n', amountCents: 1 })
  expect([nobody.attribution.reasonCode, nobody.commission.status, nobody.trace.candidates]).toEqual([
    'NO_EVIDENCE',
    null,
    [],
  ])
  const zero = await client.events.dryRun({ ...order, amountCents: 0 })
  expect([zero.commission.status, zero.commission.restrictionReasonCode]).toEqual(['REJECTED', 'ZERO_BASE'])
  expect(snapshot(server)).toBe(before)
})

test('the same decision as the report that follows', async ({ client }) => {
  const sent = {
    externalOrderId: 'both',
    couponCode: 'NISA',
    discountCents: 333,
    lineItems: [{ productId: '1', quantity: 3, priceCents: 1111 }],
  }
  const { attribution, commission } = await client.events.dryRun(sent)
  const recorded = await client.events.conversion(sent)
  expect(recorded).toEqual({
    attribution,
    commission: { ...commission, id: recorded.commission.id },
    alreadyRecorded: false,
    differs: false,
  })
})

test('200 with the decision of an order that is already recorded', async ({ server, client }) => {
  await client.events.conversion({ ...order, externalOrderId: 'recorded' })
  const reply = await dryRun(server, { ...order, externalOrderId: 'recorded' })
  expect([reply.status, reply.headers.get('X-Order-Already-Recorded')]).toEqual([200, 'true'])
})

test('aliases and checks are those of a report', async ({ server, client }) => {
  const { status, body } = await dryRun(server, {
    orderId: 'alias',
    amountCents: 100,
    couponCode: 'NISA',
    processedAt: '2026-10-01',
  })
  expect([status, body.commission.amountCents]).toEqual([200, 16])
  expect(await rejection(client.events.dryRun({ externalOrderId: 'x', amountCents: -1 }))).toEqual([
    400,
    'invalid_body',
  ])
  const ahead = { externalOrderId: 'x', amountCents: 1, occurredAt: '2026-11-02T12:05:00.001Z' }
  expect(await rejection(client.events.dryRun(ahead))).toEqual([400, 'occurred_at_in_future'])
})

test.for(['0', 'true', ''])('400 for the parameter dryRun=%s', async (value, { server }) => {
  const before = snapshot(server)
  const reply = await server.request('POST', `/api/v1/events?dryRun=${value}`, {
    body: order,
    headers: { 'Idempotency-Key': 'not-dry' },
  })
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
  expect(snapshot(server)).toBe(before)
})

import type { OrderFields } from '@referral/sdk'
import { describe, expect } from 'vitest'
import { auditLog, insertRow, outbox, subscribe } from '../support/inspect.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let program: { id: string }
let nisa: { id: string; email: string }
test.beforeAll(async ({ server }) => {
  const found = await withAffiliate(server, { code: 'NISA', email: 'Nisa+shop@Example.com' })
  program = found.program
  nisa = found.affiliate
})

let orders = 0
type Order = Partial<OrderFields> & { amountCents?: number }
const report = (client: Client, more: Order) =>
  client.events.conversion({ externalOrderId: `o-${++orders}`, amountCents: 10_000, couponCode: 'NISA', ...more })
const restriction = async (client: Client, more: Order) => (await report(client, more)).commission.restrictionReasonCode

test('201 with a rejected commission of 0, its reason, one event and one audit record', async ({ server, client }) => {
  await client.affiliates.update(nisa.id, { status: 'PENDING' })
  subscribe(server)
  const [events, audits] = [outbox(server), auditLog(server)]
  const { attribution, commission } = await report(client, { discountCents: 1000 })
  await client.affiliates.update(nisa.id, { status: 'APPROVED' })
  expect(attribution).toEqual({ affiliateId: nisa.id, method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' })
  expect(commission).toEqual({
    id: expect.stringMatching(/^com_/),
    eligible: false,
    affiliateId: nisa.id,
    amountCents: 0,
    status: 'REJECTED',
    restrictionReasonCode: 'AFFILIATE_NOT_APPROVED',
  })
  const row = (await client.commissions.list({ status: 'REJECTED' })).data[0]
  expect(row).toMatchObject({
    id: commission.id,
    programId: program.id,
    commissionBaseCents: 9000,
    commissionRateBps: 1600,
    commissionAmountCents: 0,
    taxWithheldCents: 0,
    restrictionReasonCode: 'AFFILIATE_NOT_APPROVED',
  })
  expect(events()[0]).toMatchObject({ event: 'commission.created', data: { ...row, attribution } })
  expect(audits()[0]).toMatchObject({
    action: 'commission.created',
    subjectId: commission.id,
    data: { status: 'REJECTED', amountCents: 0 },
  })
})

test('the status of the affiliate: ACTIVE and APPROVED earn, PENDING and REJECTED do not', async ({ client }) => {
  const found = []
  for (const status of ['ACTIVE', 'PENDING', 'REJECTED', 'APPROVED'] as const) {
    await client.affiliates.update(nisa.id, { status })
    found.push(await restriction(client, {}))
  }
  expect(found).toEqual([null, 'AFFILIATE_NOT_APPROVED', 'AFFILIATE_REJECTED', null])
})

test('an archived affiliate is found by code and link, and rejected before all other checks', async ({
  server,
  client,
}) => {
  const gone = await newAffiliate(server, { code: 'GNE' })
  const click = await client.events.click({ ref: gone.slug })
  await client.affiliates.update(gone.id, { status: 'REJECTED', campaignId: null })
  await client.affiliates.archive(gone.id)
  for (const evidence of [{ couponCode: 'GNE' }, { clickId: click.id }, { ref: gone.slug }]) {
    const { commission } = await report(client, { couponCode: null, ...evidence })
    expect([commission.affiliateId, commission.restrictionReasonCode]).toEqual([gone.id, 'AFFILIATE_ARCHIVED'])
  }
})

test('an affiliate without a program earns nothing', async ({ server, client }) => {
  const lost = await newAffiliate(server, { code: 'LST' })
  await client.affiliates.update(lost.id, { campaignId: null })
  expect(await restriction(client, { couponCode: 'LST' })).toBe('PROGRAM_MISSING')
  const row = (await client.commissions.list({ affiliateId: lost.id })).data[0]
  expect([row?.programId, row?.commissionType, row?.commissionRateBps]).toEqual([null, null, 0])
})

test.for(['DRAFT', 'PRIVATE', 'PUBLISH'] as const)('a program in status %s pays', async (status, { client }) => {
  await client.programs.update(program.id, { status })
  expect(await restriction(client, {})).toBeNull()
})

test.for(['nisa+shop@example.com', ' NISA@example.com ', 'nisa+other@example.com', 'x@y.example, nisa@example.com'])(
  'a buyer with the address %j is the affiliate',
  async (customerEmail, { client }) => {
    expect(await restriction(client, { customerEmail })).toBe('SELF_REFERRAL')
  },
)

test('another mailbox is another person', async ({ client }) => {
  expect(await restriction(client, { customerEmail: 'nisa@other.example' })).toBeNull()
})

test('a restriction on the winner does not pass the order on to other evidence', async ({ server, client }) => {
  await newAffiliate(server, { code: 'THER', name: 'Second' })
  const { attribution, commission } = await report(client, { customerEmail: 'nisa@example.com', ref: 'second' })
  expect([attribution.affiliateId, attribution.reasonCode]).toEqual([nisa.id, 'COUPON_MATCH'])
  expect(commission.restrictionReasonCode).toBe('SELF_REFERRAL')
})

describe('where a program sells', () => {
  test.beforeAll(async ({ server }) => {
    const found = await withAffiliate(server, { code: 'GE', email: 'geo@example.com' })
    insertRow(server, 'geoRules', {
      programId: found.program.id,
      shopId: server.shop.shopId,
      countries: JSON.stringify(['US', 'CA']),
      states: '[]',
      cities: '[]',
      postalPrefixes: JSON.stringify(['90', '10']),
      updatedAt: new Date(server.clock.ms).toISOString(),
    })
  })

  test.for([
    [{ country: 'US', state: 'CA', city: 'Los Angeles', postalCode: '90001' }, null],
    [{ country: ' us ', postalCode: ' 10115' }, null],
    [{ country: 'DE', postalCode: '10115' }, 'GEO_NOT_ELIGIBLE'],
    [{ country: 'US', postalCode: '80001' }, 'GEO_NOT_ELIGIBLE'],
    [{ country: 'US' }, 'GEO_UNKNOWN'],
    [{ country: 'DE', postalCode: null }, 'GEO_UNKNOWN'],
    [{ country: '', postalCode: '90001' }, 'GEO_UNKNOWN'],
    [{}, 'GEO_UNKNOWN'],
    [null, 'GEO_UNKNOWN'],
  ])('an order shipped to %j has the restriction %s', async ([shipping, expected], { client }) => {
    expect(await restriction(client, { couponCode: 'GE', shipping })).toBe(expected)
  })

  test('a program without a rule sells anywhere', async ({ client }) => {
    expect(await restriction(client, { shipping: { country: 'AQ' } })).toBeNull()
  })
})

describe('a base of zero', () => {
  test.for([
    [{ amountCents: 0 }, 'ZERO_BASE'],
    [{ amountCents: 1000, discountCents: 1000 }, 'ZERO_BASE'],
    [{ amountCents: 1000, discountCents: 1500 }, 'ZERO_BASE'],
    [{ amountCents: 1000, discountCents: 999 }, null],
  ])('an order with %j has the restriction %s', async ([more, expected], { client }) => {
    const { commission } = await report(client, more)
    expect([commission.restrictionReasonCode, commission.amountCents]).toEqual([expected, 0])
  })

  test('a base too small for a cent is no restriction', async ({ client }) => {
    const { commission } = await report(client, { amountCents: 3 })
    expect(commission).toMatchObject({
      eligible: true,
      amountCents: 0,
      status: 'APPROVED',
      restrictionReasonCode: null,
    })
  })
})

import { ok, type Store, storeOf } from '../../stores/fixture.ts'
import { orderPayload } from '../../stores/payloads.ts'
import { dumpOf, rowsOf } from '../../support/inspect.ts'
import { admin } from '../../support/owner.ts'
import type { TestServer } from '../../support/server.ts'
import { convert, expectOk, newAffiliate } from '../../support/shop.ts'

/** The mailbox of the person in these tests, as it was typed. */
export const EMAIL = 'Zoe.Canary@Bücher.example'
/** The same mailbox as different sources spell it. */
export const SPELLINGS = {
  plain: EMAIL,
  upper: 'ZOE.CANARY@BÜCHER.EXAMPLE',
  decomposed: EMAIL.normalize('NFD'),
  tag: 'zoe.canary+shop@bücher.example',
  punycode: 'zoe.canary@xn--bcher-kva.example',
}
/** What is left of any spelling, in whatever encoding. */
export const TRACE = /canary/i

const CUSTOMER_ID = 'customer-of-the-canary-page'

export interface Planted {
  store: Store
  /** Where the merchant wrote the address himself. */
  programId: string
}

const event = (server: TestServer, body: object) => expectOk(server.request('POST', '/api/v1/events', { body }))

/** Sends an address through every input that can store it. */
export async function plantEverywhere(server: TestServer): Promise<Planted> {
  const { plain, upper, decomposed, tag, punycode } = SPELLINGS
  await expectOk(
    server.request('POST', '/api/v1/webhooks', {
      body: { url: 'https://hooks.example.com/all', extendedEvents: true, retryPolicy: 'standard' },
    }),
  )
  const store = await storeOf(server)
  const { id: programId } = await expectOk(
    server.request('POST', '/api/v1/programs', {
      body: { name: 'Lifetime', autoApproveOrder: true, status: 'PUBLISH' },
    }),
  )
  await expectOk(server.request('PATCH', `/api/v1/programs?id=${programId}`, { body: { lifetimeCommission: true } }))
  const { id: friend } = await newAffiliate(server, {
    campaignId: programId,
    code: 'FRIEND',
    email: 'friend@example.com',
  })
  await expectOk(
    server.request('PATCH', `/api/v1/affiliates?id=${friend}`, {
      body: { website: `https://friend.example/?to=${plain}` },
    }),
  )
  await visits(server)
  const order = { amountCents: 10_000, couponCode: 'FRIEND', customerId: CUSTOMER_ID, sessionId: 'session-1' }
  const shipping = { country: 'US', state: 'CA', city: 'Los Canary', postalCode: '90001' }
  const events = [
    { ...order, externalOrderId: 'c-1', customerEmail: plain, shipping, orderName: '#1' },
    { ...order, externalOrderId: 'c-2', customerEmail: upper, shipping },
    { ...order, externalOrderId: 'c-3', customerEmail: `Zoe Canary <${decomposed}>` },
    { ...order, externalOrderId: `order-${punycode}-4`, customerEmail: tag, orderName: `#4 ${tag}` },
    // Nobody is credited.
    { amountCents: 10, externalOrderId: `nobody-${upper}`, customerEmail: tag },
    { amountCents: 10, externalOrderId: 'c-5', customerId: CUSTOMER_ID },
    { amountCents: 10, externalOrderId: 'c-6', customerEmail: `friend@example.com, ${plain}`, couponCode: 'FRIEND' },
    { amountCents: 500, externalOrderId: 'c-7', couponCode: plain, affiliateCode: 'FRIEND', clickId: `click ${plain}` },
  ]
  for (const [i, body] of events.entries())
    await expectOk(convert(server, body, { idempotencyKey: i === 0 ? `order of ${punycode}` : `key-${i}` }))
  await refunds(server, plain)
  await connections(server, friend)
  await notifications(store)
  return { store, programId }
}

async function visits(server: TestServer) {
  const encoded = encodeURIComponent(SPELLINGS.tag)
  const visit = {
    sessionId: 'session-1',
    customerId: CUSTOMER_ID,
    customerEmail: SPELLINGS.upper,
    url: `https://shop.example/?email=${encoded}`,
    landingPage: 'https://shop.example/canary',
    referrerUrl: 'https://mail.example/canary',
    utmSource: 'canary',
    utmMedium: 'canary',
    utmCampaign: 'canary',
    utmTerm: 'canary',
    utmContent: 'canary',
    device: 'phone of the canary',
  }
  await event(server, { ...visit, type: 'click', ref: 'friend' })
  await event(server, { ...visit, type: 'page_view' })
  // Without an address, in the session of the person.
  await event(server, { type: 'page_view', sessionId: 'session-1', url: 'https://shop.example/canary' })
  // In a session of nobody.
  await event(server, { type: 'page_view', sessionId: 'session-9', url: `https://shop.example/?email=${encoded}` })
}

async function refunds(server: TestServer, email: string) {
  const [first] = (await server.request('GET', '/api/v1/commissions?externalOrderId=c-1')).body.data
  const reason = `Zoe Canary wrote from ${email}`
  const refund = { externalRefundId: `refund ${email}`, amountCents: 1000, reason }
  await expectOk(admin(server, 'POST', `/commissions/${first.id}/refund`, refund))
  const report = (body: object) => expectOk(server.request('POST', '/api/v1/refunds', { body }))
  await report({ externalOrderId: 'c-2', externalRefundId: 'r-2', amountCents: 500, reason })
  // Kept for an order that was not reported yet.
  await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: 'c-2', reason } }))
  await report({ externalOrderId: 'late', externalRefundId: 'r-3', amountCents: 500, reason })
}

async function connections(server: TestServer, affiliateId: string) {
  const { tag } = SPELLINGS
  await expectOk(
    admin(server, 'POST', '/connections', { kind: 'customerEmail', value: tag.replace('shop', 'two'), affiliateId }),
  )
}

async function notifications({ notify, affiliate }: Store) {
  const { upper, tag } = SPELLINGS
  const given = {
    codes: ['NISA16'],
    customerId: 77_001,
    landingSite: `/?ref=${affiliate.id}&email=${encodeURIComponent(tag)}`,
  }
  await ok(notify('orders-paid', orderPayload({ ...given, id: 9001, email: upper })))
}

/** The rows that contain a trace of the person, by table. */
export const tracesIn = (server: TestServer): string[] =>
  [...dumpOf(server)].flatMap(([table, rows]) =>
    rows.filter((row) => row.includes(server.shop.shopId) && TRACE.test(row)).map((row) => `${table}: ${row}`),
  )

export const moneyOf = (server: TestServer) => ({
  commissions: rowsOf(server, 'commissions').map(({ id, commissionAmountCents, orderStatus, taxWithheldCents }) => ({
    id,
    commissionAmountCents,
    orderStatus,
    taxWithheldCents,
  })),
  batches: rowsOf(server, 'payoutBatches'),
  refunds: rowsOf(server, 'refunds').map(({ id, goodsCents, commissionCents }) => ({
    id,
    goodsCents,
    commissionCents,
  })),
})

import type { CustomerCreate } from '@referral/sdk'
import { beforeEach, describe, expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let nisa: { id: string }
let mara: { id: string }
let pending: { id: string }
let programId: string
test.beforeAll(async ({ server, client }) => {
  const { program, affiliate } = await withAffiliate(server, { code: 'NISA' })
  programId = program.id
  nisa = affiliate
  mara = await newAffiliate(server, { code: 'MARA', campaignId: programId, email: 'mara@example.com' })
  pending = await newAffiliate(server, { code: 'PEND', campaignId: programId })
  await client.affiliates.update(pending.id, { status: 'PENDING' })
  const rejected = await newAffiliate(server, { code: 'REJE', campaignId: programId })
  await client.affiliates.update(rejected.id, { status: 'REJECTED' })
  const archived = await newAffiliate(server, { code: 'ARCH', campaignId: programId })
  await client.affiliates.archive(archived.id)
})

let count = 0
let customerId: string
let customerEmail: string
beforeEach(() => {
  customerId = `c-${++count}`
  customerEmail = `buyer-${count}@example.com`
})

describe('a sign-up', () => {
  test('binds its customer, and later orders are evidence for the affiliate', async ({ client }) => {
    const { data, attribution, alreadyBound } = await client.customers.create({
      customerId,
      customerEmail,
      couponCode: 'NISA',
      occurredAt: '2026-10-01T00:00:00.000Z',
    })
    expect([data.affiliateId, data.programId, data.boundBy, data.boundAt]).toEqual([
      nisa.id,
      programId,
      'SIGNUP',
      '2026-10-01T00:00:00.000Z',
    ])
    expect([attribution.reasonCode, alreadyBound]).toEqual(['COUPON_MATCH', false])
    const order = { externalOrderId: `o-${customerId}`, amountCents: 10_000 }
    const byEmail = await client.events.conversion({ ...order, customerEmail: customerEmail.toUpperCase() })
    expect(byEmail.attribution).toMatchObject({
      affiliateId: nisa.id,
      reasonCode: 'CONNECTED_CUSTOMER_EMAIL_MATCH',
    })
    const other = await client.events.conversion({
      ...order,
      externalOrderId: `p-${customerId}`,
      customerId,
      couponCode: 'MARA',
    })
    expect(other.attribution.affiliateId).toBe(mara.id)
    const { data: found } = await client.customers.list({ customerEmail })
    expect(found.map((one) => [one.id, one.affiliateId, one.orders])).toEqual([[data.id, nisa.id, 2]])
  })

  test('the first binding is kept', async ({ client }) => {
    const first = await client.customers.create({ customerId, couponCode: 'NISA' })
    const again = await client.customers.create({ customerId, couponCode: 'MARA' })
    expect([again.alreadyBound, again.data]).toEqual([true, first.data])
    expect(again.attribution).toMatchObject({ affiliateId: nisa.id, reasonCode: 'CONNECTED_CUSTOMER_ID_MATCH' })
  })

  test.for<[string, Partial<CustomerCreate>, string]>([
    ['without evidence', {}, 'NO_EVIDENCE'],
    ['with an unknown code', { couponCode: 'NOBODY' }, 'NO_MATCH'],
    ['with an unknown click', { clickId: 'none' }, 'CLICK_NOT_FOUND'],
    ['of an archived affiliate', { couponCode: 'ARCH' }, 'AFFILIATE_ARCHIVED'],
    ['of a rejected affiliate', { couponCode: 'REJE' }, 'AFFILIATE_REJECTED'],
    ['of the affiliate itself', { couponCode: 'MARA', customerEmail: 'Mara+self@example.com' }, 'SELF_REFERRAL'],
  ])('%s is stored unbound, and a later one binds', async ([, evidence, reasonCode], { client }) => {
    const first = await client.customers.create({ customerId, ...evidence } as CustomerCreate)
    expect([first.data.affiliateId, first.attribution.reasonCode]).toEqual([null, reasonCode])
    const { data } = await client.customers.create({ customerId, couponCode: 'NISA' })
    expect([data.id, data.affiliateId]).toEqual([first.data.id, nisa.id])
  })

  test('of an affiliate who awaits approval binds', async ({ client }) => {
    expect((await client.customers.create({ customerId, couponCode: 'PEND' })).data.affiliateId).toBe(pending.id)
  })

  test('counts a click within the program’s window', async ({ server, client }) => {
    const { id: clickId } = await client.events.click({ ref: nisa.id })
    const at = (days: number) => new Date(server.clock.ms + days * 86_400_000).toISOString()
    const bound = await client.customers.create({ customerId, clickId })
    expect(bound.attribution).toMatchObject({ affiliateId: nisa.id, reasonCode: 'CLICK_MATCH' })
    const early = await client.customers.create({ customerId: `${customerId}-early`, clickId, occurredAt: at(-1) })
    expect(early.attribution.reasonCode).toBe('CLICK_AFTER_ORDER')
  })

  test('customerId takes precedence over the address of another customer, and nothing is merged', async ({
    client,
  }) => {
    const { data: known } = await client.customers.create({ customerId, customerEmail, couponCode: 'NISA' })
    const other = await client.customers.create({ customerId: `${customerId}-2`, customerEmail, couponCode: 'MARA' })
    expect([other.data.affiliateId, other.data.id]).not.toContain(known.id)
    expect((await client.customers.list({ customerEmail })).data.map(({ id }) => id)).toEqual([known.id])
  })

  test('a dry run writes nothing', async ({ server, client }) => {
    const before = rowsOf(server, 'customers').length
    const { data } = await client.customers.create({ customerId, couponCode: 'NISA' }, { dryRun: true })
    expect([data.id, data.affiliateId]).toEqual([null, nisa.id])
    expect(rowsOf(server, 'customers').length).toBe(before)
  })

  test('stores no address, and every binding sends customer.bound', async ({ server, client, owner }) => {
    const subscription = { url: 'https://hooks.example.com/customers', extendedEvents: true }
    await expectOk(server.request('POST', '/api/v1/webhooks', { body: subscription }))
    await client.customers.create({ customerId, customerEmail, couponCode: 'NISA' })
    expect(JSON.stringify(rowsOf(server, 'customers'))).not.toContain('@')
    const byOwner = { kind: 'customerId', value: `${customerId}-2`, affiliateId: nisa.id }
    await expectOk(owner('POST', '/connections', byOwner))
    const { body } = await server.request('GET', '/api/v1/webhooks/events?extendedEvents=1')
    const events = body.data.filter(({ event }: { event: string }) => event === 'customer.bound')
    expect(events.map((one: { data: { boundBy: string } }) => one.data.boundBy)).toEqual(['SIGNUP', 'OWNER'])
    expect(events[0].data).toMatchObject({
      customerId,
      affiliateId: nisa.id,
      boundBy: 'SIGNUP',
    })
  })
})

describe('orders', () => {
  const report = (client: Client, id: string, more: object) =>
    client.events.conversion({ externalOrderId: id, amountCents: 10_000, ...more })

  test('are counted in the whole shop while they are credited', async ({ client, owner }) => {
    const on = (day: string) => ({ customerId, occurredAt: `2026-10-${day}T00:00:00.000Z` })
    await report(client, `${customerId}-b`, { ...on('10'), couponCode: 'MARA' })
    await report(client, `${customerId}-a`, { ...on('05'), couponCode: 'NISA' })
    await report(client, `${customerId}-n`, on('01'))
    const of = async () => {
      const [found] = (await client.customers.list({ customerId })).data
      return [found?.orders, found?.firstOrderAt, found?.affiliateId]
    }
    expect(await of()).toEqual([2, '2026-10-05T00:00:00.000Z', null])
    const { data } = await client.commissions.list({ externalOrderId: `${customerId}-a` })
    await expectOk(owner('POST', `/commissions/${data[0]?.id}/refund`, { externalRefundId: 'r' }))
    expect(await of()).toEqual([1, '2026-10-10T00:00:00.000Z', null])
  })

  test.for(['id', 'address'] as const)('add what a customer known by %s lacks', async (known, { client }) => {
    const [named, other] = known === 'id' ? [{ customerId }, { customerEmail }] : [{ customerEmail }, { customerId }]
    const { data } = await client.customers.create({ ...named, couponCode: 'NISA' } as CustomerCreate)
    await report(client, `${customerId}-a`, { customerId, customerEmail, couponCode: 'MARA' })
    const { attribution } = await report(client, `${customerId}-b`, other)
    expect([attribution.affiliateId, attribution.method]).toEqual([nisa.id, 'CONNECTED_CUSTOMER'])
    expect((await client.customers.list(other)).data).toMatchObject([{ id: data.id, customerId, orders: 2 }])
  })

  test('leave an address with the customer who had it first', async ({ client }) => {
    const { data: first } = await client.customers.create({ customerEmail, couponCode: 'NISA' })
    const { data: second } = await client.customers.create({ customerId, couponCode: 'MARA' })
    const { attribution } = await report(client, `${customerId}-a`, { customerId, customerEmail })
    expect(attribution.affiliateId).toBe(mara.id)
    const listed = [{ customerEmail }, { customerId }].map(async (query) => (await client.customers.list(query)).data)
    expect(await Promise.all(listed)).toMatchObject([
      [{ id: first.id, customerId: null, orders: 0 }],
      [{ id: second.id, orders: 1 }],
    ])
  })

  test('of an import count, and come first', async ({ client }) => {
    const imported = { orders: 3, firstOrderAt: '2026-01-01T00:00:00.000Z' }
    const { data } = await client.customers.create({ customerId, couponCode: 'NISA', ...imported })
    expect([data.boundBy, data.orders, data.firstOrderAt]).toEqual(['IMPORT', 3, imported.firstOrderAt])
    await report(client, `${customerId}-a`, { customerId })
    expect((await client.customers.list({ customerId })).data[0]).toMatchObject({ ...imported, orders: 4 })
  })

  test.for([{ orders: 1 }, { firstOrderAt: '2026-01-01' }, { orders: 1, firstOrderAt: '2027-01-01' }])(
    '400 for an import with %j',
    async (body, { server }) => {
      const reply = await server.request('POST', '/api/v1/customers', { body: { customerId, ...body } })
      expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_body'])
    },
  )
})

test('an unbound customer needs other evidence, and keeps its commissions and orders', async ({ client }) => {
  const { data } = await client.customers.create({ customerId, couponCode: 'NISA' })
  await client.events.conversion({ externalOrderId: `${customerId}-1`, amountCents: 100, customerId })
  expect((await client.customers.unbind(data.id ?? '')).ok).toBe(true)
  const order = await client.events.conversion({ externalOrderId: `${customerId}-2`, amountCents: 100, customerId })
  expect(order.attribution.affiliateId).toBeNull()
  expect((await client.customers.list({ customerId })).data[0]).toMatchObject({ affiliateId: null, orders: 1 })
  expect((await client.commissions.list({ externalOrderId: `${customerId}-1` })).data[0]?.orderStatus).not.toBe(
    'CANCELED',
  )
})

test('an owner sees the bound customers as connections, and unbinds them there', async ({ client, owner }) => {
  const { data } = await client.customers.create({ customerId, customerEmail, couponCode: 'NISA' })
  const path = `/connections?kind=customerEmail&value=${customerEmail}`
  const { body } = await owner('GET', path)
  expect(body.data).toMatchObject([{ id: data.id, kind: 'customerEmail', value: null, affiliateId: nisa.id }])
  await expectOk(owner('DELETE', `/connections/${data.id}`))
  expect((await owner('GET', path)).body.data).toEqual([])
  expect((await client.customers.list({ customerId })).data[0]?.affiliateId).toBeNull()
})

describe('commissionEndsAt', () => {
  const YEAR = { rules: [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }] }
  const endOf = async (client: Client) => (await client.customers.list({ customerId })).data[0]?.commissionEndsAt

  test('is the first order and the months that the terms pay', async ({ server, client, owner }) => {
    const { affiliate, program } = await withAffiliate(server, { code: 'ENDS' })
    await client.programs.update(program.id, { lifetimeCommission: true })
    await expectOk(owner('PATCH', '/settings', { timeZone: 'America/New_York' }))
    await expectOk(
      server.request('POST', '/api/v1/webhooks', {
        body: { url: 'https://hooks.example.com/ends', extendedEvents: true },
      }),
    )
    const { data } = await client.customers.create({ customerId, couponCode: 'ENDS' })
    expect(data.commissionEndsAt).toBeNull()
    // 31 August in New York.
    const order = { couponCode: 'ENDS', amountCents: 10_000, occurredAt: '2026-09-01T03:30:00.000Z' }
    await client.events.conversion({ ...order, externalOrderId: `${customerId}-1`, customerId })
    expect(await endOf(client)).toBeNull()
    const six = { when: { customerMonth: { from: 6 } }, commissionPercent: null }
    await client.programs.setTerms(program.id, YEAR)
    expect(await endOf(client)).toBe('2027-09-01T03:30:00.000Z')
    await client.programs.setTerms(program.id, { appliesTo: 'CUSTOMERS', rules: [six] })
    expect(await endOf(client)).toBe('2027-03-01T04:30:00.000Z')
    // Bound by its order, under terms that it keeps.
    server.clock.ms += 1000
    const kept = { ...order, externalOrderId: `${customerId}-2`, customerId: `${customerId}-2`, occurredAt: undefined }
    const { commission } = await client.events.conversion(kept)
    server.clock.ms += 1000
    await client.programs.setTerms(program.id, YEAR)
    const { data: listed } = await client.customers.list({ affiliateId: affiliate.id })
    const months = (days: number) => [days >= 360, days >= 180]
    const lengths = listed.map((one) =>
      months((Date.parse(one.commissionEndsAt!) - Date.parse(one.firstOrderAt!)) / 86_400_000),
    )
    expect([commission.eligible, ...lengths]).toEqual([true, [false, true], [true, true]])
    const { body } = await server.request('GET', '/api/v1/webhooks/events?extendedEvents=1')
    const [sent] = body.data.filter((one: { data: object }) => 'boundBy' in one.data && one.data.boundBy === 'ORDER')
    expect(sent.data.commissionEndsAt).toBe(listed[0]?.commissionEndsAt)
    await client.customers.unbind(data.id ?? '')
    expect(await endOf(client)).toBeNull()
  })
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { countOf } from '../support/looking.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'

let server: TestServer
let client: TestServer['client']
let life: { id: string }
let other: { id: string }
beforeAll(async () => {
  server = await testServer()
  client = server.client
  const { program, affiliate } = await withAffiliate(server, { code: 'LIFE' })
  life = affiliate
  other = await newAffiliate(server, { code: 'THER', campaignId: program.id })
  await newAffiliate(server, { code: 'NCE', campaignId: (await client.programs.create({ name: 'Once' })).id })
  await client.programs.update(program.id, { lifetimeCommission: true })
})
afterAll(() => server.close())

let count = 0
let customer: { customerId: string; customerEmail: string }
beforeEach(() => {
  customer = { customerId: `c-${++count}`, customerEmail: `Buyer-${count}@Example.com` }
})
async function order(more: Partial<Parameters<typeof client.events.conversion>[0]>) {
  const { attribution } = await client.events.conversion({
    externalOrderId: `o-${++count}`,
    amountCents: 10_000,
    ...more,
  })
  return [attribution.affiliateId, attribution.reasonCode]
}

test('the first attributed order connects its customer, by id and by e-mail address, for later orders', async () => {
  await order({ ...customer, couponCode: 'LIFE' })
  expect(await order({ customerId: customer.customerId })).toEqual([life.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
  const customerEmail = customer.customerEmail.toLowerCase()
  expect(await order({ customerEmail })).toEqual([life.id, 'CONNECTED_CUSTOMER_EMAIL_MATCH'])
})

test('a customer who is known by one name only is connected by that', async () => {
  await order({ customerEmail: customer.customerEmail, couponCode: 'LIFE' })
  expect(await order(customer)).toEqual([life.id, 'CONNECTED_CUSTOMER_EMAIL_MATCH'])
})

test('the first affiliate keeps the customer', async () => {
  await order({ ...customer, couponCode: 'LIFE' })
  expect((await order({ ...customer, couponCode: 'THER' }))[0]).toBe(other.id)
  expect(await order(customer)).toEqual([life.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
})

test('a connected customer with another e-mail address is still the first affiliate’s', async () => {
  await order({ ...customer, couponCode: 'LIFE' })
  const customerEmail = `second-${customer.customerEmail}`
  await order({ customerId: customer.customerId, customerEmail, couponCode: 'THER' })
  expect((await order({ customerEmail }))[0]).not.toBe(other.id)
})

test('nobody is connected by a program without lifetime commission, a restricted or an unattributed order, or a guest', async () => {
  const before = countOf(server, 'connections')
  await order({ customerId: 'once', customerEmail: 'once@example.com', couponCode: 'NCE' })
  await order({ ...customer })
  await order({ couponCode: 'LIFE' })
  await order({ couponCode: 'LIFE', customerId: ' ', customerEmail: '' })
  await order({ ...customer, couponCode: 'LIFE', amountCents: 0 })
  await client.affiliates.update(life.id, { status: 'PENDING' })
  await order({ ...customer, couponCode: 'LIFE' })
  await client.affiliates.update(life.id, { status: 'APPROVED' })
  expect(countOf(server, 'connections')).toBe(before)
})

test('only the first attributed order connects: a customer of another program stays without', async () => {
  const { customerId, customerEmail } = customer
  await order({ ...customer, couponCode: 'NCE' })
  await order({ customerId, couponCode: 'LIFE' })
  await order({ customerEmail: customerEmail.toUpperCase(), couponCode: 'LIFE' })
  expect(await order(customer)).toEqual([null, 'NO_MATCH'])
})

test('an unattributed or a restricted order is not the first: the next one connects', async () => {
  await order(customer)
  await order({ ...customer, couponCode: 'LIFE', amountCents: 0 })
  await order({ ...customer, couponCode: 'THER' })
  expect(await order(customer)).toEqual([other.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
})

test('a dry run connects nobody', async () => {
  const before = countOf(server, 'connections')
  await client.events.dryRun({ externalOrderId: 'dry', amountCents: 10_000, ...customer, couponCode: 'LIFE' })
  expect(countOf(server, 'connections')).toBe(before)
})

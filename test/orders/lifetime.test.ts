import type { OrderFields } from '@referral/sdk'
import { beforeEach, expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let life: { id: string }
let other: { id: string }
test.beforeAll(async ({ server, client }) => {
  const { program, affiliate } = await withAffiliate(server, { code: 'LIFE' })
  life = affiliate
  other = await newAffiliate(server, { code: 'THER', campaignId: program.id })
  await newAffiliate(server, { code: 'NCE', campaignId: (await client.programs.create({ name: 'Once' })).id })
  await client.programs.update(program.id, { lifetimeCommission: true })
})

const bound = (server: TestServer) =>
  rowsOf(server, 'customers').filter(({ affiliateId }) => affiliateId !== null).length

let count = 0
let customer: { customerId: string; customerEmail: string }
beforeEach(() => {
  customer = { customerId: `c-${++count}`, customerEmail: `Buyer-${count}@Example.com` }
})
async function order(client: Client, more: Partial<OrderFields> & { amountCents?: number }) {
  const { attribution } = await client.events.conversion({
    externalOrderId: `o-${++count}`,
    amountCents: 10_000,
    ...more,
  })
  return [attribution.affiliateId, attribution.reasonCode]
}

test('the first attributed order connects its customer, by id and by email address, for later orders', async ({
  client,
}) => {
  await order(client, { ...customer, couponCode: 'LIFE' })
  expect(await order(client, { customerId: customer.customerId })).toEqual([life.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
  const customerEmail = customer.customerEmail.toLowerCase()
  expect(await order(client, { customerEmail })).toEqual([life.id, 'CONNECTED_CUSTOMER_EMAIL_MATCH'])
})

test('a customer with only an id or only an email address is connected by that', async ({ client }) => {
  await order(client, { customerEmail: customer.customerEmail, couponCode: 'LIFE' })
  expect(await order(client, customer)).toEqual([life.id, 'CONNECTED_CUSTOMER_EMAIL_MATCH'])
})

test('the first affiliate keeps the customer', async ({ client }) => {
  await order(client, { ...customer, couponCode: 'LIFE' })
  expect((await order(client, { ...customer, couponCode: 'THER' }))[0]).toBe(other.id)
  expect(await order(client, customer)).toEqual([life.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
})

test('a connected customer with another email address still belongs to the first affiliate', async ({ client }) => {
  await order(client, { ...customer, couponCode: 'LIFE' })
  const customerEmail = `second-${customer.customerEmail}`
  await order(client, { customerId: customer.customerId, customerEmail, couponCode: 'THER' })
  expect((await order(client, { customerEmail }))[0]).not.toBe(other.id)
})

test('no connection from a program without lifetime commission, a restricted or unattributed order, or a guest', async ({
  server,
  client,
}) => {
  const before = bound(server)
  await order(client, { customerId: 'once', customerEmail: 'once@example.com', couponCode: 'NCE' })
  await order(client, { ...customer })
  await order(client, { couponCode: 'LIFE' })
  await order(client, { couponCode: 'LIFE', customerId: ' ', customerEmail: '' })
  await order(client, { ...customer, couponCode: 'LIFE', amountCents: 0 })
  await client.affiliates.update(life.id, { status: 'PENDING' })
  await order(client, { ...customer, couponCode: 'LIFE' })
  await client.affiliates.update(life.id, { status: 'APPROVED' })
  expect(bound(server)).toBe(before)
})

test('only the first attributed order connects: a customer of another program is not connected', async ({ client }) => {
  const { customerId, customerEmail } = customer
  await order(client, { ...customer, couponCode: 'NCE' })
  await order(client, { customerId, couponCode: 'LIFE' })
  await order(client, { customerEmail: customerEmail.toUpperCase(), couponCode: 'LIFE' })
  expect(await order(client, customer)).toEqual([null, 'NO_MATCH'])
})

test('unattributed and restricted orders do not count as first: the next one connects', async ({ client }) => {
  await order(client, customer)
  await order(client, { ...customer, couponCode: 'LIFE', amountCents: 0 })
  await order(client, { ...customer, couponCode: 'THER' })
  expect(await order(client, customer)).toEqual([other.id, 'CONNECTED_CUSTOMER_ID_MATCH'])
})

test('a dry run connects no customer', async ({ server, client }) => {
  const before = bound(server)
  await client.events.dryRun({ externalOrderId: 'dry', amountCents: 10_000, ...customer, couponCode: 'LIFE' })
  expect(bound(server)).toBe(before)
})

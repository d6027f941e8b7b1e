import { expect } from 'vitest'
import { createApiSwitch } from '../../server/src/core/installation.ts'
import { allOperations, type operations } from '../support/document.ts'
import { operate } from '../support/operator.ts'
import { admin, ID, type OwnerServer, ownerServer } from '../support/owner.ts'
import { OPERATOR_TOKEN } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows of every list
type Row = any

const isList = ({ method, parameters }: (typeof operations)[number]) =>
  method === 'GET' && parameters.some(({ name }) => name === 'page') && parameters.some(({ name }) => name === 'limit')
/** The totals of analytics are sums; it accepts and ignores `page` and `limit`. */
const lists = allOperations.filter((op) => isList(op) && op.id !== 'getAnalytics')
const filtersOf = ({ parameters }: (typeof lists)[number]) =>
  parameters.filter((one) => one.in === 'query' && !['page', 'limit', 'after', 'include'].includes(one.name))

/** The field of a row that a filter selects by, where it has another name. */
const FIELDS: Record<string, Record<string, string>> = {
  listAffiliates: { q: 'name' },
  listCommissions: { status: 'orderStatus', from: 'happenedAt', to: 'happenedAt' },
  listOrders: { from: 'happenedAt', to: 'happenedAt' },
  listAudit: { from: 'createdAt', to: 'createdAt' },
  listOperatorAudit: { from: 'createdAt', to: 'createdAt' },
}

/** Filters by something that is not a field of the rows. */
const VALUES: Record<string, Record<string, string>> = {
  listCoupons: { status: 'REJECTED' },
  listCustomers: { customerEmail: 'listed@example.com' },
  listOrders: { affiliateId: ID.affiliate, credited: 'false' },
}

const HOUR_MS = 3_600_000

/** The end of the setup. Reading the audit adds rows to it, which come later. */
let setupEnd: string
let server: OwnerServer
/** A batch with a payee that can be paid and one without details. */
let batchId: string
test.beforeAll(async () => {
  server = await ownerServer()
  server.clock.advance(HOUR_MS)
  const other = await newAffiliate(server, { code: 'MAR', campaignId: ID.manual, name: 'Mara Diaz' })
  for (const externalOrderId of ['a', 'b', 'c']) {
    await convert(server, { externalOrderId, couponCode: 'MAR', amountCents: 1000, occurredAt: '2026-09-03' })
  }
  await newAffiliate(server, { code: 'PIA', name: 'Pia Lund' })
  for (const couponCode of ['NISA16', 'PIA']) {
    await convert(server, { externalOrderId: couponCode, couponCode, amountCents: 1000, occurredAt: '2026-08-03' })
  }
  const august = { periodStart: '2026-08-01', periodEnd: '2026-08-31' }
  batchId = (await expectOk(server.request('POST', '/api/v1/payouts', { body: august }))).id
  await expectOk(admin(server, 'POST', '/connections', { kind: 'product', value: '7', affiliateId: other.id }))
  const customer = { customerId: 'listed', customerEmail: 'listed@example.com', couponCode: 'MAR' }
  await expectOk(server.request('POST', '/api/v1/customers', { body: customer }))
  const alias = { affiliateId: other.id, kind: 'LINK', value: 'mara_old' }
  await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body: alias }))
  const rule = { programId: ID.manual, kind: 'product', value: '7', commissionPercent: 5 }
  await expectOk(admin(server, 'POST', '/product-rules', rule))
  server.clock.advance(HOUR_MS)
  await expectOk(server.request('POST', '/api/v1/webhooks', { body: { url: 'https://other.example.com/hook' } }))
  await convert(server, { externalOrderId: 'nobody', amountCents: 1000, occurredAt: '2026-09-04' })
  await convert(server, { externalOrderId: 'd', couponCode: 'MAR', amountCents: 1000 })
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${other.id}`, { body: { status: 'REJECTED' } }))
  const { shopId } = await server.createShop()
  await expectOk(operate(server, 'POST', `/shops/${shopId}/suspend`))
  for (let i = 0; i < 3; i++) {
    server.clock.advance(1)
    await createApiSwitch(server.deps).set(true)
  }
})
test.beforeAll(() => {
  setupEnd = new Date(server.clock.ms).toISOString()
  server.clock.advance(HOUR_MS)
})
test.afterAll(() => server.close())

const pageOf = async ({ id, path }: (typeof lists)[number], query: Record<string, string>, page: number) => {
  const key = path.startsWith('/operator/')
    ? OPERATOR_TOKEN
    : path.startsWith('/admin/')
      ? server.shop.ownerToken
      : undefined
  const base: Record<string, string> = /Audit$/.test(id) ? { to: setupEnd } : {}
  const search = new URLSearchParams({ ...base, ...query, page: `${page}`, limit: '2' })
  const place = path.replace('/payouts/{id}', `/payouts/${batchId}`)
  return (await expectOkPage(server.request('GET', `${place}?${search}`, key ? { key } : {}))) as {
    data: Row[]
    pagination: { total: number }
  }
}

async function expectOkPage(reply: ReturnType<OwnerServer['request']>) {
  const { status, body } = await reply
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

/** The rows of all pages, each of which must report their number as the total. */
async function readAll(list: (typeof lists)[number], query: Record<string, string>): Promise<Row[]> {
  const rows: Row[] = []
  const totals = new Set<number>()
  for (let page = 1; ; page++) {
    const { data, pagination } = await pageOf(list, query, page)
    totals.add(pagination.total)
    rows.push(...data)
    if (data.length === 0) break
  }
  expect([list.id, query, [...totals]]).toEqual([list.id, query, [rows.length]])
  return rows
}

test.for(lists.map((list) => [list.id, list] as const))(
  '%s: the total equals the number of rows of all pages, for each filter and two at a time',
  async ([, list]) => {
    const all = await readAll(list, {})
    expect(all.length).toBeGreaterThan(list.id === 'listGeoRules' ? 0 : 1)
    const single = filtersOf(list).map(({ name }) => {
      const values = all.map((row) => row[FIELDS[list.id]?.[name] ?? name]).filter((value) => typeof value === 'string')
      const [first, ...later] = [...new Set(values)].sort()
      const value = VALUES[list.id]?.[name] ?? (name === 'from' ? later[0] : (later.at(-2) ?? first))
      if (value === undefined) throw new Error(`no row of ${list.id} has a value for ${name}`)
      return { [name]: value }
    })
    for (const query of single) {
      const rows = await readAll(list, query)
      expect([query, rows.length > 0, rows.length < all.length]).toEqual([query, true, true])
    }
    const pairs = single.flatMap((one, n) => single.slice(n + 1).map((other) => ({ ...one, ...other })))
    for (const query of pairs) await readAll(list, query)
  },
)

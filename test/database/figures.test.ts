import { expect } from 'vitest'
import type { AffiliateFigures, AffiliateOrder } from '../../server/src/domains/affiliates/figure-queries.ts'
import { findFigures, findProgramFigures } from '../../server/src/domains/affiliates/figure-queries.ts'
import { affiliateList, sortedAffiliateIds } from '../../server/src/domains/affiliates/queries.ts'
import { seed } from '../../server/src/operator/seed.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

const CURRENCIES = ['USD', 'EUR']
const ORDERS: AffiliateOrder[] = ['clicks', 'orders', 'revenue', 'commission', 'joined', 'name']

interface Person {
  id: string
  name: string
  discountCode: string
}

const affiliatesOf = async (server: TestServer): Promise<Person[]> =>
  expectOk(server.request('GET', '/api/v1/affiliates?limit=100'))

test.beforeAll(async ({ server, owner }) => {
  await seed(server.deps, { shop: server.shop.shopId, affiliates: 7, clicks: 60, commissions: 40, days: 30 })
  const people = await affiliatesOf(server)
  for (const [i, { discountCode: couponCode }] of people.entries())
    for (let n = 0; n < i; n++) {
      const order = { externalOrderId: `e-${i}-${n}`, couponCode, amountCents: 1000 * (n + 1), currency: 'EUR' }
      const { commission } = await expectOk(convert(server, order))
      if (n === 1) await owner('POST', `/commissions/${commission.id}/reject`)
      if (n === 2)
        await owner('POST', `/commissions/${commission.id}/refund`, { externalRefundId: 'r', amountCents: 500 })
    }
  await expectOk(
    server.request('POST', '/api/v1/payouts', {
      body: { periodStart: '2000-01-01', periodEnd: '2100-01-01', currency: 'USD' },
    }),
  ).then(({ id }) => expectOk(server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`)))
  const paid = await expectOk(server.request('GET', '/api/v1/commissions?status=PAID'))
  for (const { id } of paid.slice(0, 4)) await expectOk(owner('POST', `/commissions/${id}/reverse`))
})

test('figures are those of analytics, in each currency', async ({ server }) => {
  const people = await affiliatesOf(server)
  const figures = await findFigures(
    server.db.read,
    server.shop.shopId,
    people.map(({ id }) => id),
  )
  for (const { id } of people) {
    const found = figures.get(id)!
    let orders = 0
    for (const currency of CURRENCIES) {
      const query = `affiliateId=${id}&currency=${currency}&from=2000-01-01`
      const { totals } = await expectOk(server.request('GET', `/api/v1/analytics?${query}`))
      const sums = found.sums.find((one) => one.currency === currency)
      expect([sums?.revenueCents ?? 0n, sums?.commissionCents ?? 0n]).toEqual([
        BigInt(totals.revenueCents),
        BigInt(totals.commissionCents),
      ])
      orders += totals.orders
      expect(found.clicks).toBe(totals.clicks)
    }
    expect(found.orders).toBe(orders)
  }
  expect([...figures.values()].filter(({ clicks, sums }) => clicks > 0 && sums.length > 1).length).toBeGreaterThan(3)
})

test('figures of programs add up to those of the affiliates, without clicks', async ({ server }) => {
  const { shopId } = server.shop
  const idsOf = async (list: string) =>
    (await expectOk(server.request('GET', `/api/v1/${list}?limit=100`))).map(({ id }: Person) => id) as string[]
  const total = (figures: Map<string, AffiliateFigures>) => {
    const sums = new Map<string, bigint[]>()
    let orders = 0
    for (const one of figures.values()) {
      orders += one.orders
      for (const { currency, revenueCents, commissionCents, paidCents } of one.sums) {
        const known = sums.get(currency) ?? [0n, 0n, 0n]
        sums.set(
          currency,
          [revenueCents, commissionCents, paidCents].map((cents, n) => cents + known[n]!),
        )
      }
    }
    return { orders, sums: [...sums].sort() }
  }
  const programs = await findProgramFigures(server.db.read, shopId, await idsOf('programs'))
  expect(total(programs)).toEqual(total(await findFigures(server.db.read, shopId, await idsOf('affiliates'))))
  expect([...programs.values()].map(({ clicks }) => clicks)).toEqual(Array(programs.size).fill(0))
  expect(total(programs).orders).toBeGreaterThan(40)
})

test('a list is sorted by each figure, in both directions, and its pages contain every affiliate once', async ({
  server,
}) => {
  const { shopId } = server.shop
  const people = await affiliatesOf(server)
  const ids = people.map(({ id }) => id)
  const figures = await findFigures(server.db.read, shopId, ids)
  const usd = (id: string) => figures.get(id)?.sums.find(({ currency }) => currency === 'USD')
  const shown: Record<AffiliateOrder, (one: Person) => number | string> = {
    clicks: ({ id }) => figures.get(id)!.clicks,
    orders: ({ id }) => figures.get(id)!.orders,
    revenue: ({ id }) => Number(usd(id)?.revenueCents ?? 0),
    commission: ({ id }) => Number(usd(id)?.commissionCents ?? 0),
    // The list of the API is newest first.
    joined: ({ id }) => -ids.indexOf(id),
    name: ({ name }) => name.toLowerCase(),
  }
  for (const by of ORDERS)
    for (const isAscending of [true, false]) {
      const sort = { by, isAscending, currency: 'USD' }
      const sorted = await sortedAffiliateIds.run(server.db.read, { shopId, query: { sort } })
      expect(sorted.toSorted()).toEqual(ids.toSorted())
      const values = sorted.map((id) => shown[by](people.find((one) => one.id === id)!))
      const expected = values.toSorted((a, b) => (a === b ? 0 : (a < b ? -1 : 1) * (isAscending ? 1 : -1)))
      expect([by, isAscending, values]).toEqual([by, isAscending, expected])
      const paged: string[] = []
      for (const page of [1, 2, 3]) {
        const query = { sort, page, limit: 3 }
        const { data, pagination } = await affiliateList.run(server.db.read, { shopId, query })
        paged.push(...data.map(({ id }) => id))
        expect(pagination.total).toBe(ids.length)
      }
      expect(paged).toEqual(sorted)
    }
})

test('sums above the largest exact number of JavaScript are exact', async ({ server }) => {
  const { shopId } = server.shop
  const [row] = await expectOk(server.request('GET', '/api/v1/commissions?status=APPROVED&limit=1'))
  const id: string = row.affiliateId
  const read = async () => {
    const [sums] = (await findFigures(server.db.read, shopId, [id]))
      .get(id)!
      .sums.filter((one) => one.currency === 'EUR')
    return sums?.commissionCents ?? 0n
  }
  const set = (cents: string | number) =>
    server.sql.exec(
      `update commissions set "commissionAmountCents" = ${cents}, currency = 'EUR' where id = '${row.id}'`,
    )
  set(0)
  const before = await read()
  set('9007199254740993')
  expect((await read()) - before).toBe(9007199254740993n)
})

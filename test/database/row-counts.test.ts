import fc from 'fast-check'
import { expect } from 'vitest'
import { check, listWrongCounts } from '../../server/src/operator/check.ts'
import { seed } from '../../server/src/operator/seed.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await seed(server.deps, { shop: server.shop.shopId, affiliates: 8, clicks: 40, commissions: 120, days: 12 })
})

const count = ({ sql }: TestServer, where: string): number =>
  Number(sql.prepare(`select count(*) from commissions where ${where}`).pluck().get())

const STATUSES = ['PENDING', 'APPROVED', 'PAID']
const some = fc.constantFrom('1 = 1', `id < 'com_01'`, `"happenedAt" > '2026-10-28'`, `"orderStatus" = 'PAID'`)
const change = fc.oneof(
  fc.record({
    what: fc.constant(`update commissions set "orderStatus" =`),
    to: fc.constantFrom(...STATUSES, 'REFUNDED').map((status) => `'${status}'`),
    where: some,
  }),
  fc.record({
    what: fc.constant('update commissions set "affiliateId" ='),
    to: fc.constant('(select max(id) from affiliates)'),
    where: some,
  }),
  fc.record({
    what: fc.constant('update commissions set "programId" ='),
    to: fc.constantFrom('null', `'prg_other'`),
    where: some,
  }),
  fc.record({
    what: fc.constant('update affiliates set "deletedAt" ='),
    to: fc.constantFrom('null', `'2026-11-01'`),
    where: fc.constantFrom(`slug < 'm'`, '1 = 1'),
  }),
  fc.record({
    what: fc.constant('update affiliates set status ='),
    to: fc.constantFrom(`'REJECTED'`, `'APPROVED'`),
    where: fc.constantFrom(`slug > 'm'`, '1 = 1'),
  }),
  // Every column that a sum is made of, or that decides in which sum a row counts.
  fc.record({
    what: fc.constantFrom(
      ...['commissionAmountCents', 'orderSubtotalCents', 'taxWithheldCents'].map(
        (name) => `update commissions set "${name}" =`,
      ),
    ),
    // Above the largest number that JavaScript represents exactly.
    to: fc.constantFrom('-250', '0', '"orderSubtotalCents" + 1', '9007199254740993'),
    where: some,
  }),
  fc.record({
    what: fc.constantFrom(...['currency', 'orderCurrency'].map((name) => `update commissions set "${name}" =`)),
    to: fc.constantFrom(`'USD'`, `'JPY'`),
    where: some,
  }),
  fc.record({
    what: fc.constant('update commissions set "orderStatus" = \'REVERSED\', "payoutBatchId" ='),
    to: fc.constantFrom('null', `'bat_1'`),
    where: some,
  }),
  fc.record({
    what: fc.constant('update commissions set "paidAt" ='),
    to: fc.constantFrom('null', `'2026-11-01'`),
    where: some,
  }),
  fc.record({
    what: fc.constantFrom(
      'update commissions set "payoutBatchId" =',
      'update commissions set "trackingMethod" = \'ADJUSTMENT\', "orderId" =',
    ),
    to: fc.constantFrom(`'adj:pln_' || id`, `'adj:' || id || ':reversal'`),
    where: some,
  }),
  fc.record({
    what: fc.constantFrom('update journey set type =', 'update journey set "affiliateId" ='),
    to: fc.constantFrom(`'click'`, `'page_view'`, '(select min(id) from affiliates)'),
    where: fc.constantFrom('1 = 1', `"occurredAt" > '2026-10-28'`),
  }),
  fc.record({
    what: fc.constant('delete from journey where id ='),
    to: fc.constantFrom('(select min(id) from journey)', `(select max(id) from journey where type = 'click')`),
    where: fc.constant('1 = 1'),
  }),
  fc.record({
    what: fc.constant('delete from commissions where "externalOrderId" ='),
    to: fc.integer({ min: 1, max: 120 }).map((n) => `'seed-${n}'`),
    where: fc.constant('1 = 1'),
  }),
)

test('counts and sums equal those of the rows after any write, of many rows or none', async ({ server }) => {
  expect(await listWrongCounts(server.db.read)).toEqual([])
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      for (const { what, to, where } of changes) {
        server.sql.exec(what.startsWith('delete') ? `${what} ${to}` : `${what} ${to} where ${where}`)
      }
      expect(await listWrongCounts(server.db.read)).toEqual([])
    }),
    { numRuns: 40 },
  )
})

test('the total of a list is exact for any filter', async () => {
  const other = await testServer()
  await seed(other.deps, { shop: other.shop.shopId, affiliates: 4, clicks: 0, commissions: 90, days: 6 })
  const [affiliate] = other.sql.prepare('select "affiliateId" from commissions limit 1').pluck().all() as string[]
  const program = other.sql.prepare('select id from programs').pluck().get() as string
  other.sql.exec(`update commissions set "orderStatus" = 'PAID' where "externalOrderId" < 'seed-4'`)
  const parts: [parameter: string, where: string][][] = [
    [['', '1 = 1'], ...STATUSES.map((status): [string, string] => [`status=${status}`, `"orderStatus" = '${status}'`])],
    [
      ['', '1 = 1'],
      [`affiliateId=${affiliate}`, `"affiliateId" = '${affiliate}'`],
      // The scope of a day's count is not an affiliate's id.
      ['affiliateId=day:2026-10-29', '1 = 0'],
    ],
    [
      ['', '1 = 1'],
      [`programId=${program}`, `"programId" = '${program}'`],
      ['programId=none', '1 = 0'],
    ],
    [
      ['', '1 = 1'],
      ['from=2026-10-29T07:00:00Z', `"happenedAt" >= '2026-10-29T07:00:00.000Z'`],
      ['from=9999-12-31', '1 = 0'],
      ['to=2026-10-31', `"happenedAt" <= '2026-10-31T00:00:00.000Z'`],
      ['from=2026-10-28&to=2026-10-30T05:00:00Z', `"happenedAt" between '2026-10-28' and '2026-10-30T05:00:00.000Z'`],
      [
        'from=2026-10-28T10:00:00Z&to=2026-10-28T20:00:00Z',
        `"happenedAt" between '2026-10-28T10' and '2026-10-28T20:00:00.000Z'`,
      ],
    ],
  ]
  const all = parts.reduce<[string[], string[]][]>(
    (made, options) =>
      made.flatMap(([query, where]) =>
        options.map(([p, w]): [string[], string[]] => [p ? [...query, p] : query, [...where, w]]),
      ),
    [[[], []]],
  )
  for (const [query, where] of all) {
    const { body } = await other.request('GET', `/api/v1/commissions?${[...query, 'limit=1'].join('&')}`)
    expect([query, body.pagination.total]).toEqual([query, count(other, where.join(' and '))])
  }
  await other.close()
})

test('totals of the other lists and of a program exclude archived affiliates', async () => {
  const other = await testServer()
  await seed(other.deps, { shop: other.shop.shopId, affiliates: 5, clicks: 0, commissions: 0, days: 1 })
  const { body: before } = await other.request('GET', '/api/v1/affiliates')
  await other.request('DELETE', `/api/v1/affiliates?id=${before.data[0].id}`)
  await other.request('PATCH', `/api/v1/affiliates?id=${before.data[1].id}`, { body: { status: 'REJECTED' } })
  const total = async (path: string) => (await other.request('GET', path)).body.pagination.total
  expect(await total('/api/v1/affiliates')).toBe(4)
  expect(await total('/api/v1/affiliates?status=REJECTED')).toBe(1)
  expect(await total('/api/v1/coupons?status=APPROVED')).toBe(3)
  expect((await other.request('GET', '/api/v1/programs')).body.data[0].affiliateCount).toBe(4)
  expect(await check(other.deps)).toMatchObject({ ok: true })
  await other.close()
})

test('a page at a large offset starts at the right row', async () => {
  const other = await testServer()
  await seed(other.deps, { shop: other.shop.shopId, affiliates: 2, clicks: 0, commissions: 1, days: 1 })
  const columns = Object.keys(other.sql.prepare('select * from commissions').get() as object).map((name) => `"${name}"`)
  const own: Record<string, string> = {
    '"id"': `'com_' || (1000 + i)`,
    '"orderId"': `'api:' || i`,
    '"happenedAt"': `'2026-10-' || (10 + i % 9) || 'T00:' || (10 + i / 20) || ':00.000Z'`,
  }
  other.sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 650)
    insert into commissions (${columns}) select ${columns.map((name) => own[name] ?? name)} from commissions, n`)
  const ids = other.sql.prepare('select id from commissions order by "happenedAt" desc, id desc').pluck().all()
  for (const page of [1, 4, 5, 6, 7, 8]) {
    const { body } = await other.request('GET', `/api/v1/commissions?limit=100&page=${page}`)
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice((page - 1) * 100, page * 100))
  }
  await other.close()
})

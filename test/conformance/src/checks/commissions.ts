import { group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const page = 'concepts/index.md#conventions'

/** The order ids of a list. */
const found = async (t: Context, query: Record<string, string | number>): Promise<string[]> =>
  t.expect(await t.get('/commissions', query), 200).data.map((row: Json) => row.externalOrderId)

/** An affiliate with four orders, of which the last two happened at the same time. */
const four = (t: Context): Promise<Json> =>
  t.once('four commissions', async () => {
    const [affiliate, day, orders] = [await t.affiliateOf({}), t.day(), ['a', 'b', 'c', 'd'].map((name) => t.id(name))]
    for (const [n, ms] of [0, 1, 1000, 1000].entries()) {
      const order = { externalOrderId: orders[n], amountCents: 100, couponCode: affiliate.discountCode }
      await t.order({ ...order, occurredAt: after(day, ms) })
    }
    return { affiliateId: affiliate.id, programId: affiliate.campaignId, day, orders }
  })

export const commissions = group('commissions', { title: 'Lists of commissions', page }, (rule) => {
  rule('newest-first', 'Commissions are listed newest happenedAt first, and each on one page', async (t) => {
    const { affiliateId, orders } = await four(t)
    const all = await found(t, { affiliateId })
    t.equal(all.slice(2), [orders[1], orders[0]], 'the last two')
    const pages = []
    for (const n of [1, 2, 3, 4, 5]) pages.push(...(await found(t, { affiliateId, limit: 1, page: n })))
    t.equal(pages, all, 'the orders page by page')
    t.equal([...all].sort(), [...orders].sort(), 'the orders')
  })
  rule('period', '`from` and `to` are inclusive, to the millisecond', async (t) => {
    const { affiliateId, day, orders } = await four(t)
    const ahead = (ms: number, offset: number) =>
      after(day, ms + offset * 3_600_000).replace('Z', `${offset < 0 ? '-' : '+'}0${Math.abs(offset)}:00`)
    for (const [query, expected] of [
      [{ from: day }, orders],
      [{ from: after(day, 1) }, orders.slice(1)],
      [{ from: after(day, 1001) }, []],
      [{ to: day }, [orders[0]]],
      [{ to: after(day, 999) }, orders.slice(0, 2)],
      [{ to: after(day, 1000) }, orders],
      [{ from: ahead(1, 2), to: ahead(999, -2) }, [orders[1]]],
    ])
      t.equal(
        (await found(t, { affiliateId, ...query })).sort(),
        [...expected].sort(),
        `orders ${JSON.stringify(query)}`,
      )
  })
  rule('filters', '`affiliateId`, programId and status are combined with AND', async (t) => {
    const { affiliateId, programId, orders, day } = await four(t)
    const other = await t.sharedAffiliate()
    for (const [query, count] of [
      [{ programId }, 4],
      [{ programId, status: 'APPROVED' }, 4],
      [{ affiliateId, status: 'PENDING' }, 0],
      [{ programId, affiliateId: other.id }, 0],
      [{ affiliateId, from: after(day, 1000) }, 2],
      [{ affiliateId: other.id, externalOrderId: orders[0] }, 0],
      [{ affiliateId: t.id('unknown') }, 0],
      [{ programId: t.id('unknown') }, 0],
    ] as const)
      t.equal((await found(t, query)).length, count, `the number of orders of ${JSON.stringify(query)}`)
  })
  rule('order-id', 'The filter externalOrderId accepts the stored id, which comes first, in its case', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    const plain = t.id('o')
    for (const externalOrderId of [plain, `api:${plain}`])
      await t.order({ externalOrderId, amountCents: 100, couponCode })
    for (const [externalOrderId, expected] of [
      [plain, [plain]],
      [`api:${plain}`, [plain]],
      [`api:api:${plain}`, [`api:${plain}`]],
      [plain.toUpperCase(), []],
      ['api:', []],
    ] as const)
      t.equal(await found(t, { externalOrderId }), expected, `orders by ${externalOrderId}`)
  })
  rule('batch', '`payoutBatchId` finds the commissions of a batch', async (t) => {
    const { id: payoutBatchId, externalOrderId } = await t.batch()
    t.equal(await found(t, { payoutBatchId }), [externalOrderId], 'orders')
  })
  rule(
    'invalid',
    'A filter with an invalid value returns 400',
    async (t) => {
      const dates = ['2026-10-02T00:00', '2026-10-02T24:00:00Z', '02.10.2026', '', '1790000000']
      const others = [{ status: 'approved' }, { affiliateId: '' }, { externalOrderId: 'x'.repeat(261) }]
      for (const query of [...dates.map((from) => ({ from })), ...dates.map((to) => ({ to })), ...others])
        t.expect(await t.get('/commissions', query), 400, 'invalid_parameter')
    },
    { page: 'reference/errors.md#invalid_parameter' },
  )
})

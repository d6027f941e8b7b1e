import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const page = 'concepts/index.md#conventions'

/** Three affiliates that a search finds, newest first. */
async function three(t: Context): Promise<{ q: string; ids: string[] }> {
  const q = t.id('list')
  const ids: string[] = []
  for (const n of [1, 2, 3])
    ids.unshift((await t.affiliate({ email: `${q}-${n}@conformance.example`, status: 'PENDING' })).id)
  return { q, ids }
}
const idsOf = (data: Json[]) => data.map(({ id }) => id)

export const lists = group('lists', { title: 'Lists', page }, (rule) => {
  rule('defaults', '`page` defaults to 1 and `limit` to 20', async (t) => {
    const { pagination } = t.expect(await t.get('/affiliates'), 200)
    t.fields(pagination, { page: 1, limit: 20 }, 'pagination')
  })
  rule('totals', '`total` counts all rows, and `totalPages` is total divided by limit, rounded up', async (t) => {
    const { q } = await three(t)
    t.equal(
      t.expect(await t.get('/affiliates', { q, limit: 2 }), 200).pagination,
      { page: 1, limit: 2, total: 3, totalPages: 2 },
      'pagination',
    )
  })
  rule('newest-first', 'Lists are newest first', async (t) => {
    const { q, ids } = await three(t)
    t.equal(idsOf(t.expect(await t.get('/affiliates', { q }), 200).data), ids, 'ids')
  })
  rule('newest-first-everywhere', 'Programs, coupons and payouts are newest first, too', async (t) => {
    for (const [path, field, create] of [
      ['/programs', 'id', () => t.program()],
      ['/coupons', 'affiliateId', async () => ({ affiliateId: (await t.affiliate()).id })],
      ['/payouts', 'id', () => t.batch()],
    ] as const) {
      const [first, second] = [await create(), await create()]
      const { data } = t.expect(await t.get(path, { limit: 100 }), 200)
      const [newer, older] = [second, first].map((one) => data.findIndex((row: Json) => row[field] === one[field]))
      t.ok(newer! >= 0 && newer! < older!, `the newer one is at ${newer} of ${path}, the older one at ${older}`)
    }
  })
  rule('pages', 'Pages follow each other without gaps or repeated rows', async (t) => {
    const { q, ids } = await three(t)
    const pages = []
    for (const n of [1, 2, 3])
      pages.push(...idsOf(t.expect(await t.get('/affiliates', { q, limit: 1, page: n }), 200).data))
    t.equal(pages, ids, 'ids of pages 1 to 3')
  })
  rule('beyond-the-last', 'A page after the last is empty', async (t) => {
    const { q } = await three(t)
    for (const page of [2, 2_147_483_647]) {
      const { data, pagination } = t.expect(await t.get('/affiliates', { q, page }), 200)
      t.equal([data, pagination.total], [[], 3], 'data and total')
    }
  })
  rule('after', '`after` continues after the row with that id', async (t) => {
    const { q, ids } = await three(t)
    t.equal(idsOf(t.expect(await t.get('/affiliates', { q, after: ids[0] }), 200).data), ids.slice(1), 'ids')
  })
  rule('no-row', 'A search without a match returns an empty list with total 0', async (t) => {
    const { data, pagination } = t.expect(await t.get('/affiliates', { q: t.id('none') }), 200)
    t.equal([data, pagination.total, pagination.totalPages], [[], 0, 0], 'data, total and totalPages')
  })
  for (const [name, query] of [
    ['limit-0', { limit: 0 }],
    ['limit-101', { limit: 101 }],
    ['limit-text', { limit: 'ten' }],
    ['limit-fraction', { limit: '1.5' }],
    ['page-0', { page: 0 }],
    ['page-empty', { page: '' }],
    ['page-negative', { page: -1 }],
  ] as const)
    rule(
      `${name}`,
      `\`${new URLSearchParams(query as Record<string, string>)}\` returns 400 invalid_parameter`,
      async (t) => {
        t.expect(await t.get('/affiliates', query), 400, 'invalid_parameter')
      },
      { page: 'reference/errors.md#invalid_parameter' },
    )
  rule('limit-100', '`limit=100` is accepted', async (t) => {
    t.equal(t.expect(await t.get('/commissions', { limit: 100 }), 200).pagination.limit, 100, 'limit')
  })
  for (const name of ['affiliates', 'programs', 'commissions', 'payouts', 'coupons'])
    rule(
      `status-of-${name}`,
      `An unknown status of ${name} returns 400`,
      async (t) => {
        t.expect(await t.get(`/${name}`, { status: 'UNKNOWN' }), 400, 'invalid_parameter')
      },
      { page: 'reference/errors.md#invalid_parameter' },
    )
})

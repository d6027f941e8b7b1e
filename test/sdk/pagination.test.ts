import { createReferralClient } from '@referral/sdk'
import { describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { jsonResponse, scriptedClient } from './support/scripted-client.ts'

type Row = { id: string; [name: string]: unknown }

const rowsTo = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ id: `r${n + 1}` }))
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

/** A client of a list that returns the current rows of the array. */
const listClient = (rows: Row[], before: (page: number) => void = () => {}) => {
  const queries: { page: number; limit: number }[] = []
  const fetch = (request: Request): Response => {
    const { searchParams } = new URL(request.url)
    const page = Number(searchParams.get('page') ?? 1)
    const limit = Number(searchParams.get('limit') ?? 20)
    before(page)
    queries.push({ page, limit })
    const data = rows.slice((page - 1) * limit, page * limit)
    return jsonResponse(200, {
      data,
      pagination: { page, limit, total: rows.length, totalPages: Math.ceil(rows.length / limit) },
    })
  }
  return { client: createReferralClient({ apiKey: 'rk_test', baseUrl: 'https://api.example', fetch }), queries }
}

describe('iteration', () => {
  test('for await survives broken pages of a proxy', async () => {
    let sent = 0
    const fetch = () =>
      sent++ % 2
        ? jsonResponse(200, {
            data: [{ id: `r${sent}` }],
            pagination: { page: sent / 2, limit: 1, totalPages: 3, total: 3 },
          })
        : new Response('<h1>Try again</h1>')
    const client = createReferralClient({ apiKey: 'rk_test', baseUrl: 'https://api.example', fetch })
    const read = async () => {
      const seen = []
      for await (const { id } of client.affiliates.list({ limit: 1 })) seen.push(id)
      return seen
    }
    vi.useFakeTimers()
    const seen = read()
    await advanceUntilSettled(seen)
    vi.useRealTimers()
    expect(await seen).toHaveLength(3)
    expect(sent).toBe(6)
  })

  test('for await yields every row, in pages of 100', async () => {
    const { client, queries } = listClient(rowsTo(250))
    const seen: string[] = []
    for await (const { id } of client.affiliates.list()) seen.push(id)
    expect(seen).toEqual(ids(rowsTo(250)))
    expect(queries).toEqual([1, 2, 3].map((page) => ({ page, limit: 100 })))
  })

  test('uses the given limit and first page', async () => {
    const { client, queries } = listClient(rowsTo(50))
    expect(ids(await client.affiliates.list({ page: 3, limit: 10 }).toArray())).toEqual(ids(rowsTo(50).slice(20)))
    expect(queries).toEqual([3, 4, 5].map((page) => ({ page, limit: 10 })))
  })

  test('an empty list takes one request', async () => {
    const { client, queries } = listClient([])
    expect(await client.programs.list().toArray()).toEqual([])
    expect(queries).toHaveLength(1)
  })

  test('break stops requesting', async () => {
    const { client, queries } = listClient(rowsTo(300))
    for await (const { id } of client.commissions.list()) if (id === 'r7') break
    expect(queries).toHaveLength(1)
  })

  test('toArray({ limit }) stops at the limit', async () => {
    const { client, queries } = listClient(rowsTo(300))
    expect(await client.affiliates.list({ limit: 10 }).toArray({ limit: 10 })).toHaveLength(10)
    expect(queries).toHaveLength(1)
    expect(await client.affiliates.list().toArray({ limit: 0 })).toEqual([])
    expect(queries).toHaveLength(1)
  })

  test('await returns the first page, page(n) another; nothing is sent before', async () => {
    const { client, queries } = listClient(rowsTo(50))
    const list = client.affiliates.list({ q: 'noor' })
    expect(queries).toHaveLength(0)
    expect((await list).pagination).toEqual({ page: 1, limit: 20, total: 50, totalPages: 3 })
    expect(ids((await list.page(3)).data)).toEqual(ids(rowsTo(50).slice(40)))
    expect((await list.page(2).withResponse()).requestId).toBe('req_1')
    expect((await list).data).toHaveLength(20)
    expect(queries.map(({ page }) => page)).toEqual([1, 3, 2])
  })

  test('coupons are identified by their affiliate', async () => {
    const rows = ['a', 'b', 'c'].map((affiliateId) => ({ affiliateId }))
    const { client } = scriptedClient([
      jsonResponse(200, { data: rows, pagination: { page: 1, limit: 100, total: 3, totalPages: 1 } }),
    ])
    expect(await client.coupons.list().toArray()).toHaveLength(3)
  })
})

describe('a list that changes during iteration', () => {
  test('yields each row once when new rows move known ones to the next page', async () => {
    const rows = rowsTo(30)
    const { client } = listClient(rows, (page) => {
      if (page > 1) rows.unshift({ id: `new${page}` }, { id: `newer${page}` })
    })
    const seen = ids(await client.affiliates.list({ limit: 10 }).toArray())
    expect(seen.filter((id) => id.startsWith('r'))).toEqual(ids(rowsTo(30)))
    expect(new Set(seen).size).toBe(seen.length)
  })

  test('yields every row when more rows are added than fit on a page', async () => {
    const rows = rowsTo(30)
    let once = true
    const { client } = listClient(rows, (page) => {
      if (page === 2 && once) rows.unshift(...rowsTo(25).map(({ id }) => ({ id: `new${id}` })))
      if (page === 2) once = false
    })
    const seen = ids(await client.affiliates.list({ limit: 10 }).toArray())
    expect(seen.filter((id) => id.startsWith('r'))).toEqual(ids(rowsTo(30)))
  })

  test('skips no row when the loop removes rows from the list', async () => {
    const rows = rowsTo(95)
    const { client } = listClient(rows)
    const seen: string[] = []
    for await (const { id } of client.affiliates.list({ status: 'PENDING', limit: 10 })) {
      seen.push(id)
      rows.splice(
        rows.findIndex((row) => row.id === id),
        1,
      )
    }
    expect(seen).toEqual(ids(rowsTo(95)))
    expect(rows).toEqual([])
  })

  test('ends even when the list keeps changing', async () => {
    const rows = rowsTo(60)
    const { client, queries } = listClient(rows, () => {
      if (rows.length === 60) rows.pop()
      else rows.push({ id: `new${queries.length}` })
    })
    const seen = ids(await client.affiliates.list({ limit: 10 }).toArray())
    expect(new Set(seen).size).toBe(seen.length)
    expect(queries.length).toBeLessThan(60)
  })

  test('skips no remaining row when other requests remove rows', async () => {
    const rows = rowsTo(60)
    const { client } = listClient(rows, (page) => {
      if (page === 3 && rows.length === 60) rows.splice(0, 25)
    })
    const seen = ids(await client.affiliates.list({ limit: 10 }).toArray())
    expect(seen).toEqual(ids(rowsTo(60)).filter((id) => !['r21', 'r22', 'r23', 'r24', 'r25'].includes(id)))
  })
})

test.each([[{}], [{ after: 'r0' }]])('a page of a list with %j knows the next one', async (query) => {
  const rows = rowsTo(5)
  const fetch = (request: Request): Response => {
    const { searchParams } = new URL(request.url)
    const after = searchParams.get('after')
    const page = Number(searchParams.get('page') ?? 1)
    const from = after ? Number(after.slice(1)) : (page - 1) * 2
    return jsonResponse(200, {
      data: rows.slice(from, from + 2),
      pagination: { page, limit: 2, total: 5, totalPages: 3 },
    })
  }
  const client = createReferralClient({ apiKey: 'rk_test', baseUrl: 'https://api.example', fetch })
  let page = await client.affiliates.list({ ...query, limit: 2 })
  const seen = ids(page.data)
  while (page.hasNextPage) {
    page = await page.nextPage()
    seen.push(...ids(page.data))
  }
  expect(seen).toEqual(ids(rows))
  expect(JSON.parse(JSON.stringify(page))).toEqual({
    data: [{ id: 'r5' }],
    pagination: { page: expect.any(Number), limit: 2, total: 5, totalPages: 3 },
  })
})

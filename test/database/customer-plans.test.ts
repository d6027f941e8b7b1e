// Full: it fills a table of customers. CUSTOMERS is their number.
import { expect } from 'vitest'
import { databaseFile, engine } from '../support/database.ts'
import { rowsOf } from '../support/inspect.ts'
import { signIn } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { openPostgresWork } from './plans/postgres-work.ts'
import { grow } from './plans/shop-data.ts'
import { openSqliteWork } from './plans/sqlite-work.ts'
import { type Statement, watchStatements } from './plans/statements.ts'

const CUSTOMERS = Number(process.env.CUSTOMERS ?? 20_000)
/** Rows that a statement may read, also as a report. */
const MAX_ROWS = 1500

/** Statements that may read more. */
const EXPECTED: Record<string, RegExp> = {
  'what is counted, of a customer at most 10,000 orders':
    /^select count\(\*\) as ("total" from|"orders", .* limit 10000\) as "credited"$)/,
  'whether a list has so many rows that it is read as a report': /^select "id" from \(select "id", "kind"/,
  'no customers, which both engines see before they read': / and false and /,
  "an affiliate's customers in a program, usually all of the affiliate's": /"affiliateId" = \S+ and "programId"/,
}

const pad = (number: string) => `substr(cast(100000000 + ${number} as text), 2)`

/** Half of the bound customers are of one affiliate, and one customer has most orders, as an ID that every guest has. */
async function fill(server: TestServer) {
  const { program, affiliate } = await withAffiliate(server, { code: 'STAR' })
  const other = await newAffiliate(server, { code: 'FEW', campaignId: program.id })
  const name = { customerId: 'c-0', customerEmail: 'c-0@example.com' }
  await expectOk(server.request('POST', '/api/v1/customers', { body: { ...name, couponCode: 'STAR' } }))
  await expectOk(convert(server, { externalOrderId: 'o-0', amountCents: 10_000, currency: 'USD', ...name }))
  const [customer] = rowsOf(server, 'customers')
  const affiliateId = `case n.i % 4 when 0 then '${affiliate.id}' when 1 then 'aff_' || (n.i % 4000) end`
  const programId = `case n.i % 4 when 0 then '${program.id}' when 1 then 'prg_' || (n.i % 7) end`
  grow(server, 'customers', {
    huge: CUSTOMERS,
    others: CUSTOMERS / 4,
    columns: {
      id: `'cus_x' || ${pad('n.i')}`,
      customerId: `case when n.i % 10 > 0 then 'x' || n.i end`,
      emailHash: `'x' || n.i`,
      mailboxHash: `'x' || n.i`,
      affiliateId,
      programId,
      createdAt: '$at',
    },
  })
  grow(server, 'commissions', {
    huge: CUSTOMERS / 2,
    others: 0,
    columns: {
      orderId: `'api:x' || n.i`,
      externalOrderId: `'x' || n.i`,
      happenedAt: '$at',
      customer: `case when n.i % 2 = 0 then '${customer!.id}' else 'cus_x' || ${pad('n.i')} end`,
    },
  })
  if (engine === 'postgres') server.sql.exec('analyze')
  return { affiliate, other, program, name, customer: customer! }
}

async function openWork({ url }: TestServer) {
  if (engine === 'postgres') return openPostgresWork(url)
  const work = openSqliteWork(databaseFile(url), new Map())
  return { close: async () => work.close(), workOf: async (statement: Statement) => work.workOf(statement) }
}

test('no statement about customers scans their table, nor the orders of a shop', { timeout: 600_000 }, async ({
  server,
}) => {
  const { affiliate, other, program, name, customer } = await fill(server)
  const { headers } = await signIn(server)
  const watched = watchStatements(server)
  const late = `cus_x${String(Math.round(CUSTOMERS * 0.9) + 1).padStart(8, '0')}`
  const [ofStar, ofFew] = [affiliate, other].map(({ id }) => `affiliateId=${id}`) as [string, string]
  const inProgram = `programId=${program.id}`
  const lists = ['', ofStar, ofFew, 'affiliateId=aff_1', inProgram, `${ofStar}&${inProgram}`, `${ofFew}&${inProgram}`]
  const queries = lists.flatMap((list) => [list, `${list}&limit=100&page=10`, `${list}&after=${late}`])
  const named = [
    'customerId=x7',
    'customerId=none',
    `customerEmail=${name.customerEmail}`,
    'customerEmail=no@example.com',
  ]
  const orders = [
    { customerId: name.customerId },
    { customerId: 'x7' },
    { customerEmail: name.customerEmail },
    { customerId: 'new', customerEmail: name.customerEmail },
    { customerId: 'x6', customerEmail: 'x6@example.com', couponCode: 'FEW' },
  ]
  const pages = [
    '/customers',
    `/customers?affiliate=${affiliate.id}`,
    `/customers?affiliate=${other.id}&${inProgram}`,
    `/customers?${inProgram}`,
    '/customers?customerId=x7',
    `/customers.csv?affiliate=${affiliate.id}`,
    `/customers/${customer.id}`,
    `/customers/${customer.id}?page=9`,
    `/customers/${late}`,
    `/affiliates/${affiliate.id}`,
  ]
  const statuses: [string, number][] = []
  const make = async (cause: string, call: () => Promise<{ status: number }>) => {
    watched.causing(cause)
    statuses.push([cause, (await call()).status])
  }
  for (const query of [...queries, ...named])
    await make(`GET /customers?${query}`, () => server.request('GET', `/api/v1/customers?${query}`))
  for (const [n, order] of orders.entries()) {
    const body = { externalOrderId: `p-${n}`, amountCents: 100, currency: 'USD', ...order }
    await make(`a dry run of ${JSON.stringify(order)}`, () =>
      server.request('POST', '/api/v1/events?dryRun=1', { body }),
    )
    await make(`an order of ${JSON.stringify(order)}`, () => convert(server, body))
  }
  for (const page of pages) await make(page, async () => server.app.request(`http://test/admin${page}`, { headers }))
  const signUp = { customerId: 'x2', couponCode: 'FEW' }
  await make('a sign-up', () => server.request('POST', '/api/v1/customers', { body: signUp }))
  await make('DELETE', () => server.request('DELETE', `/api/v1/customers?id=${late}`))
  const connection = { kind: 'customerId', value: 'x3', affiliateId: other.id }
  await make('a connection', () => server.owner('POST', '/connections', connection))
  await make('the explanation', () => server.owner('GET', '/orders/p-4/explanation'))
  expect(statuses.filter(([, status]) => status >= 400)).toEqual([])

  const statements = [...watched.seen.values()].filter(({ sql }) => /"customers?"/.test(sql))
  expect(statements.length).toBeGreaterThan(15)
  const work = await openWork(server)
  const wrong: string[] = []
  try {
    for (const statement of statements) {
      const isExpected = Object.values(EXPECTED).some((text) => text.test(statement.sql))
      if (isExpected || /^insert into/.test(statement.sql)) continue
      const { rows, where } = await work.workOf(statement)
      // Those of a customer who has very many are sorted in the report thread.
      if (statement.isReport && where.includes('commissions_shopId_customer_happenedAt')) continue
      if (rows > MAX_ROWS) wrong.push(`${rows} rows, ${where}, caused by ${statement.cause}: ${statement.sql}`)
    }
  } finally {
    await work.close()
  }
  expect(wrong).toEqual([])
})

import { describe, expect } from 'vitest'
import { check } from '../../server/src/operator/check.ts'
import { ID } from '../contract/fixture.ts'
import { engine } from '../support/database.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ exampleServer: server }) => {
  await expectOk(convert(server, { externalOrderId: 'nobody', amountCents: 1000 }))
  for (let i = 0; i < 25; i++)
    await expectOk(convert(server, { externalOrderId: `event-${i}`, amountCents: 1000, couponCode: 'NISA16' }))
})

const order = `Row shp_\\w+ api:1000 of orders`
const at = (table: string, where: string) => ({ table, where })
const ORDER = at('orders', `"orderId" = 'api:1000'`)
const AFFILIATE = at('affiliates', `id = '${ID.affiliate}'`)

const harmed: [
  what: string,
  column: string,
  place: { table: string; where: string },
  change: string,
  problem: RegExp,
][] = [
  [
    'another amount in the facts of an order',
    'facts',
    ORDER,
    `replace(facts, '"amountCents":10000', '"amountCents":90000')`,
    RegExp(`^${order} has a decision that does not match its stored facts\\.$`),
  ],
  [
    'another amount in the decision of an order',
    'decision',
    ORDER,
    `replace(decision, '1440', '9440')`,
    RegExp(`^${order} has a decision that does not match its stored facts\\.$`),
  ],
  [
    'other goods than in the facts of an order',
    'goodsCents',
    ORDER,
    '"goodsCents" + 1',
    RegExp(`^${order} has a currency or goods that do not match its stored facts\\.$`),
  ],
  [
    'facts that break off',
    'facts',
    ORDER,
    'substr(facts, 1, 100)',
    RegExp(`^${order} contains invalid JSON in facts\\.$`),
  ],
  [
    'an event that is not JSON',
    'body',
    at('webhookEvents', `id = (select min(id) from "webhookEvents")`),
    `'{' || body`,
    /^Row shp_\w+ evt_\w+ of webhookEvents contains invalid JSON in body\.$/,
  ],
]
if (engine === 'sqlite')
  harmed.push([
    'zeros in a name',
    'name',
    AFFILIATE,
    `cast(x'4e69730000' as text)`,
    /^Row shp_\w+ aff_01KAH0000000000000000000A1 of affiliates contains text in name that the server cannot have written\.$/,
  ])

describe('a row that the server cannot have written is reported', () => {
  test.for(harmed)('%s', async ([_what, column, { table, where }, change, problem], { exampleServer: server }) => {
    const { sql } = server
    const rows = sql.prepare(`select * from "${table}" where ${where}`).all() as Record<string, unknown>[]
    expect(rows.length).toBeGreaterThan(0)
    const key = table === 'orders' ? 'orderId' : 'id'
    sql.exec(`update "${table}" set "${column}" = ${change} where ${where}`)
    const { ok, problems } = await check(server.deps)
    for (const row of rows)
      sql.prepare(`update "${table}" set "${column}" = ? where "${key}" = ?`).run(row[column], row[key])
    expect([ok, problems.filter((line) => !problem.test(line))]).toEqual([false, []])
    expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
  })

  test('an order of an earlier engine version is not replayed', async ({ exampleServer: server }) => {
    const { sql } = server
    const { decision } = sql.prepare(`select decision from orders where ${ORDER.where}`).get() as { decision: string }
    const earlier = decision.replace(/"engineVersion":"[^"]+"/, '"engineVersion":"0"')
    const set = sql.prepare(`update orders set decision = ? where ${ORDER.where}`)
    set.run(earlier)
    expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
    set.run(decision)
  })

  test('many problems are summarized in few lines', async ({ exampleServer: server }) => {
    const { sql } = server
    sql.exec(`update "webhookEvents" set body = '{' || body`)
    const { problems } = await check(server.deps)
    sql.exec(`update "webhookEvents" set body = substr(body, 2)`)
    expect(problems).toHaveLength(21)
    expect(problems.at(-1)).toMatch(/^\d+ more rows of webhookEvents are damaged\.$/)
  })
})

import type { Kysely } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withHandle } from '../../server/src/database/handle.ts'
import { up } from '../../server/src/database/migrations/0009-identity-keys.ts'
import { check } from '../../server/src/operator/check.ts'
import { refusal } from '../support/looking.ts'
import { admin } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server, { code: 'NISA' })
})
afterAll(() => server.close())

/** Writes a key as the version before stored it. */
function wasStored(table: string, column: string, [now, then]: [now: string, then: string]): void {
  const { changes } = server.sql.prepare(`update "${table}" set "${column}" = ? where "${column}" = ?`).run(then, now)
  expect([table, column, changes]).toEqual([table, column, 1])
}

const migrate = () =>
  withHandle(server.url, async (db) => {
    server.sql.exec('create index "commissions_shopId_externalOrderId" on commissions ("shopId", "externalOrderId")')
    await up(db as unknown as Kysely<unknown>)
  })

const report = async (order: object) => {
  const { headers, body } = await convert(server, { amountCents: 10_000, couponCode: 'NISA', ...order })
  return { isKnown: headers.get('X-Order-Already-Recorded') === 'true', ...body }
}

test('keys of an earlier version are made anew, and nothing that was stored is lost', async () => {
  const { client } = server
  const idn = await newAffiliate(server, { email: 'a@bücher.example', code: 'ＣＡＴ' })
  const older = await newAffiliate(server, { email: 'twin@köln.example', code: '①' })
  const twin = await newAffiliate(server, { email: 'other@example.com', code: 'SECND' })
  const customer = { kind: 'customerEmail', value: 'Käufer@köln.example', affiliateId: idn.id }
  await expectOk(admin(server, 'POST', '/connections', customer))
  const first = await report({ externalOrderId: 'cafe\u0301', customerEmail: 'käufer@köln.example' })
  const [nfc, nfd] = [await report({ externalOrderId: 'zoë' }), await report({ externalOrderId: 'x' })]

  wasStored('affiliates', 'emailKey', ['a@xn--bcher-kva.example', 'a@bücher.example'])
  wasStored('affiliates', 'codeKey', ['cat', 'ｃａｔ'])
  wasStored('affiliates', 'codeKey', ['1', '①'])
  // Two affiliates whom the version before told apart.
  wasStored('affiliates', 'emailKey', ['twin@xn--kln-sna.example', 'twin@köln.example'])
  wasStored('affiliates', 'emailKey', ['other@example.com', 'twin@xn--kln-sna.example'])
  wasStored('connections', 'value', ['käufer@xn--kln-sna.example', 'käufer@köln.example'])
  wasStored('journey', 'customerEmailKey', ['käufer@xn--kln-sna.example', 'käufer@köln.example'])
  for (const table of ['orders', 'commissions', 'journey']) {
    wasStored(table, 'orderId', ['api:café', 'api:cafe\u0301'])
    // One order that the version before recorded twice.
    wasStored(table, 'orderId', ['api:x', 'api:zoe\u0308'])
  }
  const counts = () =>
    server.sql.tables().map((table) => [table, server.sql.prepare(`select count(*) as n from "${table}"`).get()])
  const before = counts()
  await migrate()
  expect(counts()).toEqual(before)

  const again = client.affiliates.create({ email: 'A@XN--bcher-kva.example', name: 'A' })
  expect(await refusal(again)).toEqual([409, 'email_taken'])
  const nobody = { externalOrderId: 'p-1', couponCode: undefined }
  const connected = await report({ ...nobody, customerEmail: 'käufer@xn--kln-sna.example' })
  expect(connected.attribution.affiliateId).toBe(idn.id)
  expect((await report({ externalOrderId: 'p-2', couponCode: 'cat' })).attribution.affiliateId).toBe(idn.id)
  expect((await report({ externalOrderId: 'p-3', couponCode: '1' })).attribution.affiliateId).toBe(older.id)
  expect((await client.journey.get({ customerEmail: 'käufer@köln.example' })).total).toBe(2)
  expect(await report({ externalOrderId: 'café' })).toMatchObject({ isKnown: true, commission: first.commission })
  expect((await client.commissions.list({ externalOrderId: 'café' })).data[0]).toMatchObject({ orderId: 'api:café' })
  // Whoever has a key keeps it: both orders stay, and both affiliates can be changed.
  expect(await report({ externalOrderId: 'zoe\u0308' })).toMatchObject({ isKnown: true, commission: nfc.commission })
  const { data } = await client.commissions.list({ externalOrderId: 'api:zoe\u0308' })
  expect(data.map(({ id }) => id)).toEqual([nfd.commission.id])
  for (const { id } of [older, twin]) await client.affiliates.update(id, { name: 'Renamed' })
  expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })

  const stored = () => JSON.stringify(server.sql.prepare('select * from affiliates order by id').all())
  const once = stored()
  await migrate()
  expect(stored()).toBe(once)
})

test('reports of a store follow their order', async () => {
  const canceled = (orderId: string) =>
    server.sql
      .prepare(
        `insert into "storeNotices" ("shopId", "orderId", kind, "noticeId", body, "createdAt") values (?, ?, 'canceled', '', '{}', '2026-10-01T00:00:00.000Z')`,
      )
      .run(server.shop.shopId, orderId)
  canceled('shopify:e\u0301')
  canceled('shopify:1001')
  await migrate()
  const ids = server.sql.prepare('select "orderId" from "storeNotices" order by 1').pluck().all()
  expect(ids).toEqual(['shopify:1001', 'shopify:é'])
})

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { digestOfAudit } from '../../server/src/core/audit.ts'
import { backup } from '../../server/src/database/backup.ts'
import { verifyFile } from '../../server/src/domains/accounts/audit-export.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { erasePersonCompletely } from '../../server/src/domains/privacy/erasure.ts'
import { check } from '../../server/src/operator/check.ts'
import { allowTransactions } from '../support/faults.ts'
import { deleteRows, dumpOf, insertRow, rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { EMAIL, moneyOf, plantEverywhere, SPELLINGS, TRACE, tracesIn } from './support/everywhere.ts'

const folder = temporaryFolder()
test.afterAll(() => folder.remove())

const erase = (server: TestServer, email = EMAIL) => expectOk(admin(server, 'POST', '/privacy/erasures', { email }))

const exportOf = async (server: TestServer, email = EMAIL): Promise<string[]> =>
  String((await admin(server, 'POST', '/privacy/exports', { email })).body)
    .trimEnd()
    .split('\n')

async function verifyAudit(server: TestServer) {
  const file = join(folder.path, `${server.shop.shopId}.ndjson`)
  writeFileSync(file, String((await admin(server, 'GET', '/audit/export')).body))
  return verifyFile(file)
}

/** The facts of the orders of the shop, by the id that the caller reported. */
const factsOf = (server: TestServer) =>
  new Map(
    rowsOf(server, 'orders', { shopId: server.shop.shopId }).map(({ orderId, facts }) => [
      orderId,
      JSON.parse(facts).order,
    ]),
  )

const filesOf = ({ url }: TestServer): Buffer[] =>
  ['', '-wal']
    .map((ending) => url.replace(/^file:/, '') + ending)
    .flatMap((file) => (existsSync(file) ? [readFileSync(file)] : []))

const hasTrace = (bytes: Buffer) => TRACE.test(bytes.toString('latin1'))

test('an erasure leaves no trace of a person, and money, decisions and the audit as they were', async ({ server }) => {
  const { programId } = await plantEverywhere(server)
  await expectOk(server.request('PATCH', `/api/v1/programs?id=${programId}`, { body: { description: `Ask ${EMAIL}` } }))
  updateRows(server, 'deliveries', { status: 'SENT', finishedAt: '2026-11-02T12:00:00.000Z' })
  const before = moneyOf(server)
  const decisions = rowsOf(server, 'orders').map(({ decision }) => JSON.parse(decision).amountCents)
  const affected = rowsOf(server, 'webhookEvents').filter(({ body }) => TRACE.test(body))
  expect(affected.length).toBeGreaterThan(2)
  const erasure = await erase(server, SPELLINGS.decomposed)
  expect(erasure).toMatchObject({ status: 'DONE', mentions: [{ table: 'programs', id: programId }] })
  expect(erasure.rows).toBeGreaterThan(20)
  await expectOk(server.request('PATCH', `/api/v1/programs?id=${programId}`, { body: { description: null } }))

  expect(tracesIn(server)).toEqual([])
  expect(server.logs.filter((line) => TRACE.test(line))).toEqual([])
  expect(moneyOf(server)).toEqual(before)
  expect(
    rowsOf(server, 'orders')
      .map(({ decision }) => JSON.parse(decision).amountCents)
      .sort(),
  ).toEqual(decisions.sort())
  expect((await check(server.deps)).problems).toEqual([])
  expect(await verifyAudit(server)).toMatchObject({ ok: true, problem: null })
  // The key is gone.
  expect(rowsOf(server, 'erasures')).toMatchObject([{ id: erasure.id, subject: null }])

  // Still one person, whatever tags the addresses had.
  const orders = factsOf(server)
  const emails = ['api:c-1', 'api:c-2', 'api:c-3'].map((id) => orders.get(id)?.customerEmail)
  expect(new Set(emails).size).toBe(1)
  expect(emails[0]).toMatch(/^erased-[0-9a-f]{24}@erased\.invalid$/)
  const tagged = [...orders.values()]
    .map(({ customerEmail }) => String(customerEmail))
    .find((text) => text.includes('+'))
  expect(tagged?.split('+')[0]).toBe(emails[0].split('@')[0])
  expect(orders.get('api:c-1')?.customerId).toBe(orders.get('api:c-5')?.customerId)
  expect(orders.get('api:c-1')?.shipping).toEqual({ country: 'US' })
  expect(orders.get('api:c-6')?.customerEmail).toMatch(/^friend@example\.com, erased-/)

  // Nothing of the person is sent later.
  for (const { id: eventId } of affected) {
    const { id } = rowOf(server, 'deliveries', { eventId })
    const { status, headers } = await admin(server, 'POST', `/deliveries/${id}/redeliver`)
    expect([status, headers.get('X-Error-Code')]).toEqual([409, 'delivery_erased'])
  }
  expect((await server.request('GET', `/api/v1/journey?customerEmail=${encodeURIComponent(EMAIL)}`)).body.total).toBe(0)
  expect(await exportOf(server)).toHaveLength(2)
})

test('the files of SQLite and later backups have no trace either', async ({ server }) => {
  if (!server.url.startsWith('file:')) return
  await plantEverywhere(server)
  // Moves rows within pages, and leaves earlier versions of them.
  for (let i = 0; i < 40; i++)
    await expectOk(
      convert(server, { externalOrderId: `more-${i}`, amountCents: 100, customerEmail: EMAIL, couponCode: 'FRIEND' }),
    )
  expect(filesOf(server).some(hasTrace)).toBe(true)
  await erase(server)
  expect(tracesIn(server)).toEqual([])
  expect(filesOf(server).map(hasTrace)).not.toContain(true)
  // What another connection left behind.
  insertRow(server, 'installationSettings', { name: 'x', value: 'canary '.repeat(5000) })
  deleteRows(server, 'installationSettings', { name: 'x' })
  expect(filesOf(server).some(hasTrace)).toBe(true)
  const file = join(folder.path, `${server.shop.shopId}.db`)
  await backup(server.url, file)
  expect(hasTrace(readFileSync(file))).toBe(false)
})

test('an erasure that was interrupted anywhere continues with the same pseudonyms', async ({ server }) => {
  await plantEverywhere(server)
  const ctx = await operatorContext(server.deps, server.shop.shopId)
  let interruptions = 0
  for (;;) {
    const restore = allowTransactions(server, 1)
    const done = await erasePersonCompletely(ctx, EMAIL).catch((error) => error)
    restore()
    if (!(done instanceof Error)) break
    expect(done.message).toBe('The process was killed')
    interruptions++
  }
  expect(interruptions).toBeGreaterThan(8)
  expect(tracesIn(server)).toEqual([])
  expect((await check(server.deps)).problems).toEqual([])
  expect(rowsOf(server, 'erasures', { shopId: server.shop.shopId })).toHaveLength(1)
  const emails = ['api:c-1', 'api:c-2', 'api:c-3'].map((id) => factsOf(server).get(id)?.customerEmail)
  expect(new Set(emails).size).toBe(1)
  const ids = rowsOf(server, 'journey', { shopId: server.shop.shopId }).map(({ customerId }) => customerId)
  expect(new Set(ids.filter((id) => id !== null)).size).toBe(2)
})

test('of the shipping address, only what a geo rule decided on is kept', async ({ server }) => {
  const { id: campaignId } = await expectOk(
    server.request('POST', '/api/v1/programs', { body: { name: 'Local', autoApproveOrder: true } }),
  )
  await expectOk(admin(server, 'PUT', `/geo-rules/${campaignId}`, { countries: ['US'], cities: ['Springfield'] }))
  await newAffiliate(server, { campaignId, code: 'LQCAL', email: 'local@example.com' })
  const order = { amountCents: 1000, couponCode: 'LQCAL', customerEmail: 'jo@example.com' }
  const shipping = { country: 'US', state: 'OR', city: 'Springfield', postalCode: '97477' }
  await expectOk(convert(server, { ...order, externalOrderId: 'l-1', shipping }))
  await expectOk(convert(server, { ...order, externalOrderId: 'l-2', shipping: { ...shipping, city: 'Portland' } }))
  await expectOk(convert(server, { ...order, externalOrderId: 'l-3' }))
  await erase(server, 'jo@example.com')
  expect((await check(server.deps)).problems).toEqual([])
  const orders = factsOf(server)
  expect(orders.get('api:l-1')?.shipping).toEqual({ country: 'US', state: 'OR', city: 'Springfield' })
  expect(orders.get('api:l-2')?.shipping).toEqual({ country: 'US', state: 'OR', city: 'Portland' })
  expect(orders.get('api:l-3')?.shipping).toBeUndefined()
})

test('two requests at the same time are one erasure', async ({ server }) => {
  await plantEverywhere(server)
  const [first, second] = await Promise.all([erase(server), erase(server, SPELLINGS.tag)])
  expect(first.id).toBe(second.id)
  expect(tracesIn(server)).toEqual([])
})

describe('after an erasure', () => {
  test('an order with the same address is that of a new person', async ({ server }) => {
    await plantEverywhere(server)
    const order = { amountCents: 1000, customerEmail: EMAIL, customerId: 'customer-of-the-canary-page' }
    const connected = await expectOk(convert(server, { ...order, externalOrderId: 'before' }))
    expect(connected.attribution.method).toBe('CONNECTED_CUSTOMER')
    await erase(server)
    server.clock.advance(1000)
    const later = await expectOk(convert(server, { ...order, externalOrderId: 'after' }))
    expect(later.attribution).toMatchObject({ affiliateId: null, reasonCode: 'NO_MATCH' })
    const { body } = await server.request('GET', `/api/v1/journey?customerEmail=${encodeURIComponent(EMAIL)}`)
    expect(body.journey.map(({ externalOrderId }: { externalOrderId: string }) => externalOrderId)).toEqual(['after'])
  })

  test('self-referral is detected for a new affiliate with the address, and past decisions keep theirs', async ({
    server,
  }) => {
    const { id: program } = await expectOk(
      server.request('POST', '/api/v1/programs', { body: { name: 'P', autoApproveOrder: true } }),
    )
    await newAffiliate(server, { campaignId: program, code: 'SELF1', email: 'self@example.com' })
    const order = { amountCents: 1000, customerEmail: 'Self+x@example.com' }
    const own = await expectOk(convert(server, { ...order, externalOrderId: 's-1', couponCode: 'SELF1' }))
    expect(own.commission.restrictionReasonCode).toBe('SELF_REFERRAL')
    await erase(server, 'self@example.com')
    expect(await check(server.deps)).toMatchObject({ problems: [] })
    const { body } = await admin(server, 'GET', '/orders/s-1/explanation')
    expect(body.data).toMatchObject({
      replay: { identical: true },
      commission: { restrictionReasonCode: 'SELF_REFERRAL' },
    })
    await newAffiliate(server, { campaignId: program, code: 'SELF2', email: 'self@example.com' })
    const again = await expectOk(convert(server, { ...order, externalOrderId: 's-2', couponCode: 'SELF2' }))
    expect(again.commission.restrictionReasonCode).toBe('SELF_REFERRAL')
    const past = await expectOk(convert(server, { ...order, externalOrderId: 's-3', couponCode: 'SELF1' }))
    expect(past.attribution.affiliateId).toBeNull()
  })
})

describe('an affiliate', () => {
  test('409 while commissions are not settled, then everything is erased and the money stays', async ({ server }) => {
    const { id: campaignId } = await expectOk(
      server.request('POST', '/api/v1/programs', {
        body: { name: 'P', commissionPercent: 10, autoApproveOrder: true },
      }),
    )
    await expectOk(server.request('POST', '/api/v1/webhooks', { body: { url: 'https://hooks.example.com/a' } }))
    const created = await server.request('POST', '/api/v1/affiliates', {
      body: { email: EMAIL, firstName: 'Zoe', lastName: 'Canary', campaignId },
      headers: { 'Idempotency-Key': 'create' },
    })
    const { id, slug } = await expectOk(Promise.resolve(created))
    const body = {
      status: 'APPROVED',
      phone: '555 canary',
      website: 'https://canary.example',
      homeCity: 'Canary',
      tiktokHandle: '@canary',
    }
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body }))
    await expectOk(server.request('POST', '/api/v1/coupons', { body: { affiliateId: id, code: 'CANARY' } }))
    const payee = { method: 'WISE', email: EMAIL, name: 'Zoe Canary' }
    await expectOk(admin(server, 'PUT', `/affiliates/${id}/payee`, payee))
    const visit = { type: 'click', ref: slug, sessionId: 's', landingPage: `https://shop.example/?ref=${slug}` }
    await expectOk(server.request('POST', '/api/v1/events', { body: visit }))
    await expectOk(
      convert(server, {
        externalOrderId: 'a-1',
        amountCents: 10_000,
        currency: 'USD',
        couponCode: 'canary',
        customerEmail: 'buyer@example.com',
      }),
    )
    await expectOk(convert(server, { externalOrderId: 'a-2', amountCents: 5000, currency: 'USD', sessionId: 's' }))
    const refused = await admin(server, 'POST', '/privacy/erasures', { email: EMAIL })
    expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([409, 'affiliate_has_open_commissions'])
    for (const fact of [id, '2 unsettled', '15.00 USD']) expect(refused.body.error).toContain(fact)
    const period = { periodStart: '2026-11-01', periodEnd: '2026-11-30' }
    const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: period }))
    await expectOk(admin(server, 'PUT', '/payout-files/november', { batchId: batch.id, format: 'wise' }))
    await expectOk(server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
    await expectOk(admin(server, 'GET', `/affiliates/${id}/statement?month=2026-11`))
    updateRows(server, 'deliveries', { status: 'SENT', finishedAt: '2026-11-02T12:00:00.000Z' })
    const before = moneyOf(server)

    await erase(server, SPELLINGS.tag)
    expect(tracesIn(server)).toEqual([])
    expect(moneyOf(server)).toEqual(before)
    expect((await check(server.deps)).problems).toEqual([])
    expect(await verifyAudit(server)).toMatchObject({ ok: true })
    expect(rowsOf(server, 'payees', { affiliateId: id })).toEqual([])
    expect(rowOf(server, 'affiliates', { id })).toMatchObject({
      name: 'Erased affiliate',
      phone: null,
      deletedAt: expect.any(String),
    })
    const lines = (await admin(server, 'GET', '/payout-files/november/lines')).body.data
    expect(lines).toMatchObject([{ name: 'Erased affiliate', amountCents: 1500, payee: { method: 'WISE' } }])
    const statement = await expectOk(admin(server, 'GET', `/affiliates/${id}/statement?month=2026-11`))
    expect(statement).toMatchObject({ name: 'Erased affiliate' })
    const events = (await server.request('GET', '/api/v1/webhooks/events')).body.data
    expect(JSON.stringify(events)).not.toMatch(TRACE)
    // The response under the key contained the person.
    const retried = await server.request('POST', '/api/v1/affiliates', {
      body: { email: EMAIL, firstName: 'Zoe', lastName: 'Canary', campaignId },
      headers: { 'Idempotency-Key': 'create' },
    })
    expect(retried.headers.get('X-Error-Code')).toBe('idempotency_key_reused')
  })
})

test('409 for a user of the shop, until the user is revoked', async ({ server }) => {
  const { id } = rowOf(server, 'users', { shopId: server.shop.shopId })
  const { email } = rowOf(server, 'users', { id })
  const refused = await admin(server, 'POST', '/privacy/erasures', { email })
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([409, 'person_is_user'])
})

test('a row of the audit whose text was replaced without an erasure is found', async ({ server }) => {
  await plantEverywhere(server)
  await erase(server)
  const { shopId } = server.shop
  const { auditRows } = JSON.parse(rowOf(server, 'audits', { shopId, action: 'person.erased' }).data)
  const erased = rowsOf(server, 'audits', { shopId }).filter(({ salt }) => salt === null)
  expect(erased.length).toBeGreaterThan(2)
  expect(auditRows).toEqual(erased.map(({ seq }) => seq))
  // As an erasure does it, but for an amount.
  const row = rowsOf(server, 'audits', { shopId, action: 'commission.created' }).find(({ salt }) => salt !== null)!
  const data = row.data.replace(/"amountCents":\d+/, '"amountCents":1')
  updateRows(server, 'audits', { data, salt: null, digest: digestOfAudit(row) }, { shopId, seq: row.seq })
  expect((await check(server.deps)).problems).toEqual([
    expect.stringMatching(new RegExp(`${shopId} is broken at row ${row.seq}: .*changed`)),
  ])
  expect((await verifyAudit(server)).problem).toContain(`the text of row ${row.seq} was replaced`)
  updateRows(server, 'audits', { data: row.data, salt: row.salt, digest: null }, { shopId, seq: row.seq })
})

test('other shops keep their rows', async ({ server, installation }) => {
  const other = installation.asShop(await installation.createShop())
  const order = { externalOrderId: 'o-1', amountCents: 100, customerEmail: 'jo@example.com' }
  await expectOk(convert(server, order))
  await expectOk(other.request('POST', '/api/v1/events', { body: order, headers: { 'Idempotency-Key': 'o-1' } }))
  const rowsOfOther = () =>
    [...dumpOf(server)].map(([table, rows]) => [table, rows.filter((row) => row.includes(other.shop.shopId))])
  const before = rowsOfOther()
  await erase(server, 'jo@example.com')
  expect(rowsOfOther()).toEqual(before)
})

import { expect } from 'vitest'
import { SHOP_TABLES } from '../../server/src/database/personal-data.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { countOf, insertRow, rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import { addMany } from '../support/many-commissions.ts'
import { deletionOf, operate } from '../support/operator.ts'
import { type TestServer, type TestShop, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { createLink, createUser, replaceToken, revokeUser } from '../support/tenants.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { until, webhookFixture } from '../webhooks/fixture.ts'

const DAY = 86_400
const SECRET = 'secret of the receiver'

/** A test shop of the server's shop, and requests with its credentials. */
async function testShopOf(server: TestServer, name?: string) {
  const { id, apiKey, ownerToken, ...rest } = await expectOk(server.owner('POST', '/test-shops', name ? { name } : {}))
  const shop: TestShop = { shopId: id, key: apiKey, ownerToken, keyId: '' }
  const advance = (advanceSeconds: number) =>
    expectOk(server.owner('POST', `/test-shops/${id}/clock`, { advanceSeconds }))
  return { ...rest, id, advance, own: { ...server, ...server.asShop(shop) } as TestServer }
}

test('a test shop has the plan and currency of its shop, and a key rk_test_', async ({ server }) => {
  const { id, own, name, plan, currency } = await testShopOf(server)
  expect({ name, plan, currency }).toEqual({ name: 'Test shop (test)', plan: 'PROFESSIONAL', currency: 'USD' })
  expect(own.shop.key).toMatch(/^rk_test_[0-9A-Za-z]{49}$/)
  const { secret, prefix } = await expectOk(own.owner('POST', '/keys', { label: 'X', scopes: ['programs:read'] }))
  expect(secret).toMatch(/^rk_test_/)
  expect([secret.startsWith(prefix), prefix.length]).toEqual([true, 15])
  expect((await own.request('GET', '/api/v1/programs')).body.pagination.total).toBe(0)
  expect((await own.owner('GET', '/settings')).body.data).toMatchObject({ shopId: id, isTest: true })
  expect((await server.owner('GET', '/settings')).body.data).toMatchObject({ isTest: false })
})

test('the list shows the test shops of the shop only, and their time', async ({ server }) => {
  const { id, advance } = await testShopOf(server, 'Checkout')
  await advance(DAY)
  const { data } = (await server.owner('GET', '/test-shops')).body
  const now = new Date(server.clock.ms + DAY * 1000).toISOString()
  expect(data).toMatchObject([{ id, name: 'Checkout', now }])
  const other = server.asShop(await server.createShop())
  expect((await other.owner('GET', '/test-shops')).body.data).toEqual([])
  expect((await other.owner('POST', `/test-shops/${id}/clock`, { advanceSeconds: 1 })).status).toBe(404)
  expect((await other.owner('DELETE', `/test-shops/${id}`)).status).toBe(404)
})

test('the clock moves forward only, by seconds or to an instant, and with the token of the test shop', async ({
  server,
}) => {
  const { id, own } = await testShopOf(server)
  const clock = (body: object, caller = server) => caller.owner('POST', `/test-shops/${id}/clock`, body)
  expect((await expectOk(clock({ to: '2027-01-01' }))).now).toBe('2027-01-01T00:00:00.000Z')
  expect((await expectOk(clock({ advanceSeconds: 60 }, own))).now).toBe('2027-01-01T00:01:00.000Z')
  for (const body of [
    { to: '2027-01-01' },
    { advanceSeconds: 0 },
    { advanceSeconds: -1 },
    {},
    { to: '2028-01-01', advanceSeconds: 1 },
  ])
    expect((await clock(body)).status).toBe(400)
  expect((await server.owner('POST', `/test-shops/${server.shop.shopId}/clock`, { advanceSeconds: 1 })).status).toBe(
    404,
  )
})

test('click windows, default periods, and stored responses follow the clock', async ({ server }) => {
  const { own, advance } = await testShopOf(server)
  const { affiliate } = await withAffiliate(own)
  const { id: clickId } = await expectOk(
    own.request('POST', '/api/v1/events', { body: { type: 'click', ref: affiliate.slug } }),
  )
  const body = { externalOrderId: 'o-1', amountCents: 10_000, clickId }
  const decide = () => own.request('POST', '/api/v1/events?dryRun=1', { body })
  expect((await decide()).body.attribution.reasonCode).toBe('CLICK_MATCH')
  const headers = { 'Idempotency-Key': 'k' }
  const create = (name: string) => own.request('POST', '/api/v1/programs', { headers, body: { name } })
  expect((await create('A')).status).toBe(201)
  expect((await create('B')).status).toBe(409)
  await advance(31 * DAY)
  expect((await decide()).body.attribution.reasonCode).toBe('CLICK_EXPIRED')
  expect((await create('B')).status, 'the stored response expired after 30 days').toBe(201)
  const { commission } = (await convert(own, { externalOrderId: 'o-2', amountCents: 100, couponCode: 'NISA16' })).body
  const [row] = (await own.request('GET', `/api/v1/commissions?id=${commission.id}`)).body.data
  expect(row.happenedAt.slice(0, 10)).toBe(new Date(server.clock.ms + 31 * DAY * 1000).toISOString().slice(0, 10))
  expect((await own.request('GET', '/api/v1/analytics')).body.totals).toMatchObject({ orders: 1, clicks: 0 })
})

test('keys and rate limits keep the time of the server', async ({ server }) => {
  const { own, advance } = await testShopOf(server)
  const expiresAt = new Date(server.clock.ms + DAY * 1000).toISOString()
  const made = await expectOk(own.owner('POST', '/keys', { label: 'X', scopes: ['programs:read'], expiresAt }))
  await advance(365 * DAY)
  expect((await own.request('GET', '/api/v1/programs', { key: made.secret })).status).toBe(200)
  const { secret } = await expectOk(own.owner('POST', '/keys', { label: 'Y', scopes: ['programs:read'], expiresAt }))
  expect((await own.request('GET', '/api/v1/programs', { key: secret })).status).toBe(200)
})

test('events of a test shop contain test: true, those of its shop do not', async ({ server }) => {
  const { own } = await testShopOf(server)
  for (const one of [own, server]) await withAffiliate(one)
  const events = async (one: TestServer) => (await one.request('GET', '/api/v1/webhooks/events')).body.data
  const [ofTest, ofShop] = [await events(own), await events(server)]
  expect(ofTest.length).toBeGreaterThan(0)
  expect(ofTest.every((event: { test?: boolean }) => event.test === true)).toBe(true)
  expect(ofShop.some((event: object) => 'test' in event)).toBe(false)
})

test('the pages of a test shop say that it is one', async ({ server }) => {
  const { own } = await testShopOf(server)
  const pageOf = async (one: TestServer) => {
    const signIn = await one.request('POST', '/admin/v1/session', { key: null, body: { token: one.shop.ownerToken } })
    const Cookie = signIn.headers.get('Set-Cookie')?.split(';')[0] ?? ''
    return (await one.request('GET', '/admin', { key: null, headers: { Cookie } })).body as string
  }
  expect(await pageOf(own)).toContain('Test shop.')
  expect(await pageOf(server)).not.toContain('Test shop.')
})

test('404 when a test shop deletes itself, whose audit would be gone with it', async ({ server }) => {
  const { id, own } = await testShopOf(server)
  const refused = await own.owner('DELETE', `/test-shops/${id}`)
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([404, 'test_shop_not_found'])
  expect((await own.request('GET', '/api/v1/programs')).status).toBe(200)
})

test('deleting a test shop removes every row of it and its keys, and nothing else', async ({ server }) => {
  await withAffiliate(server)
  const { id, own } = await testShopOf(server)
  await withAffiliate(own)
  await convert(own, { externalOrderId: 'o-1', amountCents: 100, couponCode: 'NISA16' })
  const before = rowsOfShop(server, server.shop.shopId)
  await expectOk(server.owner('DELETE', `/test-shops/${id}`))
  expect(rowsOfShop(server, id)).toEqual([])
  const added = rowsOfShop(server, server.shop.shopId).length - before.length
  expect(added, 'the audit record of the deletion').toBe(1)
  expect((await own.request('GET', '/api/v1/programs')).status).toBe(403)
  expect((await server.owner('DELETE', `/test-shops/${id}`)).status).toBe(404)
})

/** Every row of a shop except when its keys were last used, as text. */
const rowsOfShop = (server: TestServer, shopId: string): string[] =>
  SHOP_TABLES.filter((table) => table !== 'apiKeys' && table !== 'shops')
    .flatMap((table) => rowsOf(server, table, { shopId } as never).map((row) => `${table} ${JSON.stringify(row)}`))
    .sort()

test('a month from click to paid batch, with refunds and retried webhooks, takes less than 2 seconds', async () => {
  const fixture = await webhookFixture()
  const before = process.cpuUsage()
  const { own, advance } = await testShopOf(fixture)
  await fixture.send()
  await fixture.receiver.respond('/hook', 503)
  const { affiliate } = await withAffiliate(own)
  const click = await expectOk(own.request('POST', '/api/v1/events', { body: { type: 'click', ref: affiliate.slug } }))
  await advance(3 * DAY)
  const hook = { url: fixture.receiver.at('/hook'), secret: SECRET, retryPolicy: 'standard', extendedEvents: true }
  await expectOk(own.request('POST', '/api/v1/webhooks', { body: hook }))
  for (const n of [1, 2, 3]) {
    await expectOk(convert(own, { externalOrderId: `o-${n}`, amountCents: 10_000, clickId: click.id }))
    await advance(DAY)
  }
  const attempts = () => fixture.receiver.to('/hook').length
  await until(() => fixture.deliveries({ status: 'PENDING' }).length === 0)
  const failed = fixture.deliveries({ status: 'RETRYING' }).length
  expect(failed).toBeGreaterThanOrEqual(3)
  await fixture.receiver.respond('/hook', 200)
  const failures = attempts()
  await advance(DAY)
  await until(() => fixture.deliveries({ status: 'SENT' }).length === failed)
  expect(attempts() - failures).toBe(failed)
  const sent = fixture.deliveries({ status: 'SENT' })
  expect(sent.every(({ createdAt, finishedAt }) => createdAt < (finishedAt ?? ''))).toBe(true)

  const refund = { externalOrderId: 'o-1', externalRefundId: 'r-1', amountCents: 5000 }
  await expectOk(own.request('POST', '/api/v1/refunds', { body: refund }))
  await expectOk(own.request('POST', '/api/v1/cancellations', { body: { externalOrderId: 'o-2' } }))
  const { now } = await advance(27 * DAY)
  const period = { periodStart: new Date(fixture.clock.ms).toISOString(), periodEnd: now }
  const { id, totals } = await expectOk(own.request('POST', '/api/v1/payouts', { body: period }))
  expect(totals).toMatchObject({ commissions: 2, netPayableCents: 800 + 1600 })
  await expectOk(own.request('PATCH', `/api/v1/payouts?id=${id}&action=pay&expectedTotalCents=2400`))
  const { data } = (await own.request('GET', `/api/v1/payouts?id=${id}`)).body
  expect(data[0]).toMatchObject({ status: 'PAID', paidAt: now })
  const late = { externalOrderId: 'o-3', externalRefundId: 'r-2', amountCents: 10_000 }
  const { refund: taken } = await expectOk(own.request('POST', '/api/v1/refunds', { body: late }))
  expect(taken.commissionCents).toBe(-1600)
  await until(() => fixture.receiver.to('/hook').some(({ body }) => JSON.parse(String(body)).event === 'payout.paid'))
  const received = fixture.receiver.to('/hook').map(({ body }) => JSON.parse(String(body)))
  expect(received.filter(({ test }) => test !== true)).toEqual([])
  expect(received.find(({ event }) => event === 'payout.paid')).toMatchObject({ timestamp: now })
  expect(fixture.receiver.to('/hook').at(-1)?.headers['webhook-timestamp'], 'the time of the server').toBe(
    String(Math.floor(fixture.clock.ms / 1000)),
  )
  expect((await fixture.request('GET', '/api/v1/analytics')).body.totals.orders).toBe(0)
  // CPU time, which does not depend on what else the machine does.
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(2000)
  await fixture.close()
})

test('what expires in a test shop is deleted when its clock passes the end, and nothing of other shops', async () => {
  const server = await testServer({ config: { journeyRetentionDays: 7 } })
  // Ids contain the real creation time.
  server.clock.advance(Date.now() + 60_000 - server.clock.ms)
  const { own, id, advance } = await testShopOf(server)
  const rowsByShop = () =>
    [id, server.shop.shopId].map((shopId) => kinds.map((kind) => countOf(server, kind, { shopId })))
  const kinds = ['idempotencyKeys', 'journey', 'webhookEvents'] as const
  for (const one of [own, server]) {
    const { affiliate } = await withAffiliate(one)
    const headers = { 'Idempotency-Key': 'k' }
    await expectOk(one.request('POST', '/api/v1/events', { headers, body: { type: 'click', ref: affiliate.slug } }))
  }
  const before = rowsByShop()
  expect(before[0]).toEqual(before[1])
  await advance(29 * DAY)
  expect(rowsByShop()).toEqual(before)
  await advance(3 * DAY)
  expect(rowsByShop()).toEqual([[0, 0, 0], before[1]])
  await server.close()
})

test('links and the previous secret of a webhook keep the time of the server', async ({ server }) => {
  const { own, advance, id } = await testShopOf(server)
  await advance(365 * DAY)
  const inMinutes = (instant: string) => (Date.parse(instant) - server.clock.ms) / 60_000
  const link = await createLink(server.deps, { shop: id, email: 'owner@shop.example' })
  const signIn = await own.request('POST', '/admin/v1/session', { key: null, body: { token: link.token } })
  expect(signIn.status).toBe(201)
  expect(inMinutes(signIn.body.data.expiresAt)).toBe(12 * 60)
  const body = { url: 'https://hooks.example.com/x', secret: 'a' }
  const { id: webhook } = await expectOk(own.request('POST', '/api/v1/webhooks', { body }))
  await expectOk(own.owner('PATCH', `/webhooks/${webhook}`, { secret: 'b' }))
  const { previousSecretUntil } = rowOf(server, 'subscriptions', { shopId: id })
  expect(inMinutes(previousSecretUntil ?? '')).toBe(24 * 60)
})

test('the steps of a large batch have the clock of the test shop, and its events say test', async ({ server }) => {
  const { own, id, advance } = await testShopOf(server)
  await advance(40 * DAY)
  const hook = { url: 'https://hooks.example.com/x', extendedEvents: true }
  await expectOk(own.request('POST', '/api/v1/webhooks', { body: hook }))
  addMany(own, 700, 10)
  const period = { periodStart: '2026-01-01', periodEnd: '2027-12-31' }
  const batch = await expectOk(own.request('POST', '/api/v1/payouts', { body: period }))
  await expectOk(own.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
  const now = new Date(server.clock.ms + 40 * DAY * 1000).toISOString()
  const paid = rowsOf(server, 'webhookEvents', { shopId: id, event: 'commission.paid' })
  expect(paid.length).toBeGreaterThan(500)
  expect(paid.filter(({ body, createdAt }) => createdAt !== now || JSON.parse(body).test !== true)).toEqual([])
})

test('the operator suspends, changes, and deletes a shop with its test shops', async ({ server }) => {
  const { id, own } = await testShopOf(server)
  const { shopId } = server.shop
  const operator = (method: string, path: string, body?: object) =>
    expectOk(operate(server, method, `/shops/${shopId}${path}`, body))
  const code = async () => (await own.request('GET', '/api/v1/programs')).headers.get('X-Error-Code')
  expect(await code()).toBeNull()
  await operator('PATCH', '', { plan: 'FREE' })
  expect(await code()).toBe('plan_required')
  await operator('PATCH', '', { plan: 'PROFESSIONAL' })
  await operator('POST', '/suspend')
  expect(await code()).toBe('shop_suspended')
  await operator('POST', '/resume')
  expect(await code()).toBeNull()
  expect(await operator('DELETE', `?${await deletionOf(server, shopId)}`)).toMatchObject({ deleted: true })
  expect([...rowsOfShop(server, id), ...rowsOf(server, 'shops', { id })]).toEqual([])
})

test('retention completes the deletion of a test shop that was interrupted', async ({ server }) => {
  const { id, own } = await testShopOf(server)
  await withAffiliate(own)
  updateRows(server, 'shops', { deletionStartedAt: '2026-11-02T12:00:00.000Z' }, { id })
  expect((await server.owner('GET', '/test-shops')).body.data).toEqual([])
  await purgeExpired(server.deps)
  expect([...rowsOfShop(server, id), ...rowsOf(server, 'shops', { id })]).toEqual([])
})

test('retries become due in small transactions, while other shops are served and a second advance is refused', async ({
  server,
}) => {
  const { id, own } = await testShopOf(server)
  await withAffiliate(server)
  await plantRetries(own, { count: 1200, in: 60 })
  let isDone = false
  const clock = (advanceSeconds: number) => server.owner('POST', `/test-shops/${id}/clock`, { advanceSeconds })
  const advanced = expectOk(clock(61)).finally(() => {
    isDone = true
  })
  const waiting = new Set<number>()
  const refused = new Set<number>()
  for (let n = 0; !isDone; n++) {
    await expectOk(convert(server, { externalOrderId: `o-${n}`, amountCents: 100, couponCode: 'NISA16' }))
    waiting.add(countOf(server, 'deliveries', { shopId: id, status: 'RETRYING' }))
    if (n === 0) refused.add((await clock(1)).status)
  }
  expect((await advanced).now).toBe(new Date(server.clock.ms + 61_000).toISOString())
  expect([...refused]).toEqual([409])
  expect([...waiting].filter((count) => count > 0 && count < 1200).length).toBeGreaterThan(0)
  expect(countOf(server, 'deliveries', { shopId: id, status: 'PENDING' })).toBe(1200)
  expect((await clock(1)).status).toBe(200)
})

/** Deliveries of a shop whose next attempt is in some seconds. */
async function plantRetries(own: TestServer, { count, in: seconds }: { count: number; in: number }) {
  const body = { url: 'https://hooks.example.com/x' }
  await expectOk(own.request('POST', '/api/v1/webhooks', { body }))
  await withAffiliate(own)
  await expectOk(convert(own, { externalOrderId: 'o-1', amountCents: 100, couponCode: 'NISA16' }))
  const { shopId } = own.shop
  const [row] = rowsOf(own, 'deliveries', { shopId })
  const retried = {
    status: 'RETRYING' as const,
    attempts: 1,
    nextAttemptAt: new Date(own.clock.ms + seconds * 1000).toISOString(),
  }
  updateRows(own, 'deliveries', { status: 'SENT' }, { shopId })
  for (let n = 0; n < count; n++) insertRow(own, 'deliveries', { ...row!, ...retried, id: `dlv_planted${n}` })
}

test('the dispatcher makes due what an interrupted advance left, and what becomes due by the advanced clock', async () => {
  const fixture = await webhookFixture()
  const { id, own, advance } = await testShopOf(fixture)
  await plantRetries(own, { count: 3, in: DAY })
  fixture.plant(fixture.receiver.at('/hook'), { shopId: id, retryPolicy: 'standard' })
  const pending = () => countOf(fixture, 'deliveries', { shopId: id, status: 'RETRYING' })
  const stopping = fixture.deps.stopping
  Object.assign(fixture.deps, { stopping: AbortSignal.abort() })
  await advance(DAY - 5)
  await advance(1)
  Object.assign(fixture.deps, { stopping })
  expect(pending()).toBe(3)
  const { data } = (await own.owner('GET', '/deliveries?status=RETRYING')).body
  expect(data[0].nextAttemptAt).toBe(new Date(fixture.clock.ms + DAY * 1000).toISOString())
  await fixture.send({ pollMs: 25 })
  expect(pending()).toBe(3)
  fixture.clock.advance(5000)
  await until(() => pending() === 0)
  await fixture.close()
})

test('a revoked user, or a replaced token, also ends access to the test shops of the shop', async ({ server }) => {
  const { shopId } = server.shop
  const email = 'eve@shop.example'
  const eve = await createUser(server.deps, { shop: shopId, email, role: 'OWNER' })
  const statusOf = async (method: string, path: string, key: string, body?: object) =>
    (await server.request(method, path, { key, ...(body && { body }) })).status
  const create = async (key: string) =>
    await expectOk(server.request('POST', '/admin/v1/test-shops', { key, body: {} }))
  const first = await create(eve.ownerToken)
  const others = await create(server.shop.ownerToken)
  const signIn = await server.request('POST', '/admin/v1/session', { key: null, body: { token: first.ownerToken } })
  const Cookie = signIn.headers.get('Set-Cookie')?.split(';')[0] ?? ''
  const accesses = async (shop: { id: string; ownerToken: string; apiKey: string }) => [
    await statusOf('GET', '/admin/v1/session', shop.ownerToken),
    await statusOf('POST', `/admin/v1/test-shops/${shop.id}/clock`, shop.ownerToken, { advanceSeconds: 1 }),
    await statusOf('GET', '/api/v1/affiliates', shop.apiKey),
  ]
  expect(await accesses(first)).toEqual([200, 200, 200])
  const session = async () =>
    (await server.request('GET', '/admin/v1/session', { key: null, headers: { Cookie } })).status
  expect(await session()).toBe(200)

  const replaced = await replaceToken(server.deps, { shop: shopId, email })
  expect(await accesses(first)).toEqual([403, 403, 200])
  expect(await session()).toBe(401)
  const second = await create(replaced.ownerToken)
  expect(await accesses(second)).toEqual([200, 200, 200])

  await revokeUser(server.deps, { shop: shopId, email })
  expect(await accesses(second)).toEqual([403, 403, 200])
  const revoked = (await operate(server, 'GET', `/shops/${first.id}/users`)).body.data
  expect(revoked).toMatchObject([{ email, revokedAt: expect.any(String) }])
  expect(await accesses(others), 'those of other people stay').toEqual([200, 200, 200])
})

test('revoking again completes a revocation that ended before the test shops', async ({ server }) => {
  const { shopId } = server.shop
  const eve = { shop: shopId, email: 'eve@shop.example' }
  const { userId, ownerToken } = await createUser(server.deps, { ...eve, role: 'OWNER' })
  const shop = await expectOk(server.request('POST', '/admin/v1/test-shops', { key: ownerToken, body: {} }))
  updateRows(server, 'users', { revokedAt: '2026-11-02T12:00:00.000Z' }, { shopId, id: userId })
  expect((await operate(server, 'DELETE', `/shops/${shopId}/users/${userId}`)).status).toBe(409)
  expect((await server.request('GET', '/admin/v1/session', { key: shop.ownerToken })).status).toBe(403)
})

// Full: it starts several servers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, call, metric, until, withAffiliate } from '../support/calls.ts'
import { freePort, run } from '../support/process.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type Instances, missing, startInstances } from './fixture.ts'
import { type Mix, startMix } from './mix.ts'

const MANY = 60
const OTHER_KEY = Buffer.alloc(32, 6).toString('base64')
const START_MS = 90_000
let instances: Instances
let receiver: Receiver
let mix: Mix

/** The n-th caller, with its own instance. */
const server = (n: number) => instances.servers[n % instances.servers.length]!
const together = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))
const statuses = (answers: Answer[], status: number) => answers.filter((one) => one.status === status)
const count = async (what: string) =>
  Number((await instances.query<{ n: string }>(`select count(*) as n from ${what}`))[0]?.n)

describe.skipIf(missing)('three processes on one PostgreSQL and one Redis, under mixed load', () => {
  beforeAll(async () => {
    receiver = await startReceiver()
    instances = await startInstances(3, { REFERRAL_WEBHOOK_ALLOW: receiver.host })
    mix = await startMix(instances, receiver.at('/mix'))
  }, START_MS)
  afterAll(async () => {
    await mix?.stop()
    await instances?.stop()
    receiver.stop()
  })

  const uncounted = async () =>
    (await together(3, (n) => metric(server(n), 'referral_limit_store_failures_total'))).reduce((a, b) => a + b, 0)

  test('a limit is exact however calls are distributed', { timeout: 60_000 }, async () => {
    for (let tries = 1; ; tries++) {
      const { keys } = await instances.createShop({ plan: 'PROFESSIONAL' })
      const before = await uncounted()
      const answers: Answer[] = []
      while (answers.length < 240)
        answers.push(...(await together(30, (n) => call(server(n), keys[0]!, ['GET', '/api/v1/programs']))))
      const passed = (await uncounted()) - before
      // When the machine stalls longer than a request may wait, some pass, this is logged, and the test retries.
      if (passed > 0 && tries < 4) continue
      const allowed = statuses(answers, 200).length
      expect(allowed).toBeGreaterThanOrEqual(100)
      expect(allowed).toBeLessThanOrEqual(100 + passed)
      expect(statuses(answers, 429)).toHaveLength(240 - allowed)
      return
    }
  })

  test('the same key sent to all processes at once: one order, byte-identical responses', async () => {
    const { keys } = await instances.createShop({ keys: 2 })
    await withAffiliate(server(0), keys[0]!)
    for (let i = 0; i < 12; i++) {
      const order = { externalOrderId: `same-${i}`, amountCents: 10_000, couponCode: 'NISA16' }
      const answers = await together(12, (n) =>
        call(server(n), keys[n % 2]!, ['POST', '/api/v1/events', order, `k-${i}`]),
      )
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(answers[0]?.status).toBe(201)
      expect(answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toHaveLength(11)
    }
    expect(await count(`commissions where "externalOrderId" like 'same-%'`)).toBe(12)
  })

  test('the same order with many keys: one commission, returned to every caller', async () => {
    const { keys } = await instances.createShop()
    await withAffiliate(server(0), keys[0]!)
    const order = { externalOrderId: 'one-order', amountCents: 5000, couponCode: 'NISA16' }
    const answers = await together(MANY, (n) => call(server(n), keys[0]!, ['POST', '/api/v1/events', order, `o-${n}`]))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('X-Order-Already-Recorded') === 'true')).toHaveLength(MANY - 1)
    expect(await count(`commissions where "externalOrderId" = 'one-order'`)).toBe(1)
  })

  test('one of many gets the email address, the code, the default program', async () => {
    const { keys, shopId } = await instances.createShop()
    const key = keys[0]!
    const emails = await together(MANY, (n) =>
      call(server(n), key, [
        'POST',
        '/api/v1/affiliates',
        { email: n % 2 ? 'A@example.com' : 'a@example.com', name: `Name ${n}` },
      ]),
    )
    expect([statuses(emails, 201), statuses(emails, 409)].map((list) => list.length)).toEqual([1, MANY - 1])

    const made = await together(20, (n) =>
      call(server(n), key, ['POST', '/api/v1/affiliates', { email: `c${n}@example.com`, name: 'Same name' }]),
    )
    expect(new Set(made.map(({ body }) => body.data.slug)).size).toBe(20)
    const coupons = await together(20, (n) =>
      call(server(n), key, [
        'POST',
        '/api/v1/coupons',
        { affiliateId: made[n]!.body.data.id, code: n % 2 ? 'RACE1' : 'race1' },
      ]),
    )
    expect([statuses(coupons, 200), statuses(coupons, 409)].map((list) => list.length)).toEqual([1, 19])

    const programs = await together(20, (n) => call(server(n), key, ['POST', '/api/v1/programs', { name: `P${n}` }]))
    expect(programs.filter(({ body }) => body.data.isDefault)).toHaveLength(1)
    expect(await count(`shops where id = '${shopId}' and "defaultProgramId" is not null`)).toBe(1)
  })

  test('a concurrent change is applied or rejected, never lost; archiving happens once', async () => {
    const { keys } = await instances.createShop()
    const { id } = await withAffiliate(server(0), keys[0]!)
    const path = `/api/v1/affiliates?id=${id}`
    const patched = await together(MANY, (n) => call(server(n), keys[0]!, ['PATCH', path, { phone: String(n) }]))
    const kept = statuses(patched, 200)
    expect(kept.length + statuses(patched, 409).length).toBe(MANY)
    // Code and status were claimed before: the version counts every change that was kept.
    const [row] = await instances.query<{ version: number; phone: string }>(
      'select version, phone from affiliates where id = $1',
      [id],
    )
    expect(row?.version).toBe(3 + kept.length)
    expect(kept.map(({ body }) => body.data.phone)).toContain(row?.phone)
    expect(await count(`audits where "subjectId" = '${id}' and data like '%phone%'`)).toBe(kept.length)

    const archived = await together(30, (n) => call(server(n), keys[0]!, ['DELETE', path]))
    expect(statuses(archived, 200)).toHaveLength(1)
    expect(archived.every(({ status }) => [200, 404, 409].includes(status))).toBe(true)
  })

  test('each commission is in one batch; each batch has the right total and is paid once', async () => {
    const { keys, shopId } = await instances.createShop({ keys: 2 })
    await withAffiliate(server(0), keys[0]!)
    const batch = { periodStart: '2020-01-01', periodEnd: '2030-01-01' }
    const calls = await together(90, (n) =>
      n % 3
        ? call(server(n), keys[n % 2]!, [
            'POST',
            '/api/v1/events',
            { externalOrderId: `b-${n}`, amountCents: 1000, couponCode: 'NISA16' },
            `b-${n}`,
          ])
        : call(server(n), keys[n % 2]!, ['POST', '/api/v1/payouts', batch]),
    )
    // 404: a batch that was requested before there were commissions to pay.
    expect(calls.map(({ status }) => status).filter((status) => ![200, 201, 404, 409].includes(status))).toEqual([])
    await call(server(1), keys[0]!, ['POST', '/api/v1/payouts', batch])
    expect(await count(`commissions where "shopId" = '${shopId}' and "payoutBatchId" is null`)).toBe(0)
    const batches = await instances.query<{ id: string }>(`select id from "payoutBatches" where "shopId" = $1`, [
      shopId,
    ])
    for (const { id } of batches) {
      const paid = await together(12, (n) =>
        call(server(n), keys[0]!, ['PATCH', `/api/v1/payouts?id=${id}&action=pay`]),
      )
      expect(statuses(paid, 200)).toHaveLength(1)
    }
    const [sum] = await instances.query<{ paid: string }>(
      `select sum("netPayableCents") as paid from "payoutBatches" where "shopId" = $1 and status = 'PAID'`,
      [shopId],
    )
    expect(Number(sum?.paid)).toBe(60 * 160)
    expect(await instances.problems()).toEqual([])
  })

  test('every event is sent once, whichever process recorded it', async () => {
    const { keys, shopId } = await instances.createShop({ keys: 2 })
    await withAffiliate(server(0), keys[0]!)
    const paths = Array.from({ length: 4 }, (_, n) => `/quiet/${n}`)
    for (const path of paths)
      await call(server(0), keys[0]!, ['POST', '/api/v1/webhooks', { url: receiver.at(path), secret: 'shh' }])
    const orders = await together(80, (n) =>
      call(server(n), keys[n % 2]!, [
        'POST',
        '/api/v1/events',
        { externalOrderId: `e-${n}`, amountCents: 900, couponCode: 'NISA16' },
        `e-${n}`,
      ]),
    )
    expect(statuses(orders, 201)).toHaveLength(80)
    const sent = () => receiver.received.filter(({ url }) => paths.includes(url))
    await until(
      async () => (await count(`deliveries where "shopId" = '${shopId}' and status = 'PENDING'`)) === 0,
      20_000,
      'all sent',
    )
    await until(() => sent().length >= 320, 5000, 'all received')
    expect(sent()).toHaveLength(320)
    expect(new Set(sent().map(({ headers }) => headers['webhook-id'])).size).toBe(320)
    const [{ n } = { n: '0' }] = await instances.query<{ n: string }>(
      `select count(*) as n from deliveries where "shopId" = $1 and status = 'SENT' and code = 'ok'`,
      [shopId],
    )
    expect(Number(n)).toBe(320)
  })

  test('a key revoked on one process is rejected by all immediately', async () => {
    const shop = await instances.createShop({ keys: 1 })
    const listed = await call(server(0), shop.ownerToken, ['GET', '/admin/v1/keys'])
    await together(9, (n) => call(server(n), shop.keys[0]!, ['GET', '/api/v1/programs']))
    const revoked = await call(server(1), shop.ownerToken, ['DELETE', `/admin/v1/keys/${listed.body.data[0].id}`])
    expect(revoked.status).toBe(200)
    const answers = await together(90, (n) => call(server(n), shop.keys[0]!, ['GET', '/api/v1/programs']))
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('X-Error-Code')}`))).toEqual(
      new Set(['403 key_revoked']),
    )
  })

  test('the kill switch applies to all within 2 s', async () => {
    const { keys } = await instances.createShop()
    const all = async () =>
      (await together(3, (n) => call(server(n), keys[0]!, ['GET', '/api/v1/programs']))).map(({ status }) => status)
    expect(await all()).toEqual([200, 200, 200])
    for (const [word, status] of [
      ['off', 503],
      ['on', 200],
    ] as const) {
      expect((await run(['api', word], instances.env)).code).toBe(0)
      await until(async () => (await all()).every((one) => one === status), 2000, `all answer ${status}`)
    }
  })

  test('a server with another encryption key does not start', async () => {
    const env = { ...instances.env, PORT: String(await freePort()), REFERRAL_ENCRYPTION_KEY: OTHER_KEY }
    const { code, stderr } = await run(['serve'], env)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^REFERRAL_ENCRYPTION_KEY does not match the encryption key [^\n]+\n$/),
    ])
  })

  test('the mixed load was recorded once, answered consistently and sent once, and the database is consistent', async () => {
    await mix.stop()
    expect(mix.wrong.slice(0, 5)).toEqual([])
    const { shopId } = mix.shop
    expect(mix.orders.size).toBeGreaterThan(10)
    expect(await count(`commissions where "shopId" = '${shopId}'`)).toBe(mix.orders.size)
    const waiting = () => count(`deliveries where "shopId" = '${shopId}' and status = 'PENDING'`)
    await until(async () => (await waiting()) === 0, 20_000, 'all sent')
    await until(() => receiver.to('/mix').length >= mix.orders.size, 5000, 'all received')
    const ids = receiver.to('/mix').map(({ headers }) => headers['webhook-id'])
    expect([ids.length, new Set(ids).size]).toEqual([mix.orders.size, mix.orders.size])
    expect(await instances.problems()).toEqual([])
    for (const one of instances.servers) expect(one.log()).not.toContain('"bug"')
  })
})

// Full: it starts several servers.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, metric, until, withAffiliate } from '../support/calls.ts'
import { checkedFetch } from '../support/checked-fetch.ts'
import { type DocumentedOperation, operations, ownerOperations } from '../support/document.ts'
import { type Instances, missing, type Shop, startInstances } from './fixture.ts'

/** What decides about access, or is not read from the database. */
const FROM_PRIMARY = [
  'listKeys',
  'listTestShops',
  'getSettings',
  'getSession',
  'exportAudit',
  'getShopInfo',
  'exportLedger',
]
const QUERIES: Record<string, string> = {
  getJourney: '?sessionId=s',
  getUnpaid: '?periodStart=2026-10-01&periodEnd=2026-11-01',
  exportLedger: '?month=2026-10',
}
const LONG = { timeout: 40_000 }

describe.skipIf(missing)('two processes that read from a streaming replica', () => {
  let instances: Instances
  let shop: Shop
  let affiliateId: string
  let quiet: Shop
  let replica: pg.Client
  beforeAll(async () => {
    instances = await startInstances(2, {}, { hasReplica: true })
    shop = await instances.createShop()
    quiet = await instances.createShop()
    for (const { keys } of [quiet, shop]) {
      affiliateId = (await withAffiliate(server(0), keys[0]!)).id
      const order = { externalOrderId: 'first', amountCents: 1000, couponCode: 'NISA16' }
      expect((await call(server(0), keys[0]!, ['POST', '/api/v1/events', order, 'key-first'])).status).toBe(201)
    }
    replica = new pg.Client(instances.replica!.url)
    replica.on('error', () => {})
    await replica.connect()
    await caughtUp()
  }, 90_000)
  afterAll(async () => {
    await replica?.end()
    await instances?.stop()
  })

  const server = (n: number) => instances.servers[n % 2]!
  const count = (n: number, outcome: string) =>
    metric(server(n), `referral_replica_requests_total{outcome="${outcome}"}`)
  const list = (n: number, { keys }: Shop, path = '/api/v1/affiliates') => call(server(n), keys[0]!, ['GET', path])
  const create = (n: number, name: string) =>
    call(server(n), shop.keys[0]!, ['POST', '/api/v1/affiliates', { email: `${name}@example.com`, name }])
  async function caughtUp() {
    const [{ lsn } = { lsn: '' }] = await instances.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn')
    const isThere = async () =>
      (await replica.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as "isThere"', [lsn])).rows[0].isThere
    await until(isThere, 10_000, 'the replica')
  }
  /** Whether a request reads from the replica; also retried, because it may have been behind before. */
  const usesReplica = async (n: number, of: Shop) => {
    const before = await count(n, 'used')
    expect((await list(n, of)).status).toBe(200)
    return (await count(n, 'used')) > before
  }

  const fetchChecked = checkedFetch((request) => fetch(request))
  const request = (op: DocumentedOperation) => {
    const path = op.path.replace('{externalOrderId}', 'first')
    const query = op.id === 'getAffiliateBalance' ? `?affiliateId=${affiliateId}` : (QUERIES[op.id] ?? '')
    const credential = ownerOperations.includes(op) ? shop.ownerToken : shop.keys[0]!
    const headers = { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' }
    const body = op.method === 'POST' ? '{"attributionPrecedence":"link-first"}' : null
    return fetchChecked(`${server(0).url}${path}${query}`, { method: op.method, headers, body })
  }
  const reads = [...operations, ...ownerOperations].filter(
    ({ id, method, path, isPublic }) =>
      (method === 'GET' || id === 'runBacktest') &&
      !isPublic &&
      // The shop has an order, and no batch with payments.
      !/\{(?!externalOrderId)/.test(path),
  )

  test(
    'lists and reports read from the replica and conform to the document; keys and settings do not',
    LONG,
    async () => {
      expect(reads.length).toBeGreaterThan(14)
      const used: string[] = []
      for (const op of reads) {
        // On a busy machine, the replica may be too late several times.
        for (let tries = 0; tries < 20 && !used.includes(op.id); tries++) {
          await caughtUp()
          const before = await count(0, 'used')
          const response = await request(op)
          expect([op.id, response.status]).toEqual([op.id, 200])
          await response.text()
          if ((await count(0, 'used')) > before) used.push(op.id)
        }
      }
      expect(used.sort()).toEqual(
        reads
          .map(({ id }) => id)
          .filter((id) => !FROM_PRIMARY.includes(id))
          .sort(),
      )
    },
  )

  test('a replica that is behind: the caller reads its own writes, and keys are current', LONG, async () => {
    await until(() => usesReplica(1, quiet), 10_000, 'the replica')
    await replica.query('select pg_wal_replay_pause()')
    try {
      // A change that the server does not know of is not visible, so the rows come from the replica.
      await instances.query(`update affiliates set "firstName" = 'Changed' where "shopId" = $1`, [quiet.shopId])
      expect((await list(1, quiet)).text).not.toContain('Changed')

      const created = await create(0, 'written')
      expect(created.status).toBe(201)
      const { id } = created.body.data
      const before = await count(1, 'behind')
      for (const n of [0, 1]) expect((await list(n, shop)).text).toContain(id)
      expect(await count(1, 'behind')).toBe(before + 1)
      const commissions = (await list(1, shop, '/api/v1/commissions')).body.pagination.total
      const order = { externalOrderId: 'second', amountCents: 1000, couponCode: 'NISA16' }
      const recorded = await call(server(0), shop.keys[0]!, ['POST', '/api/v1/events', order, 'key-second'])
      const again = await call(server(1), shop.keys[0]!, ['POST', '/api/v1/events', order, 'key-second'])
      expect([again.text, again.headers.get('Idempotent-Replayed')]).toEqual([recorded.text, 'true'])
      expect((await list(1, shop, '/api/v1/commissions')).body.pagination.total).toBe(commissions + 1)

      // Requests that follow do not wait each.
      const startedAt = performance.now()
      for (let i = 0; i < 20; i++) expect((await list(0, shop)).text).toContain(id)
      expect(performance.now() - startedAt).toBeLessThan(20 * 50)
      expect(await usesReplica(1, quiet)).toBe(true)

      const extra = await instances.createShop()
      expect((await list(1, extra)).status).toBe(200)
      const keys = await call(server(0), extra.ownerToken, ['GET', '/admin/v1/keys'])
      await call(server(0), extra.ownerToken, ['DELETE', `/admin/v1/keys/${keys.body.data[0].id}`])
      expect((await list(1, extra)).headers.get('X-Error-Code')).toBe('key_revoked')
    } finally {
      await replica.query('select pg_wal_replay_resume()')
    }
    await until(() => usesReplica(1, shop), 10_000, 'the replica again')
    expect((await list(1, quiet)).text).toContain('Changed')
  })

  test(
    'every write is visible on the other process immediately, and most lists still come from the replica',
    LONG,
    async () => {
      await until(() => usesReplica(0, shop), 10_000, 'the replica')
      const before = (await count(0, 'used')) + (await count(1, 'used'))
      const write = async (worker: number) => {
        for (let i = 0; i < 12; i++) {
          const { body } = await create(worker, `w${worker}-${i}`)
          const listed = await list(worker + 1, shop, '/api/v1/affiliates?limit=100')
          if (!listed.text.includes(body.data.id)) throw new Error(`${body.data.id} is missing`)
        }
      }
      await Promise.all([0, 1, 2].map(write))
      const used = (await count(0, 'used')) + (await count(1, 'used')) - before
      expect(used).toBeGreaterThan(0)
    },
  )

  test(
    'a replica that hangs or stops: the primary responds, and the replica is used again afterwards',
    LONG,
    async () => {
      const paths = ['/api/v1/affiliates', '/api/v1/commissions', '/api/v1/analytics']
      const ask = async () => {
        const startedAt = performance.now()
        const answers = await Promise.all(paths.map((path) => list(0, quiet, path)))
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
        return performance.now() - startedAt
      }
      await until(() => usesReplica(0, quiet), 10_000, 'the replica')
      const standby = instances.replica!
      standby.freeze()
      try {
        // The age at which the position of the replica is read again.
        await sleep(1100)
        expect(await ask()).toBeLessThan(2000)
      } finally {
        standby.thaw()
      }
      await until(() => usesReplica(0, quiet), 10_000, 'the replica after it hung')
      const before = await count(0, 'failed')
      await standby.stop('immediate')
      for (let i = 0; i < 5; i++) await ask()
      expect(await count(0, 'failed')).toBeGreaterThan(before)
      await standby.start()
      await until(() => usesReplica(0, quiet), 20_000, 'the replica after it stopped')
    },
  )

  test('a server that is not a replica is not read from', LONG, async () => {
    const other = await instances.start({ DATABASE_READ_URL: instances.postgres.url })
    expect((await call(other, quiet.keys[0]!, ['GET', '/api/v1/affiliates'])).status).toBe(200)
    expect(await metric(other, 'referral_replica_requests_total{outcome="used"}')).toBe(0)
    expect(await metric(other, 'referral_replica_requests_total{outcome="failed"}')).toBeGreaterThan(0)
  })
})

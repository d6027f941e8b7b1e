// Full: it measures other requests beside hostile ones.
// PostgreSQL only: SQLite answers each read before the next one begins.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { admin, type OwnerServer, ownerServer } from '../support/owner.ts'
import { convert, expectOk } from '../support/shop.ts'

/** Twice as many as there are connections to read on. */
const MANY = 16
const PATIENCE_MS = 5000

let server: OwnerServer
let lock: pg.Client
beforeEach(async () => {
  server = await ownerServer()
  lock = new pg.Client(server.url)
  await lock.connect()
  // Lists of payouts wait for it; orders do not.
  await lock.query('begin; lock table "payoutBatches" in access exclusive mode')
})
afterEach(async () => {
  await lock.end()
  await server.close()
})

const list = (path: string, { key, limit = 20 }: { key?: string; limit?: number }) =>
  server.request('GET', `/api/v1/${path}?limit=${limit}`, key ? { key } : {})

test('slow reads of one shop leave connections for the orders of another', async () => {
  const neighbor = await server.createShop()
  // Equal ones would share a statement.
  const reads = Array.from({ length: MANY }, (_, n) => list('payouts', { limit: n + 1 }))
  await expect.poll(() => openReads(lock)).toBeGreaterThan(1)
  const order = convert(server, { externalOrderId: 'neighbor', amountCents: 1 }, { key: neighbor.key })
  expect(await Promise.race([order, sleep(PATIENCE_MS, 'no response')])).toMatchObject({ status: 201 })
  await lock.query('rollback')
  for (const reply of await Promise.all(reads)) expect(reply.status).toBe(200)
})

// A list of payouts writes an audit, which checks the key itself; a list of commissions does not.
test.each(['payouts', 'commissions'])(
  'a list of %s is rejected when its key was revoked while it waited for its turn',
  async (path) => {
    await lock.query('lock table commissions in access exclusive mode')
    const scopes = ['payouts:read', 'commissions:read']
    const { id, secret } = await expectOk(admin(server, 'POST', '/keys', { label: 'Leaked', scopes }))
    const reads = Array.from({ length: MANY }, () => list(path, { key: secret }))
    await expect.poll(() => openReads(lock)).toBeGreaterThan(0)
    await expectOk(admin(server, 'DELETE', `/keys/${id}`))
    await lock.query('rollback')
    const last = (await Promise.all(reads)).at(-1)
    expect([last?.status, last?.headers.get('X-Error-Code')]).toEqual([403, 'key_revoked'])
  },
)

/** Reads that wait for the lock. */
async function openReads(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as n from pg_locks where not granted and relation in ('"payoutBatches"'::regclass, 'commissions'::regclass)
     and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows[0].n
}

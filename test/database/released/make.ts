import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import { type Dialect, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import { checkEncryptionKey } from '../../../server/src/core/installation.ts'
import { migrate } from '../../../server/src/database/migrate.ts'
import { TABLE_NAMES } from '../../../server/src/database/personal-data.ts'
import { canceledPayload } from '../../stores/payloads.ts'
import { admin, ID, ownerServer } from '../../support/owner.ts'
import { createCluster } from '../../support/postgres-cluster.ts'
import type { TestServer } from '../../support/server.ts'
import { convert, expectOk } from '../../support/shop.ts'
import { createLink } from '../../support/tenants.ts'
import type { Released } from './released.ts'

/** Keeps today's schema and rows of every table: `node test/database/released/make.ts <version>`, once for each release. */
const [, , version] = process.argv
if (!version) throw new Error('Name the version.')

async function statementsOf(dialect: Dialect): Promise<string[]> {
  const statements: string[] = []
  const db = new Kysely<never>({
    dialect,
    log: (event) => {
      if (event.level === 'query' && /^(create|alter)/.test(event.query.sql)) statements.push(event.query.sql)
    },
  })
  await migrate(db)
  await db.destroy()
  return statements
}

async function postgresStatements(): Promise<string[]> {
  const cluster = await createCluster(['fsync=off'])
  const statements = await statementsOf(new PostgresDialect({ pool: new pg.Pool({ connectionString: cluster.url }) }))
  await cluster.remove()
  return statements
}

/** Tables that the examples of the document do not fill. */
async function fillTheRest(server: TestServer): Promise<Released['answered']> {
  const { deps, shop } = server
  await expectOk(
    admin(server, 'POST', `/commissions/${ID.lines}/refund`, { externalRefundId: 'r-1', amountCents: 500 }),
  )
  await checkEncryptionKey(deps, 'REFERRAL_ENCRYPTION_KEY')
  await createLink(deps, { shop: shop.shopId, email: 'owner@shop.example' })
  const headers = { Authorization: `Bearer ${shop.ownerToken}` }
  const stream = await server.app.request('http://test/admin/v1/deliveries/stream', { headers })
  const answered = {
    idempotencyKey: 'before-the-upgrade',
    body: { externalOrderId: 'old', amountCents: 9999, couponCode: 'NISA16' },
  }
  const { status, body } = await convert(server, answered.body, answered)
  await stream.body?.cancel()
  await expectOk(admin(server, 'POST', '/privacy/erasures', { email: 'nobody@example.com' }))
  await cancelStoreOrder(server)
  reserveCommission(server)
  addPasskey(server)
  return { ...answered, status, reply: body }
}

/** A store cancels an order before it is recorded. */
async function cancelStoreOrder(server: TestServer): Promise<void> {
  const secret = 'the secret of the store'
  await expectOk(admin(server, 'PATCH', '/settings', { storeWebhookSecret: secret }))
  const raw = canceledPayload({ id: 5_600_000_000_001 })
  const signature = createHmac('sha256', secret).update(raw).digest('base64')
  const headers = { 'X-Shopify-Hmac-Sha256': signature, 'X-Shopify-Topic': 'orders/cancelled' }
  const path = `/integrations/shopify/${server.shop.shopId}/orders-cancelled`
  await expectOk(server.request('POST', path, { key: null, raw, headers }))
}

/** A batch under construction, as a process leaves it that dies. */
function reserveCommission({ sql, shop: { shopId } }: TestServer): void {
  const job = [shopId, 'bat_reserved', 'RESERVING', '2026-11-02T12:00:00.000Z', 'dead', '2026-11-02T12:00:15.000Z']
  sql
    .prepare(
      `insert into "payoutJobs" ("shopId", "batchId", phase, "changedAt", "claimedBy", "claimedUntil") values (?, ?, ?, ?, ?, ?)`,
    )
    .run(...job)
  sql
    .prepare(`insert into "reservationChanges" values (?, ?, ?, 1, 'aff', null, 0, -1, 0)`)
    .run(shopId, 'bat_reserved', ID.lines)
}

/** A passkey, which only a browser can create. */
function addPasskey({ sql, shop: { shopId } }: TestServer): void {
  const { id } = sql.prepare(`select id from users where "shopId" = ?`).get(shopId) as { id: string }
  const values = [
    shopId,
    'psk_1',
    id,
    'credential',
    'key',
    0,
    '["internal"]',
    'Laptop',
    '2026-11-02T12:00:00.000Z',
    null,
  ]
  sql.prepare(`insert into passkeys values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(...values)
}

async function filled(): Promise<Pick<Released, 'apiKey' | 'ownerToken' | 'encryptionKey' | 'answered' | 'rows'>> {
  const server = await ownerServer()
  const answered = await fillTheRest(server)
  const rowsOf = (table: string) => server.sql.prepare(`select * from "${table}"`).all() as Record<string, unknown>[]
  const tables = ['kysely_migration', 'kysely_migration_lock', ...TABLE_NAMES]
  const rows = Object.fromEntries(tables.map((table) => [table, rowsOf(table)]))
  await server.close()
  const encryptionKey = Buffer.from(server.deps.config.encryptionKeys[0]!).toString('base64')
  return { apiKey: server.shop.key, ownerToken: server.shop.ownerToken, encryptionKey, answered, rows }
}

const sqlite = await statementsOf(new SqliteDialect({ database: new SQLite(':memory:') }))
const kept: Released = { version, ...(await filled()), sqlite, postgres: await postgresStatements() }
writeFileSync(new URL(`${version}.json`, import.meta.url), `${JSON.stringify(kept, null, 2)}\n`)

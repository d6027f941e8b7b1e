import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import { readConfig } from '../../../server/src/config.ts'
import type { Deps } from '../../../server/src/core/context.ts'
import { createDeps } from '../../../server/src/core/context.ts'
import { openDatabase } from '../../../server/src/database/open.ts'
import { insertRow } from '../../../server/src/database/rows.ts'
import * as shops from '../../../server/src/domains/accounts/shops.ts'
import { listAffiliates } from '../../../server/src/domains/affiliates/queries.ts'
import { PLAIN_SUBSCRIPTION } from '../../../server/src/domains/webhooks/queries.ts'
import { seed } from '../../../server/src/operator/seed.ts'
import { insertKeys } from '../../support/keys.ts'
import { createShop } from '../../support/tenants.ts'

/** Git-ignored; delete it to generate the data again. */
export const CACHE = fileURLToPath(new URL('../.data/', import.meta.url))

/** A shop that was filled by the server's own `seed`, in a separate database. */
export interface DataSet {
  /** A `DATABASE_URL`. */
  url: string
  shopId: string
  /** Enough keys that no limit of the plan is reached: the limits stay on. */
  keys: string[]
  /** Of affiliates. */
  codes: string[]
}

const KEYS = 500
const SCHEMA = fileURLToPath(new URL('../../../server/src/database/migrations/', import.meta.url))

/** The rows that the engine creates; larger tables contain copies, because a million rows through the engine take long. */
const SEEDED = 10_000

/** Copies every commission this many times, each copy some seconds older and with a new id. All triggers and indexes apply. */
function grow(file: string, copies: number): void {
  if (copies < 1) return
  const database = new SQLite(file)
  database.pragma('synchronous = OFF')
  const columns = (database.pragma('table_info(commissions)') as { name: string }[]).map(({ name }) => name)
  const changed: Record<string, string> = {
    id: `id || '-' || copy`,
    orderId: `"orderId" || '-' || copy`,
    happenedAt: `strftime('%Y-%m-%dT%H:%M:%fZ', "happenedAt", '-' || (copy * 7) || ' seconds')`,
  }
  const values = columns.map((name) => changed[name] ?? `"${name}"`)
  database.exec('create temp table seeded as select * from commissions')
  const insert = database.prepare(
    `insert into commissions (${columns.map((name) => `"${name}"`)}) select ${values} from (select *, ? as copy from seeded)`,
  )
  for (let copy = 1; copy <= copies; copy++) insert.run(String(copy).padStart(3, '0'))
  database.close()
}

/** Identifies the schema, so that no data of another one is used. */
export function schemaDigest(): string {
  const schema = createHash('sha256')
  for (const file of globSync('**/*.ts', { cwd: SCHEMA }).sort()) schema.update(readFileSync(join(SCHEMA, file)))
  return schema.digest('hex').slice(0, 8)
}

/** A data set with this number of commissions on SQLite, from the cache if it exists for this schema. */
export async function sqliteData(commissions: number): Promise<DataSet> {
  const base = join(CACHE, `${commissions}-${schemaDigest()}`)
  if (existsSync(`${base}.json`)) return JSON.parse(readFileSync(`${base}.json`, 'utf8'))
  mkdirSync(CACHE, { recursive: true })
  for (const end of ['', '-wal', '-shm']) rmSync(`${base}.db${end}`, { force: true })
  const data = await fill(`file:${base}.db`, Math.min(commissions, SEEDED))
  grow(`${base}.db`, Math.ceil(commissions / SEEDED) - 1)
  writeFileSync(`${base}.json`, JSON.stringify(data))
  return data
}

/** A copy of a data set to write to, on the same file system as the cache. */
export async function copyOf(commissions: number): Promise<{ data: DataSet; folder: string; remove: () => void }> {
  const source = await sqliteData(commissions)
  const folder = mkdtempSync(join(CACHE, 'copy-'))
  copyFileSync(source.url.slice('file:'.length), join(folder, 'bench.db'))
  const data = { ...source, url: `file:${join(folder, 'bench.db')}` }
  return { data, folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Makes a shop with keys, affiliates and commissions in an empty database. */
export async function fill(url: string, commissions: number, keyCount = KEYS): Promise<DataSet> {
  const started = performance.now()
  const db = await openDatabase(url)
  await db.migrate()
  const config = readConfig({
    DATABASE_URL: url,
    REFERRAL_DATA_DIR: CACHE,
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  })
  const deps = createDeps({ ...config, logLevel: 'silent' }, db)
  const wanted = { name: 'Bench', plan: 'ENTERPRISE', currency: 'USD', ownerEmail: 'bench@example.com' } as const
  const { shopId } = await createShop(deps, wanted)
  await seed(deps, { shop: shopId, affiliates: commissions > 0 ? 200 : 1, clicks: 0, commissions, days: 90 })
  const keys = await insertKeys(await shops.operatorContext(deps, shopId), keyCount)
  await subscribe(deps, shopId)
  const page = { page: 1, limit: 200 }
  const codes = (await listAffiliates(db.read, shopId, page)).data.map((row) => row.discountCode)
  await db.close()
  console.log(`made ${commissions} commissions in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return { url, shopId, keys, codes }
}

/** A subscriber whose outbox fills, because nothing may be in flight: only the order is measured. */
async function subscribe(deps: Deps, shopId: string): Promise<void> {
  const at = new Date(deps.now()).toISOString()
  const row = { id: deps.newId('whs'), url: 'https://example.com/hook', events: '[]', source: 'API', secret: null }
  const values = { ...PLAIN_SUBSCRIPTION, ...row, maxInFlight: 0, createdAt: at, updatedAt: at }
  await deps.db.transact((trx) => insertRow(trx, 'subscriptions', { shopId, ...values }))
}

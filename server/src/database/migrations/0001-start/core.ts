import { type Kysely, sql } from 'kysely'
import { required, type Schema } from './schema.ts'

export async function createCore(schema: Schema): Promise<void> {
  await idempotencyKeys(schema)
  await audits(schema)
  await erasures(schema)
  await installation(schema)
}

/** Stored responses. */
async function idempotencyKeys({ db, text }: Schema) {
  await db.schema
    .createTable('idempotencyKeys')
    .addColumn('shopId', text, required)
    .addColumn('key', text, required)
    .addColumn('fingerprint', text, required)
    .addColumn('result', text, required)
    .addColumn('expiresAt', text)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('idempotencyKeys_pk', ['shopId', 'key'])
    .execute()
  await db.schema
    .createIndex('idempotencyKeys_expiresAt')
    .on('idempotencyKeys')
    .columns(['expiresAt'])
    .where(sql.ref('expiresAt'), 'is not', null)
    .execute()
}

async function audits(schema: Schema) {
  const { db, text } = schema
  await db.schema
    .createTable('audits')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('seq', 'integer', required)
    .addColumn('actor', text, required)
    .addColumn('action', text, required)
    .addColumn('subjectId', text)
    .addColumn('data', text, required)
    .addColumn('requestId', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('previousHash', text, required)
    .addColumn('hash', text, required)
    .addColumn('salt', text)
    .addColumn('digest', text)
    .addPrimaryKeyConstraint('audits_pk', ['shopId', 'seq'])
    .execute()
  await createAuditHeads(schema)
  await db.schema
    .createTable('auditCuts')
    .addColumn('shopId', text, required)
    .addColumn('seq', 'integer', required)
    .addColumn('hash', text, required)
    .addPrimaryKeyConstraint('auditCuts_pk', ['shopId'])
    .execute()
}

export const createAuditHeads = ({ db, isPostgres, text }: Schema): Promise<void> =>
  db.schema
    .createTable('auditHeads')
    .addColumn('shopId', text, required)
    .addColumn('seq', 'integer', required)
    .addColumn('hash', text, required)
    .addColumn('eventId', text, required)
    .addPrimaryKeyConstraint('auditHeads_pk', ['shopId'])
    .$call((table) => (isPostgres ? table.modifyEnd(sql`with (fillfactor = 50)`) : table))
    .execute()

async function erasures({ db, text }: Schema) {
  await db.schema
    .createTable('erasures')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('person', text, required)
    .addColumn('subject', text)
    .addColumn('rows', 'integer', required)
    .addColumn('mentions', text, required)
    .addColumn('startedAt', text, required)
    .addColumn('finishedAt', text)
    .addPrimaryKeyConstraint('erasures_pk', ['shopId', 'id'])
    .execute()
}

async function installation({ db, isPostgres, text }: Schema) {
  await db.schema
    .createTable('installationSettings')
    .addColumn('name', text, required)
    .addColumn('value', text, required)
    .addPrimaryKeyConstraint('installationSettings_pk', ['name'])
    .execute()
  if (isPostgres) await createRateLimits(db)
}

/**
 * Rate limit windows, shared by processes, with the columns that rate-limiter-flexible expects in this order. Losing them in
 * a crash is acceptable, so the table is unlogged.
 */
export const createRateLimits = (db: Kysely<unknown>): Promise<void> =>
  db.schema
    .createTable('rateLimits')
    .modifyFront(sql`unlogged`)
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('points', 'integer', required)
    .addColumn('expire', 'bigint')
    .modifyEnd(sql`with (fillfactor = 50)`)
    .execute()

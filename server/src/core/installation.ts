import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database/database.ts'
import { UNFINISHED_COPY } from '../database/table-keys.ts'
import type { Deps, MutationContext, Operator } from './context.ts'
import { bestEffort } from './log.ts'
import { mutate } from './mutate.ts'
import type { Vault } from './vault.ts'

const MAX_AGE_MS = 1000

/** The kill switch for the whole API. Other processes see a change within a second. */
export interface ApiSwitch {
  isOn: () => Promise<boolean>
  set: (on: boolean) => Promise<void>
}

/** Changes that affect every shop are audited under an ID that no shop has. */
export const installationContext = (operator: Operator): MutationContext => ({
  ...operator,
  shop: { id: INSTALLATION, isTest: 0 },
  actor: 'operator',
  requestId: operator.requestId ?? operator.newId('req'),
})

/** The ID of the installation's audit chain. */
export const INSTALLATION = 'installation'

/**
 * Records a request of the operator before it is executed.
 *
 * @param shopId the shop that the request names, if any.
 * @throws ApiError 503 `audit_unavailable` or `storage_unavailable`.
 */
export const recordOperatorRequest = (ctx: Operator, operation: string, shopId: string | null): Promise<undefined> =>
  mutate(installationContext(ctx), async () => ({
    result: undefined,
    audit: { action: 'operator.requested', subjectId: shopId, data: { operation } },
  }))

export function createApiSwitch(deps: Deps): ApiSwitch {
  const { db, log, config } = deps
  let on = true
  let refreshedAt = Number.NEGATIVE_INFINITY
  const refresh = async () => {
    on = (await findInstallationSetting(db.read, API_SWITCH)) !== 'off'
    refreshedAt = performance.now()
  }
  return {
    isOn: async () => {
      if (config.apiDisabled) return false
      // If the database is unavailable, the last known state stays in force, and the request itself is rejected with
      // 503.
      if (performance.now() - refreshedAt > MAX_AGE_MS) await bestEffort(log, 'api_switch_read_failed', refresh)
      return on
    },
    set: async (value) => {
      await mutate(installationContext(deps), async (trx) => {
        await upsertInstallationSetting(trx, API_SWITCH, value ? 'on' : 'off')
        return { result: undefined, audit: { action: value ? 'api.switched_on' : 'api.switched_off', subjectId: null } }
      })
      await refresh()
    },
  }
}

/** The kill switch for the whole API: `on` or `off`. */
export const API_SWITCH = 'apiEnabled'

async function findInstallationSetting(db: Reader, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('installationSettings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

async function upsertInstallationSetting(trx: Transaction, name: string, value: string): Promise<void> {
  await trx
    .insertInto('installationSettings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

const WRITE_PROBE = 'writeProbe'

/** Reads one row. @throws StorageError when the database cannot be read. */
export const probeRead = (db: Reader): Promise<unknown> => findInstallationSetting(db, WRITE_PROBE)

/** Commits a change of one row. @throws StorageError when the database cannot be written. */
export const probeWrite = (db: Database): Promise<void> =>
  // SQLite writes nothing for an unchanged value.
  db.transact((trx) => upsertInstallationSetting(trx, WRITE_PROBE, new Date().toISOString()))

/**
 * Returns the age of the oldest transaction that keeps dead rows from being removed, on PostgreSQL. Only members of
 * pg_read_all_stats see other roles' transactions.
 */
export async function findOldestSnapshotSeconds(db: Reader): Promise<number> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from max(clock_timestamp() - xact_start))::float8 as seconds from pg_stat_activity
    where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid()`.execute(db)
  return rows[0]?.seconds ?? 0
}

export const ENCRYPTION_KEY_CHECK = 'encryptionKeyCheck'
const CHECK_TEXT = 'referral'

/**
 * Checks that the database is complete, and that the encryption key decrypts what it holds: with another key, webhook
 * secrets would be unreadable and retries would look like new requests. The stored check value is encrypted again with
 * the newest key at every start.
 *
 * @param source where the key was read from, for the message
 * @throws Error when the key does not match or the database is an incomplete copy.
 */
export async function checkEncryptionKey(deps: Pick<Deps, 'db' | 'vault'>, source: string): Promise<void> {
  if (await isUnfinishedCopy(deps.db.read)) {
    throw new Error('The database is an incomplete copy. Run referral-server copy again to complete it.')
  }
  if (!(await isEncryptionKeyValid(deps.db.read, deps.vault))) {
    throw new Error(
      `${source} does not match the encryption key of this database. Set the same key on every server; append earlier keys after a comma.`,
    )
  }
  await deps.db.transact((trx) =>
    upsertInstallationSetting(trx, ENCRYPTION_KEY_CHECK, deps.vault.seal(CHECK_TEXT, ENCRYPTION_KEY_CHECK)),
  )
}

/** Whether the database is the target of an interrupted copy. */
export const isUnfinishedCopy = async (db: Reader): Promise<boolean> =>
  (await findInstallationSetting(db, UNFINISHED_COPY)) !== undefined

/** Whether the encryption key decrypts this database's check value. Until a server has started on it, any key does. */
export async function isEncryptionKeyValid(db: Reader, vault: Vault): Promise<boolean> {
  const sealed = await findInstallationSetting(db, ENCRYPTION_KEY_CHECK)
  return sealed === undefined || vault.open(sealed, ENCRYPTION_KEY_CHECK) === CHECK_TEXT
}

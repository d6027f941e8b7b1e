import type { Reader, Transaction } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import type { Context, Deps } from './context.ts'
import { bestEffort } from './log.ts'
import { mutate } from './mutate.ts'

const MAX_AGE_MS = 1000

/** The kill switch of the whole API. Every process looks again after a second; the one that turned it knows at once. */
export interface ApiSwitch {
  isOn: () => Promise<boolean>
  set: (on: boolean) => Promise<void>
}

/** What concerns every shop is audited under a name that no shop has. */
const forInstallation = (deps: Deps): Context => ({
  ...deps,
  shop: { id: 'installation' } as ShopRow,
  actor: 'operator',
  requestId: deps.newId('req'),
})

export function createApiSwitch(deps: Deps): ApiSwitch {
  const { db, log, config } = deps
  let on = true
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = async () => {
    on = (await findInstallationSetting(db.read, API_SWITCH)) !== 'off'
    lookedAt = performance.now()
  }
  return {
    isOn: async () => {
      if (config.apiDisabled) return false
      // A database that does not answer leaves the switch where it was; the call itself will say 503.
      if (performance.now() - lookedAt > MAX_AGE_MS) await bestEffort(log, 'api_switch_unreadable', look)
      return on
    },
    set: async (value) => {
      await mutate(forInstallation(deps), async (trx) => {
        await upsertInstallationSetting(trx, API_SWITCH, value ? 'on' : 'off')
        return { result: undefined, audit: { action: value ? 'api.switched_on' : 'api.switched_off', subjectId: null } }
      })
      await look()
    },
  }
}

/** The kill switch of the whole API: `on` or `off`. */
export const API_SWITCH = 'apiEnabled'

export async function findInstallationSetting(db: Reader, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('instanceSettings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function upsertInstallationSetting(trx: Transaction, name: string, value: string): Promise<void> {
  await trx
    .insertInto('instanceSettings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

const ENCRYPTION_KEY_CHECK = 'encryptionKeyCheck'
const CHECK_TEXT = 'referral'

/**
 * Refuses to go on with an encryption key that does not open what this database's other servers seal: their webhook
 * secrets would be unreadable, and repeated requests would look like others. The word kept for that is sealed anew with
 * the newest key at every start. `place` is where the key was read, in words.
 */
export async function checkEncryptionKey(deps: Pick<Deps, 'db' | 'vault'>, place: string): Promise<void> {
  if (!(await isEncryptionKeyValid(deps))) {
    throw new Error(
      `${place} is not the key that this database is used with; give the same one to every server, the earlier ones behind it after a comma.`,
    )
  }
  await deps.db.transact((trx) =>
    upsertInstallationSetting(trx, ENCRYPTION_KEY_CHECK, deps.vault.seal(CHECK_TEXT, ENCRYPTION_KEY_CHECK)),
  )
}

/** Whether the encryption key opens what this database holds; any does as long as no server has used it. */
export async function isEncryptionKeyValid({ db, vault }: Pick<Deps, 'db' | 'vault'>): Promise<boolean> {
  const sealed = await findInstallationSetting(db.read, ENCRYPTION_KEY_CHECK)
  return sealed === undefined || vault.open(sealed, ENCRYPTION_KEY_CHECK) === CHECK_TEXT
}

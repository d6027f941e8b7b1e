import type { Deps } from './context.ts'
import { findInstanceSetting, upsertInstanceSetting } from './installation-settings.ts'

const SETTING = 'encryptionKeyCheck'
const TEXT = 'referral'

/**
 * Refuses to go on with an encryption key that does not open what this database's other servers seal: their webhook
 * secrets would be unreadable, and repeated requests would look like others. The word kept for that is sealed anew with
 * the newest key at every start. `place` is where the key was read, in words.
 */
export async function checkEncryptionKey(deps: Pick<Deps, 'db' | 'vault'>, place: string): Promise<void> {
  if (!(await isRightKey(deps))) {
    throw new Error(
      `${place} is not the key that this database is used with; give the same one to every server, the earlier ones behind it after a comma.`,
    )
  }
  await deps.db.transact((trx) => upsertInstanceSetting(trx, SETTING, deps.vault.seal(TEXT, SETTING)))
}

/** Whether the encryption key opens what this database holds; any does as long as no server has used it. */
export async function isRightKey({ db, vault }: Pick<Deps, 'db' | 'vault'>): Promise<boolean> {
  const sealed = await findInstanceSetting(db.read, SETTING)
  return sealed === undefined || vault.open(sealed, SETTING) === TEXT
}

import type { Deps } from '../context.ts'
import { findInstanceSetting, upsertInstanceSetting } from '../repositories/instance-settings.ts'

const SETTING = 'encryptionKeyCheck'
const TEXT = 'referral'

/**
 * Refuses to go on with an encryption key that does not open what this database's other servers seal: their webhook
 * secrets would be unreadable, and repeated requests would look like others. The word kept for that is sealed anew with
 * the newest key at every start.
 */
export async function checkEncryptionKey({ db, vault }: Pick<Deps, 'db' | 'vault'>): Promise<void> {
  const sealed = await findInstanceSetting(db.read, SETTING)
  if (sealed !== undefined && vault.open(sealed, SETTING) !== TEXT) {
    throw new Error(
      'REFERRAL_ENCRYPTION_KEY is not the key that this database is used with; give the same one to every server, the earlier ones behind it after a comma.',
    )
  }
  await db.transact((trx) => upsertInstanceSetting(trx, SETTING, vault.seal(TEXT, SETTING)))
}

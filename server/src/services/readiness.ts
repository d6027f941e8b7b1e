import type { Database } from '../db/database.ts'
import { findInstanceSetting } from '../repositories/instance-settings.ts'

/** Whether the schema is current and the database answers now. The schema is looked at until it is; it does not go back. */
export function createReadiness(db: Database): () => Promise<boolean> {
  let migrated = false
  return async () => {
    try {
      migrated ||= await db.isMigrated()
      await findInstanceSetting(db.read, 'apiEnabled')
      return migrated
    } catch {
      // Whatever the reason, it is not ready; the log of the failing calls tells why.
      return false
    }
  }
}

import type { Trx } from '../db/database.ts'
import type { AuditRow } from '../db/tables.ts'

export async function insertAudit(trx: Trx, shopId: string, row: Omit<AuditRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('audits')
    .values({ shopId, ...row })
    .execute()
}

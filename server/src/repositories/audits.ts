import type { Trx } from '../db/database.ts'
import type { AuditRow } from '../db/tables-owner.ts'
import { type PageQuery, pageOf } from './page.ts'

export interface AuditFilter extends PageQuery {
  action?: string
  actor?: string
  /** Instants, both inclusive, of `createdAt`. */
  from?: string
  to?: string
}

const audits = (db: Trx, shopId: string) => db.selectFrom('audits').selectAll().where('shopId', '=', shopId)

/** The end of the shop's chain, which the next row is linked to. */
export const findLastAudit = (db: Trx, shopId: string): Promise<Pick<AuditRow, 'seq' | 'hash'> | undefined> =>
  db
    .selectFrom('audits')
    .select(['seq', 'hash'])
    .where('shopId', '=', shopId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()

export async function insertAudit(trx: Trx, row: AuditRow): Promise<void> {
  await trx.insertInto('audits').values(row).execute()
}

/** Newest first. */
export function listAudits(db: Trx, shopId: string, query: AuditFilter) {
  let list = audits(db, shopId).orderBy('seq', 'desc')
  if (query.action) list = list.where('action', '=', query.action)
  if (query.actor) list = list.where('actor', '=', query.actor)
  if (query.from) list = list.where('createdAt', '>=', query.from)
  if (query.to) list = list.where('createdAt', '<=', query.to)
  return pageOf(list, query)
}

/** Whose chains there are: shops, and the installation itself. */
export const listAudited = async (db: Trx): Promise<string[]> =>
  (await db.selectFrom('audits').select('shopId').distinct().orderBy('shopId').execute()).map(({ shopId }) => shopId)

/** The rows after one of the chain, in its order. */
export const listChain = (db: Trx, shopId: string, afterSeq: number, limit: number): Promise<AuditRow[]> =>
  audits(db, shopId).where('seq', '>', afterSeq).orderBy('seq').limit(limit).execute()

import type { Trx } from '../db/database.ts'
import type { AuditRow } from '../db/tables-owner.ts'
import { type PageQuery, pageOf } from './page.ts'
import { prepared } from './prepared.ts'

export interface AuditFilter extends PageQuery {
  action?: string
  actor?: string
  /** Instants, both inclusive, of `createdAt`. */
  from?: string
  to?: string
}

const audits = (db: Trx, shopId: string) => db.selectFrom('audits').selectAll().where('shopId', '=', shopId)

const lastOf = prepared<{ shopId: string }>()((db, { shopId }) =>
  db
    .selectFrom('audits')
    .select(['seq', 'hash'])
    .where('shopId', '=', shopId)
    .orderBy('seq', 'desc')
    .limit(1)
    .compile(),
)

/** The end of the shop's chain, which the next row is linked to. */
export const findLastAudit = async (db: Trx, shopId: string): Promise<Pick<AuditRow, 'seq' | 'hash'> | undefined> =>
  (await lastOf(db, { shopId }))[0]

const insertOne = prepared<AuditRow>()((trx, row) => {
  const { id, shopId, seq, actor, action, subjectId, data, requestId, createdAt, previousHash, hash } = row
  const values = { id, shopId, seq, actor, action, subjectId, data, requestId, createdAt, previousHash, hash }
  return trx.insertInto('audits').values(values).compile()
})

export async function insertAudit(trx: Trx, row: AuditRow): Promise<void> {
  await insertOne(trx, row)
}

/** A filtered list is counted row by row. */
export const isFiltered = ({ action, actor, from, to }: AuditFilter): boolean => Boolean(action || actor || from || to)

/** Newest first. */
export async function listAudits(db: Trx, shopId: string, query: AuditFilter) {
  let list = audits(db, shopId).orderBy('seq', 'desc')
  if (query.action) list = list.where('action', '=', query.action)
  if (query.actor) list = list.where('actor', '=', query.actor)
  if (query.from) list = list.where('createdAt', '>=', query.from)
  if (query.to) list = list.where('createdAt', '<=', query.to)
  // Counted from 1 without gaps.
  return pageOf(list, query, isFiltered(query) ? {} : { total: (await findLastAudit(db, shopId))?.seq ?? 0 })
}

/** Whose chains there are: shops, and the installation itself. */
export const listAudited = async (db: Trx): Promise<string[]> =>
  (await db.selectFrom('audits').select('shopId').distinct().orderBy('shopId').execute()).map(({ shopId }) => shopId)

/** The rows after one of the chain, in its order. */
export const listChain = (db: Trx, shopId: string, afterSeq: number, limit: number): Promise<AuditRow[]> =>
  audits(db, shopId).where('seq', '>', afterSeq).orderBy('seq').limit(limit).execute()

import { hash } from 'node:crypto'
import { defineReport, type Reader, type Transaction } from '../database/database.ts'
import { preparedWrite } from '../database/prepared.ts'
import type { AuditRow } from '../database/tables.ts'
import { type PageQuery, pageOf } from './pagination.ts'

/**
 * The hash of an audit row: SHA-256, as hex, over the JSON list of everything in it, the hash of the row before included.
 * A row that is changed, taken out or slipped in later breaks the chain from there on.
 */
export function hashAudit(row: Omit<AuditRow, 'hash'>): string {
  const { previousHash, seq, id, shopId, actor, action, subjectId, data, requestId, createdAt } = row
  const text = JSON.stringify([previousHash, seq, id, shopId, actor, action, subjectId, data, requestId, createdAt])
  return hash('sha256', text, 'hex')
}

/** What stands in the way of trusting a shop's audit: the first row that is not as it was written. */
export interface ChainBreak {
  shopId: string
  seq: number
  reason: 'MISSING' | 'CHANGED' | 'UNLINKED'
}

/** Follows rows in their order from `previous` on; the first has nothing before it. Answers the first break. */
export function findChainBreak(rows: AuditRow[], previous: Pick<AuditRow, 'seq' | 'hash'>): ChainBreak | undefined {
  let { seq, hash } = previous
  for (const row of rows) {
    const at = { shopId: row.shopId, seq: seq + 1 }
    if (row.seq !== seq + 1) return { ...at, reason: 'MISSING' }
    if (row.previousHash !== hash) return { ...at, reason: 'UNLINKED' }
    if (row.hash !== hashAudit(row)) return { ...at, reason: 'CHANGED' }
    seq = row.seq
    hash = row.hash
  }
  return undefined
}

export interface AuditFilter extends PageQuery {
  action?: string
  actor?: string
  /** Instants, both inclusive, of `createdAt`. */
  from?: string
  to?: string
}

const audits = (db: Reader, shopId: string) => db.selectFrom('audits').selectAll().where('shopId', '=', shopId)

const insertOne = preparedWrite<AuditRow>()((trx, row) => {
  const { id, shopId, seq, actor, action, subjectId, data, requestId, createdAt, previousHash, hash } = row
  const values = { id, shopId, seq, actor, action, subjectId, data, requestId, createdAt, previousHash, hash }
  return trx.insertInto('audits').values(values).compile()
})

export async function insertAudit(trx: Transaction, row: AuditRow): Promise<void> {
  await insertOne(trx, row)
}

/** A filtered list is counted row by row. */
export const isFiltered = ({ action, actor, from, to }: AuditFilter): boolean => Boolean(action || actor || from || to)

/** They are numbered from 1 without gaps. */
async function countAudits(db: Reader, shopId: string): Promise<number> {
  const head = await db.selectFrom('auditHeads').select('seq').where('shopId', '=', shopId).executeTakeFirst()
  return head?.seq ?? 0
}

/** Newest first. */
async function listAudits(db: Reader, shopId: string, query: AuditFilter) {
  let list = audits(db, shopId).orderBy('seq', 'desc')
  if (query.action) list = list.where('action', '=', query.action)
  if (query.actor) list = list.where('actor', '=', query.actor)
  if (query.from) list = list.where('createdAt', '>=', query.from)
  if (query.to) list = list.where('createdAt', '<=', query.to)
  return pageOf(list, query, isFiltered(query) ? {} : { total: await countAudits(db, shopId) })
}

/** Whose chains there are: shops, and the installation itself. */
export const listAuditedShopIds = async (db: Reader): Promise<string[]> =>
  (await db.selectFrom('audits').select('shopId').distinct().orderBy('shopId').execute()).map(({ shopId }) => shopId)

/** The rows after one of the chain, in its order. */
export const listChain = (db: Reader, shopId: string, afterSeq: number, limit: number): Promise<AuditRow[]> =>
  audits(db, shopId).where('seq', '>', afterSeq).orderBy('seq').limit(limit).execute()

export const auditList = defineReport(
  import.meta.url,
  'auditList',
  (db, input: { shopId: string; query: AuditFilter }) => listAudits(db, input.shopId, input.query),
)

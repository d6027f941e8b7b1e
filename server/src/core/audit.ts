import { hash } from 'node:crypto'
import type { Reader } from '../database/database.ts'
import type { AuditRow } from '../database/tables.ts'
import { defineList, MAX_INLINE_ROWS, type ReadCost } from './lists.ts'
import { type PageQuery, pageOf, toPage } from './pagination.ts'

/**
 * The hash of an audit row: SHA-256, as hex, over the JSON array of its columns, including the hash of the previous
 * row. Changing, removing, or inserting a row breaks the chain from that row on. The hash covers a digest of subject
 * and data, so that a person can be erased from them.
 */
export function hashAudit(row: Omit<AuditRow, 'hash'>): string {
  const { previousHash, seq, id, shopId, actor, action, requestId, createdAt } = row
  return sha256([previousHash, seq, id, shopId, actor, action, digestOfAudit(row), requestId, createdAt])
}

/** The digest of a row's subject and data. An erased row keeps only the digest. */
export const digestOfAudit = ({ salt, digest, subjectId, data }: Omit<AuditRow, 'hash'>): string =>
  salt === null ? (digest ?? '') : sha256([salt, subjectId, data])

const sha256 = (values: unknown[]): string => hash('sha256', JSON.stringify(values), 'hex')

/** The first row in a shop's audit log that was changed, removed, or inserted. */
export interface ChainBreak {
  shopId: string
  seq: number
  reason: 'MISSING' | 'CHANGED' | 'UNLINKED'
}

/** Verifies rows in order, starting after `previous`. Returns the first break. */
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

/**
 * Erased rows that no later row accounts for. A row without a salt that is not accounted for was changed in the
 * database.
 */
export class UnstatedErasures {
  readonly #seqs = new Set<number>()

  /** Accepts a chain's rows in order. */
  add(rows: AuditRow[]): void {
    for (const { seq, salt, action, data } of rows) {
      if (salt === null) this.#seqs.add(seq)
      if (action === PERSON_ERASED) for (const erased of JSON.parse(data).auditRows) this.#seqs.delete(erased)
    }
  }

  /** The first of them. */
  get first(): number | undefined {
    return [...this.#seqs][0]
  }
}

export interface AuditFilter extends PageQuery {
  action?: string
  actor?: string
  /** Inclusive bounds of `createdAt`. */
  from?: string
  to?: string
  /** Only rows before the one with this number. */
  beforeSeq?: number
}

const audits = (db: Reader, shopId: string) => db.selectFrom('audits').selectAll().where('shopId', '=', shopId)

/** Whether the list is filtered, so that its rows must be counted one by one. */
const isFiltered = ({ action, actor, from, to }: AuditFilter): boolean => Boolean(action || actor || from || to)

/** The number of the last row of a chain. Rows are numbered from 1 without gaps, so it is also their count. */
async function countAudits(db: Reader, shopId: string): Promise<number> {
  const last = await db.selectFrom('auditHeads').select('seq').where('shopId', '=', shopId).executeTakeFirst()
  return last?.seq ?? 0
}

/** Its data lists the erased rows in `auditRows`. */
export const PERSON_ERASED = 'person.erased'

/** Rows that match, newest first. */
function matching(db: Reader, shopId: string, query: Omit<AuditFilter, keyof PageQuery>) {
  let list = audits(db, shopId).orderBy('seq', 'desc')
  if (query.action) list = list.where('action', '=', query.action)
  if (query.actor) list = list.where('actor', '=', query.actor)
  if (query.from) list = list.where('createdAt', '>=', query.from)
  if (query.to) list = list.where('createdAt', '<=', query.to)
  if (query.beforeSeq !== undefined) list = list.where('seq', '<', query.beforeSeq)
  return list
}

async function listAudits(db: Reader, shopId: string, query: AuditFilter) {
  const list = matching(db, shopId, query)
  if (isFiltered(query) || query.isUncounted) return pageOf(list, query)
  const total = await countAudits(db, shopId)
  // A page does not need the rows before it.
  const rows = await list
    .where('seq', '<=', total - (query.page - 1) * query.limit)
    .limit(query.limit)
    .execute()
  return toPage(rows, query, total)
}

/** Suffixes of actions that only read data. */
const VIEWS = ['listed', 'shown', 'accessed', 'exported', 'previewed', 'explained', 'ran'] as const

export interface ChangeFilter extends Pick<AuditFilter, 'actor' | 'from' | 'to' | 'beforeSeq'> {
  limit: number
  /** The maximum number of rows to read. Defaults to the whole chain. */
  maxRead?: number
}

export interface Changes {
  /** Newest first. */
  rows: AuditRow[]
  /** Whether enough rows were read, or the chain has ended. */
  isComplete: boolean
}

/** Records of changes, without records of views. */
async function listChanges(db: Reader, shopId: string, query: ChangeFilter): Promise<Changes> {
  const { limit, maxRead } = query
  const head = await countAudits(db, shopId)
  const before = Math.min(query.beforeSeq ?? head + 1, head + 1)
  const after = maxRead === undefined ? 0 : Math.max(0, before - 1 - maxRead)
  const rows = await matching(db, shopId, { ...query, beforeSeq: before })
    .where('seq', '>', after)
    .where((eb) => eb.and(VIEWS.map((end) => eb('action', 'not like', `%.${end}`))))
    .limit(limit)
    .execute()
  return { rows, isComplete: rows.length === limit || after === 0 }
}

/** The IDs of all audit chains: one per shop, and one for the installation. */
export const listAuditedShopIds = async (db: Reader): Promise<string[]> =>
  (await db.selectFrom('audits').select('shopId').distinct().orderBy('shopId').execute()).map(({ shopId }) => shopId)

/** The rows of a chain after `afterSeq`, in order. */
export const listChain = (db: Reader, shopId: string, afterSeq: number, limit: number): Promise<AuditRow[]> =>
  audits(db, shopId).where('seq', '>', afterSeq).orderBy('seq').limit(limit).execute()

const allRows: ReadCost = async (db, shopId) => (await countAudits(db, shopId)) > MAX_INLINE_ROWS

export const auditList = defineList(import.meta.url, 'auditList', {
  read: listAudits,
  cost: (query: AuditFilter) => (isFiltered(query) ? allRows : undefined),
})

export const changeList = defineList(import.meta.url, 'changeList', {
  read: listChanges,
  cost: ({ maxRead }: ChangeFilter) => (maxRead === undefined ? allRows : undefined),
})

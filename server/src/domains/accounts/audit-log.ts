import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import {
  type AuditFilter,
  auditList,
  type ChainBreak,
  type ChangeFilter,
  changeList,
  findChainBreak,
  listAuditedShopIds,
  listChain,
  UnstatedErasures,
} from '../../core/audit.ts'
import type { Context, Deps, Operator } from '../../core/context.ts'
import { INSTALLATION } from '../../core/installation.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { mapPage } from '../../core/pagination.ts'
import { checkPeriod, parseQueryInstant } from '../../core/time.ts'
import type { AuditRow } from '../../database/tables.ts'
import { findShop, hasUnfinishedErasure, listShops } from './queries.ts'

/** Lists the audit records of the installation, newest first: requests of the operator, and changes that no shop has. */
export async function listOfOperator({ db }: Operator, query: Query<'listOperatorAudit'>) {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const input = { shopId: INSTALLATION, query: { ...query, ...bounds } }
  return mapPage(await db.runReport(auditList, input), toRecord)
}

const BATCH_SIZE = 1000

/**
 * Lists the audit records of the shop, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export const list = defineReader(
  auditList,
  async (ctx: Context, query: Query<'listAudit'> & Pick<AuditFilter, 'beforeSeq' | 'isUncounted'>) => {
    const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
    return mapPage(await readFrom(ctx, auditList, { ...query, ...bounds }), toRecord)
  },
)

interface ChangeList {
  data: components['schemas']['AuditRecord'][]
  /** The number of the record after which the next page begins. */
  next: number | undefined
  /** Whether this is the page; otherwise older records have to be read. */
  isComplete: boolean
}

/**
 * Lists the records of changes, newest first, without those of views. With `maxRead` few rows are read at once; without it
 * the list runs as a report.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export const listChanges = defineReader(changeList, async (ctx: Context, query: ChangeFilter): Promise<ChangeList> => {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const filter = { ...query, ...bounds, limit: query.limit + 1 }
  const { rows, isComplete } = await readFrom(ctx, changeList, filter)
  const data = rows.slice(0, query.limit).map(toRecord)
  return { data, isComplete, next: rows.length > query.limit ? data.at(-1)?.seq : undefined }
})

/** A chain's newest row. Stored elsewhere, it later proves whether rows were removed at the end. */
type ChainHead = Pick<AuditRow, 'shopId' | 'seq' | 'hash'>

/** The result of verifying the chains of all shops and of the installation. */
export interface ChainCheck {
  shops: number
  rows: number
  breaks: ChainBreak[]
  heads: ChainHead[]
}

/** Verifies the audit chain of every shop and reports the first break of each. */
export async function checkChains(
  { db }: Pick<Deps, 'db'>,
  onRows: (count: number) => void = () => {},
): Promise<ChainCheck> {
  const shops = (await listShops(db.read)).map(({ id }) => id)
  const all = [...new Set([...shops, ...(await listAuditedShopIds(db.read))])]
  const check: ChainCheck = { shops: all.filter((id) => id !== INSTALLATION).length, rows: 0, breaks: [], heads: [] }
  for (const shopId of all) {
    const { head, broken } = await checkChain(db, shopId, onRows)
    if (await isBeingDeleted(db, shopId)) continue
    check.rows += head.seq
    check.heads.push(head)
    // The creation of a shop is audited, so a shop without any row has lost it.
    if (broken) check.breaks.push(broken)
    else if (head.seq === 0) check.breaks.push({ shopId, seq: 1, reason: 'MISSING' })
  }
  return check
}

/** Whether the rows of a shop are being deleted, or were since its chain was found. */
async function isBeingDeleted(db: Deps['db'], shopId: string): Promise<boolean> {
  if (shopId === INSTALLATION) return false
  const shop = await findShop(db.read, shopId)
  return shop ? shop.deletionStartedAt !== null : !(await listAuditedShopIds(db.read)).includes(shopId)
}

async function checkChain(
  db: Deps['db'],
  shopId: string,
  onRows: (count: number) => void,
): Promise<{ head: ChainHead; broken: ChainBreak | undefined }> {
  let head: ChainHead = { shopId, seq: 0, hash: '' }
  const erasures = new UnstatedErasures()
  for (;;) {
    const batch = await listChain(db.read, shopId, head.seq, BATCH_SIZE)
    const broken = findChainBreak(batch, head)
    const last = batch.at(-1)
    onRows(batch.length)
    erasures.add(batch)
    if (last) head = { shopId, seq: last.seq, hash: last.hash }
    if (!broken && batch.length === BATCH_SIZE) continue
    const { first: seq } = erasures
    if (broken || seq === undefined || (await hasUnfinishedErasure(db.read, shopId))) return { head, broken }
    return { head, broken: { shopId, seq, reason: 'CHANGED' } }
  }
}

const toRecord = (row: AuditRow): components['schemas']['AuditRecord'] => ({
  id: row.id,
  seq: row.seq,
  actor: row.actor,
  action: row.action,
  subjectId: row.subjectId,
  data: JSON.parse(row.data),
  requestId: row.requestId,
  createdAt: row.createdAt,
  previousHash: row.previousHash,
  hash: row.hash,
  salt: row.salt,
  digest: row.digest,
})

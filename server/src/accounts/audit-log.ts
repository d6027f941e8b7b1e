import type { components } from '../contract/schema.d.ts'
import type { Query } from '../contract/spec.ts'
import { auditList, type ChainBreak, findChainBreak, isFiltered, listAuditedShopIds, listChain } from '../core/audit.ts'
import type { Context, Deps } from '../core/context.ts'
import { isDeepPage, mapPage } from '../core/pagination.ts'
import { readList } from '../core/report.ts'
import { checkPeriod, parseQueryInstant } from '../core/time.ts'
import type { AuditRow } from '../database/tables.ts'
import { listShops } from './queries.ts'

const BATCH_SIZE = 1000

/**
 * Lists what was done in the shop, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export async function list(ctx: Context, query: Query<'listAudit'>) {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const wish = { ...query, ...bounds }
  return mapPage(await readList(ctx, auditList, wish, isFiltered(wish) || isDeepPage(wish)), toRecord)
}

/** The newest row of a chain. Kept elsewhere, it tells later whether the end was cut off. */
export type ChainHead = Pick<AuditRow, 'shopId' | 'seq' | 'hash'>

/** What following the chains of all shops, and of the installation, came to. */
export interface ChainCheck {
  shops: number
  rows: number
  breaks: ChainBreak[]
  heads: ChainHead[]
}

/** Follows the chain of every shop from its first row on; the first break of each is told. */
export async function checkChains({ db }: Pick<Deps, 'db'>): Promise<ChainCheck> {
  const shops = (await listShops(db.read)).map(({ id }) => id)
  const all = [...new Set([...shops, ...(await listAuditedShopIds(db.read))])]
  const check: ChainCheck = { shops: all.length, rows: 0, breaks: [], heads: [] }
  for (const shopId of all) {
    const { head, broken } = await checkChain(db, shopId)
    check.rows += head.seq
    check.heads.push(head)
    // That a shop was created is in its audit, so one without any has lost it.
    if (broken) check.breaks.push(broken)
    else if (head.seq === 0) check.breaks.push({ shopId, seq: 1, reason: 'MISSING' })
  }
  return check
}

async function checkChain(
  db: Deps['db'],
  shopId: string,
): Promise<{ head: ChainHead; broken: ChainBreak | undefined }> {
  let head: ChainHead = { shopId, seq: 0, hash: '' }
  for (;;) {
    const lot = await listChain(db.read, shopId, head.seq, BATCH_SIZE)
    const broken = findChainBreak(lot, head)
    const last = lot.at(-1)
    if (last) head = { shopId, seq: last.seq, hash: last.hash }
    if (broken || lot.length < BATCH_SIZE) return { head, broken }
  }
}

const toRecord = ({ shopId, data, ...row }: AuditRow): components['schemas']['AuditRecord'] => ({
  ...row,
  data: JSON.parse(data),
})

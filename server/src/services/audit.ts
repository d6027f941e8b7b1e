import type { Context, Deps } from '../context.ts'
import type { AuditRow } from '../db/tables-owner.ts'
import type { components } from '../http/schema.d.ts'
import type { Query } from '../http/spec.ts'
import { listAudits, listChain } from '../repositories/audits.ts'
import { listShops } from '../repositories/shops.ts'
import { type ChainBreak, followChain } from './audit-chain.ts'
import { instantParam, period } from './instant.ts'
import { mapPage } from './wire.ts'

const LOT = 1000

/**
 * Lists what was done in the shop, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export async function list(ctx: Context, query: Query<'listAudit'>) {
  const bounds = period(instantParam('from', query.from), instantParam('to', query.to))
  return mapPage(await listAudits(ctx.db.read, ctx.shop.id, { ...query, ...bounds }), toRecord)
}

/** What following the chains of all shops came to. */
export interface ChainCheck {
  shops: number
  rows: number
  breaks: ChainBreak[]
}

/** Follows the chain of every shop from its first row on; the first break of each is told. */
export async function checkChains({ db }: Pick<Deps, 'db'>): Promise<ChainCheck> {
  const shops = await listShops(db.read)
  const check: ChainCheck = { shops: shops.length, rows: 0, breaks: [] }
  for (const { id } of shops) {
    const { rows, broken } = await followShop(db, id)
    check.rows += rows
    if (broken) check.breaks.push(broken)
  }
  return check
}

async function followShop(db: Deps['db'], shopId: string): Promise<{ rows: number; broken: ChainBreak | undefined }> {
  let last: Pick<AuditRow, 'seq' | 'hash'> = { seq: 0, hash: '' }
  for (let rows = 0; ; ) {
    const lot = await listChain(db.read, shopId, last.seq, LOT)
    const broken = followChain(lot, last)
    rows += lot.length
    last = lot.at(-1) ?? last
    if (broken || lot.length < LOT) return { rows, broken }
  }
}

const toRecord = ({ shopId, data, ...row }: AuditRow): components['schemas']['AuditRecord'] => ({
  ...row,
  data: JSON.parse(data),
})

import { ApiError, invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import type { Body } from '../contract/spec.ts'
import type { Context } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { runReport } from '../core/report.ts'
import { instantBody, period } from '../core/time.ts'
import type { Transaction } from '../database/access.ts'
import { inTurns } from '../database/slices.ts'
import type { CommissionRow } from '../database/tables.ts'
import { recomputeBatch } from '../payouts/batch.ts'
import { type ModerationAction, type MovedCommission, moveCommission, TRANSITIONS } from './moderation.ts'
import { findCommissionsById, type ModerationFilter, type MovableCommissions, movableReport } from './queries.ts'

type ModerationResult = components['schemas']['ModerationResult']

/** More would make other changes wait for too long; the answer says how many are left. */
const MAX_MOVED = 500

/**
 * Moves many commissions, by id or by filter, in one transaction. Those that cannot be moved are told and left alone.
 * With `dryRun` it only counts.
 *
 * @throws ApiError 400 `invalid_body` or `period_invalid`.
 */
export async function moderateMany(ctx: Context, body: Body<'moderateCommissions'>): Promise<ModerationResult> {
  if (Boolean(body.ids) === Boolean(body.filter)) throw invalidBody('Send either ids or filter.')
  const filter = body.filter ? readModerationFilter(body.action, body.filter) : undefined
  if (body.dryRun) return previewMany(ctx, body, filter)
  const found = filter && (await findMovable(ctx, filter, MAX_MOVED))
  const ids = found?.ids ?? [...new Set(body.ids)]
  return mutate(ctx, async (trx) => {
    const known = await findCommissionsById(trx, ctx.shop.id, ids)
    // Another request may have moved some since they were found; those no longer match.
    const rows = filter ? known.filter((row) => filter.statuses.includes(row.orderStatus)) : known
    const { moved, skipped } = await moveAll(ctx, trx, body.action, rows)
    for (const id of missingIds(body.ids, rows)) skipped.push({ id, code: 'commission_not_found' })
    for (const id of new Set(moved.flatMap(({ leftBatchId }) => leftBatchId ?? []))) await recomputeBatch(trx, ctx, id)
    const result = {
      action: body.action,
      dryRun: false,
      changed: moved.length,
      skipped,
      remaining: found ? found.total - found.ids.length : 0,
    }
    const data = { action: body.action, changed: result.changed, skipped: skipped.length }
    const summary = { action: 'commissions.moderated', subjectId: null, data }
    return { result, audit: [...moved.map(({ audit }) => audit), summary] }
  })
}

const findMovable = (ctx: Context, filter: ModerationFilter, limit: number): Promise<MovableCommissions> =>
  runReport(ctx, movableReport, { shopId: ctx.shop.id, query: { ...filter, limit } })

async function moveAll(ctx: Context, trx: Transaction, action: ModerationAction, rows: CommissionRow[]) {
  const moved: MovedCommission[] = []
  const skipped: ModerationResult['skipped'] = []
  await inTurns(trx, rows, async (row) => {
    try {
      moved.push(await moveCommission(ctx, trx, action, row))
    } catch (error) {
      // A refusal comes before any write of its move, so the others go on.
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      skipped.push({ id: row.id, code: error.code })
    }
  })
  return { moved, skipped }
}

async function previewMany(
  ctx: Context,
  { action, ids }: Body<'moderateCommissions'>,
  filter: ModerationFilter | undefined,
): Promise<ModerationResult> {
  const { from } = TRANSITIONS[action]
  if (filter) {
    const { total } = await findMovable(ctx, filter, 0)
    return { action, dryRun: true, changed: 0, skipped: [], remaining: total }
  }
  const rows = await findCommissionsById(ctx.db.read, ctx.shop.id, [...new Set(ids)])
  const remaining = rows.filter((row) => from.includes(row.orderStatus) && row.trackingMethod !== 'ADJUSTMENT').length
  return { action, dryRun: true, changed: 0, skipped: [], remaining }
}

const missingIds = (ids: string[] | null | undefined, rows: CommissionRow[]) => {
  const known = new Set(rows.map(({ id }) => id))
  return [...new Set(ids)].filter((id) => !known.has(id))
}

function readModerationFilter(
  action: ModerationAction,
  filter: NonNullable<Body<'moderateCommissions'>['filter']>,
): ModerationFilter {
  const { from } = TRANSITIONS[action]
  const bounds = period(instantBody('from', filter.from), instantBody('to', filter.to))
  const { status, affiliateId, programId } = filter
  if (status && !from.includes(status)) {
    throw invalidBody(`filter.status must be one of ${from.join(', ')} to ${action}.`)
  }
  return { statuses: status ? [status] : from, affiliateId, programId, ...bounds }
}

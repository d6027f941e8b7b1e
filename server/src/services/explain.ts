import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import type { OrderRow } from '../db/tables.ts'
import { decide, ENGINE_VERSION } from '../engine/decide.ts'
import type { Decision, Facts } from '../engine/facts.ts'
import { affiliateOf, programOf } from '../engine/people.ts'
import { notFound } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import { findCommissionByOrder } from '../repositories/commissions.ts'
import { findOrder } from '../repositories/orders.ts'
import { listRefunds } from '../repositories/refunds.ts'
import { arithmeticOf } from './explain-arithmetic.ts'
import { evidenceOf, RESTRICTIONS, summaryOf } from './explain-words.ts'
import { toWire } from './refunds.ts'
import { toCommission } from './wire.ts'

type Explanation = components['schemas']['Explanation']

/** Where orders come from; an id without one of these is looked for under each, in this order. */
const SOURCES = ['api:', 'shopify:']

/**
 * Why an order earned what it did, from what was stored with it (section 4.9), and what has become of it since.
 *
 * @throws ApiError 404 `order_not_found` for an order that was never reported.
 */
export async function explain(ctx: Context, id: string): Promise<Explanation> {
  const row = await findReported(ctx, id)
  if (!row) throw notFound('order_not_found', 'No order with this id was ever reported to your shop.')
  const commission = row.commissionId ? await findCommissionByOrder(ctx.db.read, ctx.shop.id, row.orderId) : undefined
  const refunds = commission ? await listRefunds(ctx.db.read, ctx.shop.id, commission.id) : []
  const facts: Facts = JSON.parse(row.facts)
  const decision: Decision = JSON.parse(row.decision)
  return {
    orderId: row.orderId,
    externalOrderId: facts.order.externalOrderId,
    ...outcomeOf(decision),
    summary: summaryOf(decision),
    receivedAt: row.createdAt,
    precedence: facts.settings.precedence,
    clickTouch: facts.settings.clickTouch,
    evidence: evidenceOf(facts, decision),
    ...peopleOf(facts, decision),
    arithmetic: arithmeticOf(facts, decision, refunds),
    order: { ...facts.order },
    decision,
    replay: replay(row),
    commission: commission ? toCommission(commission) : null,
    refunds: refunds.map(toWire),
  }
}

/** Decides the stored facts again. The same facts give the same decision, byte for byte. */
export function replay(row: Pick<OrderRow, 'facts' | 'decision'>): Explanation['replay'] {
  const again = JSON.stringify(decide(JSON.parse(row.facts)))
  const recorded: Decision = JSON.parse(row.decision)
  return {
    identical: again === row.decision,
    engineVersion: ENGINE_VERSION,
    recordedEngineVersion: recorded.engineVersion,
    decisionHash: createHash('sha256').update(again).digest('hex'),
  }
}

async function findReported(ctx: Context, id: string): Promise<OrderRow | undefined> {
  for (const source of ['', ...SOURCES]) {
    const row = await findOrder(ctx.db.read, ctx.shop.id, source + id)
    if (row) return row
  }
  return undefined
}

function outcomeOf({
  attribution,
  restrictionReasonCode: code,
}: Decision): Pick<Explanation, 'outcome' | 'restriction'> {
  if (attribution.affiliateId === null) return { outcome: 'NOBODY', restriction: null }
  if (code === null) return { outcome: 'CREDITED', restriction: null }
  return { outcome: 'RESTRICTED', restriction: { code, because: RESTRICTIONS[code] } }
}

/** Whom and which program it was about, as they were then. */
function peopleOf(facts: Facts, decision: Decision): Pick<Explanation, 'affiliate' | 'program'> {
  const affiliate = affiliateOf(facts, decision.attribution.affiliateId)
  if (!affiliate) return { affiliate: null, program: null }
  const { id, status, archived, programId } = affiliate
  const program = programOf(facts, affiliate)
  return {
    affiliate: { id, status, archived, programId },
    program: program && {
      id: program.id,
      commissionType: program.commissionType,
      rate: program.rate,
      cookieDurationDays: program.cookieDurationDays,
      autoApproveOrder: program.autoApproveOrder,
      lifetimeCommission: program.lifetimeCommission,
    },
  }
}

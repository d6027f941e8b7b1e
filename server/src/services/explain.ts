import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import type { OrderRow } from '../db/tables.ts'
import { decide, ENGINE_VERSION } from '../engine/decide.ts'
import { codeKey } from '../engine/discount-code.ts'
import type { Decision, Facts } from '../engine/facts.ts'
import { storedOrderIds } from '../engine/order-id.ts'
import { affiliateOf, programOf } from '../engine/people.ts'
import { notFound } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import { findAffiliateBySlug } from '../repositories/affiliates.ts'
import { findCommissionByOrder } from '../repositories/commissions.ts'
import { findOrder } from '../repositories/orders.ts'
import { listRefunds } from '../repositories/refunds.ts'
import { arithmeticOf } from './explain-arithmetic.ts'
import { evidenceOf, type Namesakes, RESTRICTIONS, summaryOf } from './explain-words.ts'
import { toWire } from './refunds.ts'
import { toCommission, toDecision } from './wire.ts'

type Explanation = components['schemas']['Explanation']

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
    summary: summaryOf(decision, facts.order),
    receivedAt: row.createdAt,
    precedence: facts.settings.precedence,
    clickTouch: facts.settings.clickTouch,
    evidence: evidenceOf(facts, decision, await namesakesOf(ctx, row, decision)),
    ...peopleOf(facts, decision),
    arithmetic: arithmeticOf(facts, decision, refunds),
    order: { ...facts.order },
    decision: toDecision(decision, facts.order.currency),
    replay: replay(row),
    commission: commission ? toCommission(commission) : null,
    refunds: refunds.map(toWire),
  }
}

/** Whom else the codes of an order may have meant: slugs never change, so today's answer holds for older orders. */
async function namesakesOf(ctx: Context, { createdAt }: OrderRow, { candidates }: Decision): Promise<Namesakes> {
  const namesakes = new Map<string, string>()
  for (const { kind, value, affiliateId } of candidates) {
    if (kind !== 'COUPON' || affiliateId === null) continue
    const other = await findAffiliateBySlug(ctx.db.read, ctx.shop.id, codeKey(value))
    if (other && other.id !== affiliateId && other.createdAt <= createdAt) namesakes.set(value, other.id)
  }
  return namesakes
}

/** Decides the stored facts again. The same facts give the same decision, byte for byte but for the engine's version. */
export function replay(row: Pick<OrderRow, 'facts' | 'decision'>): Explanation['replay'] {
  const decision = decide(JSON.parse(row.facts))
  const again = JSON.stringify(decision)
  const recorded: Decision = JSON.parse(row.decision)
  return {
    identical: JSON.stringify({ ...decision, engineVersion: recorded.engineVersion }) === row.decision,
    engineVersion: ENGINE_VERSION,
    recordedEngineVersion: recorded.engineVersion,
    decisionHash: createHash('sha256').update(again).digest('hex'),
  }
}

async function findReported(ctx: Context, id: string): Promise<OrderRow | undefined> {
  const { exact, bySource } = storedOrderIds(id)
  for (const orderId of [...exact, ...bySource]) {
    const row = await findOrder(ctx.db.read, ctx.shop.id, orderId)
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

import type { Context } from '../context.ts'
import { decide } from '../engine/decide.ts'
import type { Decision } from '../engine/facts.ts'
import { storedOrderId } from '../engine/order-id.ts'
import { invalid } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import { findOrder } from '../repositories/orders.ts'
import { type Conversion, toOrder } from './conversion-order.ts'
import { gatherFacts } from './facts.ts'
import { mutate } from './mutate.ts'
import { type IncomingOrder, recordOrder } from './orders.ts'
import { toDecision } from './wire.ts'

type Schemas = components['schemas']

/**
 * Records a conversion, once per order (section 4.9).
 *
 * @throws ApiError 400 `idempotency_key_required`, `invalid_body` or `occurred_at_in_future`, 409 `idempotency_key_reused`.
 */
export async function record(
  ctx: Context,
  body: Conversion,
): Promise<{ reply: Schemas['ConversionReply']; alreadyRecorded: boolean }> {
  if (!ctx.idempotency) {
    throw invalid(
      'idempotency_key_required',
      'Send an Idempotency-Key header with a conversion, so that a retry cannot count the order twice.',
    )
  }
  const incoming = toIncoming(ctx, body)
  return mutate(ctx, async (trx, shop) => {
    const { result, ...written } = await recordOrder({ ...ctx, shop }, trx, incoming)
    const reply = toReply(result.decision, result.commissionId)
    return { ...written, result: { reply, alreadyRecorded: result.alreadyRecorded }, keepReply: 'forever' }
  })
}

/** A reported conversion on its way to the engine. @throws ApiError 400 as `record`. */
export function toIncoming(ctx: Context, body: Conversion): IncomingOrder {
  const order = toOrder(ctx, body)
  const orderName = body.orderName ?? null
  return { order, orderId: storedOrderId('api', order.externalOrderId), orderName, trackingMethod: 'API' }
}

/**
 * Decides a conversion and writes nothing. `alreadyRecorded` says that reporting it would change nothing.
 *
 * @throws ApiError 400 as `record`.
 */
export async function dryRun(
  ctx: Context,
  body: Conversion,
): Promise<{ reply: Schemas['ConversionDryRun']; alreadyRecorded: boolean }> {
  const order = toOrder(ctx, body)
  const known = await findOrder(ctx.db.read, ctx.shop.id, storedOrderId('api', order.externalOrderId))
  const decision = decide(await gatherFacts(ctx.db.read, ctx.shop, order))
  const {
    candidates,
    engineVersion,
    programId,
    commissionType,
    rateBps,
    subtotalCents,
    baseCents,
    amountCents,
    taxWithheldCents,
    currency,
    groups,
  } = toDecision(decision, order.currency)
  const trace = {
    engineVersion,
    candidates,
    programId,
    commissionType,
    rateBps,
    subtotalCents,
    baseCents,
    amountCents,
    taxWithheldCents,
    currency,
    groups,
  }
  return { reply: { dryRun: true, ...toReply(decision, null), trace }, alreadyRecorded: Boolean(known?.commissionId) }
}

function toReply(decision: Decision, commissionId: string | null): Omit<Schemas['ConversionReply'], 'dryRun'> {
  const { attribution, eligible, amountCents, status, restrictionReasonCode } = decision
  return {
    attribution,
    commission: {
      id: commissionId,
      eligible,
      affiliateId: attribution.affiliateId,
      amountCents,
      status,
      restrictionReasonCode,
    },
  }
}

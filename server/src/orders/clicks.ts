import { findAffiliatesById } from '../affiliates/queries.ts'
import { invalid } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { parseBodyInstant } from '../core/time.ts'
import type { Transaction } from '../database/database.ts'
import type { JourneyRow } from '../database/tables.ts'
import { emailKey, trimToNull } from '../engine/normalize.ts'
import { findClickOwner, insertJourneyEntry } from '../journey/queries.ts'
import { findAffiliateByCodeOrSlug, findAffiliateByRef } from './record-order.ts'

type Schemas = components['schemas']
type Touch = Schemas['ClickEvent'] | Schemas['PageViewEvent']

const AHEAD_MS = 5 * 60_000

/**
 * Stores a click or a page view and answers after it is on disk. A reference that nobody owns is stored
 * without an affiliate.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`, 503 when it cannot be looked up or stored.
 */
export async function record(ctx: Context, body: Touch): Promise<Schemas['TouchReply']> {
  const occurredAt = occurredAtOf(ctx, body)
  return mutate(ctx, async (trx) => {
    const { id, clickId } = await storeTouch(ctx, trx, { body, occurredAt })
    // A touch is its own record: visits are counted, not audited.
    return { result: { ok: true, message: replyMessage(body, clickId), id }, audit: null }
  })
}

/**
 * When a touch occurred. One in the future, by a visitor's clock that is ahead, occurred when it was received: else it
 * would win over clicks that come later.
 */
function occurredAtOf(ctx: Context, { type, occurredAt }: Touch): string {
  const at = parseBodyInstant('occurredAt', occurredAt || null)
  const ahead = at === undefined ? 0 : Date.parse(at) - ctx.now()
  if (type === 'page_view' && ahead > AHEAD_MS) {
    throw invalid('occurred_at_in_future', 'occurredAt must not be more than 5 minutes ahead of now.')
  }
  return at === undefined || ahead > 0 ? nowIso(ctx) : at
}

function replyMessage(body: Touch, clickId: string | null): string {
  if (body.type === 'page_view') return 'Page view recorded.'
  const isRenamed = trimToNull(body.clickId) !== null && trimToNull(body.clickId) !== clickId
  return isRenamed ? 'Click recorded under a new id: its clickId belongs to another affiliate.' : 'Click recorded.'
}

/** Writes a touch that has been checked. Returns its id, and the click id it is found by. */
export async function storeTouch(
  ctx: Context,
  trx: Transaction,
  { body, occurredAt }: { body: Touch; occurredAt: string },
): Promise<{ id: string; clickId: string | null }> {
  const id = ctx.newId('jrn')
  const given = trimToNull(body.clickId)
  const owner = given === null ? undefined : await findClickOwner(trx, ctx.shop.id, given)
  const affiliate = await resolveAffiliate(trx, ctx.shop.id, body, owner)
  // A click id belongs to the affiliate it first named. Used for another one, it would take that affiliate's orders.
  const isTaken = body.type === 'click' && owner !== undefined && affiliate !== undefined && affiliate.id !== owner
  const clickId = body.type === 'click' && (given === null || isTaken) ? id : given
  await insertJourneyEntry(trx, ctx.shop.id, {
    ...touchColumns(body),
    id,
    occurredAt,
    affiliateId: affiliate?.id ?? null,
    programId: affiliate?.campaignId ?? null,
    clickId,
    createdAt: nowIso(ctx),
  })
  return { id, clickId }
}

/** The first reference that names somebody of this shop; last, the affiliate whose click id it is. */
async function resolveAffiliate(
  trx: Transaction,
  shopId: string,
  { ref, affiliateCode, affiliateId }: Touch,
  owner?: string,
) {
  const byId = async (id: string | null | undefined) =>
    id ? (await findAffiliatesById(trx, shopId, [id]))[0] : undefined
  return (
    (trimToNull(ref) && (await findAffiliateByRef(trx, shopId, ref!))) ||
    (trimToNull(affiliateCode) && (await findAffiliateByCodeOrSlug(trx, shopId, affiliateCode!))) ||
    (await byId(trimToNull(affiliateId))) ||
    (await byId(owner)) ||
    undefined
  )
}

type TouchColumns = Omit<
  JourneyRow,
  'shopId' | 'id' | 'occurredAt' | 'affiliateId' | 'programId' | 'clickId' | 'createdAt'
>

function touchColumns(body: Touch): TouchColumns {
  return {
    type: body.type,
    sessionId: trimToNull(body.sessionId),
    ref: trimToNull(body.ref),
    customerId: trimToNull(body.customerId),
    customerEmail: trimToNull(body.customerEmail),
    customerEmailKey: body.customerEmail?.trim() ? emailKey(body.customerEmail) : null,
    url: trimToNull(body.url),
    landingPage: trimToNull(body.landingPage),
    referrerUrl: trimToNull(body.referrerUrl),
    utmSource: trimToNull(body.utmSource),
    utmMedium: trimToNull(body.utmMedium),
    utmCampaign: trimToNull(body.utmCampaign),
    utmTerm: trimToNull(body.utmTerm),
    utmContent: trimToNull(body.utmContent),
    country: trimToNull(body.country),
    device: trimToNull(body.device),
    externalOrderId: null,
    orderId: null,
    commissionId: null,
  }
}

import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { parseBodyInstant, rejectFuture } from '../../core/time.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { JourneyRow } from '../../database/tables.ts'
import { emailKey, trimToNull } from '../../engine/normalize.ts'
import { findAffiliateByCodeOrSlug, findAffiliateByRef } from '../affiliates/name-queries.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { findClickOwner, insertJourneyEntry } from '../journey/queries.ts'

type Schemas = components['schemas']
type Touch = Schemas['ClickEvent'] | Schemas['PageViewEvent']

/**
 * Stores a click or a page view. A reference that matches no affiliate is stored with no affiliate.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`, 503 when it cannot be stored.
 */
export async function recordTouch(ctx: Context, body: Touch): Promise<Schemas['TouchReply']> {
  const occurredAt = occurredAtOf(ctx, body)
  return mutate(ctx, async (trx) => {
    const { id, clickId } = await storeTouch(ctx, trx, { body, occurredAt })
    // Touches are not audited: the stored row is the record.
    return { result: { ok: true, message: replyMessage(body, clickId), id }, audit: null }
  })
}

/** When a touch occurred. A future time becomes the time of receipt, so that it does not win over later clicks. */
function occurredAtOf(ctx: Context, { type, occurredAt }: Touch): string {
  const at = parseBodyInstant('occurredAt', occurredAt || null)
  if (at === undefined) return nowIso(ctx)
  if (type === 'page_view') rejectFuture(ctx, at)
  return Date.parse(at) > ctx.now() ? nowIso(ctx) : at
}

function replyMessage(body: Touch, clickId: string | null): string {
  if (body.type === 'page_view') return 'Page view recorded.'
  const isRenamed = trimToNull(body.clickId) !== null && trimToNull(body.clickId) !== clickId
  return isRenamed ? 'Click recorded under a new id: its clickId belongs to another affiliate.' : 'Click recorded.'
}

/** Stores a validated touch. Returns its ID, and the click ID that finds it. */
export async function storeTouch(
  ctx: Context,
  trx: Transaction,
  { body, occurredAt }: { body: Touch; occurredAt: string },
): Promise<{ id: string; clickId: string | null }> {
  const id = ctx.newId('jrn')
  const { sentId, owner, affiliate } = await findReferences(trx, ctx.shop.id, body)
  // A click ID belongs to its first affiliate. Otherwise, another affiliate could take over that one's orders.
  const belongsToOther =
    body.type === 'click' && owner !== undefined && affiliate !== undefined && affiliate.affiliateId !== owner
  const clickId = body.type === 'click' && (sentId === null || belongsToOther) ? id : sentId
  await insertJourneyEntry(trx, ctx.shop.id, {
    ...touchColumns(body),
    id,
    occurredAt,
    affiliateId: affiliate?.affiliateId ?? null,
    programId: affiliate?.programId ?? null,
    clickId,
    createdAt: nowIso(ctx),
  })
  return { id, clickId }
}

/**
 * The affiliate of the first reference that matches one. Otherwise, the affiliate that the click ID belongs to, its
 * `owner`.
 */
export async function findReferences(
  db: Reader,
  shopId: string,
  { clickId, ref, affiliateCode, affiliateId }: Pick<Touch, 'clickId' | 'ref' | 'affiliateCode' | 'affiliateId'>,
) {
  const sentId = trimToNull(clickId)
  const owner = sentId === null ? undefined : await findClickOwner(db, shopId, sentId)
  const byId = async (id: string) => {
    const [affiliate] = await findAffiliatesById(db, shopId, [id])
    return affiliate && { affiliateId: affiliate.id, programId: affiliate.campaignId }
  }
  const trimmedId = trimToNull(affiliateId)
  const affiliate =
    (trimToNull(ref) && (await findAffiliateByRef(db, shopId, ref!))) ||
    (trimToNull(affiliateCode) && (await findAffiliateByCodeOrSlug(db, shopId, affiliateCode!))) ||
    (trimmedId && (await byId(trimmedId))) ||
    (owner && (await byId(owner))) ||
    undefined
  return { sentId, owner, affiliate }
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

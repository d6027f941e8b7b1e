import { invalid } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { lastDays } from '../../core/time.ts'
import { emailKeysFromQuery } from '../../engine/normalize.ts'
import { type JourneyRowWithOutcome, journeyList } from './queries.ts'

type Schemas = components['schemas']

const DEFAULT_DAYS = 90

/**
 * Touches and orders of a session, an affiliate, or a customer, oldest first. If several identifiers are given, all
 * must match. If there are more than `limit` entries, the latest are returned.
 *
 * @throws ApiError 400 `journey_identifier_required`, `invalid_parameter` or `period_invalid`.
 */
export async function read(ctx: Context, query: Query<'getJourney'>): Promise<Schemas['Journey']> {
  const { rows, total } = await findRows(ctx, query)
  return { journey: rows.map(toEntry), total }
}

/** Like {@link read}, with stored order IDs. */
export const readWithOrders = defineReader(journeyList, async (ctx: Context, query: Query<'getJourney'>) => {
  const { rows, total } = await findRows(ctx, query)
  return { entries: rows.map((row) => ({ ...toEntry(row), orderId: row.orderId })), total }
})

async function findRows(ctx: Context, query: Query<'getJourney'>) {
  const { sessionId, affiliateId, customerEmail, limit } = query
  if (sessionId === undefined && affiliateId === undefined && customerEmail === undefined) {
    throw invalid('journey_identifier_required', 'Send at least one of sessionId, affiliateId and customerEmail.')
  }
  const customerEmailKeys = customerEmail === undefined ? undefined : emailKeysFromQuery(customerEmail)
  const bounds = lastDays(ctx, query, DEFAULT_DAYS)
  const who = { sessionId: sessionId?.trim(), affiliateId, customerEmailKeys }
  return readFrom(ctx, journeyList, { ...who, ...bounds, limit })
}

const toEntry = (row: JourneyRowWithOutcome): Schemas['JourneyEntry'] => ({
  id: row.id,
  type: row.type,
  occurredAt: row.occurredAt,
  sessionId: row.sessionId,
  affiliateId: row.affiliateId,
  programId: row.programId,
  clickId: row.clickId,
  ref: row.ref,
  customerId: row.customerId,
  customerEmail: row.customerEmail,
  url: row.url,
  landingPage: row.landingPage,
  referrerUrl: row.referrerUrl,
  utmSource: row.utmSource,
  utmMedium: row.utmMedium,
  utmCampaign: row.utmCampaign,
  utmTerm: row.utmTerm,
  utmContent: row.utmContent,
  country: row.country,
  device: row.device,
  externalOrderId: row.externalOrderId,
  commissionId: row.commissionId,
  commissionStatus: row.commissionStatus,
  orderCurrency: row.orderCurrency,
  refundedCents: row.refundedCents,
  attributed: row.affiliateId !== null,
})

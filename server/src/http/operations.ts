import type { Context } from '../context.ts'
import { invalid } from '../errors.ts'
import * as affiliates from '../services/affiliates.ts'
import * as analytics from '../services/analytics.ts'
import * as commissions from '../services/commissions.ts'
import * as conversions from '../services/conversions.ts'
import * as coupons from '../services/coupons.ts'
import * as journey from '../services/journey.ts'
import * as payouts from '../services/payouts.ts'
import * as programs from '../services/programs.ts'
import * as touches from '../services/touches.ts'
import * as webhooks from '../services/webhooks.ts'
import { DOCS_HEADERS, docsPage } from './docs.ts'
import { ownerHandlers } from './operations-owner.ts'
import type { Handlers } from './spec.ts'

const recorded = (alreadyRecorded: boolean): Record<string, string> =>
  alreadyRecorded ? { 'X-Order-Already-Recorded': 'true' } : {}

/** The first of a field and its aliases that was sent; an empty text was not. */
const firstText = (...texts: (string | null | undefined)[]) => texts.find((text) => text?.trim())

/** The whole API: operation, use case, status. Aliases of the wire end here. */
export const handlers: Handlers<Context> = {
  listAffiliates: async (ctx, { query }) => ({ status: 200, body: await affiliates.list(ctx, query) }),
  createAffiliate: async (ctx, { body }) => ({ status: 201, body: { data: await affiliates.create(ctx, body) } }),
  updateAffiliate: async (ctx, { query, body }) => ({
    status: 200,
    body: { data: await affiliates.update(ctx, query.id, body) },
  }),
  archiveAffiliate: async (ctx, { query }) => ({ status: 200, body: await affiliates.archive(ctx, query.id) }),

  listPrograms: async (ctx, { query }) => ({ status: 200, body: await programs.list(ctx, query) }),
  createProgram: async (ctx, { body }) => ({ status: 201, body: { data: await programs.create(ctx, body) } }),
  updateProgram: async (ctx, { query, body }) => ({
    status: 200,
    body: { data: await programs.update(ctx, query.id, body) },
  }),

  listCommissions: async (ctx, { query }) => ({ status: 200, body: await commissions.list(ctx, query) }),

  listPayouts: async (ctx, { query }) => ({ status: 200, body: await payouts.list(ctx, query) }),
  createPayout: async (ctx, { body }) => ({ status: 200, body: { data: await payouts.create(ctx, body) } }),
  payPayout: async (ctx, { query }) => ({ status: 200, body: await payouts.pay(ctx, query) }),

  listCoupons: async (ctx, { query }) => ({ status: 200, body: await coupons.list(ctx, query) }),
  assignCoupon: async (ctx, { body }) => ({ status: 200, body: { data: await coupons.assign(ctx, body) } }),

  getAnalytics: async (ctx, { query }) => ({ status: 200, body: await analytics.summarize(ctx, query) }),
  getJourney: async (ctx, { query }) => ({ status: 200, body: await journey.read(ctx, query) }),

  listWebhooks: async (ctx) => ({ status: 200, body: await webhooks.list(ctx) }),
  createWebhook: async (ctx, { query, body: { hookUrl, target_url, ...body } }) => {
    const url = firstText(body.url, hookUrl, target_url)
    if (query.test) return { status: 200, body: await webhooks.sendTestFor(ctx, url) }
    return { status: 200, body: { data: await webhooks.subscribe(ctx, { ...body, url }) } }
  },
  deleteWebhook: async (ctx, { query }) => ({ status: 200, body: await webhooks.unsubscribe(ctx, query.id) }),

  recordEvent: async (ctx, { query, body }) => {
    if (body.type === 'click' || body.type === 'page_view') {
      if (query.dryRun) throw invalid('invalid_parameter', 'dryRun is for conversions only.')
      return { status: 202, body: await touches.record(ctx, body) }
    }
    const { orderId, processedAt, ...named } = body
    const conversion = {
      ...named,
      externalOrderId: firstText(body.externalOrderId, orderId),
      occurredAt: firstText(body.occurredAt, processedAt),
    }
    if (query.dryRun) {
      const { reply, alreadyRecorded } = await conversions.dryRun(ctx, conversion)
      return { status: 200, body: reply, headers: recorded(alreadyRecorded) }
    }
    const { reply, alreadyRecorded } = await conversions.record(ctx, conversion)
    return { status: 201, body: reply, headers: recorded(alreadyRecorded) }
  },

  getDocs: async () => ({ status: 200, body: docsPage(), headers: DOCS_HEADERS }),

  ...ownerHandlers,
}

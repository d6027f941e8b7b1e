import * as audit from '../accounts/audit-log.ts'
import * as keys from '../accounts/keys.ts'
import * as sessions from '../accounts/sessions.ts'
import * as settings from '../accounts/settings.ts'
import * as affiliates from '../affiliates/affiliates.ts'
import * as connections from '../affiliates/connections.ts'
import * as analytics from '../analytics/analytics.ts'
import * as backtest from '../analytics/backtest.ts'
import * as commissions from '../commissions/commissions.ts'
import { explain } from '../commissions/explain.ts'
import { moderate, moderateMany } from '../commissions/moderation.ts'
import * as refunds from '../commissions/refunds.ts'
import { invalid } from '../contract/errors.ts'
import type { Handlers } from '../contract/spec.ts'
import type { Contexts } from '../core/context.ts'
import * as coupons from '../coupons/coupons.ts'
import * as journey from '../journey/journey.ts'
import * as touches from '../orders/clicks.ts'
import * as conversions from '../orders/conversions.ts'
import * as payoutCancel from '../payouts/payouts.ts'
import * as payouts from '../payouts/payouts.ts'
import * as geoRules from '../programs/geo-rules.ts'
import * as productRules from '../programs/product-rules.ts'
import * as programs from '../programs/programs.ts'
import * as storeOrders from '../stores/notifications.ts'
import * as deliveries from '../webhooks/deliveries.ts'
import * as streams from '../webhooks/streams.ts'
import * as webhookUpdate from '../webhooks/webhooks.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { sessionCookie } from './authorize-owner.ts'
import { DOCS_HEADERS, docsPage } from './docs.ts'

/** The owner's side of the API: operation, use case, status. */
export const ownerHandlers = {
  getSession: async (ctx) => ({ status: 200, body: sessions.toSession(ctx, ctx) }),
  createSession: async (ctx, { body }) => {
    const { secret, ...owner } = await sessions.signIn(ctx, body.token)
    const headers = { 'Set-Cookie': sessionCookie(secret, ctx.isHttps) }
    return { status: 201, body: sessions.toSession(ctx, owner), headers }
  },
  deleteSession: async (ctx) => ({
    status: 200,
    body: await sessions.signOut(ctx),
    headers: { 'Set-Cookie': sessionCookie(null, ctx.isHttps) },
  }),

  listKeys: async (ctx) => ({ status: 200, body: await keys.list(ctx) }),
  createKey: async (ctx, { body }) => ({ status: 201, body: { data: await keys.create(ctx, body) } }),
  rotateKey: async (ctx, { path }) => ({ status: 200, body: { data: await keys.rotate(ctx, path.id) } }),
  revokeKey: async (ctx, { path }) => ({ status: 200, body: await keys.revoke(ctx, path.id) }),

  getSettings: async (ctx) => ({ status: 200, body: { data: settings.read(ctx) } }),
  updateSettings: async (ctx, { body }) => ({ status: 200, body: { data: await settings.update(ctx, body) } }),
  listConnections: async (ctx, { query }) => ({ status: 200, body: await connections.list(ctx, query) }),
  createConnection: async (ctx, { body }) => ({ status: 201, body: { data: await connections.create(ctx, body) } }),
  deleteConnection: async (ctx, { path }) => ({ status: 200, body: await connections.remove(ctx, path.id) }),
  listProductRules: async (ctx, { query }) => ({ status: 200, body: await productRules.list(ctx, query) }),
  createProductRule: async (ctx, { body }) => ({ status: 201, body: { data: await productRules.create(ctx, body) } }),
  deleteProductRule: async (ctx, { path }) => ({ status: 200, body: await productRules.remove(ctx, path.id) }),
  listGeoRules: async (ctx, { query }) => ({ status: 200, body: await geoRules.list(ctx, query) }),
  setGeoRule: async (ctx, { path, body }) => ({
    status: 200,
    body: { data: await geoRules.set(ctx, path.programId, body) },
  }),
  deleteGeoRule: async (ctx, { path }) => ({ status: 200, body: await geoRules.remove(ctx, path.programId) }),

  approveCommission: async (ctx, { path }) => ({
    status: 200,
    body: { data: await moderate(ctx, 'approve', path.id) },
  }),
  rejectCommission: async (ctx, { path }) => ({ status: 200, body: { data: await moderate(ctx, 'reject', path.id) } }),
  cancelCommission: async (ctx, { path }) => ({ status: 200, body: { data: await moderate(ctx, 'cancel', path.id) } }),
  reverseCommission: async (ctx, { path }) => ({
    status: 200,
    body: { data: await moderate(ctx, 'reverse', path.id) },
  }),
  reopenCommission: async (ctx, { path }) => ({ status: 200, body: { data: await moderate(ctx, 'reopen', path.id) } }),
  moderateCommissions: async (ctx, { body }) => ({ status: 200, body: { data: await moderateMany(ctx, body) } }),
  refundCommission: async (ctx, { path, body }) => ({ status: 200, body: await refunds.refund(ctx, path.id, body) }),
  cancelPayout: async (ctx, { path }) => ({ status: 200, body: { data: await payoutCancel.cancel(ctx, path.id) } }),

  explainOrder: async (ctx, { path }) => ({ status: 200, body: { data: await explain(ctx, path.externalOrderId) } }),
  runBacktest: async (ctx, { body }) => ({ status: 200, body: { data: await backtest.run(ctx, body) } }),

  listAudit: async (ctx, { query }) => ({ status: 200, body: await audit.list(ctx, query) }),
  listDeliveries: async (ctx, { query }) => ({ status: 200, body: await deliveries.list(ctx, query) }),
  redeliver: async (ctx, { path }) => ({ status: 200, body: { data: await deliveries.redeliver(ctx, path.id) } }),
  streamDeliveries: async (ctx, { query, headers }) => ({
    status: 200,
    body: await streams.open(ctx, query.events, headers['Last-Event-ID']),
  }),

  updateWebhook: async (ctx, { path, body }) => ({
    status: 200,
    body: { data: await webhookUpdate.update(ctx, path.id, body) },
  }),

  recordStoreOrder: async (ctx, { body }) => {
    const { reply, alreadyRecorded } = await storeOrders.recordPaidOrder(ctx, body)
    const headers: Record<string, string> = alreadyRecorded ? { 'X-Order-Already-Recorded': 'true' } : {}
    return { status: 200, body: reply, headers }
  },
  cancelStoreOrder: async (ctx, { body }) => ({ status: 200, body: await storeOrders.cancelOrder(ctx, body) }),
  refundStoreOrder: async (ctx, { body }) => ({ status: 200, body: await storeOrders.refundOrder(ctx, body) }),
} satisfies Partial<Handlers<Contexts>>

const recordedHeaders = (alreadyRecorded: boolean): Record<string, string> =>
  alreadyRecorded ? { 'X-Order-Already-Recorded': 'true' } : {}

/** The first of a field and its aliases that was sent; an empty text was not. */
const firstText = (...texts: (string | null | undefined)[]) => texts.find((text) => text?.trim())

/** The whole API: operation, use case, status. Aliases of the wire end here. */
export const handlers: Handlers<Contexts> = {
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
      return { status: 200, body: reply, headers: recordedHeaders(alreadyRecorded) }
    }
    const { reply, alreadyRecorded } = await conversions.record(ctx, conversion)
    return { status: 201, body: reply, headers: recordedHeaders(alreadyRecorded) }
  },

  getDocs: async () => ({ status: 200, body: docsPage(), headers: DOCS_HEADERS }),

  ...ownerHandlers,
}

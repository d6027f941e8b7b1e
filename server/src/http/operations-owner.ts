import type { Context } from '../context.ts'
import * as audit from '../services/audit.ts'
import * as backtest from '../services/backtest.ts'
import * as connections from '../services/connections.ts'
import * as deliveries from '../services/deliveries.ts'
import { explain } from '../services/explain.ts'
import * as geoRules from '../services/geo-rules.ts'
import * as keys from '../services/keys.ts'
import { moderate } from '../services/moderation.ts'
import { moderateMany } from '../services/moderation-bulk.ts'
import * as payoutCancel from '../services/payout-cancel.ts'
import * as productRules from '../services/product-rules.ts'
import * as refunds from '../services/refunds.ts'
import * as sessions from '../services/sessions.ts'
import * as settings from '../services/settings.ts'
import * as storeOrders from '../services/store-orders.ts'
import * as streams from '../services/streams.ts'
import * as webhookUpdate from '../services/webhook-update.ts'
import { sessionCookie } from './browser.ts'
import type { Handlers } from './spec.ts'

/** The owner's side of the API: operation, use case, status. */
export const ownerHandlers = {
  getSession: async (ctx) => ({ status: 200, body: sessions.toSession(ctx, { ...ctx, user: ctx.user! }) }),
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
    const { reply, alreadyRecorded } = await storeOrders.paid(ctx, body)
    const headers: Record<string, string> = alreadyRecorded ? { 'X-Order-Already-Recorded': 'true' } : {}
    return { status: 200, body: reply, headers }
  },
  cancelStoreOrder: async (ctx, { body }) => ({ status: 200, body: await storeOrders.canceled(ctx, body) }),
  refundStoreOrder: async (ctx, { body }) => ({ status: 200, body: await storeOrders.refunded(ctx, body) }),
} satisfies Partial<Handlers<Context>>

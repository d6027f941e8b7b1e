import { invalidBody, invalidField } from '../contract/errors.ts'
import type { Handlers } from '../contract/spec.ts'
import type { Contexts } from '../core/context.ts'
import { exportAudit } from '../domains/accounts/audit-export.ts'
import * as audit from '../domains/accounts/audit-log.ts'
import * as keys from '../domains/accounts/keys.ts'
import * as sessions from '../domains/accounts/sessions.ts'
import * as settings from '../domains/accounts/settings.ts'
import * as shops from '../domains/accounts/shops.ts'
import * as users from '../domains/accounts/users.ts'
import * as affiliates from '../domains/affiliates/affiliates.ts'
import * as aliases from '../domains/affiliates/aliases.ts'
import * as payees from '../domains/affiliates/payees.ts'
import * as tokens from '../domains/affiliates/tokens.ts'
import * as analytics from '../domains/analytics/analytics.ts'
import * as backtest from '../domains/analytics/backtest.ts'
import * as commissions from '../domains/commissions/commissions.ts'
import { explain, explainToKey } from '../domains/commissions/explain.ts'
import { moderate, moderateMany } from '../domains/commissions/moderation.ts'
import * as refunds from '../domains/commissions/refunds.ts'
import * as coupons from '../domains/coupons/coupons.ts'
import * as connections from '../domains/customers/connections.ts'
import * as customers from '../domains/customers/customers.ts'
import * as journey from '../domains/journey/journey.ts'
import { balanceOf } from '../domains/ledger/balance.ts'
import * as clicks from '../domains/orders/clicks.ts'
import * as conversions from '../domains/orders/conversions.ts'
import * as refundReports from '../domains/orders/refund-reports.ts'
import * as orders from '../domains/orders/reported.ts'
import * as signUps from '../domains/orders/sign-ups.ts'
import * as payoutFiles from '../domains/payments/files.ts'
import { exportLedger } from '../domains/payments/ledger.ts'
import * as payoutLines from '../domains/payments/lines.ts'
import { reconcile } from '../domains/payments/reconcile.ts'
import { STATEMENT_STYLE } from '../domains/payments/statement-files.ts'
import * as statements from '../domains/payments/statements.ts'
import { discard } from '../domains/payouts/discard.ts'
import * as payouts from '../domains/payouts/payouts.ts'
import * as unpaid from '../domains/payouts/unpaid.ts'
import { previewBatch } from '../domains/payouts/waiting.ts'
import { erasePerson, readErasure } from '../domains/privacy/erasure.ts'
import { exportPerson } from '../domains/privacy/person-export.ts'
import * as geoRules from '../domains/programs/geo-rules.ts'
import * as productRules from '../domains/programs/product-rules.ts'
import * as programs from '../domains/programs/programs.ts'
import * as terms from '../domains/programs/terms.ts'
import { deleteShop } from '../domains/shops/shop-deletion.ts'
import { exportShop } from '../domains/shops/shop-export.ts'
import * as testShops from '../domains/shops/test-shops.ts'
import { receive } from '../domains/stores/receive.ts'
import { shopify } from '../domains/stores/shopify.ts'
import { stripe } from '../domains/stores/stripe.ts'
import * as tracking from '../domains/tracking/tracking.ts'
import * as deliveries from '../domains/webhooks/deliveries.ts'
import * as feed from '../domains/webhooks/feed.ts'
import * as webhooks from '../domains/webhooks/webhooks.ts'
import { matchesTag } from './api-reference.ts'
import { sessionCookie } from './authorize-owner.ts'
import { DOCS_HEADERS, docsPage } from './docs.ts'
import { inlineStyleSource, pageHeaders } from './response.ts'

/** Replies 200 with the result of a use case. */
const ok = async <Body>(result: Body | Promise<Body>) => ({ status: 200 as const, body: await result })
/** Replies 200 with `{ data }`. */
const data = async <Data>(result: Data | Promise<Data>) => ({ status: 200 as const, body: { data: await result } })
/** Replies 201 with `{ data }`. */
const created = async <Data>(result: Promise<Data>) => ({ status: 201 as const, body: { data: await result } })

/** Replies 200 to a store's event. */
const received = async (event: ReturnType<typeof receive>) => ({ status: 200 as const, body: (await event).reply })

const recordedHeaders = (alreadyRecorded: boolean, differs = false): Record<string, string> => ({
  ...(alreadyRecorded && { 'X-Order-Already-Recorded': 'true' }),
  ...(differs && { 'X-Order-Differs': 'true' }),
})

/**
 * Returns the value of a field with aliases. Blank text counts as not sent.
 *
 * @throws ApiError 400 `invalid_body` if two of them have different values.
 */
function oneText(
  texts: Record<string, string | null | undefined>,
  toValue: (text: string) => string | number = (text) => text.trim(),
): string | undefined {
  const all = Object.entries(texts).flatMap(([name, text]) => (text?.trim() ? [{ name, text }] : []))
  const [first, ...others] = all
  if (!first) return undefined
  const other = others.find(({ text }) => toValue(text) !== toValue(first.text))
  if (other) throw invalidBody(`${other.name} is an alias of ${first.name} and must have the same value.`)
  return first.text
}

/** Of a body that is already JSON text. */
const JSON_HEADERS = { 'Content-Type': 'application/json' }
const CSV_HEADERS = { 'Content-Type': 'text/csv; charset=utf-8' }

/** The whole API: operation, use case, status. Wire format aliases are resolved here. */
export const handlers: Handlers<Contexts> = {
  listAffiliates: (ctx, { query }) => ok(affiliates.list(ctx, query)),
  createAffiliate: (ctx, { body }) => created(affiliates.create(ctx, body)),
  updateAffiliate: (ctx, { query, body }) => data(affiliates.update(ctx, query.id, body)),
  archiveAffiliate: (ctx, { query }) => ok(affiliates.archive(ctx, query.id)),
  listAliases: (ctx, { query }) => ok(aliases.list(ctx, query)),
  createAlias: (ctx, { body }) => data(aliases.create(ctx, body)),
  deleteAlias: (ctx, { query }) => ok(aliases.remove(ctx, query.id)),
  getAffiliateBalance: (ctx, { query }) => data(balanceOf(ctx, query.affiliateId)),
  createAffiliateToken: (ctx, { body: { affiliateId, expiresInSeconds } }) =>
    data(tokens.createToken(ctx, affiliateId, { expiresInSeconds, scopes: ctx.scopes })),
  listAdminAliases: (ctx, { query }) => ok(aliases.list(ctx, query)),
  createAdminAlias: (ctx, { body }) => data(aliases.create(ctx, body)),
  deleteAdminAlias: (ctx, { path }) => ok(aliases.remove(ctx, path.id)),
  createAdminAffiliateToken: (ctx, { path, body: { expiresInSeconds } }) =>
    created(tokens.createToken(ctx, path.id, { expiresInSeconds, scopes: tokens.TOKEN_SCOPES })),
  unarchiveAffiliate: (ctx, { path }) => data(affiliates.unarchive(ctx, path.id)),
  revokeAffiliateTokens: (ctx, { path }) => ok(tokens.revokeTokens(ctx, path.id)),
  getPayee: (ctx, { path }) => data(payees.getPayee(ctx, path.id)),
  setPayee: (ctx, { path, body }) => data(payees.setPayee(ctx, path.id, body)),
  deletePayee: (ctx, { path }) => ok(payees.removePayee(ctx, path.id)),
  listConnections: (ctx, { query }) => ok(connections.list(ctx, query)),
  createConnection: (ctx, { body }) => created(connections.create(ctx, body)),
  deleteConnection: (ctx, { path }) => ok(connections.remove(ctx, path.id)),

  listCustomers: (ctx, { query }) => ok(customers.list(ctx, query)),
  createCustomer: async (ctx, { query, body }) => {
    const { reply, isKnown } = await signUps.record(ctx, body, Boolean(query.dryRun))
    const headers: Record<string, string> = isKnown ? { 'X-Customer-Already-Bound': 'true' } : {}
    return { status: isKnown || query.dryRun ? 200 : 201, body: reply, headers }
  },
  unbindCustomer: (ctx, { query }) => ok(customers.unbind(ctx, query.id)),

  listPrograms: (ctx, { query }) => ok(programs.list(ctx, query)),
  createProgram: (ctx, { body }) => created(programs.create(ctx, body)),
  updateProgram: (ctx, { query, body }) => data(programs.update(ctx, query.id, body)),
  getProgramTerms: (ctx, { query }) => data(terms.find(ctx, query.id, query.version)),
  setProgramTerms: (ctx, { query, body }) => data(terms.set(ctx, query.id, body)),
  listProductRules: (ctx, { query }) => ok(productRules.list(ctx, query)),
  createProductRule: (ctx, { body }) => created(productRules.create(ctx, body)),
  deleteProductRule: (ctx, { path }) => ok(productRules.remove(ctx, path.id)),
  listGeoRules: (ctx, { query }) => ok(geoRules.list(ctx, query)),
  setGeoRule: (ctx, { path, body }) => data(geoRules.set(ctx, path.programId, body)),
  deleteGeoRule: (ctx, { path }) => ok(geoRules.remove(ctx, path.programId)),

  listCommissions: async (ctx, { query }) => ({
    status: 200,
    body: await commissions.listAsText(ctx, query),
    headers: JSON_HEADERS,
  }),
  approveCommission: (ctx, { path }) => data(moderate(ctx, 'approve', path.id)),
  rejectCommission: (ctx, { path }) => data(moderate(ctx, 'reject', path.id)),
  cancelCommission: (ctx, { path }) => data(moderate(ctx, 'cancel', path.id)),
  reverseCommission: (ctx, { path }) => data(moderate(ctx, 'reverse', path.id)),
  reopenCommission: (ctx, { path }) => data(moderate(ctx, 'reopen', path.id)),
  moderateCommissions: (ctx, { body }) => data(moderateMany(ctx, body)),
  refundCommission: async (ctx, { path, body }) => {
    const { data, refund } = await refunds.refund(ctx, path.id, body)
    return ok({ data, refund })
  },
  explainOrder: (ctx, { path }) => data(explain(ctx, path.externalOrderId)),
  listOrders: (ctx, { query }) => ok(orders.list(ctx, query)),
  getOrderExplanation: (ctx, { query }) => data(explainToKey(ctx, query.externalOrderId)),

  listPayouts: (ctx, { query }) => ok(payouts.list(ctx, query)),
  createPayout: (ctx, { body }) =>
    data(body.dryRun && ctx.scopes.includes('payouts:read') ? previewBatch(ctx, body) : payouts.create(ctx, body)),
  payPayout: (ctx, { query }) => ok(payouts.pay(ctx, query)),
  getUnpaid: (ctx, { query: { includeEarlier, ...query } }) =>
    ok(unpaid.read(ctx, { ...query, includeEarlier: includeEarlier === '1' })),
  getStatement: async (ctx, { path, query }) => ({
    status: 200,
    body: await statements.exportFile(ctx, path.affiliateId, { ...query, format: 'json' }),
    headers: JSON_HEADERS,
  }),
  getStatementFile: async (ctx, { path, query }) => ({
    status: 200,
    body: await statements.exportFile(ctx, path.affiliateId, query),
    headers: query.format === 'csv' ? CSV_HEADERS : pageHeaders({ style: inlineStyleSource(STATEMENT_STYLE) }),
  }),
  exportLedger: async (ctx, { query }) => ({
    status: 200,
    body: await exportLedger(ctx, query.month),
    headers: CSV_HEADERS,
  }),
  cancelPayout: (ctx, { path }) => data(payouts.cancel(ctx, path.id)),
  listPayoutLines: (ctx, { path, query }) => ok(payoutLines.list(ctx, path.id, query)),
  listPayoutFiles: (ctx, { path }) => ok(payoutFiles.list(ctx, path.id)),
  createPayoutFile: (ctx, { path, body }) => data(payoutFiles.create(ctx, path.id, body)),
  discardPayoutFile: (ctx, { path }) => data(discard(ctx, path.id)),
  listPayoutFileLines: (ctx, { path, query }) => ok(payoutFiles.listLines(ctx, path.id, query)),
  reconcilePayouts: (ctx, { body }) => data(reconcile(ctx, body)),

  listCoupons: (ctx, { query }) => ok(coupons.list(ctx, query)),
  assignCoupon: (ctx, { body }) => data(coupons.assign(ctx, body)),

  getAnalytics: (ctx, { query }) => ok(analytics.summarize(ctx, query)),
  runBacktest: (ctx, { body }) => data(backtest.run(ctx, body)),
  getJourney: (ctx, { query }) => ok(journey.read(ctx, query)),

  recordEvent: async (ctx, { query, body }) => {
    if (body.type === 'click' || body.type === 'page_view') {
      if (query.dryRun) throw invalidField('invalid_parameter', 'dryRun', 'is not allowed for clicks and page views.')
      return { status: 202, body: await clicks.recordTouch(ctx, body) }
    }
    const { orderId, processedAt, ...named } = body
    const conversion = {
      ...named,
      externalOrderId: oneText({ externalOrderId: body.externalOrderId, orderId }),
      occurredAt: oneText({ occurredAt: body.occurredAt, processedAt }, Date.parse),
    }
    if (query.dryRun) {
      const { reply, alreadyRecorded } = await conversions.dryRunConversion(ctx, conversion)
      return { status: 200, body: reply, headers: recordedHeaders(alreadyRecorded) }
    }
    const { reply, alreadyRecorded, differs } = await conversions.recordConversion(ctx, conversion)
    return { status: 201, body: reply, headers: recordedHeaders(alreadyRecorded, differs) }
  },

  reportRefund: (ctx, { query, body }) => refundReports.recordRefundReport(ctx, body, Boolean(query.dryRun)),
  cancelRefund: (ctx, { query }) => refundReports.cancelRefundReport(ctx, query),
  reportCancellation: (ctx, { query, body }) =>
    refundReports.recordCancellationReport(ctx, body, Boolean(query.dryRun)),

  recordStoreOrder: async (ctx, { body }) => {
    const { reply, alreadyRecorded } = await receive(ctx, shopify, { topic: 'orders/paid', body })
    return { status: 200, body: reply, headers: recordedHeaders(alreadyRecorded) }
  },
  cancelStoreOrder: (ctx, { body }) => received(receive(ctx, shopify, { topic: 'orders/cancelled', body })),
  refundStoreOrder: (ctx, { body }) => received(receive(ctx, shopify, { topic: 'refunds/create', body })),
  recordStripeEvent: (ctx, { body }) => received(receive(ctx, stripe, body)),

  getTrackingScript: async (ctx, { headers: { 'If-None-Match': etag } }) => {
    const { script, tag } = await tracking.readScript(ctx)
    const headers = {
      'Content-Type': 'text/javascript; charset=utf-8',
      'Cache-Control': 'public, max-age=3600',
      // Pages on any origin may load it, including cross-origin isolated ones.
      'Cross-Origin-Resource-Policy': 'cross-origin',
      ETag: tag,
    }
    return matchesTag(etag, tag) ? { status: 304, body: undefined, headers } : { status: 200, body: script, headers }
  },
  recordSiteClick: async (ctx, { body }) => ({ status: 202, body: await tracking.recordClick(ctx, body) }),
  recordSiteView: async (ctx, { body }) => ({ status: 202, body: await tracking.recordView(ctx, body) }),
  followAffiliateLink: async (ctx, { path, query }) => ({
    status: 302,
    body: undefined,
    headers: { Location: await tracking.followLink(ctx, path.ref, query.path), 'Cache-Control': 'no-store' },
  }),

  listWebhooks: (ctx) => ok(webhooks.list(ctx)),
  listWebhookEvents: (ctx, { query }) => ok(feed.list(ctx, query)),
  createWebhook: (ctx, { query, body: { hookUrl, target_url, ...body } }) => {
    const url = oneText({ url: body.url, hookUrl, target_url })
    return query.test ? ok(webhooks.sendTestFor(ctx, url)) : data(webhooks.subscribe(ctx, { ...body, url }))
  },
  updateWebhook: (ctx, { path, body }) => data(webhooks.update(ctx, path.id, body)),
  deleteWebhook: (ctx, { query }) => ok(webhooks.unsubscribe(ctx, query.id)),
  listDeliveries: (ctx, { query }) => ok(deliveries.list(ctx, query)),
  redeliver: (ctx, { path }) => data(deliveries.redeliver(ctx, path.id)),
  redeliverMany: (ctx, { path, body }) => data(deliveries.redeliverMany(ctx, path.id, body)),

  getSession: (ctx) => ok(sessions.toSession(ctx, ctx)),
  createSession: async (ctx, { body }) => {
    const { secret, ...owner } = await sessions.signIn(ctx, body.token)
    const headers = { 'Set-Cookie': sessionCookie(secret, ctx.isHttps) }
    return { status: 201, body: sessions.toSession(ctx, owner), headers }
  },
  deleteSession: async (ctx) => ({
    ...(await ok(sessions.signOut(ctx))),
    headers: { 'Set-Cookie': sessionCookie(null, ctx.isHttps) },
  }),
  listKeys: (ctx) => ok(keys.list(ctx)),
  createKey: (ctx, { body }) => created(keys.create(ctx, body)),
  rotateKey: (ctx, { path, body }) => data(keys.rotate(ctx, path.id, body)),
  revokeKey: (ctx, { path }) => ok(keys.revoke(ctx, path.id)),
  listTestShops: (ctx) => ok(testShops.list(ctx)),
  createTestShop: (ctx, { body }) => created(testShops.create(ctx, body)),
  deleteTestShop: (ctx, { path }) => ok(testShops.remove(ctx, path.id)),
  advanceTestClock: (ctx, { path, body }) => data(testShops.advance(ctx, path.id, body)),
  getSettings: (ctx) => data(settings.read(ctx)),
  updateSettings: (ctx, { body }) => data(settings.update(ctx, body)),
  listAudit: (ctx, { query }) => ok(audit.list(ctx, query)),
  exportAudit: (ctx, { query }) => ok(exportAudit(ctx, query.after)),
  exportPerson: (ctx, { body }) => ok(exportPerson(ctx, body.email)),
  erasePerson: (ctx, { body }) => data(erasePerson(ctx, body.email)),
  getErasure: (ctx, { path }) => data(readErasure(ctx, path.id)),

  listShops: (ctx, { query }) => ok(shops.listPage(ctx, query)),
  createShop: (ctx, { body }) => created(shops.create(ctx, body)),
  getShop: (ctx, { path }) => data(shops.read(ctx, path.shopId)),
  updateShop: (ctx, { path, body }) => data(shops.update(ctx, path.shopId, body)),
  suspendShop: (ctx, { path }) => data(shops.suspend(ctx, path.shopId)),
  resumeShop: (ctx, { path }) => data(shops.resume(ctx, path.shopId)),
  exportShop: (ctx, { path }) => ok(exportShop(ctx, path.shopId)),
  deleteShop: (ctx, { path, query: { force, ...confirmed } }) =>
    data(deleteShop(ctx, path.shopId, { ...confirmed, force: force === '1' })),
  listShopUsers: async (ctx, { path }) => ok(users.list(await shops.operatorContext(ctx, path.shopId))),
  createShopUser: async (ctx, { path, body }) =>
    created(users.create(await shops.operatorContext(ctx, path.shopId), body)),
  revokeShopUser: async (ctx, { path }) => {
    const { userId } = await users.revoke(await shops.operatorContext(ctx, path.shopId), { id: path.userId })
    return { status: 200, body: { ok: true, message: 'User revoked.', id: userId } }
  },
  replaceShopUserToken: async (ctx, { path }) =>
    data(users.replaceToken(await shops.operatorContext(ctx, path.shopId), { id: path.userId })),
  createShopUserLink: async (ctx, { path }) =>
    created(users.createLink(await shops.operatorContext(ctx, path.shopId), { id: path.userId })),
  listShopKeys: async (ctx, { path }) => ok(keys.list(await shops.operatorContext(ctx, path.shopId))),
  createShopKey: async (ctx, { path, body }) =>
    created(keys.create(await shops.operatorContext(ctx, path.shopId), body)),
  rotateShopKey: async (ctx, { path, body }) =>
    data(keys.rotate(await shops.operatorContext(ctx, path.shopId), path.keyId, body)),
  revokeShopKey: async (ctx, { path }) => ok(keys.revoke(await shops.operatorContext(ctx, path.shopId), path.keyId)),
  listOperatorAudit: (ctx, { query }) => ok(audit.listOfOperator(ctx, query)),

  getShopInfo: (ctx) => data(settings.readShop(ctx)),
  getDocs: async (ctx) => {
    const year = new Date(ctx.now()).getUTCFullYear()
    return { status: 200, body: docsPage(ctx.origin, year), headers: DOCS_HEADERS }
  },
}

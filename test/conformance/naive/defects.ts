// Defects that the naive server does not have: each breaks one rule of an otherwise correct server. They rewrite its
// requests and responses.
import { operations } from '../src/generated/contract.ts'
import type { Fetch } from '../src/index.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests and responses of every shape are rewritten
type Json = any

interface Call {
  method: string
  /** Without `/api/v1`. */
  path: string
  query: URLSearchParams
  headers: Headers
  body: Json
  text: string
}
type When = (call: Call) => unknown

const callOf = (url: URL, init: RequestInit): Call => {
  const text = typeof init.body === 'string' ? init.body : ''
  let body: Json
  try {
    body = JSON.parse(text)
  } catch {}
  const path = url.pathname.replace(/^\/(api|admin)\/v1/, '')
  return { method: init.method ?? 'GET', path, query: url.searchParams, headers: new Headers(init.headers), body, text }
}

const respond = (status: number, body: Json): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', 'X-Error-Code': status < 400 ? '' : 'invalid_body' },
  })

/** Another response instead of the server's. */
const returns =
  (status: number, when: When, body: Json = { error: 'No.' }) =>
  (real: Fetch): Fetch =>
  async (url, init) =>
    when(callOf(url, init)) ? respond(status, body) : real(url, init)

/** Rejects valid requests. */
const rejects = (when: When) => returns(400, when)

/** Changes the body of a successful response. */
const edits =
  (when: When, change: (body: Json, call: Call) => Json) =>
  (real: Fetch): Fetch =>
  async (url, init) => {
    const call = callOf(url, init)
    const response = await real(url, init)
    if (!when(call) || !response.ok) return response
    const body: Json = await response.json()
    const changed = change(body, call) ?? body
    return new Response(JSON.stringify(changed), { status: response.status, headers: response.headers })
  }

/** Changes fields of `data`, or of each of its rows. */
const sets = (when: When, fields: Json) =>
  edits(when, (body) => ({
    ...body,
    data: Array.isArray(body.data)
      ? body.data.map((row: Json) => ({ ...row, ...fields }))
      : { ...body.data, ...fields },
  }))

/** Changes a request before the server receives it. */
const sends =
  (when: When, change: (body: Json, call: Call) => Json) =>
  (real: Fetch): Fetch =>
  async (url, init) => {
    const call = callOf(url, init)
    if (!when(call)) return real(url, init)
    const copy = new URL(url)
    call.query = copy.searchParams
    const body = call.body === undefined ? undefined : JSON.stringify(change(call.body, call) ?? call.body)
    if (call.body === undefined) change(undefined, call)
    return real(copy, { ...init, headers: call.headers, body: (body ?? init.body) as BodyInit })
  }

const is =
  (method: string, path: string): When =>
  (call) =>
    call.method === method && call.path === path
const both =
  (...all: When[]): When =>
  (call) =>
    all.every((one) => one(call))
const dry: When = ({ query }) => query.has('dryRun')
const conversion: When = ({ body }) => body?.externalOrderId && !body.type
const patch = is('PATCH', '/affiliates')
const amount = (change: (cents: number, call: Call) => number) =>
  edits(both(dry, conversion), (body, call) => {
    body.commission.amountCents = change(body.commission.amountCents, call)
  })
const nobody = (when: When) =>
  edits(both(dry, when), (body) => {
    body.attribution = { affiliateId: null, method: null, confidence: 0, reasonCode: 'NO_MATCH' }
  })
const without =
  (...names: string[]) =>
  (body: Json) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))
/** A PATCH that returns and keeps the old value of a field. */
const ignores = (path: string, ...names: string[]) => sends(is('PATCH', path), without(...names))

/** Lists an event that was never sent, of what an earlier response names. */
const adds =
  (idOf: (body: Json, call: Call) => string | null | undefined) =>
  (real: Fetch): Fetch => {
    const ids: string[] = []
    const collect = edits(
      () => true,
      (body, call) => {
        const id = idOf(body, call)
        if (id) ids.push(id)
      },
    )
    const list = edits(
      is('GET', '/webhooks/events'),
      (body) => void body.data.push(...ids.map((id) => ({ id: `evt_${id}`, data: { id } }))),
    )
    return collect(list(real))
  }

let seen = new Set<string>()
const again =
  (key: (call: Call) => string | undefined): When =>
  (call) => {
    const one = key(call)
    if (one === undefined) return false
    if (seen.has(one)) return true
    seen.add(one)
    return false
  }

/** By check. */
/** Stores the terms of a program, changed. */
const storesTerms = (change: (rule: Json) => Json) =>
  sends(is('PUT', '/programs/terms'), (body) => ({ ...body, rules: body.rules?.map(change) }))
const withoutCondition = (name: string) =>
  storesTerms(({ when: { [name]: _, ...when }, ...rest }) => ({ ...rest, when }))
const narrower = (from: number, to: number) =>
  storesTerms((rule) => {
    const { orderSubtotalCents: range } = rule.when
    return { ...rule, when: { orderSubtotalCents: { from: range.from + from, to: range.to + to } } }
  })

/** A check that sends the requests which a rule about all responses needs. */
export const COMPANIONS: Record<string, string> = {
  'site-schema/recordStoreOrder': 'stores/shopify',
  'site-schema/cancelStoreOrder': 'stores/shopify',
  'site-schema/refundStoreOrder': 'stores/shopify',
  'site-schema/recordStripeEvent': 'stores/stripe',
  'site-schema/getTrackingScript': 'tracking/script',
  'site-schema/recordSiteClick': 'tracking/click',
  'site-schema/recordSiteView': 'tracking/view',
  'site-schema/followAffiliateLink': 'tracking/link',
  'schema/archiveAffiliate': 'affiliates/archived',
  'schema/listAliases': 'aliases/unchanged',
  'schema/createAlias': 'aliases/taken',
  'schema/deleteAlias': 'aliases/deleted',
  'schema/getAffiliateBalance': 'tokens/balance',
  'schema/createAffiliateToken': 'tokens/lifetime',
  'schema/getUnpaid': 'payouts/unpaid',
  'schema/cancelRefund': 'refunds/taken-back',
  'schema/getShopInfo': 'http/shop',
  'schema/getDocs': 'http/docs-without-key',
  'schema/payPayout': 'payouts/paid',
  'schema/getProgramTerms': 'terms/first',
  'schema/setProgramTerms': 'terms/versions',
  'schema/listCustomers': 'customers/filters',
  'schema/createCustomer': 'customers/pending',
  'schema/unbindCustomer': 'customers/unbound',
  'schema/deleteWebhook': 'subscriptions/deleted',
  'schema/listWebhookEvents': 'feed/after',
  'owner-schema/getSession': 'records/session',
  'owner-schema/createSession': 'accounts/session',
  'owner-schema/deleteSession': 'accounts/session',
  'owner-schema/listTestShops': 'accounts/test-shop',
  'owner-schema/deleteTestShop': 'accounts/test-shop',
  'owner-schema/advanceTestClock': 'accounts/test-shop',
  'owner-schema/listAdminAliases': 'accounts/aliases',
  'owner-schema/deleteAdminAlias': 'accounts/aliases',
  'owner-schema/revokeAffiliateTokens': 'accounts/tokens-revoked',
  'owner-schema/getPayee': 'payments/payee',
  'owner-schema/deletePayee': 'payments/payee',
  'owner-schema/listPayoutFiles': 'payments/file',
  'owner-schema/listPayoutFileLines': 'payments/file',
  'owner-schema/exportAudit': 'accounts/audit-export',
  'owner-schema/getErasure': 'accounts/person-erased',
  'owner-schema/revokeKey': 'keys/revoked-at-once',
  'owner-schema/listConnections': 'connections/listed',
  'owner-schema/listProductRules': 'connections/listed',
  'owner-schema/listGeoRules': 'connections/listed',
  'owner-schema/deleteConnection': 'connections/deleted',
  'owner-schema/deleteProductRule': 'connections/rules-deleted',
  'owner-schema/deleteGeoRule': 'connections/rules-deleted',
}

/** Whether a request is one of the operation that a check of fields names. */
const isOf = (check: string): When => {
  const { method, path } = operations[check.split('/')[1] ?? ''] ?? { method: '', path: '' }
  const pattern = new RegExp(`^${path.replace(/^\/(api|admin)\/v1/, '').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  return (call) => call.method === method && pattern.test(call.path)
}

export const DEFECTS: Record<string, (real: Fetch) => Fetch> = {
  'terms/first': sets(is('GET', '/programs/terms'), { version: 0 }),
  'terms/versions': sends(is('PUT', '/programs/terms'), without('version')),
  'terms/first-match': sends(is('PUT', '/programs/terms'), (body) => ({ ...body, rules: body.rules.toReversed() })),
  'terms/bounds': narrower(1, 0),
  'terms/nothing': storesTerms((rule) => ({ ...rule, commissionPercent: 1 })),
  'terms/affiliate': withoutCondition('affiliateIds'),
  'terms/customer-order': withoutCondition('customerOrder'),
  'terms/customer-month': withoutCondition('customerMonth'),
  'terms/refunded-order': returns(200, is('POST', '/refunds'), {}),
  'terms/affiliate-orders': withoutCondition('affiliateOrders'),
  'terms/month': storesTerms((rule) => ({ ...rule, when: { affiliateOrders: { from: 1, period: 'ALL_TIME' } } })),
  'terms/affiliate-revenue': sends(conversion, without('discountCents')),
  'terms/cap': storesTerms(without('maxCommissionCents')),
  'terms/late-order': sends(conversion, without('occurredAt')),
  'terms/hold': sends(is('PUT', '/programs/terms'), without('holdDays')),
  'terms/on-hold': sets(is('POST', '/payouts'), { onHold: null }),
  'customers/first-wins': sends(
    both(
      is('POST', '/customers'),
      again(({ body }) => body.customerId),
    ),
    (body) => ({ ...body, customerId: `${body.customerId}-2` }),
  ),
  'customers/unknown-code': sets(is('POST', '/customers'), { affiliateId: 'aff_1' }),
  'customers/no-evidence': rejects(both(is('POST', '/customers'), ({ body }) => !body.couponCode)),
  ...Object.fromEntries(
    ['archived', 'rejected', 'own-address'].map((name) => [
      `customers/${name}`,
      edits(is('POST', '/customers'), (body) => {
        body.attribution.reasonCode = 'NO_MATCH'
      }),
    ]),
  ),
  'customers/pending': sets(is('POST', '/customers'), { affiliateId: null }),
  'customers/click': sends(is('POST', '/customers'), without('occurredAt')),
  'customers/evidence': sends(conversion, without('customerId')),
  'customers/by-address': sends(conversion, (body) => ({ ...body, customerEmail: `${body.customerEmail}.au` })),
  'customers/id-before-address': sends(conversion, without('customerId')),
  'customers/completed': sends(
    both(conversion, ({ body }) => body.customerEmail),
    without('customerId'),
  ),
  'customers/after-coupon': sends(conversion, without('couponCode')),
  'customers/after-link': sends(conversion, without('clickId')),
  'customers/unbound': returns(200, is('DELETE', '/customers'), { ok: true, message: 'Unbound.' }),
  'customers/dry-run': sends(is('POST', '/customers'), (_, { query }) => query.delete('dryRun')),
  'customers/filters': sends(is('GET', '/customers'), (_, { query }) => query.delete('programId')),
  'customers/orders': returns(200, is('POST', '/refunds'), {}),
  'customers/import': sends(is('POST', '/customers'), without('orders', 'firstOrderAt')),
  'customers/commission-ends': sets(is('GET', '/customers'), { commissionEndsAt: null }),
  'terms/type': returns(
    200,
    ({ method, path, body }) => method === 'PATCH' && path === '/programs' && body?.commissionType,
    { data: {} },
  ),
  'http/empty-body': returns(201, ({ method, text }) => method === 'POST' && text === '', {}),
  'http/content-type-is-ignored': rejects(({ headers }) => headers.get('Content-Type') === 'text/plain'),
  'http/body-below-limit': rejects(({ text }) => text.length > 100_000),
  'http/events-tolerate-unknown-properties': rejects(({ body }) => body?.storePayload),
  'http/text-is-kept': sends(is('POST', '/programs'), (body) => ({
    ...body,
    name: body.name.normalize('NFKD').replace(/[^\x20-\x7e]/g, ''),
  })),
  'http/unknown-query': rejects(({ query }) => query.has('colour')),
  'http/docs-without-key': returns(401, is('GET', '/docs')),
  'http/docs-with-wrong-key': returns(
    403,
    both(is('GET', '/docs'), ({ headers }) => headers.has('Authorization')),
  ),
  'auth/scheme-ignores-case': returns(401, ({ headers }) => headers.get('Authorization')?.startsWith('bearer')),
  'auth/no-key-in-query': returns(200, ({ query }) => query.has('api_key'), { data: [] }),
  'lists/limit-100': rejects(({ query }) => Number(query.get('limit')) > 50),
  'affiliates/email-of-archived': returns(
    409,
    both(
      is('POST', '/affiliates'),
      again(({ body }) => body?.email),
    ),
  ),
  'affiliates/campaign': sends(is('POST', '/affiliates'), without('campaignId')),
  'affiliates/auto-approve': sets(is('POST', '/affiliates'), { status: 'PENDING' }),
  'affiliates/patch-one-field': sets(patch, { name: 'Changed' }),
  'affiliates/patch-every-field': ignores('/affiliates', 'homeAddress'),
  'affiliates/slug-is-stable': sets(patch, { slug: 'someone-different' }),
  'affiliates/every-status': ignores('/affiliates', 'status'),
  'affiliates/archived': returns(200, is('DELETE', '/affiliates'), { ok: true, message: 'Archived.' }),
  'affiliates/archived-keeps-commissions': edits(is('GET', '/commissions'), (body) => ({ ...body, data: [] })),
  'affiliates/search-literal': sends(
    ({ query }) => query.get('q'),
    (_, { query }) => query.set('q', query.get('q')!.replace(/[%_]/g, '')),
  ),
  'affiliates/filters': sends(
    ({ query }) => query.has('campaignId'),
    (_, { query }) => query.delete('campaignId'),
  ),
  'affiliates/search-after-change': ignores('/affiliates', 'lastName'),
  'programs/patch-same-type': sets(is('PATCH', '/programs'), { updatedAt: '2026-01-01T00:00:00.000Z' }),
  'programs/patch-every-field': ignores('/programs', 'discountType'),
  'programs/as-sent': sends(is('POST', '/programs'), without('description')),
  'programs/percent-100': rejects(({ body }) => body?.commissionPercent === 100),
  'programs/flat-to-flat': sets(is('PATCH', '/programs'), { defaultCommissionBps: 1600 }),
  'programs/patch-one-field': sets(is('PATCH', '/programs'), { cookieDurationDays: 30 }),
  'programs/discount': ignores('/programs', 'discountValue'),
  'programs/status-filter': sends(
    ({ query }) => query.has('status'),
    (_, { query }) => query.delete('status'),
  ),
  'coupons/assigned': sets(is('POST', '/coupons'), { code: 'OTHER' }),
  'coupons/9-characters': rejects(({ body }) => body?.code?.length === 9),
  'coupons/same-again': sets(
    both(
      is('POST', '/coupons'),
      again(({ body }) => body?.code),
    ),
    {
      updatedAt: '2026-01-01T00:00:00.000Z',
    },
  ),
  'conversions/default-type': rejects(({ path, body }) => path === '/events' && !body?.type),
  'conversions/default-time': sets(is('GET', '/commissions'), { happenedAt: '1970-01-01T00:00:00.000Z' }),
  'conversions/first-has-no-header': (real) => async (url, init) => {
    const response = await real(url, init)
    const headers = new Headers(response.headers)
    headers.set('X-Order-Already-Recorded', 'true')
    return new Response(await response.text(), { status: response.status, headers })
  },
  'conversions/order-id-case': sends(conversion, (body) => ({
    ...body,
    externalOrderId: body.externalOrderId.toLowerCase(),
  })),
  'amounts/no-shipping-and-tax': sends(conversion, (body) => ({
    ...body,
    amountCents: body.amountCents + (body.shippingCents ?? 0) + (body.taxCents ?? 0),
  })),
  'amounts/largest-order': amount((cents) => Math.min(cents, 2 ** 24)),
  'amounts/flat-per-order': amount((cents, { body }) => cents * (body.lineItems?.[0].quantity ?? 1)),
  'amounts/flat-is-not-capped': amount((cents, { body }) => Math.min(cents, body.amountCents)),
  'amounts/flat-of-free-order': amount((cents, { body }) => (body.discountCents >= body.amountCents ? 0 : cents)),
  'amounts/flat-per-item-without-lines': amount((cents, { body }) => (body.lineItems ? cents : 0)),
  'amounts/any-program-status': amount(() => 0),
  'attribution/clicked-again': nobody(({ body }) => body?.clickId),
  'conversions/dry-run-key': rejects(both(dry, ({ headers }) => headers.has('Idempotency-Key'))),
  'commissions/batch': sends(is('GET', '/commissions'), (_, { query }) => query.delete('payoutBatchId')),
  'identity/own-address': rejects(({ body }) => body?.email?.includes('+')),
  'identity/two-orders': sends(conversion, (body) => ({
    ...body,
    externalOrderId: body.externalOrderId.toLowerCase(),
  })),
  'attribution/own-click-id': nobody(({ body }) => body?.clickId?.startsWith('cf-')),
  'attribution/session': nobody(({ body }) => body?.sessionId),
  'attribution/coupon-over-link': sends(({ body }) => body?.couponCode && body?.clickId, without('couponCode')),
  'attribution/unknown-code-falls-through': sends(({ body }) => body?.couponCode, without('clickId')),
  'attribution/empty-text': nobody(({ body }) => body?.couponCode === ''),
  'attribution/affiliate-active': edits(dry, (body) => ({
    ...body,
    commission: { ...body.commission, eligible: false },
  })),
  'attribution/no-lifetime': edits(
    ({ body }) => body?.customerId,
    (body) => ({ ...body, attribution: { ...body.attribution, affiliateId: 'aff_1' } }),
  ),
  'attribution/restricted-connects-nobody': edits(
    ({ body }) => body?.customerId,
    (body) => ({ ...body, attribution: { ...body.attribution, affiliateId: 'aff_1' } }),
  ),
  'attribution/link-over-customer': sends(({ body }) => body?.customerId, without('clickId')),
  'idempotency/404-is-not-stored': returns(
    404,
    again(({ path, headers }) => (path === '/payouts' ? (headers.get('Idempotency-Key') ?? undefined) : undefined)),
  ),
  'idempotency/key-of-255': rejects(({ headers }) => (headers.get('Idempotency-Key')?.length ?? 0) > 64),
  'idempotency/optional': rejects(({ method, headers }) => method === 'POST' && !headers.has('Idempotency-Key')),
  'races/same-period': sets(is('POST', '/payouts'), { totals: { commissionCents: 640 } }),
  'races/no-lost-update': sets(is('PATCH', '/programs'), { description: null }),
  'refunds/recorded-rate': sets(is('GET', '/commissions'), { commissionAmountCents: 3000 }),
  'payouts/payable': sets(is('GET', '/commissions'), { payoutBatchId: null }),
  'payouts/filters': sends(
    ({ path, query }) => path === '/payouts' && query.has('status'),
    (_, { query }) => query.delete('status'),
  ),
  'payouts/other-action': returns(200, ({ query }) => query.get('action') === 'cancel', { ok: true, message: 'Paid.' }),
  'payouts/no-action': returns(200, ({ path, query }) => path === '/payouts' && query.has('x'), {
    ok: true,
    message: 'Paid.',
  }),
  'payouts/inclusive': sends(is('POST', '/payouts'), (body) => ({
    ...body,
    periodEnd: new Date(Date.parse(body.periodEnd) - 1).toISOString(),
  })),
  'journeys/click-accepted': edits(({ body }) => body?.type === 'click', without('id')),
  'journeys/limit-500': rejects(({ query }) => Number(query.get('limit')) > 100),
  'analytics/pages-are-ignored': rejects(({ path, query }) => path === '/analytics' && query.get('page') === 'x'),
  'isolation/create-alias': returns(200, is('POST', '/affiliates/aliases'), { data: {} }),
  'isolation/create-token': returns(200, is('POST', '/affiliates/tokens'), { data: {} }),
  'isolation/assign-coupon': returns(200, ({ path, body }) => path === '/coupons' && body?.code, { data: {} }),
  'isolation/same-code': returns(409, is('POST', '/coupons')),
  'isolation/same-email': returns(
    409,
    both(
      is('POST', '/affiliates'),
      again(({ body }) => body?.email),
    ),
  ),
  'isolation/same-order': (real) => async (url, init) => {
    const response = await real(url, init)
    const headers = new Headers(response.headers)
    if (callOf(url, init).body?.amountCents === 2000) headers.set('X-Order-Already-Recorded', 'true')
    return new Response(await response.text(), { status: response.status, headers })
  },
  'isolation/same-key': (real) => {
    const stored = new Map<string, string>()
    return async (url, init) => {
      const key = new Headers(init.headers).get('Idempotency-Key')
      if (key && stored.has(key)) return new Response(stored.get(key), { status: 201 })
      const response = await real(url, init)
      const text = await response.text()
      if (key) stored.set(key, text)
      return new Response(text, { status: response.status, headers: response.headers })
    }
  },
  'isolation/events': adds(({ commission }) => commission?.id),
  'subscriptions/any-event-name': rejects(({ body }) => body?.events?.includes('order.shipped')),
  'subscriptions/source': sends(is('POST', '/webhooks'), without('source')),
  'subscriptions/same-url-twice': rejects(
    both(
      is('POST', '/webhooks'),
      again(({ body }) => body?.url),
    ),
  ),
  'feed/approved-approved': adds((_, { method, path, query }) =>
    method === 'PATCH' && path === '/affiliates' ? query.get('id') : undefined,
  ),
  'feed/no-adjustments': adds(({ refund }) => refund?.adjustmentId),
  'feed/no-extended-events': sends(is('GET', '/webhooks/events'), (_, { query }) => query.set('extendedEvents', '1')),
  'moderation/reopen': sets(({ path }) => path.endsWith('/reopen'), { commissionAmountCents: 0 }),
  'connections/global-id': sends(
    ({ body }) => body?.lineItems,
    (body) => ({
      ...body,
      lineItems: body.lineItems.map((one: Json) => ({ ...one, productId: one.productId.split('/').at(-1) })),
    }),
  ),
  'connections/rules-deleted': returns(
    200,
    ({ method, path }) => method === 'DELETE' && path.startsWith('/product-rules/'),
    { ok: true, message: 'Deleted.' },
  ),
  'connections/deleted': returns(200, ({ method, path }) => method === 'DELETE' && path.startsWith('/connections/'), {
    ok: true,
    message: 'Deleted.',
  }),
  ...Object.fromEntries(Object.keys(COMPANIONS).map((check) => [check, returns(200, isOf(check), {})])),
  'records/linked': edits(is('GET', '/audit'), (body) => void body.data.splice(1, 1)),
}

/** Forgets what the previous defect has seen. */
export function resetDefects(): void {
  seen = new Set()
}

/** Defects of the naive server itself, by check: webhooks are sent, not returned. */
export const NAIVE_DEFECTS: Record<string, string> = {
  'deliveries/does-not-block': 'fails-with-the-receiver',
  'deliveries/retried': 'never-retries',
  'deliveries/unsubscribed': 'sends-to-deleted',
}

import { createHmac } from 'node:crypto'
import { callOperation } from '../../contract/fixture.ts'
import { allOperations, operation, requiredHeaders } from '../../support/document.ts'
import { rowsOf } from '../../support/inspect.ts'
import { callOperator, freshCall } from '../../support/operator.ts'
import { callOwner, FRESH, ID, type OwnerServer, sessionFor } from '../../support/owner.ts'
import type { Reply } from '../../support/server.ts'
import { convert } from '../../support/shop.ts'
import { callSite, isOfSite } from '../../support/site.ts'
import { stripeSignature } from '../../support/store-signature.ts'

/** No filter, each filter, and each pair of filters. */
const pairs = (filters: string[]): string[] => [
  '',
  ...filters,
  ...filters.flatMap((one, i) => filters.slice(i + 1).map((other) => `${one}&${other}`)),
]

const range = ['from=2026-08-12T08:00:00Z', 'to=2026-09-20']

/** The filters of each list. */
const FILTERS: Record<string, string[]> = {
  listAffiliates: [`id=${ID.affiliate}`, 'status=APPROVED', `campaignId=${ID.program}`, 'q=karim'],
  listAliases: [`affiliateId=${ID.affiliate}`, 'value=NISA20'],
  listPrograms: [`id=${ID.program}`, 'status=PUBLISH'],
  listCommissions: [
    `id=${ID.commission}`,
    'status=REJECTED',
    `affiliateId=${ID.affiliate}`,
    `programId=${ID.program}`,
    `payoutBatchId=${ID.batch}`,
    ...range,
  ],
  listOrders: [`affiliateId=${ID.affiliate}`, 'credited=true', ...range],
  listCustomers: [
    `affiliateId=${ID.affiliate}`,
    `programId=${ID.program}`,
    'customerId=x5',
    'customerEmail=known@example.com',
  ],
  listPayouts: [`id=${ID.batch}`, 'status=FAILED', 'include=lines'],
  listCoupons: [`affiliateId=${ID.affiliate}`, 'status=APPROVED', 'code=NISA'],
  getAnalytics: [`affiliateId=${ID.affiliate}`, `programId=${ID.program}`, ...range],
  listAdminAliases: [`affiliateId=${ID.affiliate}`, 'value=NISA20'],
  listConnections: ['kind=customerEmail', 'value=known@example.com', `affiliateId=${ID.affiliate}`],
  listProductRules: [`programId=${ID.program}`],
  listAudit: ['action=key.created', 'actor=operator', ...range],
  listDeliveries: [`subscriptionId=${ID.webhook}`, 'status=FAILED', 'event=affiliate.approved'],
}
const MORE: Record<string, string[]> = {
  listAffiliates: [`after=${ID.affiliate}`, 'page=40'],
  listPrograms: [`after=${ID.program}`],
  listCommissions: [
    `after=${ID.commission}`,
    `after=${ID.commission}&status=PAID`,
    'page=250',
    'externalOrderId=1000',
    'externalOrderId=api:1000',
    'externalOrderId=none',
  ],
  listOrders: [
    'page=40',
    'credited=false',
    `credited=false&${range.join('&')}`,
    'externalOrderId=1000',
    'externalOrderId=none',
    'externalOrderId=%23none&credited=true',
  ],
  listCustomers: ['page=40', `affiliateId=${ID.affiliate}&programId=${ID.program}`],
  listPayouts: [`after=${ID.batch}`],
  listCoupons: [`after=${ID.affiliate}`],
}

const JOURNEYS = [
  'sessionId=s-long',
  'sessionId=none',
  `affiliateId=${ID.affiliate}`,
  'customerEmail=long@example.com',
  `sessionId=s-long&affiliateId=${ID.affiliate}`,
  'sessionId=s-pages&customerEmail=long@example.com',
  `affiliateId=${ID.affiliate}&customerEmail=long@example.com`,
].flatMap((query) => [query, `${query}&${range.join('&')}`])

let made = 0
const orderOf = (evidence: object) => ({ externalOrderId: `plan-${++made}`, amountCents: 10_000, ...evidence })
const lines = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ productId: `${n}`, variantId: `v${n}`, quantity: 1, priceCents: 100 }))

/** Orders with every kind of evidence, each found, unknown, and found very often. */
const ORDERS: object[] = [
  {},
  { couponCode: 'NISA16', customerId: 'c-1', customerEmail: 'known@example.com' },
  { couponCode: 'nisa-karim', affiliateCode: 'gone' },
  { couponCode: 'nisa20', ref: 'nisa20' },
  { ref: ID.affiliate },
  { ref: 'nobody' },
  ...['unknown', 'jrn_x00000100', 'long-100', 'c-again', 'c-nobody', 'c-pages'].map((clickId) => ({ clickId })),
  { clickId: 'c-again', occurredAt: '2024-06-01' },
  ...['unknown', 's-long', 's-one', 's-nobody', 's-pages'].map((sessionId) => ({ sessionId })),
  { sessionId: 's-long', occurredAt: '2026-03-01' },
  { sessionId: 's-long', occurredAt: '2024-01-01' },
  { customerId: 'c-long', customerEmail: 'long@example.com' },
  { lineItems: lines(3) },
  { lineItems: lines(40) },
]

const CLICKS: object[] = [
  { ref: 'nobody' },
  { ref: 'nobody', clickId: 'unknown' },
  { ref: ID.affiliate, clickId: 'c-nobody' },
  { affiliateCode: 'NISA16', clickId: 'c-again' },
  { affiliateId: ID.affiliate, clickId: 'long-7' },
  { clickId: 'c-again', sessionId: 's-long' },
  { clickId: 'jrn_x00000100', customerEmail: 'long@example.com' },
]

type Call = (server: OwnerServer) => Promise<Pick<Reply, 'status' | 'body'>>

/** The secret of store notifications. */
export const STORE_SECRET = 'hush-hush-hush-hush'
export const STRIPE_SECRET = 'whsec_hush-hush-hush-hush'

/** A store's notification: the document's example, changed by `more`. */
const notify =
  (id: string, more: object = {}): Call =>
  (server) => {
    const op = operation(id)
    const raw = JSON.stringify({ ...(Object.values(op.requestExamples)[0]?.value as object), ...more })
    const signature = createHmac('sha256', STORE_SECRET).update(raw).digest('base64')
    const path = op.path.replace('{shopId}', server.shop.shopId)
    return server.request(op.method, path, {
      key: null,
      raw,
      headers: {
        ...requiredHeaders(op),
        'X-Shopify-Hmac-Sha256': signature,
        ...stripeSignature(raw, STRIPE_SECRET, server.deps.now()),
      },
    })
  }

const get =
  (id: string, query: string): Call =>
  (server) => {
    const op = operation(id)
    return op.path.startsWith('/api/') ? callOperation(server, op, { query }) : callOwner(server, op, { query })
  }

/** What an operation is called with in addition to its example. */
const SPECIAL: Record<string, Call[]> = {
  recordEvent: [
    ...ORDERS.map(
      (evidence): Call =>
        (server) =>
          convert(server, orderOf(evidence)),
    ),
    ...ORDERS.map(
      (evidence): Call =>
        (server) =>
          server.request('POST', '/api/v1/events?dryRun=1', { body: orderOf(evidence) }),
    ),
    ...CLICKS.map(
      (body): Call =>
        (server) =>
          server.request('POST', '/api/v1/events', { body: { type: 'click', ...body } }),
    ),
    (server) =>
      server.request('POST', '/api/v1/events', {
        body: {
          type: 'page_view',
          url: 'https://shop.example/',
          clickId: 'c-again',
          customerEmail: 'long@example.com',
        },
      }),
  ],
  recordStoreOrder: [
    notify('recordStoreOrder', {
      id: 7001,
      landing_site: '/hats?ref=nobody',
      discount_codes: [{ code: 'gone' }, { code: 'NISA16' }],
      note_attributes: [{ name: 'referral_click_id', value: 'c-nobody' }],
      customer: { id: 'c-long' },
      email: 'long@example.com',
    }),
  ],
  createPayout: [
    {},
    { currency: 'USD' },
    { programId: ID.program },
    { affiliateIds: [ID.affiliate] },
    { affiliateIds: [ID.affiliate, 'aff_7'], programId: ID.program, currency: 'USD' },
  ].map(
    (filter): Call =>
      (server) => {
        const body = { periodStart: '2025-01-01', periodEnd: '2026-12-31', dryRun: true, ...filter }
        return server.request('POST', '/api/v1/payouts', { body })
      },
  ),
  moderateCommissions: [
    { ids: Array.from({ length: 8 }, (_, n) => `com_${n}`) },
    { filter: { status: 'PENDING', affiliateId: ID.affiliate } },
    { filter: { status: 'PENDING', programId: ID.program, from: '2026-08-12', to: '2026-09-20' } },
  ].map(
    (which): Call =>
      (server) => {
        const op = operation('moderateCommissions')
        return callOwner(server, op, { body: { action: 'approve', ...which } })
      },
  ),
  getJourney: JOURNEYS.map((query) => get('getJourney', query)),
}

/** Calls an operation on the example server after its example. */
export interface PlannedCall {
  id: string
  name: string
  call: Call
}

/** Operations that remove what the others need. */
const LAST = ['deleteAlias', 'payPayout', 'updateSettings', 'deleteWebhook', 'archiveAffiliate', 'reportCancellation']

/** Calls of every operation of the document: its example, each of its filters, and other inputs that lead to different queries. */
export function everyCall(): PlannedCall[] {
  const all = allOperations
  const order = all.toSorted((a, b) => LAST.indexOf(a.id) - LAST.indexOf(b.id))
  return order.flatMap((op) => {
    const filters = [...pairs(FILTERS[op.id] ?? []), ...(MORE[op.id] ?? [])].filter(Boolean)
    const calls = [exampleOf(op.id), ...filters.map((query) => get(op.id, query)), ...(SPECIAL[op.id] ?? [])]
    return calls.map((call, n) => ({ id: op.id, name: `${op.id}${filters[n - 1] ? ` ${filters[n - 1]}` : ''}`, call }))
  })
}

const isPublic = (id: string) => operation(id).path.startsWith('/api/')

export function exampleOf(id: string): Call {
  if (operation(id).path.startsWith('/integrations/')) return notify(id)
  if (isOfSite(operation(id))) return (server) => callSite(server, operation(id))
  if (isPublic(id)) return (server) => callOperation(server, operation(id))
  if (operation(id).path.startsWith('/operator/'))
    return async (server) => callOperator(server, operation(id), await freshCall(server, operation(id)))
  return async (server) => {
    const fresh = await FRESH[id]?.(server)
    return callOwner(server, operation(id), { ...sessionFor(server, { id }), ...(fresh && { id: fresh }) })
  }
}

const period = 'from=2026-08-12&to=2026-09-20'

/** The reference of a payment in its file. */
const PAYMENT = ID.line.replace('pln_', 'PLN')

/** What the pages are opened with in addition to their plain address. */
const PAGE_QUERIES: Record<string, string[]> = {
  '/admin': ['days=7', 'days=90&currency=USD', period],
  '/admin/search': [
    ...['karim', 'nobody', '1000', 'NISA20', 'October', 'https://shop.example/?ref=nisa-karim'].map((q) => `q=${q}`),
    ...[ID.affiliate, ID.commission, ID.batch, ID.delivery, 'evt_none', PAYMENT].map((id) => `q=${id}`),
  ],
  '/admin/orders': [
    'id=1000',
    'page=20',
    'after=api:1000',
    'outcome=NOBODY',
    'outcome=NOBODY&min=1&after=api:x9',
    `outcome=PAID&${period}`,
    `affiliate=${ID.affiliate}`,
    `affiliate=${ID.affiliate}&outcome=REJECTED`,
    `min=1&${period}`,
  ],
  '/admin/orders.csv': ['outcome=APPROVED', 'currency=USD'],
  '/admin/commissions': [
    'status=ALL',
    'status=PAID&page=40',
    'status=ALL&order=1000',
    'status=ALL&order=none',
    `status=ALL&affiliate=${ID.affiliate}`,
    'status=ALL&affiliate=karim',
    `status=ALL&programId=${ID.program}&${period}`,
    `status=APPROVED&affiliate=${ID.affiliate}&${period}`,
    'status=ALL&min=1&currency=USD',
  ],
  '/admin/commissions/all': [period, `affiliate=${ID.affiliate}`, `programId=${ID.program}`, 'min=1&currency=USD'],
  '/admin/affiliates': [
    ...['q=karim', 'q=nobody&status=PENDING', 'status=APPROVED&page=9', `campaignId=${ID.program}`],
    ...[
      'sort=-commission',
      'sort=clicks&status=APPROVED',
      `sort=-orders&campaignId=${ID.program}`,
      'sort=-revenue&q=k',
    ],
    ...['sort=name', 'sort=joined&page=9', 'status=ARCHIVED', 'status=ARCHIVED&q=k&sort=-revenue'],
  ],
  '/admin/customers': [
    'page=40',
    'customerId=x5',
    'customerEmail=known@example.com',
    `affiliate=${ID.affiliate}`,
    `programId=${ID.program}`,
  ],
  '/admin/customers.csv': [`affiliate=${ID.affiliate}`],
  '/admin/coupons': ['code=NISA', 'status=APPROVED'],
  '/admin/journey': [
    'order=%231001',
    'affiliate=nisa',
    'sessionId=s-long',
    'customerEmail=long@example.com',
    `affiliateId=${ID.affiliate}`,
  ],
  '/admin/deliveries': ['status=FAILED', `subscriptionId=${ID.webhook}`, 'event=affiliate.approved'],
  '/admin/deliveries/redeliver': [`subscriptionId=${ID.webhook}&from=2026-08-12`],
  '/admin/audit': ['view=all', 'after=9', 'action=key.created', 'actor=operator', period],
  '/admin/payouts': ['page=9', 'status=PAID', `currency=USD&${period}`, 'status=OPEN&currency=EUR'],
  '/admin/payouts.csv': [period],
  '/admin/payouts/new': ['from=2026-08-01&until=2026-08-31'],
}
/** Pages that no link opens without a query. */
const NEEDS_QUERY = ['/admin/deliveries/redeliver']
const PAGE_IDS: Record<string, string> = {
  affiliates: ID.affiliate,
  customers: ID.customer,
  programs: ID.program,
  payouts: ID.batch,
  'payout-files': ID.file,
  webhooks: ID.webhook,
  deliveries: ID.delivery,
  keys: ID.key,
  'test-shops': ID.testShop,
}

/** Opens every page of the dashboard as an owner: plain, and with its filters. */
export function everyPage(server: OwnerServer): { path: string; open: () => Promise<number> }[] {
  const { app, routes, session } = server
  const [staff] = rowsOf(server, 'users', { role: 'STAFF' })
  const ids: Record<string, string | undefined> = { ...PAGE_IDS, team: staff?.id }
  const pages = routes.filter(({ method, path }) => method === 'GET' && /^\/admin(\/(?!v1|sign-|assets)|$)/.test(path))
  return [...new Set(pages.map(({ path }) => path))].flatMap((route) => {
    const path = route.replace(/:\w+/g, ids[route.split('/')[2] ?? ''] ?? 'none')
    const plain = NEEDS_QUERY.includes(route) ? [] : [path]
    const paths = [...plain, ...(PAGE_QUERIES[route] ?? []).map((query) => `${path}?${query}`)]
    const open = async (one: string) => (await app.request(`http://test${one}`, { headers: session })).status
    return paths.map((one) => ({ path: one, open: () => open(one) }))
  })
}

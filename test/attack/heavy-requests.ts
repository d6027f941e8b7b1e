import { createHmac } from 'node:crypto'
import { manyNames } from '../fuzz/heavy.ts'
import { operation } from '../support/document.ts'
import { insertRows, rowsOf } from '../support/inspect.ts'
import { addMany } from '../support/many-commissions.ts'
import { deletionOf, newTenant, type OperatorCall, TENANT } from '../support/operator.ts'
import { admin, FRESH, ID, type OwnerServer } from '../support/owner.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { ORIGIN, siteOperations, sitePath } from '../support/site.ts'
import { stripeSignature } from '../support/store-signature.ts'
import { LARGE, type Size } from './large-shop.ts'
import type { Call, HeavyRequest } from './stall.ts'

export const STORE_SECRET = 'hush-hush-hush-hush'
const STRIPE_SECRET = 'whsec_hush-hush-hush-hush'
const ALL_TIME = 'from=0001-01-01&to=9999-12-31'
const LINES = Array.from({ length: 1000 }, (_, i) => ({
  productId: `${7000 + i}`,
  variantId: `${90_000 + i}`,
  quantity: 900,
  priceCents: 100,
}))
const UNKNOWN = Object.fromEntries(Array.from({ length: 58 }, (_, i) => [`unknown${i}`, i]))
const ALL_PERIODS = { periodStart: '2000-01-01', periodEnd: '2099-01-01' }

let made = 0
let canceled = 0
const fresh = () => `attack-${++made}`

/** The heaviest valid requests of every operation, by its id. */
export async function heavyRequests(server: OwnerServer, size: Size): Promise<HeavyRequest[]> {
  const secrets = {
    storeWebhookSecret: STORE_SECRET,
    stripeWebhookSecret: STRIPE_SECRET,
    siteDomains: ['shop.example'],
  }
  await expectOk(admin(server, 'PATCH', '/settings', secrets))
  return [
    // Every later order counts for these rules.
    ...terms(),
    ...lists(size),
    ...reports(server),
    ...changes(server),
    ...ownerChanges(server),
    ...notifications(server),
    ...pages(server),
    ...(await ofOperator(server)),
  ]
}

/** A request that is the same each time. */
function get(id: string, ...queries: string[]): HeavyRequest[] {
  const { method, path } = operation(id)
  return queries.map((query) => ({
    operation: id,
    name: query,
    make: () => ({ method, path: `${path}${query && `?${query}`}` }),
  }))
}

/** A request for one resource that is the same each time. */
function of(id: string, resource: string, query = ''): HeavyRequest {
  const { method, path } = operation(id)
  const named = path.replace(/\{\w+\}/, resource)
  return { operation: id, name: resource, make: () => ({ method, path: `${named}${query && `?${query}`}` }) }
}

/** Rules of as many affiliates as allowed, none of which matches. */
function terms(): HeavyRequest[] {
  const rules = (n: number) =>
    Array.from({ length: 20 }, (_, rule) => ({
      when: {
        affiliateIds: Array.from({ length: 200 }, (_, i) => `aff_x${1 + rule * 200 + i}`),
        affiliateOrders: { from: 1_000_000, period: 'ALL_TIME' },
        affiliateRevenueCents: { from: 1_000_000_000 + n, period: 'ALL_TIME' },
        customerOrder: { from: 1_000_000 },
        customerMonth: { from: 1000 },
      },
      commissionPercent: 5,
    }))
  const query = `id=${ID.program}`
  return [
    post('setProgramTerms', '20 rules of 200 affiliates', (n) => ({ rules: rules(n) }), { query: () => query }),
    ...get('getProgramTerms', query),
  ]
}

function lists({ commissions, affiliates }: Size): HeavyRequest[] {
  const last = (count: number) => `limit=100&page=${Math.floor(count / 100)}`
  const { affiliate } = LARGE
  return [
    ...get(
      'listAffiliates',
      last(affiliates),
      'q=nobody&limit=100',
      `q=${encodeURIComponent('person')}&${last(affiliates)}`,
      `status=APPROVED&campaignId=${ID.program}&${last(affiliates * 0.9)}`,
    ),
    ...get('listAliases', last(affiliates), 'value=nobody&limit=100', `affiliateId=${affiliate}&limit=100`),
    ...get('getAffiliateBalance', `affiliateId=${affiliate}`),
    ...get('listPrograms', last(2000), 'status=PUBLISH&limit=100', last(100)),
    ...get(
      'listCommissions',
      last(commissions),
      'limit=100',
      `affiliateId=${affiliate}&${last(commissions / 2)}`,
      `affiliateId=${affiliate}&status=PENDING&limit=100`,
      `affiliateId=${affiliate}&programId=${ID.program}&status=REJECTED&limit=100`,
      `affiliateId=${affiliate}&${ALL_TIME}&limit=100`,
      `status=PAID&programId=${ID.program}&${last(commissions * 0.3)}`,
      `${ALL_TIME}&${last(commissions)}`,
      'from=2026-10-20T00:00:01Z&to=2026-10-20T23:00:00Z',
      `payoutBatchId=${LARGE.batch}&${last(commissions / 2)}`,
      `payoutBatchId=${LARGE.batch}&status=PENDING`,
      'externalOrderId=large',
    ),
    ...get(
      'listOrders',
      'limit=100',
      last(commissions),
      `credited=false&${last(commissions / 10)}`,
      `credited=true&${last(commissions)}`,
      `affiliateId=${affiliate}&${last(commissions / 2)}`,
      `${ALL_TIME}&${last(commissions)}`,
      'externalOrderId=large',
    ),
    ...get('getOrderExplanation', `externalOrderId=${LARGE.order}`),
    ...get('listPayouts', 'limit=100', 'limit=100&include=lines', `id=${LARGE.batch}&include=lines`, last(5000)),
    ...get(
      'listCustomers',
      last(commissions / 10),
      `affiliateId=${affiliate}&limit=100`,
      `customerEmail=${LARGE.email}`,
    ),
    ...get('listCoupons', last(affiliates), 'code=nobody', `status=APPROVED&${last(affiliates * 0.9)}`),
    ...get('listWebhooks', ''),
    ...get('listWebhookEvents', '', 'extendedEvents=1&limit=100'),
    ...get('listKeys', ''),
    ...get('listAdminAliases', last(affiliates), 'value=nobody&limit=100', `affiliateId=${affiliate}&limit=100`),
    ...get(
      'listConnections',
      last(commissions / 10),
      `affiliateId=${affiliate}&${last(commissions / 10)}`,
      'kind=product',
    ),
    ...get('listProductRules', last(9000), `programId=${ID.program}&limit=100`),
    ...get('listGeoRules', 'limit=100'),
    of('getPayee', ID.affiliate),
    of('listPayoutLines', 'bat_open', 'limit=100'),
    of('listPayoutFiles', ID.batch),
    of('listPayoutFileLines', ID.file),
    ...get(
      'listAudit',
      last(commissions),
      `action=none`,
      `${ALL_TIME}&${last(commissions)}`,
      'actor=operator&limit=100',
    ),
    ...get(
      'listDeliveries',
      last(commissions),
      'status=FAILED&limit=100',
      `event=none`,
      `subscriptionId=${ID.webhook}`,
    ),
    ...get('exportAudit', ''),
    ...get('getShopInfo', ''),
    ...get('getUnpaid', 'periodStart=2000-01-01&periodEnd=2099-01-01&includeEarlier=1'),
    ...get('exportLedger', 'month=2026-10'),
    of('getStatement', affiliate, 'month=2026-10'),
    of('getStatementFile', affiliate, 'month=2026-10&format=html'),
    ...get('getSettings', ''),
    ...get('getSession', ''),
    ...get('getDocs', ''),
  ]
}

function reports(server: OwnerServer): HeavyRequest[] {
  const { affiliate, session, email } = LARGE
  return [
    ...get(
      'getAnalytics',
      ALL_TIME,
      `${ALL_TIME}&affiliateId=${affiliate}&programId=${ID.program}`,
      `${ALL_TIME}&currency=EUR`,
    ),
    ...get(
      'getJourney',
      `sessionId=${session}&limit=500&${ALL_TIME}`,
      `affiliateId=${affiliate}&limit=500&${ALL_TIME}`,
      `customerEmail=${email}&limit=500&${ALL_TIME}`,
      `customerEmail=${email}&sessionId=${session}&affiliateId=${affiliate}&limit=500&${ALL_TIME}`,
    ),
    {
      operation: 'explainOrder',
      name: '1,000 lines and 1,001 refunds',
      make: () => ({ method: 'GET', path: `/admin/v1/orders/${LARGE.order}/explanation` }),
    },
    post('runBacktest', 'all time', () => ({
      attributionPrecedence: 'link-first',
      commissionPercent: 20,
      programId: ID.program,
      ...allTime,
    })),
    ...get('listTestShops', ''),
    post('createTestShop', '', (n) => ({ name: `Test ${n}` }), { query: () => deleteTestShops(server) }),
    post('deleteTestShop', '', () => undefined, { id: () => newTestShop(server) }),
    post('advanceTestClock', '', () => ({ advanceSeconds: 86_400 }), { id: () => newTestShop(server) }),
    post('exportPerson', '', () => ({ email: LARGE.email })),
    post('erasePerson', '', () => ({ email: 'nobody@example.com' })),
    post('getErasure', '', () => undefined, { id: () => newErasure(server) }),
    {
      operation: 'createSession',
      name: '',
      make: () => ({
        method: 'POST',
        path: '/admin/v1/session',
        body: { token: server.shop.ownerToken },
        headers: { Authorization: '' },
      }),
    },
  ]
}

const allTime = { from: '0001-01-01', to: '9999-12-31' }

/** A request with a body; `id` replaces the path parameter. */
function post(
  id: string,
  name: string,
  body: (n: number) => unknown,
  given: {
    headers?: () => Record<string, string>
    query?: () => string | Promise<string>
    id?: () => string | Promise<string>
  } = {},
): HeavyRequest {
  const { method, path } = operation(id)
  return {
    operation: id,
    name,
    make: async (): Promise<Call> => {
      const named = (await given.id?.()) ?? ''
      const query = (await given.query?.()) ?? ''
      return {
        method,
        path: `${path.replace(/\{\w+\}/, named)}${query && `?${query}`}`,
        body: body(++made),
        headers: given.headers?.() ?? {},
      }
    },
  }
}

function changes(server: OwnerServer): HeavyRequest[] {
  const idempotent = () => ({ 'Idempotency-Key': fresh() })
  const affiliateId = async () => (await newAffiliate(server)).id as string
  const hooks = async () => {
    const reply = server.request('POST', '/api/v1/webhooks', { body: { url: `https://93.184.215.14/${fresh()}` } })
    return `id=${(await expectOk(reply)).id}`
  }
  return [
    post('createAffiliate', '', (n) => ({ name: 'ﬃ'.repeat(60), email: `attack${n}@example.com` })),
    post('updateAffiliate', '', (n) => ({ name: `${'x'.repeat(180)}${n}` }), { query: () => `id=${LARGE.affiliate}` }),
    post('archiveAffiliate', '', () => undefined, { query: async () => `id=${await affiliateId()}` }),
    post('createProgram', '', (n) => ({ name: `Program ${n}`, description: 'x'.repeat(1000) })),
    post('updateProgram', '', (n) => ({ name: `Program ${n}` }), { query: () => `id=${ID.program}` }),
    post('createPayout', 'dry run of all time', () => ({ ...ALL_PERIODS, dryRun: true })),
    post('createPayout', 'dry run of 1,000 affiliates', () => ({
      ...ALL_PERIODS,
      dryRun: true,
      affiliateIds: Array.from({ length: 1000 }, (_, i) => `aff_x${i}`),
    })),
    post('createPayout', '6,000 commissions, 600 debts', () => LARGE.payoutPeriod, { query: () => release(server) }),
    post('payPayout', '6,000 commissions, 600 debts', () => undefined, {
      query: async () => `id=${await openBatch(server)}&action=pay`,
    }),
    post('assignCoupon', '', (n) => ({ affiliateId: LARGE.affiliate, code: `Q${n}`.replaceAll('0', 'X') })),
    post('createAffiliateToken', '', () => ({ affiliateId: LARGE.affiliate })),
    post('createAlias', '', () => ({ affiliateId: LARGE.affiliate, kind: 'CODE', value: fresh() })),
    post('deleteAlias', '', () => undefined, { query: async () => `id=${await newAlias(server)}` }),
    post('createWebhook', '', (n) => ({ url: `https://93.184.215.14/w${n}` }), {}),
    {
      ...post('createWebhook', '60,000 events that are not text', () => `{"events":[${'null,'.repeat(60_000)}null]}`),
      rejected: 400,
    },
    post('deleteWebhook', '', () => undefined, { query: hooks }),
    post(
      'recordEvent',
      'conversion of 1,000 lines',
      (n) => ({
        externalOrderId: `attack-${n}`,
        couponCode: 'NISA16',
        lineItems: LINES,
        customerEmail: LARGE.email,
        sessionId: LARGE.session,
        ref: 'nisa-karim',
      }),
      { headers: idempotent },
    ),
    post(
      'recordEvent',
      'conversion of 60,000 different names',
      (n) => `{"externalOrderId":"attack-${n}","amountCents":1,"x":${manyNames(`n${n}_`)}}`,
      { headers: idempotent },
    ),
    post(
      'recordEvent',
      'conversion of 1,000 lines with 58 unknown fields each',
      (n) => ({ externalOrderId: `attack-${n}`, lineItems: LINES.map((line) => ({ ...line, ...UNKNOWN })) }),
      { headers: idempotent },
    ),
    post(
      'recordEvent',
      'dry run of 1,000 lines',
      (n) => ({
        externalOrderId: `attack-${n}`,
        couponCode: 'NISA16',
        lineItems: LINES,
        customerEmail: LARGE.email,
        sessionId: LARGE.session,
      }),
      { headers: idempotent, query: () => 'dryRun=1' },
    ),
    post('reportRefund', '1,000 lines, after 1,000 refunds', (n) => ({
      externalOrderId: LARGE.order,
      externalRefundId: `reported-${n}`,
      lineItems: LINES.map(({ variantId }) => ({ variantId, quantity: 1 })),
    })),
    post('cancelRefund', 'one of 1,000, of an order of 1,000 lines', () => undefined, {
      query: () => `externalOrderId=${LARGE.order}&externalRefundId=x${++canceled}`,
    }),
    post('reportCancellation', 'order of 1,000 lines', (n) => ({ externalOrderId: `attack-${n}` })),
    post(
      'createCustomer',
      'every evidence',
      (n) => ({
        customerId: `attack-${n}`,
        customerEmail: LARGE.email,
        clickId: 'unknown',
        couponCode: 'unknown',
        affiliateCode: 'unknown',
        sessionId: LARGE.session,
      }),
      { headers: idempotent },
    ),
    post('unbindCustomer', '', () => undefined, {
      query: async () => {
        const body = { customerId: fresh(), ref: 'nisa-karim' }
        return `id=${(await expectOk(server.request('POST', '/api/v1/customers', { body }))).id}`
      },
    }),
    post('recordEvent', 'click', () => ({ type: 'click', ref: 'nisa-karim', sessionId: LARGE.session }), {
      headers: idempotent,
    }),
  ]
}

const newAlias = async (server: OwnerServer): Promise<string> => {
  const body = { affiliateId: ID.affiliate, kind: 'LINK', value: fresh() }
  return (await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body }))).id
}

async function deleteTestShops(server: OwnerServer): Promise<string> {
  const { data } = (await server.owner('GET', '/test-shops')).body
  for (const { id } of data) await expectOk(server.owner('DELETE', `/test-shops/${id}`))
  return ''
}

async function newTestShop(server: OwnerServer): Promise<string> {
  await deleteTestShops(server)
  return (await expectOk(server.owner('POST', '/test-shops', { name: fresh() }))).id
}

const newErasure = async (server: OwnerServer): Promise<string> =>
  (await expectOk(server.owner('POST', '/privacy/erasures', { email: 'nobody@example.com' }))).id

/** Releases the commissions of the batch that an earlier try created or paid. */
async function release(server: OwnerServer): Promise<string> {
  const ofPeriod = `"periodStart" like '2001-%'`
  // Nobody can cancel a paid batch.
  server.sql.exec(`update commissions set "orderStatus" = 'PAYABLE', "paidAt" = null where "orderStatus" = 'PAID' and
    "payoutBatchId" in (select id from "payoutBatches" where ${ofPeriod});
    update "payoutBatches" set status = 'OPEN', "paidAt" = null where ${ofPeriod} and status = 'PAID'`)
  // Nor one whose payments were sent.
  const ofBatches = `"batchId" in (select id from "payoutBatches" where ${ofPeriod})`
  server.sql.exec(`delete from "payoutLines" where ${ofBatches}; delete from "payoutFiles" where ${ofBatches}`)
  const batches = server.sql.prepare(`select id from "payoutBatches" where ${ofPeriod} and status = 'OPEN'`)
  for (const id of batches.pluck().all()) await expectOk(admin(server, 'POST', `/payouts/${id}/cancel`))
  return ''
}

/** An open batch of the largest size. */
async function openBatch(server: OwnerServer): Promise<string> {
  await release(server)
  return (await expectOk(server.request('POST', '/api/v1/payouts', { body: LARGE.payoutPeriod }))).id
}

function ownerChanges(server: OwnerServer): HeavyRequest[] {
  const used = (id: string, body: (n: number) => unknown = () => undefined, name = '') =>
    post(id, name, body, { id: () => FRESH[id]!(server) })
  const places = Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(100, 'x'))
  const geo = { countries: places, states: places, cities: places, postalPrefixes: places }
  const lines = Array.from({ length: 1000 }, (_, i) => ({ variantId: `${90_000 + i}`, quantity: 1 }))
  const large = () =>
    server.sql.prepare('select id from commissions where "orderId" = ?').pluck().get(`api:${LARGE.order}`) as string
  const moderate = (action: string, filter: object = {}, rest: object = {}) =>
    post('moderateCommissions', `${action} ${JSON.stringify({ ...filter, ...rest })}`, () => ({
      action,
      filter,
      ...rest,
    }))
  // Adds other commissions when earlier tries have used these up; those are skipped.
  const ids = (status: string) =>
    server.sql
      .prepare(`select id from commissions where id like 'com_x%' order by "orderStatus" = ? desc limit 500`)
      .pluck()
      .all(status)
  const { affiliate: affiliateId } = LARGE
  return [
    post('deleteSession', '', () => undefined, {}),
    post('createKey', '', () => ({ label: 'Attack', scopes: ['events:write'] })),
    used('revokeKey'),
    used('rotateKey'),
    post('updateSettings', '', (n) => ({ taxWithholdingBps: n % 100 })),
    post('createConnection', '', (n) => ({ kind: 'product', value: `${5_000_000 + n}`, affiliateId })),
    used('deleteConnection'),
    post('createAdminAlias', '', () => ({ affiliateId, kind: 'CODE', value: fresh() })),
    used('deleteAdminAlias'),
    post('createAdminAffiliateToken', '', () => ({}), { id: () => affiliateId }),
    post('unarchiveAffiliate', '', () => undefined, { id: () => affiliateId }),
    post('revokeAffiliateTokens', '', () => undefined, { id: () => affiliateId }),
    post('createProductRule', '', (n) => ({
      programId: ID.program,
      kind: 'product',
      value: `${6_000_000 + n}`,
      commissionPercent: 5,
    })),
    used('deleteProductRule'),
    post('setGeoRule', '2,000 places', () => geo, { id: () => ID.manual }),
    used('deleteGeoRule'),
    post('setPayee', '', () => ({ method: 'PAYPAL', email: 'noor@example.com' }), { id: () => affiliateId }),
    used('deletePayee'),
    used('createPayoutFile', () => ({ batchId: ID.batch, format: 'paypal' })),
    used('discardPayoutFile'),
    post('reconcilePayouts', '500 results of one payment', () => ({
      results: Array.from({ length: 500 }, () => ({ paymentReference: ID.line, outcome: 'SETTLED' })),
    })),
    used('approveCommission'),
    used('rejectCommission'),
    used('cancelCommission'),
    post('cancelCommission', 'of the large batch', () => undefined, {
      id: () =>
        server.sql
          .prepare(
            `select id from commissions where "payoutBatchId" = 'bat_open' and "orderStatus" = 'PAYABLE' limit 1`,
          )
          .pluck()
          .get() as string,
    }),
    used('reverseCommission'),
    used('reopenCommission'),
    post(
      'refundCommission',
      '1,000 lines, after 1,000 refunds',
      (n) => ({ externalRefundId: `attack-${n}`, lineItems: lines }),
      { id: large },
    ),
    post('refundCommission', 'of the large batch', (n) => ({ externalRefundId: `attack-${n}`, amountCents: 1 }), {
      id: () =>
        server.sql
          .prepare(
            `select id from commissions where "payoutBatchId" = 'bat_open' and "orderStatus" = 'PAYABLE' limit 1`,
          )
          .pluck()
          .get() as string,
    }),
    moderate('approve'),
    moderate('approve', { affiliateId, programId: ID.program }, { dryRun: true }),
    moderate('reject', {}, { dryRun: true }),
    moderate('reopen'),
    moderate('reverse'),
    moderate('cancel'),
    post('moderateCommissions', 'approve 500 ids', () => ({ action: 'approve', ids: ids('PENDING') })),
    post('cancelPayout', '6,000 commissions, 600 debts', () => undefined, { id: () => openBatch(server) }),
    post('redeliver', '', () => undefined, { id: () => 'dlv_0x1' }),
    post('redeliverMany', '', () => ({ from: '2000-01-01', status: 'FAILED' }), { id: () => ID.webhook }),
    post('updateWebhook', '', (n) => ({ url: `https://93.184.215.14/u${n}` }), { id: () => ID.webhook }),
  ]
}

/** Commissions and affiliates of each shop that is exported or deleted; the large one takes minutes. */
const EXPORTED = 1000
/** Shops of the installation. */
const SHOPS = 5000

/** The operator's requests, on the large shop and on new ones. */
async function ofOperator(server: OwnerServer): Promise<HeavyRequest[]> {
  const { shopId } = server.shop
  const [shop] = rowsOf(server, 'shops', { id: shopId })
  insertRows(
    server,
    'shops',
    Array.from({ length: SHOPS }, (_, i) => ({ ...shop!, id: `shp_x${i}`, defaultProgramId: null })),
  )
  const of = (id: string, make: () => OperatorCall | Promise<OperatorCall>, body?: unknown): HeavyRequest => ({
    operation: id,
    name: '',
    make: async () => {
      const { method, path } = operation(id)
      const { query = '', ...ids } = { ...(await make()) }
      const named = Object.entries(ids).reduce((text, [name, value]) => text.replace(`{${name}}`, String(value)), path)
      return { method, path: `${named}${query && `?${query}`}`, body }
    },
  })
  const large = () => ({ shopId })
  const fresh = () => newTenant(server)
  const full = async () => {
    const tenant = await newTenant(server)
    addMany({ sql: server.sql, shop: { ...server.shop, ...tenant } }, EXPORTED, EXPORTED)
    return tenant
  }
  return [
    ...get('listShops', 'limit=100', `limit=100&page=${SHOPS / 100}`, 'status=SUSPENDED&limit=100'),
    ...get('listOperatorAudit', 'limit=100', `action=none`, `${ALL_TIME}&page=100&limit=100`),
    of('getShop', large),
    of('listShopUsers', large),
    of('listShopKeys', large),
    of('exportShop', full),
    of('createShop', () => ({}), { name: 'x'.repeat(100), ownerEmail: 'o@example.com' }),
    of('updateShop', fresh, { name: 'y'.repeat(100) }),
    of('suspendShop', fresh),
    of('resumeShop', () => TENANT.resumeShop!(server)),
    of('deleteShop', async () => {
      const { shopId: id } = await full()
      return { shopId: id, query: await deletionOf(server, id) }
    }),
    of('createShopUser', fresh, { email: 'new@example.com', role: 'STAFF' }),
    of('replaceShopUserToken', fresh),
    of('createShopUserLink', fresh),
    of('revokeShopUser', fresh),
    of('createShopKey', fresh, { label: 'K', scopes: ['events:write'] }),
    of('rotateShopKey', fresh, { overlapSeconds: 60 }),
    of('revokeShopKey', fresh),
  ]
}

/** The longest reports of a page, and the others with the name that most rows have. */
function pages(server: OwnerServer): HeavyRequest[] {
  const texts = { url: 'x'.repeat(4096), landingPage: 'x'.repeat(4096), referrerUrl: 'x'.repeat(4096) }
  return siteOperations.map((op) => ({
    operation: op.id,
    name: 'the largest',
    make: () => ({
      method: op.method,
      path: sitePath(op, server.shop.shopId),
      headers: { Origin: ORIGIN },
      ...(op.method === 'POST' && { body: { ...texts, ref: 'nisa-karim' } }),
    }),
  }))
}

function notifications(server: OwnerServer): HeavyRequest[] {
  let ids = 20_000_000
  let invoiced = 0
  const lines = Array.from({ length: 1000 }, (_, i) => ({
    product_id: i,
    variant_id: 100_000 + i,
    price: '9.99',
    quantity: 3,
    name: 'x'.repeat(2000),
  }))
  const items = Array.from({ length: 2000 }, (_, i) => ({
    quantity: 1,
    subtotal: 9.99,
    line_item: { product_id: i % 1000, variant_id: 100_000 + (i % 1000) },
  }))
  const notify = (id: string, topic: string, body: () => object): HeavyRequest => ({
    operation: id,
    name: topic,
    make: () => {
      const { path } = operation(id)
      const text = JSON.stringify(body())
      const signature = createHmac('sha256', STORE_SECRET).update(text).digest('base64')
      return {
        method: 'POST',
        path: path.replace('{shopId}', server.shop.shopId),
        body: text,
        headers: {
          'X-Shopify-Hmac-Sha256': signature,
          'X-Shopify-Topic': topic,
          ...stripeSignature(text, STRIPE_SECRET, server.deps.now()),
        },
      }
    },
  })
  const order = (id: number) => ({
    id,
    financial_status: 'paid',
    cancelled_at: null,
    total_line_items_price: '29970.00',
    discount_codes: [{ code: 'NISA16' }],
    line_items: lines,
  })
  const stripeEvent = (type: string, object: object) => ({
    id: `evt_${++ids}`,
    type,
    created: Math.floor(server.deps.now() / 1000),
    livemode: true,
    data: { object },
  })
  // As many values as a notification may have.
  const discounts = Array.from({ length: 25 }, () => ({ amount: 1 }))
  const taxes = discounts.map(({ amount }) => ({ amount, tax_behavior: 'inclusive' }))
  const invoice = (id: number) => ({
    id: `in_${id}`,
    currency: 'usd',
    total: 1_000_000,
    customer: 'cus_attack',
    customer_email: LARGE.email,
    metadata: { referral_code: 'NISA16' },
    discounts: Array.from({ length: 50 }, (_, i) => ({ promotion_code: { code: `unknown${i}` } })),
    payments: { data: Array.from({ length: 100 }, (_, i) => ({ payment: { payment_intent: `pi_${id}_${i}` } })) },
    lines: {
      has_more: false,
      data: Array.from({ length: 1000 }, (_, i) => ({
        id: `il_${id}_${i}`,
        amount: 1000,
        quantity: 7,
        discount_amounts: discounts,
        taxes,
        description: 'x'.repeat(1000),
      })),
    },
  })
  const charge = (id: number) => ({
    id: `ch_${id}`,
    currency: 'usd',
    // Of the invoice that was recorded last.
    payment_intent: `pi_${invoiced}_0`,
    refunds: { data: Array.from({ length: 100 }, (_, i) => ({ id: `re_${id}_${i}`, amount: 1, status: 'succeeded' })) },
  })
  return [
    notify('recordStoreOrder', 'orders/paid', () => order(++ids)),
    notify('refundStoreOrder', 'refunds/create', () => ({ id: ++ids, order_id: 20_000_001, refund_line_items: items })),
    notify('cancelStoreOrder', 'orders/cancelled', () => ({
      ...order(20_000_001),
      cancelled_at: '2026-10-22T00:00:00Z',
    })),
    notify('recordStripeEvent', 'invoice.paid', () => {
      invoiced = ++ids
      return stripeEvent('invoice.paid', invoice(invoiced))
    }),
    notify('recordStripeEvent', 'charge.refunded', () => stripeEvent('charge.refunded', charge(++ids))),
  ]
}

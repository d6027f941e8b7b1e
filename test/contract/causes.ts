import type { ShopRow } from '../../server/src/database/tables.ts'
import { withoutMemory, withStalledBody } from '../support/bodies.ts'
import type { DocumentedOperation } from '../support/document.ts'
import { removeTable, violateUniqueness, whileBroken, whileProcessing, withFullReportQueue } from '../support/faults.ts'
import { deleteRows, insertRows, subscribe, updateRows } from '../support/inspect.ts'
import type { Reply, TestServer, TestShop } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Call, call, callOperation, ID } from './fixture.ts'

/** Causes an error on the example server. Other shops are available for causes that would disturb the first. */
export type Cause = (world: World, op: DocumentedOperation) => Promise<Reply>

export interface World {
  server: TestServer
  other: TestShop
  starter: TestShop
  switchedOff: TestShop
  suspended: TestShop
  scopeless: TestShop
}

const NOBODY = 'aff_01KAH000000000000000000000'
const calling =
  (given: Call): Cause =>
  ({ server }, op) =>
    callOperation(server, op, given)

async function withKeyChanged(
  { server }: World,
  column: 'expiresAt' | 'revokedAt',
  work: () => Promise<Reply>,
): Promise<Reply> {
  const set = (value: string | null) => updateRows(server, 'apiKeys', { [column]: value }, { id: server.shop.keyId })
  set('2026-11-01T00:00:00.000Z')
  return whileBroken(() => set(null), work)
}

/** Another request changes the row between the read and the write of this one. */
const raced =
  (id: string, first: Call, second: Call): Cause =>
  async ({ server }) => {
    const replies = await Promise.all([call(server, id, first), call(server, id, second)])
    return replies.find((reply) => reply.status === 409) ?? replies[0]
  }

/** The example's terms have a rule; afterwards they are what they were before. */
async function whileRuled(server: TestServer, work: () => Promise<Reply>): Promise<Reply> {
  await expectOk(call(server, 'setProgramTerms'))
  const reply = await work()
  await expectOk(call(server, 'setProgramTerms', { body: { rules: [] } }))
  return reply
}

/** Queries that make a list read many rows, so that it runs as a report. */
const REPORTED: Record<string, Call> = {
  listAffiliates: { query: 'q=nisa' },
  listCommissions: { query: `affiliateId=${ID.affiliate}&from=2026-10-01` },
  listPayouts: { query: 'include=lines' },
  listCoupons: { query: 'code=nisa' },
}

/** Causes that every operation has in common. */
export const sharedCauses: Record<string, Cause> = {
  credentials_missing: calling({ key: null }),
  credentials_malformed: calling({ key: null, headers: { Authorization: 'Basic abc' } }),
  key_unknown: calling({ key: 'rk_nobody' }),
  key_revoked: (world, op) => withKeyChanged(world, 'revokedAt', () => callOperation(world.server, op)),
  key_expired: (world, op) => withKeyChanged(world, 'expiresAt', () => callOperation(world.server, op)),
  shop_suspended: ({ server, suspended }, op) => callOperation(server, op, { key: suspended.key }),
  plan_required: ({ server, starter }, op) => callOperation(server, op, { key: starter.key }),
  scope_missing: ({ server, scopeless }, op) => callOperation(server, op, { key: scopeless.key }),
  method_not_allowed: ({ server }, op) =>
    callOperation(server, op, { method: op.path === '/api/v1/programs/terms' ? 'PATCH' : 'PUT' }),
  rate_limited: async ({ server }, op) => {
    server.exhausted.add(`key:${server.shop.keyId}`)
    const reply = await callOperation(server, op)
    server.exhausted.clear()
    return reply
  },
  internal_error: async ({ server }, op) => {
    const { now } = server.deps
    server.deps.now = () => {
      throw new TypeError('a bug')
    }
    const reply = await callOperation(server, op)
    server.deps.now = now
    return reply
  },
  payout_processing: ({ server }, op) => whileProcessing(server, () => callOperation(server, op)),
  storage_unavailable: ({ server }, op) => whileBroken(removeTable(server, 'apiKeys'), () => callOperation(server, op)),
  api_disabled: ({ server, switchedOff }, op) => callOperation(server, op, { key: switchedOff.key }),
  invalid_parameter: calling({ query: 'dryRun=1' }),
  invalid_json: calling({ raw: '{"email": ' }),
  body_timeout: ({ server }, op) => withStalledBody(server, (given) => callOperation(server, op, given)),
  server_busy: ({ server }, op) =>
    op.method === 'GET'
      ? withFullReportQueue(server, () => callOperation(server, op, REPORTED[op.id]))
      : withoutMemory(server, () => callOperation(server, op)),
  body_too_large: calling({ raw: JSON.stringify({ note: 'x'.repeat(2 * 1024 * 1024) }) }),
  idempotency_key_invalid: calling({ headers: { 'Idempotency-Key': 'ключ'.replace(/./g, 'é') } }),
  idempotency_key_reused: async ({ server }, op) => {
    const headers = { 'Idempotency-Key': `reused-${op.id}` }
    const [first, second] = Object.values(op.requestExamples)
    await expectOk(callOperation(server, op, { headers, body: first?.value }))
    return callOperation(server, op, { headers, body: second?.value })
  },
}

const unknown = (id: string): Cause => calling({ query: `id=${id}` })
const badBody = (body: unknown): Cause => calling({ body })
const badQuery = (query: string): Cause => calling({ query })

/** Causes that one operation has, by `<operationId> <code>`. */
export const causes: Record<string, Cause> = {
  'listAffiliates invalid_parameter': badQuery('limit=101'),
  'createAffiliate invalid_body': badBody({ email: 'nobody', name: 'N' }),
  'createAffiliate unknown_property': badBody({ email: 'n@example.com', name: 'N', nickname: 'x' }),
  'createAffiliate program_not_found': badBody({ email: 'n@example.com', name: 'N', campaignId: 'prg_none' }),
  'createAffiliate email_taken': badBody({ email: 'NISA@example.com', name: 'N' }),
  'createAffiliate concurrent_change': async ({ server }) => {
    // A unique index that rejects twice, as when two processes generate the same random code.
    return whileBroken(violateUniqueness(server, 'affiliates'), () =>
      call(server, 'createAffiliate', { body: { email: 'raced@example.com', name: 'Raced' } }),
    )
  },
  'updateAffiliate invalid_parameter': badQuery(''),
  'updateAffiliate invalid_body': badBody({ status: 'NICE' }),
  'updateAffiliate unknown_property': badBody({ discountCode: 'MINE' }),
  'updateAffiliate affiliate_not_found': unknown(NOBODY),
  'updateAffiliate program_not_found': badBody({ campaignId: 'prg_none' }),
  'updateAffiliate email_taken': async ({ server }) => {
    const { id } = await newAffiliate(server)
    return call(server, 'updateAffiliate', { query: `id=${id}`, body: { email: 'Nisa@Example.com' } })
  },
  'updateAffiliate concurrent_change': raced('updateAffiliate', { body: { phone: '1' } }, { body: { phone: '2' } }),
  'archiveAffiliate invalid_parameter': badQuery(''),
  'archiveAffiliate affiliate_not_found': unknown(NOBODY),
  'archiveAffiliate concurrent_change': async ({ server }, op) => {
    const { id } = await newAffiliate(server)
    return raced('archiveAffiliate', { query: `id=${id}` }, { query: `id=${id}` })({ server } as World, op)
  },
  'listAliases invalid_parameter': badQuery('limit=101'),
  'createAlias invalid_body': badBody({ kind: 'CODE', value: 'A' }),
  'createAlias unknown_property': badBody({ affiliateId: ID.affiliate, kind: 'CODE', value: 'A', code: 'A' }),
  'createAlias alias_invalid': badBody({ affiliateId: ID.affiliate, kind: 'CODE', value: 'A B' }),
  'createAlias affiliate_not_found': badBody({ affiliateId: NOBODY, kind: 'CODE', value: 'A' }),
  'createAlias alias_taken': async ({ server }) => {
    const { id } = await newAffiliate(server)
    return call(server, 'createAlias', { body: { affiliateId: id, kind: 'LINK', value: 'nisa16' } })
  },
  'createAlias alias_limit_reached': async ({ server }) => {
    const { id: affiliateId } = await newAffiliate(server)
    const { shopId } = server.shop
    const row = (n: number) => ({
      id: `als_${n}`,
      shopId,
      affiliateId,
      kind: 'CODE' as const,
      value: `L${n}`,
      codeKey: `l${n}`,
    })
    const rows = Array.from({ length: 100 }, (_, n) => ({ ...row(n), createdAt: '2026-11-01T00:00:00.000Z' }))
    insertRows(server, 'affiliateAliases', rows)
    const reply = await call(server, 'createAlias', { body: { affiliateId, kind: 'CODE', value: 'L100' } })
    for (const { id } of rows) deleteRows(server, 'affiliateAliases', { id })
    return reply
  },
  'createAlias concurrent_change': ({ server }) =>
    whileBroken(violateUniqueness(server, 'affiliateAliases'), () =>
      call(server, 'createAlias', { body: { affiliateId: ID.affiliate, kind: 'LINK', value: 'raced' } }),
    ),
  'deleteAlias invalid_parameter': badQuery(''),
  'deleteAlias alias_not_found': unknown('als_none'),
  'getAffiliateBalance invalid_parameter': badQuery(''),
  'getAffiliateBalance affiliate_not_found': badQuery(`affiliateId=${NOBODY}`),
  'createAffiliateToken invalid_body': badBody({}),
  'createAffiliateToken unknown_property': badBody({ affiliateId: ID.affiliate, scopes: ['payouts:read'] }),
  'createAffiliateToken affiliate_not_found': badBody({ affiliateId: NOBODY }),
  'listPrograms invalid_parameter': badQuery('status=OPEN'),
  'createProgram invalid_body': badBody({}),
  'createProgram unknown_property': badBody({ name: 'N', discountType: 'PERCENT' }),
  'createProgram commission_percent_invalid': badBody({ name: 'N', commissionPercent: 101 }),
  'createProgram concurrent_change': ({ server }) =>
    whileBroken(violateUniqueness(server, 'programs'), () => call(server, 'createProgram')),
  'updateProgram invalid_parameter': badQuery(''),
  'updateProgram invalid_body': badBody({ cookieDurationDays: -1 }),
  'updateProgram unknown_property': badBody({ defaultCommissionBps: 1 }),
  'updateProgram commission_percent_invalid': badBody({ commissionPercent: 0 }),
  'updateProgram commission_percent_required': async ({ server }) => {
    const { id } = await expectOk(
      server.request('POST', '/api/v1/programs', {
        body: { name: 'Flat', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 },
      }),
    )
    return call(server, 'updateProgram', { query: `id=${id}`, body: { commissionType: 'PERCENT_OF_SALE' } })
  },
  'updateProgram discount_value_invalid': badBody({ discountType: 'PERCENT', discountValue: 101 }),
  'updateProgram program_not_found': unknown('prg_none'),
  'updateProgram concurrent_change': raced('updateProgram', { body: { name: 'A' } }, { body: { name: 'B' } }),
  'updateProgram program_has_terms': ({ server }) =>
    whileRuled(server, () =>
      call(server, 'updateProgram', { body: { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 } }),
    ),
  'getProgramTerms invalid_parameter': badQuery(`id=${ID.program}&version=0`),
  'getProgramTerms program_not_found': unknown('prg_none'),
  'getProgramTerms program_terms_not_found': badQuery(`id=${ID.program}&version=1000000`),
  'setProgramTerms invalid_parameter': badQuery(''),
  'setProgramTerms invalid_body': badBody({
    rules: [{ when: { customerOrder: { from: 3, to: 2 } }, commissionPercent: 5 }],
  }),
  'setProgramTerms unknown_property': badBody({ rules: [], hold: 3 }),
  'setProgramTerms commission_percent_invalid': badBody({ rules: [{ when: {}, commissionPercent: 101 }] }),
  'setProgramTerms program_not_found': unknown('prg_none'),
  'setProgramTerms affiliate_not_found': badBody({
    rules: [{ when: { affiliateIds: [NOBODY] }, commissionPercent: 5 }],
  }),
  'setProgramTerms concurrent_change': badBody({ version: 1_000_000, holdDays: 3 }),
  'listCommissions invalid_parameter': badQuery('from=yesterday'),
  'listCommissions period_invalid': badQuery('from=2026-10-02&to=2026-10-01'),
  'listPayouts invalid_parameter': badQuery('status=DONE'),
  'getUnpaid invalid_parameter': badQuery('periodStart=2026-10-01'),
  'getUnpaid period_invalid': badQuery('periodStart=2026-10-02&periodEnd=2026-10-01'),
  'getUnpaid total_too_large': async ({ server }) => {
    const { key } = await largestCommissions(server)
    return call(server, 'getUnpaid', { key, query: 'periodStart=2026-11-01&periodEnd=2026-12-01' })
  },
  'createPayout invalid_body': badBody({ periodEnd: '2026-10-31' }),
  'createPayout unknown_property': badBody({ periodStart: '2026-10-01', periodEnd: '2026-10-31', period: 'x' }),
  'createPayout period_invalid': badBody({ periodStart: '2026-10-31', periodEnd: '2026-10-01' }),
  'createPayout no_eligible_commissions': badBody({ periodStart: '2020-01-01', periodEnd: '2020-01-02' }),
  'createPayout payout_below_threshold': ({ server }) => withThreshold(server, { minimumPayoutCents: 5000 }),
  'createPayout payout_threshold_needs_reconciliation': ({ server }) =>
    withThreshold(server, { minimumPayoutCents: 2500, legacyMinimumPayout: '50.00' }),
  'createPayout payout_mixed_currencies': async ({ server, other }) => {
    const { key } = other
    await withAffiliate(server, { key })
    for (const currency of ['EUR', 'USD'])
      await expectOk(convert(server, { ...ORDER, externalOrderId: currency, currency }, { key }))
    return call(server, 'createPayout', { key })
  },
  'createPayout total_too_large': async ({ server }) => {
    const { key } = await largestCommissions(server)
    return call(server, 'createPayout', { key })
  },
  'createPayout payout_claimed_concurrently': async (world, op) => {
    const { key } = await world.server.createShop()
    await withAffiliate(world.server, { key })
    await expectOk(convert(world.server, { ...ORDER, externalOrderId: 'claimed' }, { key }))
    return raced('createPayout', { key }, { key })(world, op)
  },
  'createPayout payout_below_threshold_after_claim': async ({ server }) => {
    const { shopId, key } = await server.createShop()
    const { affiliate } = await withAffiliate(server, { key })
    const second = await newAffiliate(server, { key, code: 'SECND' })
    for (const [externalOrderId, amountCents] of [
      ['a', 40_000],
      ['b', 9000],
    ] as const) {
      await expectOk(
        convert(
          server,
          {
            externalOrderId,
            amountCents,
            couponCode: externalOrderId === 'a' ? affiliate.discountCode : second.discountCode,
            occurredAt: ORDER.occurredAt,
          },
          { key },
        ),
      )
    }
    updateRows(server, 'shops', { minimumPayoutCents: 5000 }, { id: shopId })
    const month = { periodStart: '2026-10-01', periodEnd: '2026-11-01' }
    const of = { ...month, affiliateIds: [affiliate.id] }
    const replies = await Promise.all([
      call(server, 'createPayout', { key, body: of }),
      call(server, 'createPayout', { key, body: month }),
    ])
    return replies[1]
  },
  'getAnalytics total_too_large': async ({ server }) => {
    const { key } = await largestCommissions(server)
    return call(server, 'getAnalytics', { key, query: 'from=2026-10-01&to=2026-11-01' })
  },
  'payPayout invalid_parameter': badQuery(`id=${ID.batch}&action=cancel`),
  'payPayout payout_not_found': badQuery('id=bat_none&action=pay'),
  'payPayout payout_total_mismatch': badQuery(`id=${ID.batch}&action=pay&expectedTotalCents=1500`),
  'payPayout payout_already_paid': async ({ server }) => {
    const { id } = await freshBatch(server)
    await expectOk(call(server, 'payPayout', { query: `id=${id}&action=pay` }))
    return call(server, 'payPayout', { query: `id=${id}&action=pay` })
  },
  'payPayout payout_not_payable': async ({ server }) => {
    const { id } = await freshBatch(server)
    updateRows(server, 'payoutBatches', { status: 'FAILED' }, { id })
    return call(server, 'payPayout', { query: `id=${id}&action=pay` })
  },
  'payPayout concurrent_change': async ({ server }, op) => {
    const { id } = await freshBatch(server)
    const query = `id=${id}&action=pay`
    return raced('payPayout', { query }, { query })({ server } as World, op)
  },
  'listCoupons invalid_parameter': badQuery('status=NICE'),
  'assignCoupon invalid_body': badBody({ code: 'A' }),
  'assignCoupon unknown_property': badBody({ affiliateId: ID.affiliate, discount: 10 }),
  'assignCoupon discount_code_invalid': badBody({ affiliateId: ID.affiliate, code: 'HELLO' }),
  'assignCoupon affiliate_not_found': badBody({ affiliateId: NOBODY }),
  'assignCoupon discount_code_taken': async ({ server }) => {
    const { id } = await newAffiliate(server)
    return call(server, 'assignCoupon', { body: { affiliateId: id, code: 'nisa16' } })
  },
  'assignCoupon concurrent_change': async ({ server }, op) => {
    const { id } = await newAffiliate(server)
    const body = (code: string) => ({ body: { affiliateId: id, code } })
    return raced('assignCoupon', body('A1'), body('B1'))({ server } as World, op)
  },
  'getAnalytics invalid_parameter': badQuery('currency=usd'),
  'getAnalytics period_invalid': badQuery('from=2026-10-02&to=2026-10-01'),
  'getJourney invalid_parameter': badQuery('sessionId=s-1&limit=501'),
  'getJourney journey_identifier_required': badQuery(''),
  'getJourney period_invalid': badQuery('sessionId=s-1&from=2026-10-02&to=2026-10-01'),
  'createWebhook invalid_parameter': badQuery('test=2'),
  'createWebhook invalid_body': badBody({}),
  'createWebhook unknown_property': badBody({ url: 'https://hooks.example.com/x', event: ['test'] }),
  'createWebhook webhook_url_refused': badBody({ url: 'http://hooks.example.com/x' }),
  'listWebhookEvents invalid_parameter': badQuery('limit=0'),
  'createWebhook concurrent_change': raced('createWebhook', {}, {}),
  'createWebhook webhook_limit_reached': async ({ server }, op) => {
    const ids = Array.from({ length: 100 }, () => subscribe(server, ['never']))
    const reply = await callOperation(server, op)
    for (const id of ids) deleteRows(server, 'subscriptions', { id })
    return reply
  },
  'deleteWebhook invalid_parameter': badQuery(''),
  'deleteWebhook webhook_not_found': unknown('whs_none'),
  'deleteWebhook concurrent_change': async ({ server }, op) => {
    const { id } = await expectOk(call(server, 'createWebhook'))
    return raced('deleteWebhook', { query: `id=${id}` }, { query: `id=${id}` })({ server } as World, op)
  },
  'recordEvent invalid_parameter': badQuery('dryRun=yes'),
  'recordEvent invalid_body': badBody({ externalOrderId: 'x', amountCents: -1 }),
  'recordEvent unknown_property': badBody({ externalOrderId: 'x', amountCents: 1, discount_cents: 1 }),
  'recordEvent idempotency_key_required': ({ server }, op) =>
    server.request('POST', op.path, { body: { externalOrderId: 'x', amountCents: 1 } }),
  'listCustomers invalid_parameter': badQuery('limit=101'),
  'createCustomer invalid_parameter': badQuery('dryRun=yes'),
  'createCustomer invalid_body': badBody({ couponCode: 'NISA16' }),
  'createCustomer unknown_property': badBody({ customerId: 'c', email: 'jo@example.com' }),
  'createCustomer occurred_at_in_future': badBody({ customerId: 'c', occurredAt: '2027-01-01' }),
  'createCustomer concurrent_change': async ({ server }) =>
    whileBroken(violateUniqueness(server, 'customers'), () =>
      call(server, 'createCustomer', { body: { customerId: 'raced' } }),
    ),
  'unbindCustomer invalid_parameter': badQuery(''),
  'unbindCustomer customer_not_found': unknown('cus_none'),
  'listOrders invalid_parameter': badQuery('credited=yes'),
  'listOrders period_invalid': badQuery('from=2026-10-02&to=2026-10-01'),
  'getOrderExplanation invalid_parameter': badQuery(''),
  'getOrderExplanation order_not_found': badQuery('externalOrderId=never'),
  'getOrderExplanation order_ambiguous': async ({ server }) => {
    for (const externalOrderId of ['2001', '2002'])
      await expectOk(convert(server, { externalOrderId, orderName: '#20', amountCents: 1 }))
    return call(server, 'getOrderExplanation', { query: 'externalOrderId=20' })
  },
  'reportRefund invalid_parameter': badQuery('dryRun=yes'),
  'reportRefund invalid_body': badBody({ externalOrderId: 'x', externalRefundId: 'r' }),
  'reportRefund unknown_property': badBody({ externalOrderId: 'x', externalRefundId: 'r', amount: 1 }),
  'reportRefund refund_currency_mismatch': badBody({
    externalOrderId: '1000',
    externalRefundId: 'in-euro',
    amountCents: 1,
    currency: 'EUR',
  }),
  'reportRefund store_refund_limit_reached': async ({ server, other }, op) => {
    const refund = (n: number) => ({ externalOrderId: 'crowded', externalRefundId: `r-${n}`, amountCents: 1 })
    for (let n = 0; n < 50; n++) await expectOk(server.request('POST', op.path, { body: refund(n), key: other.key }))
    return server.request('POST', op.path, { body: refund(50), key: other.key })
  },
  'reportRefund occurred_at_in_future': badBody({
    externalOrderId: 'x',
    externalRefundId: 'r',
    amountCents: 1,
    occurredAt: '2027-01-01',
  }),
  'cancelRefund invalid_parameter': badQuery('externalRefundId=r'),
  'cancelRefund store_refund_limit_reached': async ({ server, other: { key } }, op) => {
    const query = (n: number) => `${op.path}?externalOrderId=canceled&externalRefundId=r-${n}`
    for (let n = 0; n < 50; n++) await expectOk(server.request('DELETE', query(n), { key }))
    return server.request('DELETE', query(50), { key })
  },
  'reportCancellation occurred_at_in_future': badBody({ externalOrderId: 'x', occurredAt: '2027-01-01' }),
  'reportCancellation invalid_parameter': badQuery('dryRun=yes'),
  'reportCancellation invalid_body': badBody({}),
  'reportCancellation unknown_property': badBody({ externalOrderId: 'x', orderNumber: '1' }),
  'recordEvent occurred_at_in_future': badBody({ externalOrderId: 'x', amountCents: 1, occurredAt: '2027-01-01' }),
}

/** The highest flat rate, for each piece. */
const LARGEST_RATE = { commissionType: 'FLAT_PER_ITEM', commissionPercent: 21_474_836.47 }
const ORDER = { amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16', occurredAt: '2026-10-20T15:04:05.000Z' }

async function withThreshold(server: TestServer, columns: Partial<ShopRow>): Promise<Reply> {
  const { shopId, key } = await server.createShop()
  await withAffiliate(server, { key })
  await expectOk(convert(server, { ...ORDER, externalOrderId: 'x' }, { key }))
  updateRows(server, 'shops', columns, { id: shopId })
  return call(server, 'createPayout', { key })
}

/** A shop whose five commissions add up to more than the largest exact integer. */
async function largestCommissions(server: TestServer): Promise<TestShop> {
  const shop = await server.createShop()
  const { key } = shop
  await withAffiliate(server, { key, program: LARGEST_RATE })
  for (const externalOrderId of '12345')
    await expectOk(convert(server, { ...ORDER, externalOrderId, lineItems: [{ quantity: 1_000_000 }] }, { key }))
  return shop
}

let orders = 0
async function freshBatch(server: TestServer) {
  await expectOk(convert(server, { ...ORDER, externalOrderId: `batch-${++orders}` }))
  return expectOk(call(server, 'createPayout'))
}

import { withoutMemory, withStalledBody } from '../support/bodies.ts'
import { type DocumentedOperation, ownerOperations } from '../support/document.ts'
import {
  loseCommits,
  rejectWrites,
  removeTable,
  violateUniqueness,
  whileBroken,
  whileProcessing,
  withFullReportQueue,
} from '../support/faults.ts'
import { deleteRows, insertRow, insertRows, rowOf, rowsOf, subscribe, updateRows } from '../support/inspect.ts'
import {
  admin,
  callOwner,
  callOwnerOperation,
  FRESH,
  fillRules,
  freshCommission,
  freshFile,
  ID,
  type OwnerCall,
  type OwnerServer,
  sessionFor,
} from '../support/owner.ts'
import type { Reply } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'

/** Causes an error on the example server. */
export type Cause = (server: OwnerServer, op: DocumentedOperation) => Promise<Reply>

const calling =
  (given: OwnerCall): Cause =>
  (server, op) =>
    callOwner(server, op, given)

/** A method that the path does not have. */
function foreignMethod({ path }: DocumentedOperation): string {
  const known = ownerOperations.filter((op) => op.path === path).map((op) => op.method)
  return ['PUT', 'PATCH', 'DELETE'].find((method) => !known.includes(method)) ?? 'POST'
}

/** Queries that make a list read many rows, so that it runs as a report. */
const REPORTED: Record<string, OwnerCall> = {
  listAudit: { query: 'action=key.created' },
  listDeliveries: { query: 'status=SENT' },
}

/** Causes that all operations have in common. */
export const sharedCauses: Record<string, Cause> = {
  owner_credentials_missing: calling({ key: null }),
  owner_credentials_malformed: calling({ key: null, headers: { Authorization: 'Basic abc' } }),
  session_expired: calling({ key: null, headers: { Cookie: 'referral_session=rs_gone' } }),
  owner_token_unknown: (server, op) => callOwner(server, op, { key: server.shop.key }),
  shop_suspended: async (server, op) => {
    const { shopId } = server.shop
    updateRows(server, 'shops', { suspendedAt: '2026-11-02T12:00:00.000Z' }, { id: shopId })
    return whileBroken(
      () => updateRows(server, 'shops', { suspendedAt: null }, { id: shopId }),
      () => callOwner(server, op),
    )
  },
  role_missing: (server, op) => callOwner(server, op, { key: server.staff }),
  csrf_token_invalid: (server, op) =>
    callOwner(server, op, { key: null, headers: { Cookie: server.session.Cookie ?? '' } }),
  sign_in_throttled: async (server, op) => {
    server.exhausted.add('sign-in:unknown')
    const reply = await callOwner(server, op, { key: 'ro_nobody' })
    server.exhausted.clear()
    return reply
  },
  rate_limited: async (server, op) => {
    const session = sessionFor(server, op)
    for (const { id } of rowsOf(server, 'users', { shopId: server.shop.shopId })) server.exhausted.add(`user:${id}`)
    const reply = await callOwner(server, op, session)
    server.exhausted.clear()
    return reply
  },
  method_not_allowed: (server, op) => callOwner(server, op, { method: foreignMethod(op) }),
  internal_error: async (server, op) => {
    const session = sessionFor(server, op)
    const { now } = server.deps
    server.deps.now = () => {
      throw new TypeError('a bug')
    }
    const reply = await callOwner(server, op, session)
    server.deps.now = now
    return reply
  },
  payout_processing: (server, op) => whileProcessing(server, () => callOwner(server, op)),
  storage_unavailable: (server, op) => whileBroken(removeTable(server, 'users'), () => callOwner(server, op)),
  audit_unavailable: async (server, op) => {
    const session = sessionFor(server, op)
    return whileBroken(rejectWrites(server, 'insert', 'audits'), () => callOwner(server, op, session))
  },
  outcome_unknown: (server, op) =>
    whileBroken(loseCommits(server), () => callOwner(server, op, sessionFor(server, op))),
  invalid_parameter: calling({ query: 'dryRun=1' }),
  invalid_json: calling({ raw: '{"token": ' }),
  body_timeout: (server, op) => withStalledBody(server, (given) => callOwner(server, op, given)),
  server_busy: (server, op) =>
    op.method === 'GET'
      ? withFullReportQueue(server, () => callOwner(server, op, REPORTED[op.id]))
      : withoutMemory(server, () => callOwner(server, op)),
  body_too_large: calling({ raw: JSON.stringify({ note: 'x'.repeat(2 * 1024 * 1024) }) }),
}

const badBody = (body: unknown): Cause => calling({ body })

const whileDisabled: Cause = async (server, op) => {
  updateRows(server, 'subscriptions', { disabledAt: '2026-10-20T16:00:00.000Z', disabledReason: 'gone' })
  const reply = await callOwner(server, op)
  updateRows(server, 'subscriptions', { disabledAt: null, disabledReason: null })
  return reply
}
const badQuery = (query: string): Cause => calling({ query })
const unknown: Cause = calling({ id: 'no_such_thing' })

/** Another request changes the row between the read and the write of this one. */
const raced =
  (first: OwnerCall, second: OwnerCall): Cause =>
  async (server, op) => {
    const id = await FRESH[op.id]?.(server)
    const call = (given: OwnerCall) => callOwner(server, op, { ...given, ...(id && { id }) })
    const replies = await Promise.all([call(first), call(second)])
    return replies.find((reply) => reply.status === 409) ?? replies[0]
  }

/** Calls an operation for an archived affiliate with an address, and removes them. */
const onArchived =
  (email: string, cause: Cause): Cause =>
  async (server, op) => {
    const id = 'aff_archived'
    const names = { slug: id, discountCode: 'ARCHIVED', codeKey: 'archived', email, emailKey: email }
    const row = rowOf(server, 'affiliates', { id: ID.affiliate })
    insertRow(server, 'affiliates', { ...row, ...names, id, deletedAt: '2026-11-02T12:00:00.000Z' })
    const reply = await cause(server, { ...op, path: op.path.replace('{id}', id) })
    deleteRows(server, 'affiliates', { id })
    return reply
  }

/** The errors of a key that was revoked before. */
const revoked: Cause = async (server, op) => {
  const id = await FRESH[op.id]?.(server)
  await expectOk(callOwnerOperation(server, 'revokeKey', { id }))
  return callOwner(server, op, { id })
}

/** The row that claws back a reversed commission. */
async function anAdjustment(server: OwnerServer): Promise<string> {
  const id = await FRESH.reverseCommission?.(server)
  await expectOk(callOwnerOperation(server, 'reverseCommission', { id }))
  const { body } = await server.request('GET', `/api/v1/commissions?externalOrderId=adj:${id}:reversal`)
  return body.data[0].id
}

/** In a shop that has reached its limit of rules. */
async function inFullShop(server: OwnerServer, op: DocumentedOperation, kind: 'product' | 'geo'): Promise<Reply> {
  const { shopId, key, ownerToken } = await server.createShop()
  const { id } = await expectOk(server.request('POST', '/api/v1/programs', { key, body: { name: 'Full' } }))
  fillRules(server, { shopId, programId: id }, kind === 'geo' ? 1000 : 10_000)[kind]()
  const example = Object.values(op.requestExamples)[0]?.value as object
  const body = kind === 'geo' ? example : { ...example, programId: id }
  return callOwner(server, op, { key: ownerToken, body, id })
}

/** A row inserted after the second read, as by another process on a database without a write lock. */
const insertedTwice =
  (table: 'customers' | 'productRules' | 'geoRules'): Cause =>
  (server, op) =>
    whileBroken(violateUniqueness(server, table), () => callOwner(server, op))

const moves = Object.fromEntries(
  ['approve', 'reject', 'cancel', 'reverse', 'reopen', 'refund'].flatMap((action) => {
    const id = `${action}Commission`
    const wrong = action === 'reverse' ? ID.pending : action === 'refund' ? ID.rejected : ID.paid
    return [
      [`${id} commission_not_found`, unknown],
      [`${id} commission_move_not_allowed`, calling({ id: wrong })],
      [
        `${id} commission_is_adjustment`,
        async (server: OwnerServer) => callOwnerOperation(server, id, { id: await anAdjustment(server) }),
      ],
      [
        `${id} concurrent_change`,
        action === 'refund'
          ? raced(
              { body: { externalRefundId: 'a', amountCents: 1 } },
              { body: { externalRefundId: 'b', amountCents: 1 } },
            )
          : raced({}, {}),
      ],
    ]
  }),
) as Record<string, Cause>

/** Causes that one operation has, by `<operationId> <code>`. */
export const causes: Record<string, Cause> = {
  ...moves,
  'createSession invalid_body': badBody({}),
  'createSession unknown_property': badBody({ token: 'x', password: 'y' }),
  'createSession sign_in_refused': badBody({ token: 'ro_nobody' }),
  'createSession cross_site_refused': calling({ headers: { Origin: 'https://evil.example' } }),
  'createKey invalid_body': badBody({ label: 'X', scopes: [] }),
  'createKey unknown_property': badBody({ label: 'X', scopes: ['events:write'], scope: 'x' }),
  'createKey key_limit_reached': async (server, op) => {
    const { ownerToken: key } = await server.createShop()
    for (let i = 0; i < 19; i++) await expectOk(callOwner(server, op, { key }))
    return callOwner(server, op, { key })
  },
  'createTestShop invalid_body': badBody({ name: 'x'.repeat(201) }),
  'createTestShop unknown_property': badBody({ title: 'x' }),
  'createTestShop test_shop_limit_reached': async (server, op) => {
    const { ownerToken: key } = await server.createShop()
    for (let i = 0; i < 10; i++) await expectOk(callOwner(server, op, { key }))
    return callOwner(server, op, { key })
  },
  'createTestShop shop_is_test': async (server, op) => {
    const { ownerToken } = await server.createShop()
    const made = await expectOk(callOwner(server, op, { key: ownerToken }))
    return callOwner(server, op, { key: made.ownerToken })
  },
  'deleteTestShop test_shop_not_found': unknown,
  'advanceTestClock invalid_body': badBody({}),
  'advanceTestClock unknown_property': badBody({ days: 1 }),
  'advanceTestClock test_shop_not_found': unknown,
  'advanceTestClock concurrent_change': raced({}, {}),
  'revokeKey key_not_found': unknown,
  'revokeKey key_already_revoked': revoked,
  'revokeKey concurrent_change': raced({}, {}),
  'rotateKey invalid_body': badBody({ overlapSeconds: 604_801 }),
  'rotateKey unknown_property': badBody({ overlap: 1 }),
  'rotateKey key_not_found': unknown,
  'rotateKey key_already_revoked': revoked,
  'rotateKey concurrent_change': raced({}, {}),
  'updateSettings invalid_body': badBody({ taxWithholdingBps: 10_001 }),
  'updateSettings unknown_property': badBody({ plan: 'ENTERPRISE' }),
  'updateSettings concurrent_change': raced({ body: { minimumPayoutCents: 1 } }, { body: { minimumPayoutCents: 2 } }),
  'updateSettings currency_in_use': async (server, op) => {
    await callOwner(server, op, { body: { minimumPayoutCents: 5000 } })
    const reply = await callOwner(server, op, { body: { currency: 'JPY' } })
    await callOwner(server, op, { body: { minimumPayoutCents: null } })
    return reply
  },
  'listConnections invalid_parameter': badQuery('limit=101'),
  'createConnection invalid_body': badBody({ kind: 'product', value: 'gid://x/1', affiliateId: ID.affiliate }),
  'createConnection unknown_property': badBody({ kind: 'product', value: '1', affiliateId: 'a', customerId: '1' }),
  'createConnection affiliate_not_found': badBody({ kind: 'product', value: '1', affiliateId: 'aff_none' }),
  'createConnection connection_exists': badBody({
    kind: 'customerEmail',
    value: ' KNOWN@example.com',
    affiliateId: ID.affiliate,
  }),
  'createConnection concurrent_change': insertedTwice('customers'),
  'deleteConnection connection_not_found': unknown,
  'listAdminAliases invalid_parameter': badQuery('limit=101'),
  'createAdminAlias invalid_body': badBody({}),
  'createAdminAlias unknown_property': badBody({ affiliateId: ID.affiliate, kind: 'CODE', value: 'A', code: 'A' }),
  'createAdminAlias alias_invalid': badBody({ affiliateId: ID.affiliate, kind: 'CODE', value: 'a b' }),
  'createAdminAlias affiliate_not_found': badBody({ affiliateId: 'aff_none', kind: 'CODE', value: 'A' }),
  'createAdminAlias alias_taken': async (server, op) => {
    const { id } = await newAffiliate(server, { code: 'NEALIAS' })
    return callOwner(server, op, { body: { affiliateId: id, kind: 'LINK', value: 'nisa16' } })
  },
  'createAdminAlias alias_limit_reached': async (server, op) => {
    const { id: affiliateId } = await newAffiliate(server, { code: 'LIMALIAS' })
    const { shopId } = server.shop
    const rows = Array.from({ length: 100 }, (_, n) => ({ id: `als_${n}`, value: `L${n}`, codeKey: `l${n}` }))
    const shared = { shopId, affiliateId, kind: 'CODE' as const, createdAt: '2026-11-01T00:00:00.000Z' }
    insertRows(
      server,
      'affiliateAliases',
      rows.map((row) => ({ ...row, ...shared })),
    )
    const reply = await callOwner(server, op, { body: { affiliateId, kind: 'CODE', value: 'L100' } })
    for (const { id } of rows) deleteRows(server, 'affiliateAliases', { id })
    return reply
  },
  'createAdminAlias concurrent_change': (server, op) =>
    whileBroken(violateUniqueness(server, 'affiliateAliases'), () =>
      callOwner(server, op, { body: { affiliateId: ID.affiliate, kind: 'LINK', value: 'raced' } }),
    ),
  'deleteAdminAlias alias_not_found': unknown,
  'createAdminAffiliateToken invalid_body': badBody({ expiresInSeconds: 5 }),
  'createAdminAffiliateToken unknown_property': badBody({ scopes: ['payouts:read'] }),
  'createAdminAffiliateToken affiliate_not_found': unknown,
  'revokeAffiliateTokens affiliate_not_found': unknown,
  'unarchiveAffiliate affiliate_not_found': unknown,
  'unarchiveAffiliate email_taken': onArchived('nisa@example.com', (server, op) => callOwner(server, op)),
  'unarchiveAffiliate internal_error': onArchived('gone@example.com', sharedCauses.internal_error!),
  'unarchiveAffiliate audit_unavailable': onArchived('gone@example.com', sharedCauses.audit_unavailable!),
  'unarchiveAffiliate concurrent_change': raced({}, {}),
  'listProductRules invalid_parameter': badQuery('limit=101'),
  'createProductRule invalid_body': badBody({
    programId: ID.program,
    kind: 'product',
    value: 'gid://x/1',
    commissionPercent: 1,
  }),
  'createProductRule unknown_property': badBody({
    programId: ID.program,
    kind: 'product',
    value: '1',
    commissionPercent: 1,
    rate: 100,
  }),
  'createProductRule commission_percent_invalid': badBody({
    programId: ID.program,
    kind: 'product',
    value: '1',
    commissionPercent: 101,
  }),
  'createProductRule program_not_found': badBody({
    programId: 'prg_none',
    kind: 'product',
    value: '1',
    commissionPercent: 1,
  }),
  'createProductRule product_rule_exists': badBody({
    programId: ID.program,
    kind: 'product',
    value: '7999',
    commissionPercent: 1,
  }),
  'createProductRule concurrent_change': insertedTwice('productRules'),
  'createProductRule product_rule_limit_reached': (server, op) => inFullShop(server, op, 'product'),
  'deleteProductRule product_rule_not_found': unknown,
  'listGeoRules invalid_parameter': badQuery('limit=101'),
  'setGeoRule invalid_body': badBody({ countries: [' '] }),
  'setGeoRule unknown_property': badBody({ countries: ['US'], regions: ['x'] }),
  'setGeoRule program_not_found': unknown,
  'setGeoRule geo_rule_limit_reached': (server, op) => inFullShop(server, op, 'geo'),
  'deleteGeoRule geo_rule_not_found': unknown,
  'reopenCommission commission_still_restricted': async (server) => {
    const { affiliate } = await withAffiliate(server, { code: 'LATER', program: { name: 'Later' } })
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { status: 'PENDING' } }))
    const { commission } = await expectOk(
      convert(server, { externalOrderId: 'later', amountCents: 100, couponCode: 'LATER' }),
    )
    return callOwnerOperation(server, 'reopenCommission', { id: commission.id })
  },
  'refundCommission invalid_body': badBody({ externalRefundId: 'carry' }),
  'refundCommission unknown_property': badBody({ externalRefundId: 'r', amount: 1 }),
  'refundCommission refund_item_unknown': badBody({
    externalRefundId: 'r',
    lineItems: [{ variantId: '1', quantity: 1 }],
  }),
  'refundCommission refund_exceeds_order': async (server) => {
    const { id } = await freshCommission(server)
    await expectOk(
      callOwnerOperation(server, 'refundCommission', { id, body: { externalRefundId: 'most', amountCents: 4000 } }),
    )
    return callOwnerOperation(server, 'refundCommission', { id, body: { externalRefundId: 'more', amountCents: 6001 } })
  },
  'moderateCommissions invalid_body': badBody({ action: 'approve' }),
  'moderateCommissions unknown_property': badBody({ action: 'approve', status: 'PENDING' }),
  'moderateCommissions period_invalid': badBody({
    action: 'approve',
    filter: { from: '2026-10-02', to: '2026-10-01' },
  }),
  'explainOrder order_not_found': unknown,
  'runBacktest invalid_body': badBody({ from: '2026-10-01' }),
  'runBacktest unknown_property': badBody({ precedence: 'default' }),
  'runBacktest commission_percent_invalid': badBody({ commissionPercent: 101 }),
  'runBacktest commission_percent_required': async (server) => {
    const program = { name: 'Flat', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }
    const { id } = await expectOk(server.request('POST', '/api/v1/programs', { body: program }))
    await newAffiliate(server, { campaignId: id, code: 'FLAT' })
    await expectOk(convert(server, { externalOrderId: 'flat', amountCents: 100, couponCode: 'FLAT' }))
    return callOwnerOperation(server, 'runBacktest', { body: { commissionType: 'PERCENT_OF_SALE' } })
  },
  'runBacktest period_invalid': badBody({ clickTouch: 'LAST', from: '2026-10-02', to: '2026-10-01' }),
  'runBacktest total_too_large': async (server) => {
    const { key, ownerToken } = await server.createShop()
    const program = { commissionType: 'FLAT_PER_ITEM', commissionPercent: 21_474_836.47 }
    await withAffiliate(server, { key, program })
    const order = { amountCents: 1, couponCode: 'NISA16', lineItems: [{ quantity: 1_000_000 }] }
    for (const externalOrderId of '12345') await expectOk(convert(server, { ...order, externalOrderId }, { key }))
    return callOwnerOperation(server, 'runBacktest', { key: ownerToken, body: { clickTouch: 'LAST' } })
  },
  'runBacktest program_not_found': badBody({ clickTouch: 'LAST', programId: 'prg_none' }),
  'getStatement invalid_parameter': badQuery('month=2026-13'),
  'getStatement affiliate_not_found': unknown,
  'getStatement total_too_large': (server) => withVastBalance(server, 'getStatement', 'month=2026-10'),
  'getStatementFile invalid_parameter': badQuery('month=2026-13&format=csv'),
  'getStatementFile affiliate_not_found': unknown,
  'getStatementFile total_too_large': (server) =>
    withVastBalance(server, 'getStatementFile', 'month=2026-10&format=csv'),
  'exportLedger invalid_parameter': badQuery('month=October'),
  'exportAudit invalid_parameter': badQuery('after=99999'),
  'exportPerson invalid_body': badBody({ email: 'jo.doe' }),
  'exportPerson unknown_property': badBody({ email: 'jo@example.com', customerEmail: 'jo@example.com' }),
  'erasePerson invalid_body': badBody({ email: 'jo.doe' }),
  'erasePerson unknown_property': badBody({ email: 'jo@example.com', customerEmail: 'jo@example.com' }),
  'erasePerson affiliate_has_open_commissions': badBody({ email: 'nisa@example.com' }),
  'erasePerson person_is_user': (server) => {
    const { email } = rowOf(server, 'users', { shopId: server.shop.shopId, role: 'OWNER' })
    return callOwnerOperation(server, 'erasePerson', { body: { email } })
  },
  'erasePerson erasure_unreadable': async (server, op) => {
    updateRows(server, 'erasures', { subject: 'v1.AAAA', finishedAt: null }, { id: ID.erasure })
    return whileBroken(
      () =>
        updateRows(server, 'erasures', { subject: null, finishedAt: '2026-11-02T12:00:00.000Z' }, { id: ID.erasure }),
      () => callOwner(server, op),
    )
  },
  'getErasure erasure_not_found': unknown,
  'redeliver delivery_erased': async (server, op) => {
    const { eventId } = rowOf(server, 'deliveries', { id: ID.delivery })
    updateRows(server, 'webhookEvents', { erasedAt: '2026-11-02T12:00:00.000Z' }, { id: eventId })
    return whileBroken(
      () => updateRows(server, 'webhookEvents', { erasedAt: null }, { id: eventId }),
      () => callOwner(server, op),
    )
  },
  'listAudit invalid_parameter': badQuery('limit=101'),
  'listAudit period_invalid': badQuery('from=2026-10-02&to=2026-10-01'),
  'listDeliveries invalid_parameter': badQuery('limit=101'),
  'redeliver delivery_not_found': unknown,
  'redeliver webhook_not_found': async (server) => {
    const { id: subscriptionId } = await expectOk(
      server.request('POST', '/api/v1/webhooks', { body: { url: 'https://gone.example.com' } }),
    )
    await freshCommission(server)
    const { data } = (await admin(server, 'GET', `/deliveries?subscriptionId=${subscriptionId}`)).body
    const { id, createdAt } = data[0]
    updateRows(server, 'deliveries', { status: 'SENT', finishedAt: createdAt }, { id })
    await expectOk(server.request('DELETE', `/api/v1/webhooks?id=${subscriptionId}`))
    return callOwnerOperation(server, 'redeliver', { id })
  },
  'redeliver delivery_not_finished': async (server) => {
    const { id } = await expectOk(callOwnerOperation(server, 'redeliver'))
    return callOwnerOperation(server, 'redeliver', { id })
  },
  'redeliver webhook_disabled': whileDisabled,
  'redeliverMany webhook_disabled': whileDisabled,
  'redeliverMany webhook_not_found': unknown,
  'redeliverMany invalid_body': badBody({}),
  'redeliverMany unknown_property': badBody({ from: '2026-10-20', since: '2026-10-20' }),
  'redeliverMany period_invalid': badBody({ from: '2026-10-21', to: '2026-10-20' }),
  'updateWebhook invalid_body': badBody({ events: 'all' }),
  'updateWebhook unknown_property': badBody({ hookUrl: 'https://hooks.example.com' }),
  'updateWebhook webhook_url_refused': badBody({ url: 'http://hooks.example.com/x' }),
  'updateWebhook webhook_not_found': unknown,
  'updateWebhook webhook_limit_reached': async (server, op) => {
    const id = subscribe(server, ['x'.repeat(1024 * 1024)])
    const reply = await callOwner(server, op, { body: { events: ['commission.created', 'one.more'] } })
    deleteRows(server, 'subscriptions', { id })
    return reply
  },
  'updateWebhook concurrent_change': raced({ body: { secret: 'a' } }, { body: { secret: 'b' } }),
  'getPayee affiliate_not_found': unknown,
  'getPayee payee_not_found': async (server, op) => {
    const { id } = await newAffiliate(server, { code: 'NEPAYEE' })
    return callOwner(server, op, { id })
  },
  'setPayee affiliate_not_found': unknown,
  'setPayee invalid_body': badBody({ method: 'CASH' }),
  'setPayee unknown_property': badBody({ method: 'PAYPAL', email: 'noor@example.com', account: 'x' }),
  'setPayee payee_invalid': badBody({
    method: 'SEPA',
    name: 'Noor Haddad',
    iban: 'DE89370400440532013001',
    townName: 'Berlin',
    country: 'DE',
  }),
  'deletePayee payee_not_found': unknown,
  'listPayoutLines payout_not_found': unknown,
  'listPayoutLines invalid_parameter': badQuery('limit=101'),
  'listPayoutFiles payout_not_found': unknown,
  'createPayoutFile invalid_parameter': calling({ id: 'october 2026' }),
  'createPayoutFile invalid_body': badBody({ batchId: ID.batch, format: 'cash' }),
  'createPayoutFile unknown_property': badBody({ batchId: ID.batch, format: 'paypal', fileId: 'x' }),
  'createPayoutFile payee_invalid': badBody({
    batchId: ID.batch,
    format: 'sepa',
    debtor: { name: 'Shop', iban: 'DE89370400440532013001' },
  }),
  'createPayoutFile payout_not_found': badBody({ batchId: 'bat_none', format: 'paypal' }),
  'createPayoutFile payout_already_paid': calling({ id: 'later', body: { batchId: ID.paidBatch, format: 'paypal' } }),
  'createPayoutFile payout_file_exists': calling({ id: ID.file }),
  'createPayoutFile payout_nothing_to_send': calling({ id: 'nothing', body: { batchId: ID.batch, format: 'wise' } }),
  'createPayoutFile payout_currency_not_supported': calling({
    id: 'sepa',
    body: { batchId: ID.batch, format: 'sepa', debtor: { name: 'Shop', iban: 'DE89370400440532013000' } },
  }),
  'createPayoutFile payout_not_payable': async (server, op) => {
    updateRows(server, 'payoutBatches', { status: 'FAILED' }, { id: ID.batch })
    return whileBroken(
      () => updateRows(server, 'payoutBatches', { status: 'OPEN' }, { id: ID.batch }),
      () => callOwner(server, op, { id: 'failed' }),
    )
  },
  'discardPayoutFile payout_file_not_found': unknown,
  'discardPayoutFile payout_file_not_discardable': async (server, op) => {
    updateRows(server, 'payoutFiles', { settledLines: 1 }, { id: ID.file })
    return whileBroken(
      () => updateRows(server, 'payoutFiles', { settledLines: 0 }, { id: ID.file }),
      () => callOwner(server, op, { id: ID.file }),
    )
  },
  'discardPayoutFile payout_already_paid': async (server, op) => {
    const id = await freshFile(server)
    const { batchId } = rowOf(server, 'payoutFiles', { id })
    await expectOk(server.request('PATCH', `/api/v1/payouts?id=${batchId}&action=pay`))
    return callOwner(server, op, { id })
  },
  'listPayoutFileLines invalid_parameter': badQuery('limit=501'),
  'listPayoutFileLines payout_file_not_found': unknown,
  'listPayoutFileLines payout_file_unfinished': async (server, op) => {
    updateRows(server, 'payoutFiles', { status: 'PREPARING' }, { id: ID.file })
    return whileBroken(
      () => updateRows(server, 'payoutFiles', { status: 'SENT' }, { id: ID.file }),
      () => callOwner(server, op),
    )
  },
  'listPayoutFileLines payee_unreadable': async (server, op) => {
    const { details } = rowOf(server, 'payoutLines', { id: ID.line })
    updateRows(server, 'payoutLines', { details: 'v1.AAAA' }, { id: ID.line })
    return whileBroken(
      () => updateRows(server, 'payoutLines', { details }, { id: ID.line }),
      () => callOwner(server, op),
    )
  },
  'reconcilePayouts invalid_body': badBody({}),
  'reconcilePayouts unknown_property': badBody({ results: [{ paymentReference: 'x', outcome: 'SETTLED' }], rows: 1 }),
  'cancelPayout payout_has_sent_lines': async (server, op) =>
    callOwner(server, op, { id: rowOf(server, 'payoutFiles', { id: ID.file }).batchId as string }),
  'cancelPayout payout_not_found': unknown,
  'cancelPayout payout_not_cancelable': calling({ id: ID.paidBatch }),
  'cancelPayout concurrent_change': raced({}, {}),
}

/** An affiliate with more than the largest exact integer. */
async function withVastBalance(server: OwnerServer, operation: string, query: string): Promise<Reply> {
  const { shopId, ownerToken, key } = await server.createShop()
  const { affiliate } = await withAffiliate(server, { key })
  const order = { externalOrderId: 'x', amountCents: 1000, couponCode: 'NISA16', occurredAt: '2026-09-01' }
  await expectOk(convert(server, order, { key }))
  const vast = { commissionAmountCents: Number.MAX_SAFE_INTEGER, taxWithheldCents: -1000 }
  updateRows(server, 'commissions', vast, { shopId })
  return callOwnerOperation(server, operation, { key: ownerToken, id: affiliate.id, query })
}

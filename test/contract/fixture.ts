import { engine } from '../support/database.ts'
import { type DocumentedOperation, operation } from '../support/document.ts'
import { hashOfFile, hashOfRows } from '../support/inspect.ts'
import { type Reply, type RequestOptions, type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'

/** The ids that the document's examples use. */
export const ID = {
  program: 'prg_01KAH0000000000000000000P1',
  affiliate: 'aff_01KAH0000000000000000000A1',
  alias: 'als_01KAH0000000000000000000S1',
  customer: 'cus_01KAH0000000000000000000C1',
  commission: 'com_01KAH0000000000000000000C1',
  batch: 'bat_01KAH0000000000000000000B1',
  webhook: 'whs_01KAH0000000000000000000W1',
}

/** The query that a valid call of an operation needs, with the ids of the examples. */
const QUERY: Record<string, string> = {
  updateAffiliate: `id=${ID.affiliate}`,
  archiveAffiliate: `id=${ID.affiliate}`,
  deleteAlias: `id=${ID.alias}`,
  updateProgram: `id=${ID.program}`,
  getProgramTerms: `id=${ID.program}`,
  setProgramTerms: `id=${ID.program}`,
  payPayout: `id=${ID.batch}&action=pay`,
  getJourney: 'sessionId=s-1',
  getAffiliateBalance: `affiliateId=${ID.affiliate}`,
  getUnpaid: 'periodStart=2026-10-01&periodEnd=2026-10-31T23:59:59.999Z',
  deleteWebhook: `id=${ID.webhook}`,
  unbindCustomer: `id=${ID.customer}`,
  getOrderExplanation: 'externalOrderId=1000',
  cancelRefund: 'externalOrderId=1000&externalRefundId=re-0',
}

/** A server with the resources of the document's examples. */
export async function exampleServer(): Promise<TestServer> {
  const server = await testServer()
  server.pin('prg', ID.program)
  server.pin('aff', ID.affiliate)
  await expectOk(
    server.request('POST', '/api/v1/programs', {
      body: { name: 'Friends', autoApproveOrder: true, status: 'PUBLISH' },
    }),
  )
  const discount = { discountEnabled: true, discountType: 'PERCENT', discountValue: 10 }
  await expectOk(server.request('PATCH', `/api/v1/programs?id=${ID.program}`, { body: discount }))
  const nisa = { email: 'nisa@example.com', firstName: 'Nisa', lastName: 'Karim' }
  await expectOk(server.request('POST', '/api/v1/affiliates', { body: nisa }))
  await expectOk(server.request('POST', '/api/v1/coupons', { body: { affiliateId: ID.affiliate, code: 'NISA16' } }))
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${ID.affiliate}`, { body: { status: 'APPROVED' } }))
  server.pin('als', ID.alias)
  const alias = { affiliateId: ID.affiliate, kind: 'CODE', value: 'NISA20' }
  await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body: alias }))
  server.pin('cus', ID.customer)
  await expectOk(
    server.request('POST', '/api/v1/customers', { body: { customerId: 'customer-0', couponCode: 'NISA16' } }),
  )
  server.pin('com', ID.commission)
  const order = {
    amountCents: 10_000,
    discountCents: 1000,
    couponCode: 'NISA16',
    occurredAt: '2026-10-20T15:04:05.000Z',
  }
  await expectOk(convert(server, { ...order, externalOrderId: '1000', orderName: '#1000' }))
  // Of nothing, so that the commission of the examples stays.
  const refund = { externalOrderId: '1000', externalRefundId: 're-0', amountCents: 0 }
  await expectOk(server.request('POST', '/api/v1/refunds', { body: refund }))
  server.pin('bat', ID.batch)
  const october = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
  await expectOk(server.request('POST', '/api/v1/payouts', { body: october }))
  // Another order, so that the examples have something to pay.
  await expectOk(convert(server, { ...order, externalOrderId: '1000-2' }))
  server.pin('whs', ID.webhook)
  await expectOk(
    server.request('POST', '/api/v1/webhooks', {
      body: { url: 'https://hooks.example.com/referral', secret: 'secret' },
    }),
  )
  return server
}

export interface Call extends RequestOptions {
  query?: string
  method?: string
}

/** A valid call of an operation, with the first example of its request, changed by `call`. */
export function callOperation(server: TestServer, op: DocumentedOperation, call: Call = {}): Promise<Reply> {
  const { query = QUERY[op.id] ?? '', method = op.method, headers, ...rest } = call
  const body = Object.values(op.requestExamples)[0]?.value
  const withKey: Record<string, string> = op.id === 'recordEvent' ? { 'Idempotency-Key': 'contract' } : {}
  const given = 'body' in rest || 'raw' in rest ? rest : { ...rest, body }
  return server.request(method, `${op.path}${query && `?${query}`}`, { ...given, headers: { ...withKey, ...headers } })
}

export const call = (server: TestServer, id: string, given: Call = {}) => callOperation(server, operation(id), given)

/** One hash of every row except those that only record accesses. */
export function snapshot(server: TestServer, except: string[] = []): string {
  // An audit chain is excluded together with its head.
  const left = except.includes('audits') ? [...except, 'auditHeads'] : except
  return engine === 'postgres' ? hashOfRows(server, left) : hashOfFile(server, left)
}

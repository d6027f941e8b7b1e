import { exampleServer, ID as PUBLIC } from '../contract/fixture.ts'
import { type DocumentedOperation, operation } from './document.ts'
import { deleteRows, insertRows, rowOf, updateRows } from './inspect.ts'
import type { Reply, RequestOptions, TestServer } from './server.ts'
import { convert, expectOk, newAffiliate } from './shop.ts'
import { createUser } from './tenants.ts'

/** The ids in the document's examples of the owner API, and others that the operations need. */
export const ID = {
  ...PUBLIC,
  key: 'key_01KAH0000000000000000000K1',
  connection: 'cus_01KAH0000000000000000000C2',
  rule: 'rul_01KAH0000000000000000000R1',
  manual: 'prg_01KAH0000000000000000000P2',
  pending: 'com_01KAH0000000000000000000C2',
  rejected: 'com_01KAH0000000000000000000C3',
  paid: 'com_01KAH0000000000000000000C4',
  lines: 'com_01KAH0000000000000000000C5',
  paidBatch: 'bat_01KAH0000000000000000000B2',
  delivery: 'dlv_01KAH0000000000000000000D1',
  line: 'pln_01KAH0000000000000000000Y1',
  erasure: 'ers_01KAH0000000000000000000R1',
  file: 'october-paypal',
  testShop: 'shp_01KAH0000000000000000000T1',
}

/** No file of the examples has this id. */
const NEW_FILE = 'november-paypal'

export type OwnerServer = TestServer & { staff: string; session: Record<string, string> }

/** Calls the owner API with the owner's token. */
export const admin = (
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  options: RequestOptions = {},
): Promise<Reply> => server.request(method, `/admin/v1${path}`, { key: server.shop.ownerToken, body, ...options })

export const staffOf = async (server: TestServer, email = 'staff@shop.example'): Promise<string> =>
  (await createUser(server.deps, { shop: server.shop.shopId, email, role: 'STAFF' })).ownerToken

/** The server of the public examples, with the resources of the owner's examples. */
export async function ownerServer(): Promise<OwnerServer> {
  const server = await exampleServer()
  server.pin('key', ID.key)
  await expectOk(admin(server, 'POST', '/keys', { label: 'Checkout', scopes: ['events:write'] }))
  server.pin('cus', ID.connection)
  const known = { kind: 'customerEmail', value: 'known@example.com', affiliateId: ID.affiliate }
  await expectOk(admin(server, 'POST', '/connections', known))
  server.pin('rul', ID.rule)
  const rule = { programId: ID.program, kind: 'product', value: '7999', commissionPercent: 25 }
  await expectOk(admin(server, 'POST', '/product-rules', rule))
  server.pin('shp', ID.testShop)
  await expectOk(admin(server, 'POST', '/test-shops', {}))
  server.pin('dlv', ID.delivery)
  await manualOrders(server)
  const { createdAt } = rowOf(server, 'deliveries', { id: ID.delivery })
  updateRows(server, 'deliveries', { status: 'SENT', code: 'ok', finishedAt: createdAt }, { id: ID.delivery })
  await expectOk(admin(server, 'PUT', `/geo-rules/${ID.manual}`, { countries: ['US'] }))
  await payByPaypal(server, ID.affiliate)
  await freshProgram(server)
  await sendExample(server)
  server.pin('ers', ID.erasure)
  await expectOk(admin(server, 'POST', '/privacy/erasures', { email: 'gone@example.com' }))
  const { headers } = await signIn(server)
  return { ...server, staff: await staffOf(server), session: headers }
}

/** Orders of a program without auto-approval: one pending, one rejected, one paid, one with lines. */
async function manualOrders(server: TestServer): Promise<void> {
  server.pin('prg', ID.manual)
  await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'By hand' } }))
  await newAffiliate(server, { campaignId: ID.manual, code: 'HANDS' })
  const order = { amountCents: 10_000, couponCode: 'HANDS' }
  server.pin('com', ID.pending, ID.rejected, ID.paid, ID.lines)
  await expectOk(convert(server, { ...order, externalOrderId: 'm-1' }))
  await expectOk(convert(server, { ...order, externalOrderId: 'm-2' }))
  await expectOk(admin(server, 'POST', `/commissions/${ID.rejected}/reject`))
  await expectOk(convert(server, { ...order, externalOrderId: 'm-3', occurredAt: '2026-09-10T00:00:00.000Z' }))
  await expectOk(admin(server, 'POST', `/commissions/${ID.paid}/approve`))
  server.pin('bat', ID.paidBatch)
  const september = { periodStart: '2026-09-01', periodEnd: '2026-09-30T23:59:59.999Z' }
  await expectOk(server.request('POST', '/api/v1/payouts', { body: september }))
  await expectOk(server.request('PATCH', `/api/v1/payouts?id=${ID.paidBatch}&action=pay`))
  const lineItems = [{ productId: '7001', variantId: '9001', quantity: 2, priceCents: 5000 }]
  await expectOk(convert(server, { externalOrderId: 'm-4', couponCode: 'HANDS', lineItems }))
}

const payByPaypal = (server: TestServer, affiliateId: string) =>
  expectOk(admin(server, 'PUT', `/affiliates/${affiliateId}/payee`, { method: 'PAYPAL', email: 'noor@example.com' }))

/** The example file, with one line of its own batch. Replaces an earlier one. */
async function sendExample(server: TestServer): Promise<string> {
  deleteRows(server, 'payoutLines', { fileId: ID.file })
  deleteRows(server, 'payoutFiles', { id: ID.file })
  const { id: batchId } = await freshBatch(server)
  await expectOk(admin(server, 'PUT', `/payout-files/${ID.file}`, { batchId, format: 'paypal' }))
  // Its own id depends on those of its batch and affiliate, and its details are sealed with it.
  const { vault } = server.deps
  const { id, details } = rowOf(server, 'payoutLines', { fileId: ID.file })
  updateRows(
    server,
    'payoutLines',
    { id: ID.line, details: vault.seal(vault.open(details, id) ?? '', ID.line) },
    { id },
  )
  return batchId
}

/** The example batch without files. Returns the id of a file that can be created. */
async function unsentExample(server: TestServer): Promise<string> {
  deleteRows(server, 'payoutLines', { batchId: ID.batch })
  deleteRows(server, 'payoutFiles', { batchId: ID.batch })
  await payByPaypal(server, ID.affiliate)
  return NEW_FILE
}

/** Separate orders for operations that consume one. */
async function freshProgram(server: TestServer): Promise<void> {
  const { id } = await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'Fresh' } }))
  const affiliate = await newAffiliate(server, { campaignId: id, code: 'FRESH' })
  await payByPaypal(server, affiliate.id)
}

/** A payment file with one line of its own batch. */
export async function freshFile(server: TestServer): Promise<string> {
  const { id: batchId } = await freshBatch(server)
  const id = `fresh-${made++}`
  await expectOk(admin(server, 'PUT', `/payout-files/${id}`, { batchId, format: 'paypal' }))
  return id
}

/** Product rules of products nobody sells, or geo rules of programs nobody has, as many as a shop needs to reach its limit. */
export function fillRules(
  server: TestServer,
  { shopId, programId }: { shopId: string; programId: string },
  count: number,
) {
  const at = '2026-11-01T00:00:00.000Z'
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  const product = { shopId, programId, kind: 'product', commissionType: 'PERCENT_OF_SALE', rate: 1000 } as const
  const geo = { shopId, countries: '["US"]', states: '[]', cities: '[]', postalPrefixes: '[]', updatedAt: at }
  const productRuleOf = (i: number) => ({
    id: `${shopId}-${i}`,
    ...product,
    value: `${700_000_000 + i}`,
    createdAt: at,
  })
  return {
    product: () => insertRows(server, 'productRules', numbers.map(productRuleOf)),
    geo: () =>
      insertRows(
        server,
        'geoRules',
        numbers.map((i) => ({ programId: `${shopId}-${i}`, ...geo })),
      ),
  }
}

let made = 0

/** A pending commission of an order with lines, in its own month. */
export async function freshCommission(server: TestServer, priceCents = 5000): Promise<{ id: string; month: string }> {
  const month = new Date(Date.UTC(2000, made++)).toISOString().slice(0, 7)
  const lineItems = [{ productId: '7001', variantId: '9001', quantity: 2, priceCents }]
  const order = { externalOrderId: `fresh-${made}`, couponCode: 'FRESH', lineItems, occurredAt: `${month}-10` }
  const { commission } = await expectOk(convert(server, order))
  return { id: commission.id, month }
}

/** An open batch with one commission. */
export async function freshBatch(server: TestServer): Promise<{ id: string; commissionId: string }> {
  // Above the minimum payout that an example sets.
  const { id: commissionId, month } = await freshCommission(server, 50_000)
  await expectOk(admin(server, 'POST', `/commissions/${commissionId}/approve`))
  const period = { periodStart: `${month}-01`, periodEnd: `${month}-28` }
  const { id } = await expectOk(server.request('POST', '/api/v1/payouts', { body: period }))
  return { id, commissionId }
}

const created = (path: string, body: () => object) => async (server: TestServer) =>
  (await expectOk(admin(server, 'POST', path, body()))).id as string
const freshKey = created('/keys', () => ({ label: 'Fresh', scopes: ['events:write'] }))
/** Replaces the test shop of the previous call, because a shop can have 10. */
async function freshTestShop(server: TestServer): Promise<string> {
  const { body } = await admin(server, 'GET', '/test-shops')
  for (const { id } of body.data) if (id !== ID.testShop) await expectOk(admin(server, 'DELETE', `/test-shops/${id}`))
  return (await expectOk(admin(server, 'POST', '/test-shops', {}))).id
}
const pendingId = async (server: TestServer) => (await freshCommission(server)).id

/** Creates the resource that an operation consumes, if it needs one. */
export const FRESH: Record<string, (server: TestServer) => Promise<string>> = {
  deleteTestShop: freshTestShop,
  advanceTestClock: freshTestShop,
  unarchiveAffiliate: async (server) => {
    const body = { email: `archived-${made++}@example.com`, name: 'Archived' }
    const { id } = await expectOk(server.request('POST', '/api/v1/affiliates', { body }))
    await server.request('DELETE', `/api/v1/affiliates?id=${id}`)
    return id
  },
  revokeKey: freshKey,
  rotateKey: freshKey,
  deleteConnection: created('/connections', () => ({
    kind: 'product',
    value: String(1_000_000 + made++),
    affiliateId: ID.affiliate,
  })),
  deleteAdminAlias: created('/aliases', () => ({
    affiliateId: ID.affiliate,
    kind: 'CODE',
    value: `fresh${made++}`,
  })),
  deleteProductRule: created('/product-rules', () => ({
    programId: ID.program,
    kind: 'product',
    value: String(1_000_000 + made++),
    commissionPercent: 5,
  })),
  deleteGeoRule: async (server) => {
    await expectOk(admin(server, 'PUT', `/geo-rules/${ID.manual}`, { countries: ['US'] }))
    return ID.manual
  },
  deletePayee: async (server) => {
    const { id } = await newAffiliate(server, { code: `PAY${made++}`.replaceAll('0', 'A') })
    await expectOk(admin(server, 'PUT', `/affiliates/${id}/payee`, { method: 'PAYPAL', email: 'noor@example.com' }))
    return id
  },
  // Programs without a geo rule accept any address.
  setGeoRule: async () => ID.manual,
  approveCommission: pendingId,
  rejectCommission: pendingId,
  cancelCommission: async (server) => (await freshBatch(server)).commissionId,
  reverseCommission: async (server) => {
    const { id, commissionId } = await freshBatch(server)
    await expectOk(server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`))
    return commissionId
  },
  reopenCommission: async (server) => {
    const { id } = await freshCommission(server)
    await expectOk(admin(server, 'POST', `/commissions/${id}/reject`))
    return id
  },
  refundCommission: pendingId,
  cancelPayout: async (server) => (await freshBatch(server)).id,
  createPayoutFile: unsentExample,
  discardPayoutFile: freshFile,
  reconcilePayouts: sendExample,
}

/** Ids for calls that change nothing, where that of the document's example is unsuitable. */
const PATH: Record<string, string> = {
  approveCommission: ID.pending,
  rejectCommission: ID.pending,
  reverseCommission: ID.paid,
  reopenCommission: ID.rejected,
  refundCommission: ID.lines,
  deleteGeoRule: ID.manual,
  createPayoutFile: NEW_FILE,
}

/** The query of a valid call. */
const QUERY: Record<string, string> = {
  getStatement: 'month=2026-10',
  getStatementFile: 'month=2026-10&format=csv',
  exportLedger: 'month=2026-10',
}

export interface OwnerCall extends RequestOptions {
  query?: string
  method?: string
  /** Instead of the ids of the path. */
  id?: string
}

/** A valid call of an operation with the first example of its request, changed by `given`. */
export function callOwner(server: TestServer, op: DocumentedOperation, given: OwnerCall = {}): Promise<Reply> {
  const { query = QUERY[op.id] ?? '', method = op.method, id = PATH[op.id], ...rest } = given
  const path = op.path.replace(/\{(\w+)\}/g, (_, name) => {
    const parameter = op.parameters.find((one) => one.name === name)
    return encodeURIComponent(id ?? String((parameter as { example?: unknown } | undefined)?.example))
  })
  const body = Object.values(op.requestExamples)[0]?.value ?? (op.id === 'createSession' ? {} : undefined)
  const example = op.id === 'createSession' ? { token: server.shop.ownerToken } : body
  const sent = 'body' in rest || 'raw' in rest ? rest : { ...rest, body: example }
  return server.request(method, `${path}${query && `?${query}`}`, { key: server.shop.ownerToken, ...sent })
}

export const callOwnerOperation = (server: TestServer, id: string, given: OwnerCall = {}) =>
  callOwner(server, operation(id), given)

/** Signs in, and returns the headers that a browser and its page would send afterwards. */
export async function signIn(server: TestServer, token = server.shop.ownerToken) {
  const reply = await server.request('POST', '/admin/v1/session', { key: null, body: { token } })
  const cookie = reply.headers.get('Set-Cookie')?.split(';')[0] ?? ''
  return { reply, cookie, headers: { Cookie: cookie, 'X-CSRF-Token': reply.body.data?.csrfToken ?? '' } }
}

/** What a call of an operation needs in addition to the owner's token: only a session can be ended. */
export const sessionFor = (server: OwnerServer, op: { id: string }): OwnerCall =>
  op.id === 'deleteSession' ? { key: null, headers: server.session } : {}

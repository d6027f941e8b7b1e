import type { components } from '../../sdk/src/schema.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import type { Client } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

export const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }

export type PaymentLine = components['schemas']['PaymentLine']
type PaymentResult = components['schemas']['PaymentResult']

/** Adds an affiliate who is paid by PayPal. */
export async function addPayee(server: TestServer): Promise<string> {
  const id = addAffiliate(server)
  await setPayee(server, id)
  return id
}

export const setPayee = (server: TestServer, affiliateId: string) =>
  expectOk(server.owner('PUT', `/affiliates/${affiliateId}/payee`, { method: 'PAYPAL', email: 'p@pay.example' }))

/** Sends the ready lines of a batch. */
export const send = (server: TestServer, fileId: string, batchId: string | null, format = 'paypal') =>
  expectOk(server.owner('PUT', `/payout-files/${fileId}`, { batchId, format }))

/** The lines of a batch and their sums by state. */
export async function linesOf(
  server: TestServer,
  batchId: string | null,
): Promise<{ data: PaymentLine[]; totals: Record<string, { lines: number; cents: number }> }> {
  const { body, status } = await server.owner('GET', `/payouts/${batchId}/lines?limit=100`)
  if (status !== 200) throw new Error(body.error)
  return body
}

/** Reports results, and returns what became of each. */
export async function report(server: TestServer, results: PaymentResult[]): Promise<string[]> {
  const { results: reported } = await expectOk(server.owner('POST', '/payout-lines/reconcile', { results }))
  return reported.map(({ result }: { result: string }) => result)
}

/** The result of a payment, as a bank reports it. */
export const resultOf = (
  line: PaymentLine | undefined,
  outcome: PaymentResult['outcome'],
  given: Partial<PaymentResult> = {},
): PaymentResult => ({
  paymentReference: line?.paymentReference ?? 'none',
  outcome,
  amountCents: line?.amountCents ?? 0,
  currency: line?.currency ?? 'USD',
  date: '2026-11-03',
  reference: `ref ${line?.id}`,
  ...given,
})

export const codeOf = ({ status, headers }: { status: number; headers: Headers }) => [
  status,
  headers.get('X-Error-Code'),
]
export const batchOf = async (client: Client, id: string | null) =>
  (await client.payouts.list({ id: id ?? '' })).data[0]

/** An open batch that pays 1000 cents to each of several affiliates. */
export async function openBatch(server: TestServer, payees: number) {
  const ids: string[] = []
  for (let i = 0; i < payees; i++) ids.push(await addPayee(server))
  for (const affiliateId of ids) addCommission(server, { affiliateId })
  const { id } = await server.client.payouts.create(OCTOBER)
  return { id, affiliateIds: ids.sort() }
}

/** A batch whose payments were sent, and its lines. */
export async function sentBatch(server: TestServer, payees = 2) {
  const batch = await openBatch(server, payees)
  await send(server, 'october', batch.id)
  return { ...batch, lines: (await linesOf(server, batch.id)).data }
}

/** A batch with a real order of 1600 cents that was sent. The affiliate's code is the order's id, or NISA16. */
export async function sentOrder(server: TestServer, externalOrderId = '1') {
  const code = externalOrderId === '1' ? 'NISA16' : externalOrderId
  const { affiliate } = await withAffiliate(server, { code })
  const order = { externalOrderId, amountCents: 10_000, couponCode: code, occurredAt: '2026-10-05' }
  const { commission } = await expectOk(convert(server, order))
  await setPayee(server, affiliate.id)
  const { id } = await server.client.payouts.create(OCTOBER)
  await send(server, externalOrderId === '1' ? 'october' : externalOrderId, id)
  return { affiliateId: affiliate.id, batchId: id, commissionId: commission.id as string }
}

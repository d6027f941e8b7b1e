import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { backup } from '../../server/src/database/backup.ts'
import { carryPaymentsOver, findLostPayments } from '../../server/src/domains/payments/lost-payments.ts'
import { chartedCommission, figuresOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { linesOf, type PaymentLine, report, resultOf, setPayee } from './payments.ts'

const DAY = 86_400_000
const EPOCH = '2000-01-01'
const AFFILIATES = 3

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

interface Order {
  id: string
  affiliateId: string
  amountCents: number
  refundedCents: number
  /** Those that are not canceled, by id. */
  refunds: Map<string, number>
  isCanceled: boolean
}

/** What an order earns: 10% of what is left of it, rounded half up. */
const earnedBy = ({ amountCents, refundedCents, isCanceled }: Order): number =>
  isCanceled ? 0 : Math.floor(((amountCents - refundedCents) * 1000 + 5000) / 10_000)

/** A shop whose history is chosen by a seed: orders, refunds, batches, payment files, and the reports of a bank. */
export async function runHistory(server: TestServer, seed: number): Promise<Record<string, number>> {
  const random = randomOf(seed)
  const below = (n: number) => Math.floor(random() * n)
  const pick = <T>(list: T[]): T | undefined => list[below(list.length)]
  const program = { name: 'P', commissionPercent: 10, autoApproveOrder: true }
  const { id: campaignId } = await expectOk(server.request('POST', '/api/v1/programs', { body: program }))
  const affiliates: string[] = []
  for (let i = 0; i < AFFILIATES; i++) affiliates.push((await newAffiliate(server, { campaignId })).id)
  const orders: Order[] = []
  const batches: string[] = []
  let refunds = 0
  const done: Record<string, number> = {}
  const startedAt = server.clock.ms
  const now = () => new Date(server.clock.ms).toISOString()
  const sent = async (): Promise<PaymentLine | undefined> => {
    const batch = pick(batches)
    return batch === undefined ? undefined : pick((await linesOf(server, batch)).data.filter(({ id }) => id !== null))
  }

  const steps: Record<string, () => Promise<unknown>> = {
    order: async () => {
      const order = { id: `o${orders.length}`, affiliateId: pick(affiliates)!, amountCents: 1 + below(50_000) }
      orders.push({ ...order, refundedCents: 0, refunds: new Map(), isCanceled: false })
      const { id: externalOrderId, affiliateId: ref, amountCents } = order
      return expectOk(convert(server, { externalOrderId, ref, amountCents, currency: 'USD', occurredAt: now() }))
    },
    refund: async () => {
      const order = pick(orders.filter((one) => !one.isCanceled && one.refundedCents < one.amountCents))
      if (!order) return
      const amountCents = 1 + below(order.amountCents - order.refundedCents)
      const ids = { externalOrderId: order.id, externalRefundId: `r${++refunds}` }
      order.refundedCents += amountCents
      order.refunds.set(ids.externalRefundId, amountCents)
      const occurredAt = new Date(server.clock.ms - below(3) * DAY).toISOString()
      return expectOk(server.request('POST', '/api/v1/refunds', { body: { ...ids, amountCents, occurredAt } }))
    },
    cancelRefund: async () => {
      const order = pick(orders.filter((one) => one.refunds.size > 0))
      const [externalRefundId, amountCents] = pick([...(order?.refunds ?? [])]) ?? []
      if (!order || !externalRefundId || !amountCents) return
      order.refundedCents -= amountCents
      order.refunds.delete(externalRefundId)
      const query = new URLSearchParams({ externalOrderId: order.id, externalRefundId })
      return expectOk(server.request('DELETE', `/api/v1/refunds?${query}`))
    },
    cancelOrder: async () => {
      const order = pick(orders.filter((one) => !one.isCanceled))
      if (!order) return
      order.isCanceled = true
      return expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: order.id } }))
    },
    batch: async () => {
      server.clock.advance(DAY)
      const body = { periodStart: EPOCH, periodEnd: now() }
      const { status, body: reply } = await server.request('POST', '/api/v1/payouts', { body })
      if (status === 200) batches.push(reply.data.id)
      server.clock.advance(DAY)
    },
    payee: async () => {
      const id = pick(affiliates)!
      return random() < 0.8 ? setPayee(server, id) : server.owner('DELETE', `/affiliates/${id}/payee`)
    },
    send: async () => {
      const batchId = pick(batches)
      if (batchId) await server.owner('PUT', `/payout-files/f${below(40)}`, { batchId, format: 'paypal' })
    },
    discard: async () => {
      const batchId = pick(batches)
      if (!batchId) return
      const { data: files } = (await server.owner('GET', `/payouts/${batchId}/files`)).body
      const file = pick(files as { id: string }[])
      if (file) await server.owner('POST', `/payout-files/${file.id}/discard`)
    },
    report: async () => {
      const line = await sent()
      const outcome = random() < 0.5 ? 'SETTLED' : 'RETURNED'
      if (!line) return
      const result = resultOf(line, outcome)
      await report(server, random() < 0.3 ? [result, result] : [result])
    },
    wrongReport: async () => {
      const line = await sent()
      if (line) await report(server, [resultOf(line, 'RETURNED', { amountCents: line.amountCents + 1 })])
    },
    pay: async () => {
      const id = pick(batches)
      if (id) await server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`)
    },
    cancelBatch: async () => {
      const id = pick(batches)
      if (id) await server.owner('POST', `/payouts/${id}/cancel`)
    },
  }
  const WEIGHTED = [
    ...[
      'order',
      'order',
      'order',
      'refund',
      'refund',
      'refund',
      'cancelRefund',
      'cancelOrder',
      'batch',
      'batch',
      'payee',
    ],
    ...['send', 'send', 'send', 'report', 'report', 'report', 'wrongReport', 'pay', 'cancelBatch', 'discard'],
  ]
  // Most histories have something to pay from the start.
  const first = random() < 0.8 ? ['order', 'order', 'payee', 'payee', 'payee', 'batch', 'send'] : []
  const length = 14 + below(14)
  // In some histories, with a batch that is sent after the backup.
  const backupAt = server.url.startsWith('file:') ? 6 + below(2 * length) : 0
  let taken: Backup | undefined
  for (let i = length; i > 0; i--) {
    if (i === backupAt) {
      for (const name of ['order', 'order', 'batch']) await steps[name]!()
      taken = await takeBackup(server, { affiliates, orders, batches })
      first.unshift('payee', 'payee', 'payee', 'send', 'send')
    }
    const name = first.shift() ?? pick(WEIGHTED)!
    done[name] = (done[name] ?? 0) + 1
    await steps[name]!()
  }
  await verify(server, { affiliates, orders, batches })
  await compareLedger(server, affiliates, startedAt)
  if (taken) done.carriedOver = await restoreAndSend(server, taken, batches)
  return done
}

interface History {
  affiliates: string[]
  orders: Order[]
  batches: string[]
}

interface Backup {
  file: string
  /** What the backup contains. */
  history: History
}

async function takeBackup(server: TestServer, history: History): Promise<Backup> {
  const file = join(dirname(server.url.slice('file:'.length)), `${server.shop.shopId}.backup`)
  await backup(server.url, file)
  return { file, history: structuredClone(history) }
}

/**
 * Restores a backup and carries the sent payments over, then sends all that can be sent: nothing is sent twice but what
 * was named, and all of it adds up. Returns the number of payments that would have been sent twice.
 */
async function restoreAndSend(server: TestServer, { file, history }: Backup, batches: string[]): Promise<number> {
  const sentBefore = new Set<string>()
  for (const batchId of batches)
    for (const { id, fileId } of (await linesOf(server, batchId)).data) if (id && fileId) sentBefore.add(id)
  const { encryptionKeys } = server.deps.config
  const started = await testServer({ backup: file, config: { encryptionKeys } })
  const restored: TestServer = { ...started, ...started.asShop(server.shop) }
  try {
    restored.clock.ms = server.clock.ms
    const lost = await findLostPayments(server.url, restored.url)
    const { carriedOver, left } = await carryPaymentsOver(restored.deps, server.url, lost)
    console.log(
      lost.files.length,
      lost.results.length,
      lost.batches.length,
      carriedOver,
      left.map((x) => x.reason).join(),
    )
    const named = left.map((one) => one.paymentReference)
    for (const id of history.affiliates) await setPayee(restored, id)
    for (const [n, batchId] of history.batches.entries()) {
      const known = new Set((await linesOf(restored, batchId)).data.map(({ fileId }) => fileId))
      await restored.owner('PUT', `/payout-files/again-${n}`, { batchId, format: 'paypal' })
      for (const { id, fileId, paymentReference } of (await linesOf(restored, batchId)).data) {
        const isSentAgain = id && fileId && !known.has(fileId) && sentBefore.has(id)
        if (isSentAgain) expect(named, `${batchId} pays ${id} twice`).toContain(paymentReference)
      }
    }
    await verify(restored, history)
    return carriedOver
  } finally {
    await restored.close()
  }
}

/** What each affiliate earned was paid, is in flight, or is payable: to the cent, and nothing twice. */
async function verify(server: TestServer, { affiliates, orders, batches }: History): Promise<void> {
  const paid = new Map(affiliates.map((id) => [id, 0]))
  const settled = new Map(affiliates.map((id) => [id, 0]))
  /** Lines whose commissions are no longer payable, as `<batch> <affiliate>`. */
  const gone = new Set<string>()
  const returned: string[] = []
  for (const batchId of batches) {
    const { data } = await linesOf(server, batchId)
    expect(new Set(data.map(({ affiliateId }) => affiliateId)).size).toBe(data.length)
    for (const { id, affiliateId, state, amountCents } of data) {
      if (state === 'SENT' || state === 'SETTLED') paid.set(affiliateId, paid.get(affiliateId)! + amountCents)
      if (state === 'SETTLED') settled.set(affiliateId, settled.get(affiliateId)! + amountCents)
      if (state === 'RETURNED') returned.push(`adj:${id}:returned`)
      if (state !== 'READY' && state !== 'BLOCKED') gone.add(`${batchId} ${affiliateId}`)
    }
    const inFiles = data.filter(({ fileId }) => fileId !== null)
    const cents = (states: string[]) =>
      inFiles.reduce((sum, { state, amountCents }) => sum + (states.includes(state) ? amountCents : 0), 0)
    const { data: files } = (await server.owner('GET', `/payouts/${batchId}/files`)).body
    const total = (column: string) =>
      files.reduce((sum: number, file: Record<string, number>) => sum + file[column]!, 0)
    expect(total('totalCents')).toBe(cents(['SENT', 'SETTLED', 'RETURNED']))
    expect(total('returnedCents')).toBe(cents(['RETURNED']))
    // Lines that were settled by hand are not in the totals of what a bank reported.
    const byHand = inFiles
      .filter(({ reference }) => reference === 'manual')
      .reduce((sum, one) => sum + one.amountCents, 0)
    expect(total('settledCents')).toBe(cents(['SETTLED']) - byHand)
  }
  const { data: rows } = (await server.request('GET', '/api/v1/commissions?limit=100')).body
  type Row = { affiliateId: string; orderStatus: string; payoutBatchId: string; orderId: string } & {
    commissionAmountCents: number
  }
  const isPayable = ({ orderStatus, payoutBatchId, affiliateId }: Row) =>
    ['APPROVED', 'PAYABLE'].includes(orderStatus) && !gone.has(`${payoutBatchId} ${affiliateId}`)
  const figures = await figuresOf(server, affiliates)
  expect(await chartedCommission(server)).toBe(orders.reduce((sum, one) => sum + earnedBy(one), 0))
  for (const affiliateId of affiliates) {
    const earned = orders.filter((one) => one.affiliateId === affiliateId).reduce((sum, one) => sum + earnedBy(one), 0)
    const own = (rows as Row[]).filter((row) => row.affiliateId === affiliateId)
    const payable = own.filter(isPayable).reduce((sum, row) => sum + row.commissionAmountCents, 0)
    expect(paid.get(affiliateId)! + payable).toBe(earned)
    const [sums] = figures.get(affiliateId)!.sums
    const { commissionCents = 0n, paidCents = 0n } = sums ?? {}
    expect([commissionCents, paidCents]).toEqual([BigInt(earned), BigInt(settled.get(affiliateId)!)])
  }
  const adjustments = (rows as Row[]).map(({ orderId }) => orderId).filter((id) => id.endsWith(':returned'))
  expect(adjustments.sort()).toEqual(returned.sort())
}

const NOT_EARNED = ['PENDING', 'CANCELED', 'REJECTED']

/** The ledger of each month and currency has the sums of the statements of all affiliates, and their payments at the same instants. */
async function compareLedger(server: TestServer, affiliates: string[], startedAt: number): Promise<void> {
  const months = new Set<string>()
  for (let at = startedAt; at < server.clock.ms + DAY; at += DAY) months.add(new Date(at).toISOString().slice(0, 7))
  for (const month of months) {
    const stated: [string, string, number][] = []
    for (const id of affiliates) {
      const { body, status } = await server.owner('GET', `/affiliates/${id}/statement?month=${month}`)
      expect(status, JSON.stringify(body)).toBe(200)
      for (const { kind, at, amountCents } of body.lines) stated.push([`${id} ${kind}`, at, amountCents])
    }
    const [header = '', ...rows] = String((await server.owner('GET', `/ledger?month=${month}`)).body)
      .trim()
      .split('\r\n')
    const names = header.split(',')
    const ledger = rows
      .map((row) => row.split(','))
      .map((cells) => (name: string) => cells[names.indexOf(name)] ?? '')
      .map((cell): [string, string, number] => [
        `${cell('affiliateId')} ${cell('kind')}`,
        cell('at'),
        NOT_EARNED.includes(cell('status')) ? 0 : Number(cell('netCents')),
      ])
    const changes = (entries: typeof stated) => entries.filter(([, , cents]) => cents !== 0).sort()
    expect(changes(ledger), month).toEqual(changes(stated))
  }
}

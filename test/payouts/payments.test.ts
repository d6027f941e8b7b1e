import { describe, expect } from 'vitest'
import { beforeTransaction } from '../support/faults.ts'
import { countOf, outbox, rowsOf, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Client, testWithNewShop as test } from '../support/test.ts'
import { addPayee, linesOf, NOVEMBER, report, resultOf, send, setPayee } from './payments.ts'
import { addAffiliate, addCommission, addDebt, commissionsOf, OCTOBER } from './rows.ts'

const codeOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get('X-Error-Code')]
const batchOf = async (client: Client, id: string | null) => (await client.payouts.list({ id: id ?? '' })).data[0]

/** An open batch that pays 1000 cents to each of several affiliates. */
async function openBatch(server: TestServer, payees: number) {
  const ids: string[] = []
  for (let i = 0; i < payees; i++) ids.push(await addPayee(server))
  for (const affiliateId of ids) addCommission(server, { affiliateId })
  const { id } = await server.client.payouts.create(OCTOBER)
  return { id, affiliateIds: ids.sort() }
}

/** A batch whose payments were sent, and its lines. */
async function sentBatch(server: TestServer, payees = 2) {
  const batch = await openBatch(server, payees)
  await send(server, 'october', batch.id)
  return { ...batch, lines: (await linesOf(server, batch.id)).data }
}

describe('a payment file', () => {
  test('contains who can be paid; others are blocked with the reason, and sent when they can be paid', async ({
    server,
    client,
  }) => {
    const [nisa, omar, debtor] = [await addPayee(server), addAffiliate(server), await addPayee(server)]
    addCommission(server, { affiliateId: nisa, taxWithheldCents: 100 })
    addCommission(server, { affiliateId: omar })
    addDebt(server, debtor, 10)
    const { id } = await client.payouts.create(OCTOBER)
    const before = await linesOf(server, id)
    expect(before.data).toMatchObject([
      { affiliateId: nisa, state: 'READY', amountCents: 900, id: null },
      { affiliateId: omar, state: 'BLOCKED', reason: 'no_payee_details', amountCents: 1000 },
    ])
    expect(await send(server, 'one', id)).toMatchObject({ status: 'SENT', lines: 1, totalCents: 900 })
    await setPayee(server, omar)
    expect(await send(server, 'two', id)).toMatchObject({ lines: 1, totalCents: 1000 })
    const { data, totals } = await linesOf(server, id)
    expect(data.map(({ state, fileId }) => [state, fileId])).toEqual([
      ['SENT', 'one'],
      ['SENT', 'two'],
    ])
    expect(totals).toMatchObject({ SENT: { lines: 2, cents: 1900 }, READY: { lines: 0, cents: 0 } })
  })

  test('is the same when it is created again, even with other payee details', async ({ server, owner }) => {
    const { id, affiliateIds } = await sentBatch(server)
    const first = (await owner('GET', '/payout-files/october/lines')).body
    await owner('PUT', `/affiliates/${affiliateIds[0]}/payee`, { method: 'PAYPAL', email: 'new@pay.example' })
    server.clock.advance(60_000)
    expect(await send(server, 'october', id)).toEqual(first.file)
    expect((await owner('GET', '/payout-files/october/lines')).body).toEqual(first)
    expect(first.data).toMatchObject([{ payee: { email: 'p@pay.example' } }, { amountCents: 1000 }])
    expect((await owner('GET', `/payouts/${id}/files`)).body.data).toEqual([first.file])
  })

  test('is read in pages', async ({ server, owner }) => {
    await sentBatch(server, 3)
    const first = (await owner('GET', '/payout-files/october/lines?limit=2')).body
    expect([first.data.length, first.hasMore]).toEqual([2, true])
    const rest = (await owner('GET', `/payout-files/october/lines?after=${first.data[1].id}`)).body
    expect([rest.data.length, rest.hasMore]).toEqual([1, false])
  })

  test('of many lines is created in steps, and requests at the same time create one', async ({ server, owner }) => {
    const { id } = await openBatch(server, 130)
    const body = { batchId: id, format: 'csv' }
    const replies = await Promise.all([1, 2, 3].map(() => owner('PUT', '/payout-files/many', body)))
    for (const reply of replies) expect(reply.body.data).toMatchObject({ lines: 130, totalCents: 130_000 })
    expect((await linesOf(server, id)).totals.SENT).toEqual({ lines: 130, cents: 130_000 })
  })

  test('of concurrent requests with different ids, each line is in one', async ({ server, owner }) => {
    const { id } = await openBatch(server, 3)
    const body = { batchId: id, format: 'paypal' }
    const replies = await Promise.all(['a', 'b'].map((file) => owner('PUT', `/payout-files/${file}`, body)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

/** A batch with a real order of 1600 cents that was sent. */
async function sentOrder(server: TestServer) {
  const { affiliate } = await withAffiliate(server, { code: 'NISA16' })
  const order = { externalOrderId: '1', amountCents: 10_000, couponCode: 'NISA16', occurredAt: '2026-10-05' }
  const { commission } = await expectOk(convert(server, order))
  await setPayee(server, affiliate.id)
  const { id } = await server.client.payouts.create(OCTOBER)
  await send(server, 'october', id)
  return { batchId: id, commissionId: commission.id as string }
}

describe('discarding a payment file', () => {
  const discard = ({ owner }: Pick<TestServer, 'owner'>, id: string) => owner('POST', `/payout-files/${id}/discard`)
  const refund = ({ owner }: TestServer, id: string) =>
    owner('POST', `/commissions/${id}/refund`, { externalRefundId: 'r', amountCents: 5000 })

  test('makes its lines ready again once, with the details of now, and a second time changes nothing', async ({
    server,
    client,
    owner,
  }) => {
    const { id, lines } = await sentBatch(server, 130)
    const first = await discard(server, 'october')
    expect(first.body.data).toMatchObject({ status: 'DISCARDED', lines: 0, totalCents: 0 })
    expect(countOf(server, 'payoutLines', { batchId: id })).toBe(0)
    expect((await linesOf(server, id)).totals.READY).toEqual({ lines: 130, cents: 130_000 })
    expect((await owner('GET', '/payout-files/october/lines')).body).toMatchObject({ data: [], hasMore: false })
    expect((await discard(server, 'october')).body).toEqual(first.body)
    const audits = rowsOf(server, 'audits', { action: 'payout_file.discarded', shopId: server.shop.shopId })
    expect(audits.map(({ subjectId, data }) => [subjectId, JSON.parse(data).totalCents])).toEqual([
      ['october', 130_000],
    ])
    const again = await owner('PUT', '/payout-files/october', { batchId: id, format: 'paypal' })
    expect(codeOf(again)).toEqual([409, 'payout_file_exists'])
    expect(await send(server, 'november', id)).toMatchObject({ lines: 130, totalCents: 130_000 })
    // A result for a payment of the discarded file names no line.
    expect(await report(server, [resultOf(lines[0], 'SETTLED')])).toEqual(['unknown'])
    expect((await discard(server, 'november')).status).toBe(200)
    expect((await owner('POST', `/payouts/${id}/cancel`)).status).toBe(200)
    expect((await batchOf(client, id))?.status).toBe('FAILED')
  })

  test('a refund after it reduces the commission and the batch, and is no debt', async ({ server, client }) => {
    const { batchId, commissionId } = await sentOrder(server)
    await expectOk(discard(server, 'october'))
    expect((await refund(server, commissionId)).body.data).toMatchObject({ commissionAmountCents: 800 })
    expect((await batchOf(client, batchId))?.totals.netPayableCents).toBe(800)
    expect(await send(server, 'again', batchId)).toMatchObject({ totalCents: 800 })
  })

  test('409 when a payment of it was reconciled, or an order refunded or canceled, or its batch paid', async ({
    server,
    installation,
  }) => {
    const { lines } = await sentBatch(server)
    for (const outcome of ['SETTLED', 'RETURNED'] as const) {
      await report(server, [resultOf(lines[0], outcome)])
      expect(codeOf(await discard(server, 'october'))).toEqual([409, 'payout_file_not_discardable'])
    }
    expect(codeOf(await discard(server, 'none'))).toEqual([404, 'payout_file_not_found'])
    for (const change of ['refund', 'cancel', 'pay'] as const) {
      const shop = { ...server, ...server.asShop(await installation.createShop()) }
      const { batchId, commissionId } = await sentOrder(shop)
      if (change === 'refund') await expectOk(refund(shop, commissionId))
      const canceled = { type: 'order_canceled', externalOrderId: '1' }
      if (change === 'cancel') await expectOk(shop.request('POST', '/api/v1/events', { body: canceled }))
      if (change === 'pay') await expectOk(shop.request('PATCH', `/api/v1/payouts?id=${batchId}&action=pay`))
      const code = change === 'pay' ? 'payout_already_paid' : 'payout_file_not_discardable'
      expect([change, ...codeOf(await discard(shop, 'october'))]).toEqual([change, 409, code])
      expect((await linesOf(shop, batchId)).data[0]?.fileId).toBe('october')
    }
  })

  test('of concurrent discards, reports and files, each payment is in one file or none', async ({ server, owner }) => {
    for (let round = 0; round < 6; round++) {
      const { id } = await openBatch(server, 2)
      await send(server, `f${round}`, id)
      const { data: lines } = await linesOf(server, id)
      const body = { batchId: id, format: 'paypal' }
      const [discarded, [reported]] = await Promise.all([
        discard(server, `f${round}`),
        report(server, [resultOf(lines[0], round % 2 ? 'SETTLED' : 'RETURNED')]),
        discard(server, `f${round}`),
        owner('PUT', `/payout-files/g${round}`, body),
      ])
      // Either the report or the discard was first.
      expect([200, 409]).toContain(discarded!.status)
      expect(reported === 'unknown').toBe(discarded!.status === 200)
      await owner('PUT', `/payout-files/h${round}`, body)
      const { data, totals } = await linesOf(server, id)
      expect(data.map(({ affiliateId }) => affiliateId)).toEqual([...new Set(data.map((one) => one.affiliateId))])
      expect(totals.READY!.lines + totals.BLOCKED!.lines).toBe(0)
      const { data: files } = (await owner('GET', `/payouts/${id}/files`)).body
      const sum = files.reduce((cents: number, file: { totalCents: number }) => cents + file.totalCents, 0)
      expect(sum).toBe(2000)
    }
  })

  test('lines that a kill left are replaced by a later file', async ({ server }) => {
    const { id } = await sentBatch(server)
    // As if the process had been killed before the lines were deleted.
    updateRows(server, 'payoutFiles', { status: 'DISCARDED', lines: 0, totalCents: 0 }, { batchId: id })
    expect((await linesOf(server, id)).totals).toMatchObject({ READY: { lines: 2 }, SENT: { lines: 0 } })
    expect(await send(server, 'again', id)).toMatchObject({ lines: 2, totalCents: 2000 })
    expect(rowsOf(server, 'payoutLines', { batchId: id }).map(({ fileId }) => fileId)).toEqual(['again', 'again'])
  })

  test('a file whose creation is interrupted by the payment of the batch is discarded', async ({ server, owner }) => {
    const { id } = await openBatch(server, 130)
    let transactions = 0
    // The file and its first lines are written.
    const end = beforeTransaction(server, async () => {
      transactions += 1
      if (transactions !== 3) return
      end()
      await expectOk(server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`))
    })
    const reply = await owner('PUT', '/payout-files/october', { batchId: id, format: 'paypal' })
    expect(codeOf(reply)).toEqual([409, 'payout_already_paid'])
    const { data: files } = (await owner('GET', `/payouts/${id}/files`)).body
    expect(files).toMatchObject([{ status: 'DISCARDED', lines: 0, totalCents: 0 }])
    expect(countOf(server, 'payoutLines', { batchId: id })).toBe(0)
    const { totals } = await linesOf(server, id)
    expect(totals.SETTLED).toEqual({ lines: 130, cents: 130_000 })
  })
})

describe('after a payment was sent', () => {
  test('a refund becomes a debt, and neither line nor batch changes', async ({ server, client, owner }) => {
    const { batchId, commissionId } = await sentOrder(server)
    const refund = { externalRefundId: 'r', amountCents: 5000 }
    const reply = await owner('POST', `/commissions/${commissionId}/refund`, refund)
    expect(reply.body).toMatchObject({ data: { commissionAmountCents: 1600, orderStatus: 'PAYABLE' } })
    expect((await batchOf(client, batchId))?.totals.netPayableCents).toBe(1600)
    const debt = (await commissionsOf(client)).find(({ trackingMethod }) => trackingMethod === 'ADJUSTMENT')
    expect(debt).toMatchObject({ orderId: `adj:${commissionId}:r`, commissionAmountCents: -800, payoutBatchId: null })
    const { data } = await linesOf(server, batchId)
    expect(await report(server, [resultOf(data[0], 'SETTLED')])).toEqual(['settled'])
    expect(await batchOf(client, batchId)).toMatchObject({ status: 'PAID' })
  })

  test('a cancellation of the order reverses the commission', async ({ server, client }) => {
    const { batchId, commissionId } = await sentOrder(server)
    const event = { type: 'order_canceled', externalOrderId: '1' }
    const reply = await server.request('POST', '/api/v1/events', { body: event })
    expect(reply.body).toMatchObject({ commission: { status: 'REVERSED' }, commissionCents: -1600 })
    const rows = await commissionsOf(client)
    expect(rows.map(({ orderStatus, commissionAmountCents }) => [orderStatus, commissionAmountCents])).toEqual([
      ['REVERSED', 1600],
      ['APPROVED', -1600],
    ])
    await report(server, [resultOf((await linesOf(server, batchId)).data[0], 'SETTLED')])
    expect((await commissionsOf(client)).find(({ id }) => id === commissionId)?.orderStatus).toBe('REVERSED')
    expect(await batchOf(client, batchId)).toMatchObject({ status: 'PAID', totals: { netPayableCents: 1600 } })
  })

  test('409 when its commission is canceled by hand', async ({ server, owner }) => {
    const { commissionId } = await sentOrder(server)
    expect(codeOf(await owner('POST', `/commissions/${commissionId}/cancel`))).toEqual([
      409,
      'commission_move_not_allowed',
    ])
  })

  test('409 when the batch is canceled, unless all payments were returned', async ({ server, client, owner }) => {
    const { id, lines, affiliateIds } = await sentBatch(server, 1)
    const blocked = addAffiliate(server)
    addCommission(server, { affiliateId: blocked, happenedAt: '2026-09-01T00:00:00.000Z' })
    const cancel = () => owner('POST', `/payouts/${id}/cancel`)
    expect(codeOf(await cancel())).toEqual([409, 'payout_has_sent_lines'])
    await report(server, [resultOf(lines[0], 'SETTLED')])
    await report(server, [resultOf(lines[0], 'RETURNED')])
    // Every payment is final, so the batch is paid; a batch with lines that were not sent is not.
    expect(codeOf(await cancel())).toEqual([409, 'payout_not_cancelable'])
    const rows = (await commissionsOf(client)).filter((row) => row.affiliateId === affiliateIds[0])
    expect(rows.map(({ orderStatus }) => orderStatus)).toEqual(['PAID', 'APPROVED'])
  })

  test('canceling releases what was not sent, and nothing that was returned', async ({ server, client, owner }) => {
    const [sent, unsent] = [await addPayee(server), addAffiliate(server)]
    addCommission(server, { affiliateId: sent })
    addCommission(server, { affiliateId: unsent, commissionAmountCents: 300 })
    const { id } = await client.payouts.create(OCTOBER)
    await send(server, 'october', id)
    await report(server, [resultOf((await linesOf(server, id)).data[0], 'RETURNED')])
    const canceled = (await owner('POST', `/payouts/${id}/cancel`)).body.data
    expect(canceled).toMatchObject({ status: 'FAILED', totals: { commissions: 1, netPayableCents: 1000 } })
    const next = await client.payouts.create({ ...OCTOBER, periodEnd: NOVEMBER.periodEnd })
    expect(next.totals).toMatchObject({ commissions: 2, netPayableCents: 1300 })
    const paid = (await commissionsOf(client)).filter(({ orderStatus }) => orderStatus === 'PAID')
    expect(paid).toMatchObject([{ affiliateId: sent, payoutBatchId: id }])
  })
})

describe('reconciling', () => {
  test('settles lines and pays their commissions; with the last line, the batch is paid', async ({
    server,
    client,
    owner,
  }) => {
    const { id, lines } = await sentBatch(server)
    const events = outbox(server)
    expect(await report(server, [resultOf(lines[0], 'SETTLED')])).toEqual(['settled'])
    expect(await batchOf(client, id)).toMatchObject({ status: 'OPEN' })
    const [first, second] = (await linesOf(server, id)).data
    expect(first).toMatchObject({ state: 'SETTLED', date: '2026-11-03', reference: `ref ${first?.id}` })
    expect(second).toMatchObject({ state: 'SENT', date: null })
    const statuses = async () => (await commissionsOf(client)).map(({ orderStatus }) => orderStatus).sort()
    expect(await statuses()).toEqual(['PAID', 'PAYABLE'])
    await report(server, [resultOf(lines[1], 'SETTLED')])
    expect(await batchOf(client, id)).toMatchObject({ status: 'PAID' })
    expect(await statuses()).toEqual(['PAID', 'PAID'])
    expect((await owner('GET', '/audit?action=payout.paid')).body.data).toMatchObject([{ subjectId: id }])
    expect(events().filter(({ event }) => event === 'payout.paid').length).toBeLessThanOrEqual(1)
    const [file] = (await owner('GET', `/payouts/${id}/files`)).body.data
    expect(file).toMatchObject({ totalCents: 2000, settledCents: 2000, settledLines: 2, returnedCents: 0 })
  })

  test('a returned amount is payable again once, in the next batch', async ({ server, client }) => {
    const { id, lines } = await sentBatch(server)
    const results = [resultOf(lines[0], 'RETURNED', { reason: 'AC04' }), resultOf(lines[1], 'SETTLED')]
    expect(await report(server, results)).toEqual(['returned', 'settled'])
    expect(await report(server, results)).toEqual(['already_returned', 'already_settled'])
    expect((await linesOf(server, id)).data[0]).toMatchObject({ state: 'RETURNED', reason: 'AC04' })
    const next = await client.payouts.create(NOVEMBER)
    expect(next.totals).toMatchObject({ commissions: 1, netPayableCents: 1000 })
    expect(await report(server, results)).toEqual(['already_returned', 'already_settled'])
    const adjustments = (await commissionsOf(client)).filter(({ trackingMethod }) => trackingMethod === 'ADJUSTMENT')
    expect(adjustments.map(({ orderId }) => orderId)).toEqual([`adj:${lines[0]?.id}:returned`])
    const analytics = await client.analytics.get({ from: '2026-10-01', to: '2026-12-01' })
    expect(analytics.totals.commissionCents).toBe(2000)
  })

  test('a settled payment can be returned; a returned one stays returned', async ({ server }) => {
    const { lines } = await sentBatch(server)
    expect(await report(server, [resultOf(lines[0], 'SETTLED'), resultOf(lines[0], 'RETURNED')])).toEqual([
      'settled',
      'returned',
    ])
    expect(await report(server, [resultOf(lines[0], 'SETTLED')])).toEqual(['already_returned'])
  })

  test('names what is unknown, differs, or was settled twice, and changes nothing', async ({ server }) => {
    const { id, lines } = await sentBatch(server)
    const before = await linesOf(server, id)
    const unknown = resultOf(undefined, 'SETTLED', { paymentReference: 'PLN01KAH0000000000000000000ZZ' })
    expect(
      await report(server, [
        unknown,
        resultOf(undefined, 'RETURNED', { paymentReference: 'invoice 17' }),
        resultOf(lines[0], 'SETTLED', { amountCents: 999 }),
        resultOf(lines[0], 'RETURNED', { currency: 'EUR' }),
      ]),
    ).toEqual(['unknown', 'unknown', 'amount_mismatch', 'amount_mismatch'])
    expect(await linesOf(server, id)).toEqual(before)
    await report(server, [resultOf(lines[0], 'SETTLED')])
    expect(await report(server, [resultOf(lines[0], 'SETTLED', { reference: 'another' })])).toEqual(['settled_twice'])
  })

  test('finds no line of another shop', async ({ server, installation }) => {
    const { lines } = await sentBatch(server)
    const other = { ...installation, ...installation.asShop(await installation.createShop()) }
    expect(await report(other, [resultOf(lines[0], 'SETTLED')])).toEqual(['unknown'])
  })

  test('pays the commissions of an affiliate who has very many', async ({ server, client }) => {
    const affiliateId = await addPayee(server)
    for (let i = 0; i < 600; i++) addCommission(server, { affiliateId, commissionAmountCents: 1 })
    const { id } = await client.payouts.create(OCTOBER)
    await send(server, 'october', id)
    await report(server, [resultOf((await linesOf(server, id)).data[0], 'SETTLED')])
    expect(await batchOf(client, id)).toMatchObject({ status: 'PAID' })
    const { pagination } = await client.commissions.list({ status: 'PAID', limit: 1 })
    expect(pagination.total).toBe(600)
  })

  test('with another amount pays no commission of an affiliate who has very many', async ({ server, client }) => {
    const affiliateId = await addPayee(server)
    for (let n = 0; n < 300; n++) addCommission(server, { affiliateId, commissionAmountCents: 10 })
    const { id } = await client.payouts.create(OCTOBER)
    await send(server, 'f', id)
    const [line] = (await linesOf(server, id)).data
    expect(await report(server, [resultOf(line, 'SETTLED', { amountCents: 2999 })])).toEqual(['amount_mismatch'])
    expect(countOf(server, 'commissions', { payoutBatchId: id, orderStatus: 'PAID' })).toBe(0)
    expect(await report(server, [resultOf(line, 'SETTLED')])).toEqual(['settled'])
    expect(countOf(server, 'commissions', { payoutBatchId: id, orderStatus: 'PAID' })).toBe(300)
  })
})

describe('marking the batch as paid', () => {
  test('settles every line by hand, and a later report of the bank applies', async ({ server, client }) => {
    const blocked = addAffiliate(server)
    addCommission(server, { affiliateId: blocked })
    const { id, lines } = await sentBatch(server)
    await client.payouts.pay(id)
    const { data, totals } = await linesOf(server, id)
    expect(totals.SETTLED).toEqual({ lines: 3, cents: 3000 })
    expect(data.map(({ reference, date }) => [reference, date])).toEqual(Array(3).fill(['manual', '2026-11-02']))
    const sent = lines.filter(({ state }) => state === 'SENT')
    expect(await report(server, [resultOf(sent[0], 'SETTLED'), resultOf(sent[1], 'RETURNED')])).toEqual([
      'settled',
      'returned',
    ])
    expect((await client.payouts.create(NOVEMBER)).totals.netPayableCents).toBe(1000)
  })
})

test('a batch without payment files is canceled, refunded and paid as before', async ({ server, client, owner }) => {
  const { id } = await openBatch(server, 2)
  expect((await owner('POST', `/payouts/${id}/cancel`)).body.data).toMatchObject({
    status: 'FAILED',
    totals: { commissions: 0, netPayableCents: 0 },
  })
  const again = await client.payouts.create(OCTOBER)
  expect((await client.payouts.pay(again.id)).ok).toBe(true)
  expect((await commissionsOf(client)).map(({ orderStatus }) => orderStatus)).toEqual(['PAID', 'PAID'])
})

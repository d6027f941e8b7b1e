import { describe, expect } from 'vitest'
import { countOf, outbox } from '../support/inspect.ts'
import { convert, expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import {
  addPayee,
  batchOf,
  codeOf,
  linesOf,
  NOVEMBER,
  openBatch,
  report,
  resultOf,
  send,
  sentBatch,
  sentOrder,
} from './payments.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER } from './rows.ts'

describe('a payment file', () => {
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

describe('after a payment was sent', () => {
  test('a reversed commission stays in the balance, as in the statement, until its payment is settled or returned', async ({
    server,
    owner,
  }) => {
    for (const outcome of ['SETTLED', 'RETURNED'] as const) {
      const { affiliateId, batchId } = await sentOrder(server, outcome)
      await expectOk(convert(server, { externalOrderId: `${outcome}-2`, amountCents: 5000, couponCode: outcome }))
      const read = async () => {
        const balance = await expectOk(server.request('GET', `/api/v1/affiliates/balance?affiliateId=${affiliateId}`))
        const { approvedCents = 0, batchedCents = 0 } = balance.balances[0] ?? {}
        const statement = await owner('GET', `/affiliates/${affiliateId}/statement?month=2026-11`)
        expect(statement.body.currencies).toMatchObject([{ closingCents: approvedCents + batchedCents }])
        return [approvedCents, batchedCents]
      }
      expect(await read()).toEqual([800, 1600])
      await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: outcome } }))
      expect(await read()).toEqual([800 - 1600, 1600])
      await report(server, [resultOf((await linesOf(server, batchId)).data[0], outcome)])
      expect(await read()).toEqual([outcome === 'SETTLED' ? 800 - 1600 : 800, 0])
    }
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
    await send(server, 'november', next.id)
    const [repeated] = (await linesOf(server, next.id)).data
    expect(repeated?.affiliateId).toBe(lines[0]?.affiliateId)
    expect(repeated?.paymentReference).not.toBe(lines[0]?.paymentReference)
    expect(repeated?.paymentReference).toMatch(/^PLN[0-9A-HJKMNP-TV-Z]{26}$/)
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

import { describe, expect } from 'vitest'
import { beforeTransaction } from '../support/faults.ts'
import { countOf, rowsOf, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import {
  batchOf,
  codeOf,
  linesOf,
  openBatch,
  type PaymentLine,
  report,
  resultOf,
  send,
  sentBatch,
  sentOrder,
} from './payments.ts'

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
    // A result for a payment of the discarded file names no line.
    expect(await report(server, [resultOf(lines[0], 'SETTLED')])).toEqual(['unknown'])
    expect(await send(server, 'november', id)).toMatchObject({ lines: 130, totalCents: 130_000 })
    // It is the same payment, so a bank or a service recognizes it if the discarded file was uploaded after all.
    const references = (all: PaymentLine[]) => all.map(({ paymentReference }) => paymentReference)
    expect(references((await linesOf(server, id)).data)).toEqual(references(lines))
    expect((await discard(server, 'november')).status).toBe(200)
    expect((await owner('POST', `/payouts/${id}/cancel`)).status).toBe(200)
    expect((await batchOf(client, id))?.status).toBe('FAILED')
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
      const canceled = { externalOrderId: '1' }
      if (change === 'cancel') await expectOk(shop.request('POST', '/api/v1/cancellations', { body: canceled }))
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

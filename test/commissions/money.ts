import type { Commission } from '@referral/sdk'
import { expect } from 'vitest'
import { commissionsOf } from '../payouts/rows.ts'
import { admin } from '../support/owner.ts'
import type { Reply, TestServer, TestShop } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'

export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
export const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }
export const IN_OCTOBER = '2026-10-20T12:00:00.000Z'

/** The orders, commissions and payouts of one shop. */
export class Till {
  readonly server: TestServer
  readonly shop: TestShop
  #orders = 0

  constructor(server: TestServer, shop: TestShop = server.shop) {
    this.server = server
    this.shop = shop
  }

  /** A program at 16% and an approved affiliate with that code. */
  async affiliate(code = 'NISA16', program: object = {}) {
    const { key } = this.shop
    const { id } = await expectOk(
      this.server.request('POST', '/api/v1/programs', { key, body: { name: 'P', autoApproveOrder: true, ...program } }),
    )
    return newAffiliate(this.server, { key, campaignId: id, code })
  }

  /** Reports an order of October and returns the id of its commission. */
  async order(given: object = {}): Promise<string> {
    const order = {
      externalOrderId: `t-${++this.#orders}`,
      amountCents: 9000,
      couponCode: 'NISA16',
      occurredAt: IN_OCTOBER,
    }
    const { commission } = await expectOk(convert(this.server, { ...order, ...given }, { key: this.shop.key }))
    return commission.id
  }

  admin = (method: string, path: string, body?: unknown): Promise<Reply> =>
    admin(this.server, method, path, body, { key: this.shop.ownerToken })

  act = (action: string, id: string) => this.admin('POST', `/commissions/${id}/${action}`)
  refund = (id: string, externalRefundId: string, amountCents?: number) =>
    this.admin('POST', `/commissions/${id}/refund`, {
      externalRefundId,
      ...(amountCents === undefined ? {} : { amountCents }),
    })

  batch = (period: object = OCTOBER) =>
    this.server.request('POST', '/api/v1/payouts', { key: this.shop.key, body: period })
  pay = (id: string) => this.server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`, { key: this.shop.key })
  cancelBatch = (id: string) => this.admin('POST', `/payouts/${id}/cancel`)

  async batchOf(id: string) {
    const { body } = await this.server.request('GET', `/api/v1/payouts?id=${id}&include=lines`, { key: this.shop.key })
    return body.data[0]
  }

  /** Its commissions and adjustments, in the order of their ids. */
  rows = () => commissionsOf(this.server.clientOf(this.shop.key))
  row = async (id: string) => (await this.rows()).find((row) => row.id === id)!

  /** The totals of each batch equal the sums of its commissions, and no affiliate is paid a negative amount. */
  async checkBatches(): Promise<void> {
    const { data: batches } = await this.server.clientOf(this.shop.key).payouts.list({ limit: 100 })
    const all = await this.rows()
    for (const { id, totals } of batches) {
      const rows = all.filter((row) => row.payoutBatchId === id)
      const sum = (pick: (row: Commission) => number, of = rows) => of.reduce((total, row) => total + pick(row), 0)
      const net = (of: Commission[]) =>
        sum((row) => row.commissionAmountCents, of) - sum((row) => row.taxWithheldCents, of)
      expect(totals).toMatchObject({
        commissions: rows.length,
        commissionCents: sum((row) => row.commissionAmountCents),
        taxWithheldCents: sum((row) => row.taxWithheldCents),
        netPayableCents: net(rows),
      })
      for (const own of Map.groupBy(rows, (row) => row.affiliateId).values()) expect(net(own)).toBeGreaterThanOrEqual(0)
    }
  }
}

export const codeOf = (reply: Reply) => [reply.status, reply.headers.get('X-Error-Code')]

import { expect } from 'vitest'
import { admin } from '../support/owner.ts'
import type { Reply, TestServer, TestShop } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'

export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
export const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }
export const IN_OCTOBER = '2026-10-20T12:00:00.000Z'

export interface Row {
  id: string
  orderId: string
  orderStatus: string
  commissionAmountCents: number
  taxWithheldCents: number
  payoutBatchId: string | null
  affiliateId: string
  trackingMethod: string
  happenedAt: string
}

/** One shop's money: its orders, what is done to them, and what the database says. */
export class Till {
  readonly server: TestServer
  readonly shop: TestShop
  #orders = 0

  constructor(server: TestServer, shop: TestShop = server.shop) {
    this.server = server
    this.shop = shop
  }

  /** A program at 16 % and an approved affiliate with that code. */
  async affiliate(code = 'NISA16', program: object = {}) {
    const { key } = this.shop
    const { id } = await expectOk(
      this.server.request('POST', '/api/v1/programs', { key, body: { name: 'P', autoApproveOrder: true, ...program } }),
    )
    return newAffiliate(this.server, { key, campaignId: id, code })
  }

  /** An order of October; answers its commission's id. */
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

  rows = (where = '1 = 1'): Row[] =>
    this.server.sql
      .prepare(`select * from commissions where "shopId" = ? and ${where} order by id`)
      .all(this.shop.shopId) as Row[]
  row = (id: string): Row => this.rows(`id = '${id}'`)[0]!

  /** Every batch is worth what its rows are, and pays nobody less than nothing. */
  checkBatches(): void {
    const batches = this.server.sql
      .prepare(`select * from "payoutBatches" where "shopId" = ?`)
      .all(this.shop.shopId) as Record<string, number | string>[]
    for (const batch of batches) {
      const rows = this.rows(`"payoutBatchId" = '${batch.id}'`)
      const sum = (pick: (row: Row) => number, of = rows) => of.reduce((total, row) => total + Number(pick(row)), 0)
      const net = (of: Row[]) => sum((row) => row.commissionAmountCents, of) - sum((row) => row.taxWithheldCents, of)
      expect({
        commissions: Number(batch.commissions),
        commissionCents: Number(batch.commissionCents),
        taxWithheldCents: Number(batch.taxWithheldCents),
        netPayableCents: Number(batch.netPayableCents),
      }).toEqual({
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

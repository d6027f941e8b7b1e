import type { components } from '@referral/sdk'
import { describe, expect } from 'vitest'
import { Till } from '../commissions/money.ts'
import { insertRows, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, testWithNewShop as test } from '../support/test.ts'
import { addPayee, linesOf, report, resultOf, send, setPayee } from './payments.ts'
import { addAffiliate, addCommission, commissionRow, OCTOBER } from './rows.ts'

type Statement = components['schemas']['Statement']

const read = async (owner: Owner, affiliateId: string, month: string): Promise<Statement> => {
  const { status, body } = await owner('GET', `/affiliates/${affiliateId}/statement?month=${month}`)
  expect(status, JSON.stringify(body).slice(0, 300)).toBe(200)
  return body
}
const kindsOf = ({ lines }: Statement) => lines.map(({ kind, amountCents }) => [kind, amountCents])

const addMany = (server: TestServer, count: number, given: Parameters<typeof commissionRow>[1]) =>
  insertRows(
    server,
    'commissions',
    Array.from({ length: count }, () => commissionRow(server, given)),
  )

/** Every way in which an affiliate earns, loses and receives money, in September and October. */
async function history(server: TestServer) {
  const till = new Till(server, server.shop)
  const { id } = await till.affiliate()
  const september = await till.order({ occurredAt: '2026-09-10T12:00:00.000Z' })
  const paid = await till.order()
  const reduced = await till.order({ externalOrderId: '=evil', amountCents: 10_000 })
  const canceled = await till.order()
  const reversed = await till.order({ amountCents: 1000 })
  await till.refund(reduced, 're-1', 2500)
  await till.act('cancel', canceled)
  const batch = await expectOk(till.batch({ periodStart: '2026-09-01', periodEnd: OCTOBER.periodEnd }))
  await expectOk(till.pay(batch.id))
  await till.refund(paid, 're-2', 9000)
  await till.act('reverse', reversed)
  return { till, id, september, paid, reduced, reversed, batch }
}

describe('a statement', () => {
  test('has every order, refund, adjustment and payment with its reason, and balances that continue', async ({
    server,
    owner,
  }) => {
    server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
    const { id, batch } = await history(server)
    const september = await read(owner, id, '2026-09')
    const october = await read(owner, id, '2026-10')
    const november = await read(owner, id, '2026-11')
    expect(kindsOf(september)).toEqual([['ORDER', 1440]])
    expect(kindsOf(october).sort()).toEqual(
      [
        ['ORDER', 1440],
        ['ORDER', 1600],
        ['ORDER', 0],
        ['ORDER', 160],
      ].sort(),
    )
    expect(kindsOf(november)).toEqual(
      [
        ['REFUND', -400],
        ['PAYMENT', -4240],
        ['ADJUSTMENT', -1440],
        ['ADJUSTMENT', -160],
      ].sort(
        (a, b) =>
          kindsOf(november).findIndex((one) => one[1] === a[1]) - kindsOf(november).findIndex((one) => one[1] === b[1]),
      ),
    )
    expect(batch.totals.netPayableCents).toBe(4240)
    const reasons = [...october.lines, ...november.lines].map(({ reason }) => reason)
    for (const reason of [
      'Order =evil: commission of 16% on 100.00 USD',
      'Refund re-1 of order =evil: goods of 25.00 USD',
      'Refund re-2 of order t-2, after its commission was paid',
      'Reversal of order t-5: the paid commission is deducted',
      'Payment for 2026-09-01 to 2026-10-31: 4 entries',
    ])
      expect(reasons).toContain(reason)
    expect(reasons.some((reason) => reason.endsWith('canceled, earns nothing'))).toBe(true)
    const [first, second, third] = [september, october, november].map(({ currencies }) => currencies[0])
    expect([first?.openingCents, first?.closingCents]).toEqual([0, 1440])
    expect(second?.openingCents).toBe(first?.closingCents)
    expect(third?.openingCents).toBe(second?.closingCents)
    // The affiliate owes what was refunded and reversed after the payment.
    expect(third?.closingCents).toBe(-1600)
    expect(october.lines.map(({ line }) => line)).toEqual([1, 2, 3, 4])
  })

  test('closes at what the batch of the month pays: refunds of unpaid commissions count when they occurred', async ({
    server,
    owner,
    client,
  }) => {
    server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
    const till = new Till(server, server.shop)
    const { id } = await till.affiliate()
    await till.order({ externalOrderId: 'a', occurredAt: '2026-10-30T12:00:00.000Z' })
    await till.order({ externalOrderId: 'b' })
    const refund = (externalOrderId: string, externalRefundId: string, amountCents: number, occurredAt?: string) =>
      client.refunds.create({ externalOrderId, externalRefundId, amountCents, occurredAt: occurredAt ?? null })
    // The last one from before its order.
    await refund('a', 're-1', 3000, '2026-10-31T10:00:00Z')
    await refund('b', 're-2', 4500, '2026-10-31T11:00:00Z')
    await refund('a', 're-3', 1000, '2026-10-01')
    await client.refunds.cancel({ externalOrderId: 'b', externalRefundId: 're-2' })
    const { totals, id: batchId } = await expectOk(till.batch())
    const closing = async (month: string) => (await read(owner, id, month)).currencies[0]?.closingCents
    expect([totals.netPayableCents, await closing('2026-10')]).toEqual([2240, 2240])
    await expectOk(till.pay(batchId))
    // Of a paid commission: an adjustment, when it is reported.
    await refund('a', 're-4', 1000, '2026-10-31T12:00:00Z')
    await client.refunds.cancel({ externalOrderId: 'a', externalRefundId: 're-1' })
    const october = await read(owner, id, '2026-10')
    expect(october.lines.map(({ at, kind, refundId, amountCents }) => [at, kind, refundId, amountCents])).toEqual([
      ['2026-10-20T12:00:00.000Z', 'ORDER', null, 1440],
      ['2026-10-30T12:00:00.000Z', 'ORDER', null, 1440],
      ['2026-10-30T12:00:00.000Z', 'REFUND', 're-3', -160],
      ['2026-10-31T10:00:00.000Z', 'REFUND', 're-1', -480],
      ['2026-10-31T11:00:00.000Z', 'REFUND', 're-2', -720],
      ['2026-10-31T11:00:00.000Z', 'REFUND', 're-2:canceled', 720],
    ])
    const november = await read(owner, id, '2026-11')
    expect(november.currencies).toMatchObject([{ openingCents: 2240, paymentsCents: -2240, closingCents: -160 + 480 }])
    expect(november.lines.map(({ reason }) => reason)).toContain(
      'Refund re-1 of order a was canceled, after its commission was paid',
    )
    for (const [month, statement] of Object.entries({ '2026-10': october, '2026-11': november })) {
      const [, ...rows] = String((await owner('GET', `/ledger?month=${month}`)).body)
        .trim()
        .split('\r\n')
      const net = rows.map((row) => Number(row.split(',').at(-2)))
      expect([month, rows.length, net.reduce((total, cents) => total + cents, 0)]).toEqual([
        month,
        statement.lines.length,
        statement.lines.reduce((total, { amountCents }) => total + amountCents, 0),
      ])
    }
  })

  test('an order that is not approved is listed, and is not part of the balance', async ({ server, owner }) => {
    const till = new Till(server, server.shop)
    const { id } = await till.affiliate('NISA16', { autoApproveOrder: false })
    const order = await till.order()
    const before = await read(owner, id, '2026-10')
    expect(before.lines[0]).toMatchObject({ status: 'PENDING', amountCents: 0, commissionCents: 1440 })
    expect(before.currencies[0]).toMatchObject({ closingCents: 0, notApprovedCents: 1440 })
    await till.act('approve', order)
    const after = await read(owner, id, '2026-10')
    expect(after.currencies[0]).toMatchObject({ closingCents: 1440, notApprovedCents: 0 })
    expect(after.number).not.toBe(before.number)
    expect((await read(owner, id, '2026-10')).number).toBe(after.number)
  })

  test('months are those of the shop, and currencies have their own balances', async ({ server, owner }) => {
    await expectOk(owner('PATCH', '/settings', { timeZone: 'America/New_York' }))
    const id = addAffiliate(server)
    addCommission(server, { affiliateId: id, happenedAt: '2026-11-01T03:59:59.999Z' })
    addCommission(server, { affiliateId: id, happenedAt: '2026-11-01T04:00:00.000Z', currency: 'EUR' })
    expect((await read(owner, id, '2026-10')).currencies.map(({ currency }) => currency)).toEqual(['USD'])
    const november = await read(owner, id, '2026-11')
    expect(november.currencies).toMatchObject([
      { currency: 'EUR', openingCents: 0, closingCents: 1000 },
      { currency: 'USD', openingCents: 1000, closingCents: 1000 },
    ])
  })

  test('CSV is safe in spreadsheets, HTML escapes names, and staff and other shops get nothing', async ({
    server,
    owner,
    installation,
  }) => {
    const id = addAffiliate(server, { name: '<b>=1+1' })
    addCommission(server, { affiliateId: id, orderName: '=HYPERLINK("x")' })
    const path = `/affiliates/${id}/statement?month=2026-10`
    const csv = await owner('GET', `${path.replace('?', '/file?')}&format=csv`)
    expect(csv.headers.get('Content-Type')).toBe('text/csv; charset=utf-8')
    for (const one of String(csv.body).split(/\r\n|,/)) expect(one).not.toMatch(/^"?[=+@]/)
    const page = await owner('GET', `${path.replace('?', '/file?')}&format=html`)
    expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
    expect(page.body).toContain('&lt;b&gt;=1+1')
    expect(page.body).not.toContain('<b>')
    const ledger = await owner('GET', '/ledger?month=2026-10')
    expect(ledger.body).toContain('<b>=1+1')
    expect(String(ledger.body).split('\r\n')).toHaveLength(3)
    const other = installation.asShop(await installation.createShop())
    expect((await other.owner('GET', path)).status).toBe(404)
    for (const wrong of ['', '?month=2026-13', '?month=last'])
      expect((await owner('GET', `/affiliates/${id}/statement${wrong}`)).status).toBe(400)
  })
})

test('the ledger has the payments of the statements, at the same instants, before and after the rest of the batch is paid', async ({
  server,
  owner,
}) => {
  const [first, second] = [await addPayee(server), await addPayee(server)]
  for (const affiliateId of [first, second]) addCommission(server, { affiliateId })
  server.clock.ms = Date.parse('2026-10-31T23:00:00.000Z')
  const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: OCTOBER }))
  await send(server, 'october', batch.id)
  const lines = (await linesOf(server, batch.id)).data
  const lineOf = (id: string) => lines.find(({ affiliateId }) => affiliateId === id)
  const payments = async (month: string) => {
    const rows = String((await owner('GET', `/ledger?month=${month}`)).body).split('\r\n')
    return rows.map((row) => row.split(',')).filter(([, , kind]) => kind === 'PAYMENT')
  }
  expect(await report(server, [resultOf(lineOf(first), 'SETTLED')])).toEqual(['settled'])
  const isSettled = [['2026-10-31', '2026-10-31T23:00:00.000Z', 'PAYMENT', first]]
  expect((await payments('2026-10')).map((row) => row.slice(0, 4))).toEqual(isSettled)
  server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
  expect(await report(server, [resultOf(lineOf(second), 'SETTLED')])).toEqual(['settled'])
  expect((await payments('2026-10')).map((row) => row.slice(0, 4))).toEqual(isSettled)
  const [paid, ...others] = await payments('2026-11')
  expect(paid).toEqual(
    `2026-11-02,2026-11-02T09:00:00.000Z,PAYMENT,${second},Nisa Karim,${second}@example.com,,,${batch.id},PAID,USD,-1000,0,-1000,`.split(
      ',',
    ),
  )
  expect(others).toEqual([])
  for (const [id, month] of [
    [first, '2026-10'],
    [second, '2026-11'],
  ] as const) {
    const payment = (await read(owner, id, month)).lines.find(({ kind }) => kind === 'PAYMENT')
    expect(payment).toMatchObject({ amountCents: -1000, at: (await payments(month))[0]?.[1] })
  }
})

test('a payment that the bank returned is listed as paid and returned, and paid by the next batch', async ({
  server,
  owner,
}) => {
  const till = new Till(server, server.shop)
  const { id } = await till.affiliate()
  await setPayee(server, id)
  await till.order()
  server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
  const october = await expectOk(till.batch())
  await send(server, 'october', october.id)
  const [sent] = (await linesOf(server, october.id)).data
  server.clock.ms = Date.parse('2026-11-04T09:00:00.000Z')
  const bounce = resultOf(sent, 'RETURNED', { reason: 'Account closed', date: '2026-11-04' })
  expect(await report(server, [bounce])).toEqual(['returned'])
  const returned = await read(owner, id, '2026-11')
  expect(kindsOf(returned).sort()).toEqual([
    ['ADJUSTMENT', 1440],
    ['PAYMENT', -1440],
  ])
  expect(returned.lines.map(({ reason }) => reason).join(' ')).toContain('returned')
  expect(returned.currencies).toMatchObject([{ openingCents: 1440, closingCents: 1440 }])

  server.clock.ms = Date.parse('2026-12-02T09:00:00.000Z')
  const november = await expectOk(till.batch({ periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }))
  await send(server, 'november', november.id)
  const [again] = (await linesOf(server, november.id)).data
  expect(await report(server, [resultOf(again, 'SETTLED')])).toEqual(['settled'])
  const december = await read(owner, id, '2026-12')
  expect(kindsOf(december)).toEqual([['PAYMENT', -1440]])
  expect(december.currencies).toMatchObject([{ openingCents: 1440, closingCents: 0 }])
})

test('one payment of 300 commissions is one line, at one instant', async ({ server, owner }) => {
  const id = await addPayee(server)
  addMany(server, 300, { affiliateId: id, commissionAmountCents: 4 })
  server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
  const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: OCTOBER }))
  await send(server, 'october', batch.id)
  const [sent] = (await linesOf(server, batch.id)).data
  // Time passes between the steps that pay the commissions.
  const { ms } = server.clock
  let reads = 0
  Object.defineProperty(server.clock, 'ms', { get: () => ms + ++reads, configurable: true })
  expect(await report(server, [resultOf(sent, 'SETTLED')])).toEqual(['settled'])
  Object.defineProperty(server.clock, 'ms', { value: ms, writable: true })
  const november = await read(owner, id, '2026-11')
  expect(november.lines).toMatchObject([{ kind: 'PAYMENT', amountCents: -1200 }])
  expect(november.lines[0]?.reason).toContain('300 entries')
  expect(rowsOf(server, 'commissions', { affiliateId: id, paidAt: november.lines[0]?.at })).toHaveLength(300)
})

test.for([['settled by the bank'], ['marked as paid'], ['marked as paid, in steps']] as const)(
  'a payment whose order was canceled after it was sent is listed in full when it is %s',
  async ([how], { server, owner }) => {
    const till = new Till(server, server.shop)
    const { id } = await till.affiliate()
    await setPayee(server, id)
    await till.order({ externalOrderId: 'canceled' })
    await till.order()
    if (how.endsWith('in steps')) addMany(server, 600, { affiliateId: id, commissionAmountCents: 1 })
    server.clock.ms = Date.parse('2026-11-02T09:00:00.000Z')
    const batch = await expectOk(till.batch())
    await send(server, 'october', batch.id)
    const [sent] = (await linesOf(server, batch.id)).data
    await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: 'canceled' } }))
    if (how === 'settled by the bank') expect(await report(server, [resultOf(sent, 'SETTLED')])).toEqual(['settled'])
    else await expectOk(till.pay(batch.id))
    const { lines, currencies } = await read(owner, id, '2026-11')
    expect(lines.map(({ kind, amountCents }) => [kind, amountCents]).sort()).toEqual([
      ['ADJUSTMENT', -1440],
      ['PAYMENT', 0 - (sent?.amountCents ?? 0)],
    ])
    expect(currencies[0]?.closingCents).toBe(-1440)
  },
)

test('200 with the orders of one moment while orders of the affiliate keep arriving', async ({ server, owner }) => {
  const till = new Till(server, server.shop)
  const { id } = await till.affiliate()
  for (let start = 0; start < 5000; start += 1000)
    insertRows(
      server,
      'commissions',
      Array.from({ length: 1000 }, () => commissionRow(server, { affiliateId: id })),
    )
  let isDone = false
  const statement = read(owner, id, '2026-10').finally(() => {
    isDone = true
  })
  let orders = 0
  for (; !isDone; orders++) await till.order({ amountCents: 10_000 })
  const { lines, currencies } = await statement
  const arrived = lines.length - 5000
  expect(arrived).toBeGreaterThanOrEqual(0)
  expect(arrived).toBeLessThanOrEqual(orders)
  expect(currencies[0]?.closingCents).toBe(5_000_000 + arrived * 1600)
})

test('a month of 20,000 orders', { timeout: 60_000 }, async ({ server, owner }) => {
  const id = addAffiliate(server)
  for (let start = 0; start < 20_000; start += 1000)
    insertRows(
      server,
      'commissions',
      Array.from({ length: 1000 }, () => commissionRow(server, { affiliateId: id })),
    )
  const statement = await read(owner, id, '2026-10')
  const ledger = String((await owner('GET', '/ledger?month=2026-10')).body)
  expect(statement.lines).toHaveLength(20_000)
  expect(statement.currencies[0]?.closingCents).toBe(20_000_000)
  expect(ledger.split('\r\n')).toHaveLength(20_002)
})

test('a line names the rule of the terms, why an order earns nothing, and from when it is payable', async ({
  server,
  client,
  owner,
}) => {
  const till = new Till(server, server.shop)
  const { id, campaignId } = await till.affiliate()
  server.clock.ms = Date.parse('2026-10-01T12:00:00Z')
  await client.programs.setTerms(campaignId!, {
    holdDays: 30,
    rules: [
      { when: { orderSubtotalCents: { to: 1000 } }, commissionPercent: null },
      { when: {}, commissionPercent: 30, maxCommissionCents: 500 },
    ],
  })
  server.clock.ms = Date.parse('2026-11-02T12:00:00Z')
  await till.order({ externalOrderId: 'cheap', amountCents: 900 })
  await till.order({ externalOrderId: 'capped' })
  const { lines } = await read(owner, id, '2026-10')
  expect(lines.map(({ reason, amountCents }) => [reason, amountCents])).toEqual([
    ["Order cheap: rejected, because the program's terms pay nothing for it", 0],
    ["Order capped: commission of 30% on 90.00 USD by rule 2 of the program's terms, payable from 2026-11-19 on", 500],
  ])
})

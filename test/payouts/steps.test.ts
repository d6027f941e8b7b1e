// Full: it interrupts every step of large batches.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import { resumeJobs } from '../../server/src/domains/payouts/jobs.ts'
import { check } from '../../server/src/operator/check.ts'
import { beforeTransaction, watchReads } from '../support/faults.ts'
import { countOf, rowsOf, updateRows } from '../support/inspect.ts'
import { addMany, expectedBatch } from '../support/many-commissions.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

/** More than a batch that is created at once. */
const COMMISSIONS = 560
const AFFILIATES = 100
const { totals: TOTALS } = expectedBatch({ commissions: COMMISSIONS, affiliates: AFFILIATES })
/** A lease lasts 15 seconds. */
const LEASE_MS = 16_000

/** Runs `look` before each transaction of `work`, that is between its steps, and returns how often. */
async function atEveryStep<T>(
  server: TestServer,
  work: () => Promise<T>,
  look: (step: number) => Promise<unknown>,
): Promise<{ result: T; steps: number }> {
  let isLooking = false
  let steps = 0
  const end = beforeTransaction(server, async (shopId) => {
    if (isLooking || shopId === undefined) return
    isLooking = true
    await look(++steps).finally(() => {
      isLooking = false
    })
  })
  const result = await work().finally(end)
  return { result, steps }
}

const create = (server: TestServer, body: object = {}, headers: Record<string, string> = {}) =>
  server.request('POST', '/api/v1/payouts', { body: { ...OCTOBER, ...body }, headers })
const codeOf = ({ headers }: { headers: Headers }) => headers.get('X-Error-Code')
const audits = async ({ owner }: TestServer, action: string) =>
  (await expectOk(owner('GET', `/audit?action=${action}`))).length

/** The sum of the commissions that reference a batch. */
function sumOf(server: TestServer, payoutBatchId: string) {
  const rows = rowsOf(server, 'commissions', { payoutBatchId })
  const sum = (column: 'commissionAmountCents' | 'taxWithheldCents') => rows.reduce((all, row) => all + row[column], 0)
  return {
    commissions: rows.length,
    affiliates: new Set(rows.map((row) => row.affiliateId)).size,
    commissionCents: sum('commissionAmountCents'),
    taxWithheldCents: sum('taxWithheldCents'),
    netPayableCents: sum('commissionAmountCents') - sum('taxWithheldCents'),
  }
}

test('at every step, a batch and its commissions are shown as a whole or not at all', { timeout: 60_000 }, async ({
  server,
  client,
  owner,
}) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const candidates = TOTALS.commissions - 5
  const seen = new Set<string>()
  /** What lists show of the latest batch. */
  const look = async (step = 1) => {
    if (step % 3 !== 1) return
    const [batch] = rowsOf(server, 'payoutBatches', { shopId: server.shop.shopId }).sort((a, b) =>
      a.id < b.id ? 1 : -1,
    )
    const count = async (query: object) => (await client.commissions.list({ ...query, limit: 1 })).pagination.total
    const [payable, paid, own] = [
      await count({ status: 'PAYABLE' }),
      await count({ status: 'PAID' }),
      batch ? await count({ payoutBatchId: batch.id }) : 0,
    ]
    const page = (await client.commissions.list({ limit: 100 })).data
    const inBatch = page.filter((row) => row.payoutBatchId !== null)
    const statuses = new Set(inBatch.map((row) => row.orderStatus))
    seen.add(`${batch?.status ?? 'none'}: ${payable} payable, ${paid} paid, ${own} of the batch, page ${[...statuses]}`)
  }
  const created = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  expect(created.result.totals).toEqual(TOTALS)
  expect(created.steps).toBeGreaterThan(6)
  await atEveryStep(server, () => expectOk(owner('POST', `/payouts/${created.result.id}/cancel`)), look)
  const second = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  expect(second.result.totals).toEqual(TOTALS)
  await atEveryStep(server, () => client.payouts.pay(second.result.id), look)
  await look()
  expect([...seen]).toEqual([
    'none: 0 payable, 0 paid, 0 of the batch, page ',
    `OPEN: ${candidates + 5} payable, 0 paid, ${candidates + 5} of the batch, page PAYABLE`,
    'FAILED: 0 payable, 0 paid, 0 of the batch, page ',
    `PAID: 0 payable, ${candidates + 5} paid, ${candidates + 5} of the batch, page PAID`,
  ])
  expect(sumOf(server, second.result.id)).toEqual(TOTALS)
  expect(countOf(server, 'payoutJobs')).toBe(0)
})

test('at every step, balances and journeys show a batch as a whole or not at all', { timeout: 60_000 }, async ({
  server,
  client,
  owner,
}) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const { affiliate } = await withAffiliate(server)
  for (let day = 1; day <= 30; day += 3)
    await convert(server, {
      externalOrderId: `o-${day}`,
      amountCents: 10_000,
      couponCode: affiliate.discountCode,
      occurredAt: `2026-10-${String(day).padStart(2, '0')}`,
    })
  const seen = new Set<string>()
  const look = async (step = 1) => {
    if (step % 3 !== 1) return
    const [balance] = (await expectOk(server.request('GET', `/api/v1/affiliates/balance?affiliateId=${affiliate.id}`)))
      .balances
    const { journey } = await client.journey.get({ affiliateId: affiliate.id, from: OCTOBER.periodStart })
    const statuses = new Set(journey.map((entry) => entry.commissionStatus))
    seen.add(`${balance?.approvedCents ?? 0} approved, ${balance?.batchedCents ?? 0} in batches, ${[...statuses]}`)
  }
  const created = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  expect(created.steps).toBeGreaterThan(6)
  await atEveryStep(server, () => expectOk(owner('POST', `/payouts/${created.result.id}/cancel`)), look)
  const second = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  await atEveryStep(server, () => client.payouts.pay(second.result.id), look)
  await look()
  expect([...seen]).toEqual([
    '16000 approved, 0 in batches, APPROVED',
    '0 approved, 16000 in batches, PAYABLE',
    '0 approved, 0 in batches, PAID',
  ])
})

test('commissions that are refunded or canceled at any step leave exact totals', async ({ server, client, owner }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const { affiliate } = await withAffiliate(server)
  const orders = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      expectOk(
        convert(server, {
          externalOrderId: `o-${i}`,
          amountCents: 10_000,
          couponCode: affiliate.discountCode,
          // Spread over the period, which is read from its end.
          occurredAt: `2026-10-${String(30 - i).padStart(2, '0')}`,
        }),
      ),
    ),
  )
  const ids = orders.map(({ commission }) => commission.id)
  const change = async (step: number) => {
    const i = step - 1
    if (i >= ids.length) return
    const refund = { externalRefundId: `r-${i}`, ...(i % 3 === 0 && { amountCents: 5000 }) }
    const path = `/commissions/${ids[i]}`
    await expectOk(i % 3 === 2 ? owner('POST', `${path}/cancel`) : owner('POST', `${path}/refund`, refund))
  }
  const { result, steps } = await atEveryStep(server, () => client.payouts.create(OCTOBER), change)
  expect(steps).toBeGreaterThan(6)
  const batch = (await client.payouts.list({ id: result.id, include: 'lines' })).data[0]!
  expect(batch.totals).toEqual(sumOf(server, result.id))
  expect(batch.lines!.reduce((sum, line) => sum + line.netPayableCents, 0)).toBe(batch.totals.netPayableCents)
  const own = new Map(rowsOf(server, 'commissions', { payoutBatchId: result.id }).map((row) => [row.id, row]))
  const left = ids.map((id) => own.get(id)?.commissionAmountCents)
  const full = 1600
  expect(left).toEqual(ids.map((_, i) => (i >= steps ? full : i % 3 === 0 ? full / 2 : undefined)))
  expect(batch.totals.commissions).toBe(TOTALS.commissions + left.filter((cents) => cents !== undefined).length)
  expect(countOf(server, 'reservationChanges')).toBe(0)
})

test('during the construction: 409 for a batch of the same commissions, 200 for one of others', async ({
  server,
  client,
}) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const affiliateId = addAffiliate(server)
  addCommission(server, { affiliateId, currency: 'EUR' })
  const overlapping: unknown[] = []
  const work = () => create(server, { currency: 'USD' })
  const { result } = await atEveryStep(server, work, async (step) => {
    if (step === 3) overlapping.push(codeOf(await create(server)))
    if (step === 3) overlapping.push(codeOf(await create(server, { currency: 'USD' })))
    if (step === 4) overlapping.push((await create(server, { currency: 'EUR' })).body.data.totals.commissions)
    if (step === 4) overlapping.push((await client.payouts.preview({ ...OCTOBER, currency: 'USD' })).totals)
  })
  expect(result.body.data.totals).toEqual(TOTALS)
  expect(overlapping).toEqual(['payout_mixed_currencies', 'payout_claimed_concurrently', 1, TOTALS])
  expect(await audits(server, 'payout.created')).toBe(2)
})

test('409 for a request that arrived during the construction and is read after it', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const [gate, encoder] = [Promise.withResolvers<void>(), new TextEncoder()]
  const start = async (controller: ReadableStreamDefaultController) => {
    await gate.promise
    controller.enqueue(encoder.encode(JSON.stringify(OCTOBER)))
    controller.close()
  }
  let late: ReturnType<typeof create> | undefined
  const { result } = await atEveryStep(
    server,
    () => create(server),
    async () => {
      late ??= server.request('POST', '/api/v1/payouts', { raw: new ReadableStream({ start }) })
      server.clock.advance(1)
    },
  )
  gate.resolve()
  expect([codeOf(result), codeOf(await late!)]).toEqual([null, 'payout_claimed_concurrently'])
})

test('the same Idempotency-Key during the construction waits for the batch and replays it', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const keyed = { 'Idempotency-Key': 'monthly' }
  let second: ReturnType<typeof create> | undefined
  const { result: first } = await atEveryStep(
    server,
    () => create(server, {}, keyed),
    async (step) => {
      if (step === 3) second = create(server, {}, keyed)
    },
  )
  const replayed = await second!
  expect([replayed.status, replayed.headers.get('Idempotent-Replayed')]).toEqual([200, 'true'])
  expect(replayed.body).toEqual(first.body)
  expect(await audits(server, 'payout.created')).toBe(1)
})

test('requests with the same Idempotency-Key that arrive together return one batch', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const keyed = { 'Idempotency-Key': 'monthly' }
  const replies = await Promise.all([1, 2, 3].map(() => create(server, {}, keyed)))
  expect(replies.map(codeOf)).toEqual([null, null, null])
  expect(replies.map(({ headers }) => headers.get('Idempotent-Replayed')).sort()).toEqual(['true', 'true', null].sort())
  expect(new Set(replies.map(({ body }) => body.data.id)).size).toBe(1)
  expect(replies[0]!.body.data.totals).toEqual(TOTALS)
  expect(await audits(server, 'payout.created')).toBe(1)
})

test('409 for a process whose lease was taken over while it was slow', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const taken: unknown[] = []
  const { result } = await atEveryStep(
    server,
    () => create(server),
    async (step) => {
      if (step !== 4) return
      server.clock.advance(LEASE_MS)
      taken.push((await create(server)).body.data.totals)
    },
  )
  expect(codeOf(result)).toBe('payout_claimed_concurrently')
  expect(taken).toEqual([TOTALS])
  const [batch, ...others] = rowsOf(server, 'payoutBatches', { shopId: server.shop.shopId })
  expect([sumOf(server, batch!.id), others]).toEqual([TOTALS, []])
})

test('404, 409 and 503 during the construction give every commission back', async ({ server, client, owner }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const { result: rejected } = await atEveryStep(
    server,
    () => create(server),
    async (step) => {
      if (step === 4) await expectOk(owner('PATCH', '/settings', { minimumPayoutCents: 2_000_000_000 }))
    },
  )
  expect(codeOf(rejected)).toBe('payout_below_threshold')
  expect(rowsOf(server, 'commissions', { shopId: server.shop.shopId }).every(isUntouched)).toBe(true)
  expect(countOf(server, 'payoutJobs')).toBe(0)
  await expectOk(owner('PATCH', '/settings', { minimumPayoutCents: 0 }))
  expect((await client.payouts.create(OCTOBER)).totals).toEqual(TOTALS)
})

test('orders of the shop are accepted while a batch of 5,000 is created and paid', { timeout: 60_000 }, async ({
  server,
}) => {
  const size = { commissions: 5000, affiliates: 500 }
  addMany(server, size.commissions, size.affiliates)
  const { affiliate } = await withAffiliate(server)
  let isOver = false
  const waits: number[] = []
  const report = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await expectOk(
        convert(server, { externalOrderId: `w-${waits.length}`, amountCents: 100, couponCode: affiliate.discountCode }),
      )
      waits.push(performance.now() - startedAt)
    }
  }
  const reporting = report()
  const batch = await expectOk(create(server))
  await expectOk(server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
  isOver = true
  await reporting
  expect(batch).toMatchObject(expectedBatch(size))
  expect(sumOf(server, batch.id)).toEqual(batch.totals)
  const runs = server.logs.filter((line) => line.includes(batch.id) && line.includes('payout steps'))
  const steps = runs.map((line) => JSON.parse(line).steps)
  expect(steps).toHaveLength(3)
  expect(Math.min(...steps)).toBeGreaterThan(3)
  // Several orders between the steps of each run; in one transaction, one order would wait for all of it.
  expect(waits.length).toBeGreaterThan(10)
  expect(Math.max(...waits)).toBeLessThan(2000)
})

const isUntouched = (row: { payoutBatchId: string | null; version: number }) =>
  row.payoutBatchId === null && row.version === 1

/** Lets the process of a request die before its n-th transaction. Resolves when it has, or with the response. */
async function dieBefore(server: TestServer, n: number, send: () => Promise<unknown>): Promise<'died' | 'finished'> {
  const died = Promise.withResolvers<'died'>()
  let count = 0
  // The use of a key is recorded without a shop, at any time.
  const end = beforeTransaction(server, async (shopId) => {
    if (shopId === undefined || ++count < n) return
    died.resolve('died')
    await new Promise(() => {})
  })
  const finished = send().then(() => 'finished' as const)
  return Promise.race([died.promise, finished]).finally(end)
}

/** Of the affiliates, each with two commissions. More than the transaction that creates the batch inserts. */
const DEBTORS = 250

/** Most affiliates owe more than they earned. */
function addDebtors(server: TestServer): void {
  addMany(server, COMMISSIONS, COMMISSIONS / 2)
  const { shopId } = server.shop
  for (let i = 0; i < DEBTORS; i++)
    updateRows(server, 'commissions', { commissionAmountCents: -100_000 }, { shopId, id: `${shopId}com${i}` })
}

/** The debts that steps have not inserted yet. */
const waitingDebts = (server: TestServer) =>
  rowsOf(server, 'reservationChanges', { shopId: server.shop.shopId, commissions: 1 })

async function expectExact(server: TestServer): Promise<void> {
  const { data } = await server.client.payouts.list({ include: 'lines' })
  expect(data).toHaveLength(1)
  const [{ id, totals, lines }] = data as [(typeof data)[0]]
  expect(waitingDebts(server)).toEqual([])
  expect(totals).toEqual(sumOf(server, id))
  expect(lines?.every(({ netPayableCents }) => netPayableCents >= 0)).toBe(true)
  const rows = rowsOf(server, 'commissions', { shopId: server.shop.shopId }).filter(({ debtId }) => debtId !== null)
  // Rejected affiliates are held back.
  expect(rows).toHaveLength(2 * DEBTORS * 0.98)
  expect((await check(server.deps)).problems).toEqual([])
}

test('the debts of many affiliates are inserted in steps; lines include them at once', { timeout: 60_000 }, async ({
  server,
  client,
}) => {
  addDebtors(server)
  let seen = 0
  const look = async () => {
    if (waitingDebts(server).length === 0) return
    seen++
    const [batch] = (await client.payouts.list({ include: 'lines' })).data
    const sum = batch?.lines?.reduce((cents, line) => cents + line.netPayableCents, 0)
    expect([sum, batch?.lines?.length]).toEqual([batch?.totals.netPayableCents, batch?.totals.affiliates])
    expect((await check(server.deps)).problems).toEqual([])
  }
  await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  expect(seen).toBeGreaterThan(0)
  await expectExact(server)
})

test('a commission that is canceled before the debt of its affiliate is inserted leaves exact totals', {
  timeout: 60_000,
}, async ({ server, client, owner }) => {
  addDebtors(server)
  let isCanceled = false
  await atEveryStep(
    server,
    () => client.payouts.create(OCTOBER),
    async () => {
      const [debt] = waitingDebts(server)
      if (!debt || isCanceled) return
      isCanceled = true
      const affiliate = Number(debt.affiliateId.split('aff')[1])
      const id = `${server.shop.shopId}com${affiliate + COMMISSIONS / 2}`
      await expectOk(owner('POST', `/commissions/${id}/cancel`))
    },
  )
  expect(isCanceled).toBe(true)
  // The canceled commission had reduced the debt, so there is a second one.
  const { data } = await client.payouts.list()
  expect(data[0]?.totals).toEqual(sumOf(server, data[0]!.id))
  expect((await check(server.deps)).problems).toEqual([])
})

test('paying a batch waits until its debts are inserted', { timeout: 60_000 }, async ({ server, client }) => {
  addDebtors(server)
  let paying: Promise<unknown> | undefined
  await atEveryStep(
    server,
    () => client.payouts.create(OCTOBER),
    async () => {
      const [debt] = waitingDebts(server)
      if (debt) paying ??= client.payouts.pay(debt.batchId)
    },
  )
  await paying
  await expectExact(server)
  const [batch] = (await client.payouts.list()).data
  const statuses = rowsOf(server, 'commissions', { payoutBatchId: batch!.id }).map((row) => row.orderStatus)
  expect([batch?.status, ...new Set(statuses)]).toEqual(['PAID', 'PAID'])
})

test('debts that a dead process has not inserted are inserted by another one', { timeout: 60_000 }, async ({
  server,
}) => {
  addDebtors(server)
  const died = Promise.withResolvers<void>()
  const end = beforeTransaction(server, async (shopId) => {
    if (shopId === undefined || waitingDebts(server).length === 0) return
    died.resolve()
    await new Promise(() => {})
  })
  void create(server)
  await died.promise
  end()
  expect(waitingDebts(server).length).toBeGreaterThan(100)
  server.clock.advance(LEASE_MS)
  await resumeJobs(server.deps)
  await expectExact(server)
})

test('a retry waits for what another run gives up first, with and without the key', { timeout: 60_000 }, async ({
  server,
}) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  for (const headers of [{ 'Idempotency-Key': 'monthly' }, {}] as Record<string, string>[]) {
    expect(await dieBefore(server, 4, () => create(server, {}, headers))).toBe('died')
    server.clock.advance(LEASE_MS)
    const [claimed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let resuming: Promise<void> | undefined
    let transactions = 0
    const end = beforeTransaction(server, async (shopId) => {
      if (shopId === undefined) return
      const n = ++transactions
      // The retry has read the job and is about to claim it: another run claims it first, and stops before its first step.
      if (n === 1) {
        resuming = resumeJobs(server.deps)
        await claimed.promise
      }
      if (n === 3) {
        claimed.resolve()
        await gate.promise
      }
    })
    const reads = watchReads(server, 'payoutJobs')
    const retry = create(server, {}, headers)
    await claimed.promise
    const before = reads.count()
    const answered = retry.then(() => true)
    while (reads.count() === before && !(await Promise.race([answered, nextTurn()])));
    gate.resolve()
    const { status, body } = await retry
    await resuming
    end()
    reads.end()
    expect([status, body.data?.totals]).toEqual([200, TOTALS])
    await expectOk(server.owner('POST', `/payouts/${body.data.id}/cancel`))
  }
})

test('409 for a process that another one took over from just before its batch was created', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const taken: unknown[] = []
  const { result } = await atEveryStep(
    server,
    () => create(server),
    async () => {
      const [job] = rowsOf(server, 'payoutJobs', { shopId: server.shop.shopId })
      if (taken.length > 0 || !job) return
      const reserved = rowsOf(server, 'commissions', { payoutBatchId: job.batchId })
      if (reserved.length < TOTALS.commissions - 5) return
      server.clock.advance(LEASE_MS)
      taken.push((await create(server)).body.data.totals)
    },
  )
  expect([codeOf(result), taken]).toEqual(['payout_claimed_concurrently', [TOTALS]])
  const [batch, ...others] = rowsOf(server, 'payoutBatches', { shopId: server.shop.shopId })
  expect([sumOf(server, batch!.id), others]).toEqual([TOTALS, []])
})

test('a process that dies at any step of a creation leaves no batch or a whole one', { timeout: 60_000 }, async ({
  server,
}) => {
  let outcome = 'died'
  let whole = 0
  for (let n = 2; outcome === 'died'; n += 1 + Math.floor(n / 4)) {
    const shop = { ...server, ...server.asShop(await server.createShop()) }
    addMany(shop, COMMISSIONS, AFFILIATES)
    outcome = await dieBefore(shop, n, () => create(shop))
    server.clock.advance(LEASE_MS)
    const [batch] = (await shop.client.payouts.list()).data
    const retried = await create(shop)
    if (batch) whole++
    expect([retried.status, codeOf(retried)]).toEqual(batch ? [404, 'no_eligible_commissions'] : [200, null])
    await resumeJobs(server.deps)
    const [only, ...others] = (await shop.client.payouts.list()).data
    expect([only!.totals, others]).toEqual([TOTALS, []])
    expect(sumOf(shop, only!.id)).toEqual(TOTALS)
    const statuses = new Set(rowsOf(shop, 'commissions', { payoutBatchId: only!.id }).map((row) => row.orderStatus))
    expect([...statuses]).toEqual(['PAYABLE'])
  }
  // The last run was not interrupted.
  expect(whole).toBeGreaterThan(1)
  expect(countOf(server, 'payoutJobs')).toBe(0)
})

test.for([
  ['pay', 'PAID'],
  ['cancel', 'APPROVED'],
] as const)('a process that dies at any step of %s leaves all commissions %s', async ([action, status], { server }) => {
  let outcome = 'died'
  for (let n = 2; outcome === 'died'; n += 1 + Math.floor(n / 4)) {
    const shop = { ...server, ...server.asShop(await server.createShop()) }
    addMany(shop, COMMISSIONS, AFFILIATES)
    const { id } = await shop.client.payouts.create(OCTOBER)
    const count = async () => (await shop.client.commissions.list({ status, limit: 1 })).pagination.total
    const send = () =>
      action === 'pay' ? shop.client.payouts.pay(id) : expectOk(shop.owner('POST', `/payouts/${id}/cancel`))
    const before = await count()
    outcome = await dieBefore(shop, n, send)
    const during = await count()
    server.clock.advance(LEASE_MS)
    await resumeJobs(server.deps)
    expect([during, await count()]).toEqual([during, during])
    expect(during).toBeGreaterThan(before)
    expect(rowsOf(shop, 'commissions', { shopId: shop.shop.shopId, orderStatus: status })).toHaveLength(during)
  }
  expect(countOf(server, 'payoutJobs')).toBe(0)
})

test.for([
  ['create', 'PAYABLE'],
  ['pay', 'PAID'],
  ['cancel', 'APPROVED'],
] as const)(
  'a run of %s that another one took over from changes no commission',
  async ([action, status], { server }) => {
    const { shopId } = server.shop
    addMany(server, COMMISSIONS, AFFILIATES)
    const created = action === 'create' ? undefined : (await create(server)).body.data.id
    const changed = () =>
      rowsOf(server, 'commissions', { shopId, orderStatus: status }).filter((row) => row.version > 1)
    const before = changed().length
    const end = beforeTransaction(server, async () => {
      const [job] = rowsOf(server, 'payoutJobs', { shopId })
      const isStep = job && !['RESERVING', 'UNDOING'].includes(job.phase)
      if (isStep) updateRows(server, 'payoutJobs', { claimedBy: 'another run' }, { shopId })
    })
    if (action === 'create') await create(server)
    if (action === 'pay') await server.client.payouts.pay(created)
    if (action === 'cancel') await expectOk(server.owner('POST', `/payouts/${created}/cancel`))
    end()
    expect(rowsOf(server, 'payoutJobs', { shopId })).toMatchObject([{ claimedBy: 'another run' }])
    expect(changed()).toHaveLength(before)
    server.clock.advance(LEASE_MS)
    await resumeJobs(server.deps)
    expect(changed().length).toBeGreaterThan(before)
    expect(countOf(server, 'payoutJobs')).toBe(0)
  },
)

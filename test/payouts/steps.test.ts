// Full: it interrupts every step of large batches.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import { resumeBatches } from '../../server/src/domains/payouts/process.ts'
import { check } from '../../server/src/operator/check.ts'
import { beforeTransaction, rejectWrites, watchReads, withoutPatience } from '../support/faults.ts'
import { rowsOf, updateRows } from '../support/inspect.ts'
import { addMany, expectedBatch } from '../support/many-commissions.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

/** More than a batch that is created at once. */
const COMMISSIONS = 560
const AFFILIATES = 100
const { totals: TOTALS } = expectedBatch({ commissions: COMMISSIONS, affiliates: AFFILIATES })
/** Of affiliates that owe more than they earned. */
const DEBTS = 5
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
  let failure: unknown
  const end = beforeTransaction(server, async (shopId) => {
    if (isLooking || shopId === undefined) return
    isLooking = true
    await look(++steps).catch((error) => {
      failure ??= error
    })
    isLooking = false
  })
  const result = await work().finally(end)
  if (failure) throw failure
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

/** The batches of the shop, oldest first. */
const batchesOf = (server: TestServer) =>
  rowsOf(server, 'payoutBatches', { shopId: server.shop.shopId }).sort((a, b) => (a.id < b.id ? -1 : 1))
const problems = async (server: TestServer) => (await check(server.deps)).problems

test('at every step, the batch is PROCESSING and shows what has moved', { timeout: 60_000 }, async ({
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
  const all = TOTALS.commissions + 10
  const seen = new Set<string>()
  const look = async () => {
    const batch = (await client.payouts.list({ include: 'lines' })).data[0]
    const count = async (query: object) => (await client.commissions.list({ ...query, limit: 1 })).pagination.total
    const [payable, paid] = [await count({ status: 'PAYABLE' }), await count({ status: 'PAID' })]
    const [balance] = (await expectOk(server.request('GET', `/api/v1/affiliates/balance?affiliateId=${affiliate.id}`)))
      .balances
    const { journey } = await client.journey.get({ affiliateId: affiliate.id, from: OCTOBER.periodStart })
    expect(await problems(server)).toEqual([])
    if (!batch) return
    const { status, progress, totals, lines } = batch
    const inBatch = await count({ payoutBatchId: batch.id })
    const ownPaid = journey.filter(({ commissionStatus }) => commissionStatus === 'PAID').length
    expect((balance?.approvedCents ?? 0) + (balance?.batchedCents ?? 0)).toBe(16_000 - 1600 * ownPaid)
    expect(lines?.reduce((sum, line) => sum + line.commissions, 0)).toBe(inBatch)
    if (progress) {
      const { becomes, movedCommissions: moved } = progress
      // Those that balance debts are added, and canceled before the others move.
      expect(progress.commissions).toBe(becomes === 'OPEN' ? all - DEBTS : all)
      expect([status, inBatch, payable, paid]).toEqual(
        {
          OPEN: ['PROCESSING', totals.commissions, totals.commissions, 0],
          PAID: ['PROCESSING', all, all - moved, moved],
          FAILED: ['PROCESSING', all - DEBTS - moved, all - DEBTS - moved, 0],
        }[becomes as 'OPEN'],
      )
      if (becomes !== 'OPEN') expect(totals.commissions).toBe(all)
      else expect([0, DEBTS]).toContain(totals.commissions - moved)
    }
    seen.add(progress ? `${status} to ${progress.becomes}: ${progress.movedCommissions > 0 ? 'some' : 'none'}` : status)
  }
  const created = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  expect(created.result).toMatchObject({ status: 'OPEN', progress: null, totals: { commissions: all } })
  await atEveryStep(server, () => expectOk(owner('POST', `/payouts/${created.result.id}/cancel`)), look)
  server.clock.advance(1)
  const second = await atEveryStep(server, () => client.payouts.create(OCTOBER), look)
  await atEveryStep(server, () => client.payouts.pay(second.result.id), look)
  await look()
  expect([...seen]).toEqual([
    'PROCESSING to OPEN: none',
    'PROCESSING to OPEN: some',
    'OPEN',
    'PROCESSING to FAILED: none',
    'PROCESSING to FAILED: some',
    'FAILED',
    'PROCESSING to PAID: none',
    'PROCESSING to PAID: some',
    'PAID',
  ])
  expect(sumOf(server, second.result.id)).toEqual(second.result.totals)
})

test('commissions that are refunded or canceled at any step leave exact totals', { timeout: 60_000 }, async ({
  server,
  client,
  owner,
}) => {
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
  const codes: (string | null)[] = []
  const change = async () => {
    for (const end of ['first', 'last']) {
      const i = end === 'first' ? codes.length / 2 : ids.length - 1 - (codes.length - 1) / 2
      const path = `/commissions/${ids[i]}`
      const refund = { externalRefundId: `r-${i}`, ...(i % 3 === 0 && { amountCents: 5000 }) }
      const reply = await withoutPatience(() =>
        i % 3 === 2 ? owner('POST', `${path}/cancel`) : owner('POST', `${path}/refund`, refund),
      )
      codes.push(codeOf(reply))
    }
  }
  const { result } = await atEveryStep(server, () => client.payouts.create(OCTOBER), change)
  expect(new Set(codes)).toEqual(new Set([null, 'payout_processing']))
  const batch = (await client.payouts.list({ id: result.id, include: 'lines' })).data[0]!
  expect(batch.totals).toEqual(sumOf(server, result.id))
  expect(batch.lines!.reduce((sum, line) => sum + line.netPayableCents, 0)).toBe(batch.totals.netPayableCents)
  expect(await problems(server)).toEqual([])
})

test('a change of a commission waits until its batch is complete', { timeout: 60_000 }, async ({
  server,
  client,
  owner,
}) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  let changing: Promise<unknown> | undefined
  let moderating: Promise<{ changed: number }> | undefined
  const { result } = await atEveryStep(
    server,
    () => client.payouts.create(OCTOBER),
    async () => {
      const [one, other] = rowsOf(server, 'commissions', { shopId: server.shop.shopId, orderStatus: 'PAYABLE' }).filter(
        (row) => row.payoutBatchId !== null,
      )
      if (!one || !other) return
      changing ??= expectOk(owner('POST', `/commissions/${one.id}/cancel`))
      moderating ??= expectOk(owner('POST', '/commissions/moderate', { action: 'cancel', ids: [other.id] }))
    },
  )
  await changing
  expect((await moderating)?.changed).toBe(1)
  const [batch] = (await client.payouts.list({ id: result.id })).data
  expect(batch?.totals.commissions).toBe(TOTALS.commissions - 2)
  expect(batch?.totals).toEqual(sumOf(server, result.id))
})

test('while a batch is created: 409 for a batch of the same commissions, 200 for one of others', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const affiliateId = addAffiliate(server)
  addCommission(server, { affiliateId, currency: 'EUR' })
  const others: unknown[] = []
  const work = () => create(server, { currency: 'USD' })
  const { result } = await atEveryStep(server, work, async (step) => {
    if (step === 3) others.push(codeOf(await create(server, { currency: 'USD' })))
    if (step === 3) others.push((await create(server, { currency: 'EUR' })).body.data.totals.commissions)
  })
  expect(result.body.data.totals).toEqual(TOTALS)
  expect(others).toEqual(['payout_claimed_concurrently', 1])
  expect(await audits(server, 'payout.created')).toBe(2)
})

test('409 for a request that arrived during a creation and is read after it', async ({ server }) => {
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

test('the same Idempotency-Key during a creation waits for the batch and replays it', async ({ server }) => {
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

test('a process that is overtaken while it is slow answers with what the other one completed', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const taken: unknown[] = []
  const { result } = await atEveryStep(
    server,
    () => create(server),
    async (step) => {
      if (step !== 3) return
      server.clock.advance(LEASE_MS)
      taken.push(codeOf(await create(server)))
      await resumeBatches(server.deps)
    },
  )
  expect([result.status, result.body.data.totals, taken]).toEqual([200, TOTALS, ['payout_claimed_concurrently']])
  const [batch, ...others] = batchesOf(server)
  expect([batch?.status, sumOf(server, batch!.id), others]).toEqual(['OPEN', TOTALS, []])
  expect(await audits(server, 'payout.created')).toBe(1)
})

test('503 when a step cannot be written; the server completes the batch', async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  let restore: (() => void) | undefined
  const { result } = await atEveryStep(
    server,
    () => create(server),
    async (step) => {
      if (step === 3) restore = rejectWrites(server, 'update', 'commissions')
    },
  )
  expect(result.status).toBe(503)
  restore?.()
  await resumeBatches(server.deps)
  const [batch] = batchesOf(server)
  expect([batch?.status, sumOf(server, batch!.id)]).toEqual(['OPEN', TOTALS])
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
  // In one transaction, one order would wait for all of it.
  expect(waits.length).toBeGreaterThan(10)
})

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

async function expectExact(server: TestServer): Promise<void> {
  const { data } = await server.client.payouts.list({ include: 'lines' })
  expect(data).toHaveLength(1)
  const [{ id, totals, lines }] = data as [(typeof data)[0]]
  expect(totals).toEqual(sumOf(server, id))
  expect(lines?.every(({ netPayableCents }) => netPayableCents >= 0)).toBe(true)
  const rows = rowsOf(server, 'commissions', { shopId: server.shop.shopId }).filter(({ debtId }) => debtId !== null)
  // Rejected affiliates are held back.
  expect(rows).toHaveLength(2 * DEBTORS * 0.98)
  expect(await problems(server)).toEqual([])
}

test('the debts of many affiliates are carried forward before a batch is OPEN', { timeout: 60_000 }, async ({
  server,
  client,
}) => {
  addDebtors(server)
  await atEveryStep(
    server,
    () => client.payouts.create(OCTOBER),
    async () => {
      const [batch] = (await client.payouts.list({ include: 'lines' })).data
      if (!batch) return
      const sum = batch.lines?.reduce((cents, line) => cents + line.netPayableCents, 0)
      expect(sum).toBe(batch.totals.netPayableCents)
      expect(await problems(server)).toEqual([])
    },
  )
  await expectExact(server)
})

test('a payment waits until the batch is created', { timeout: 60_000 }, async ({ server, client }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  let paying: Promise<unknown> | undefined
  const { result } = await atEveryStep(
    server,
    () => client.payouts.create(OCTOBER),
    async () => {
      const [batch] = batchesOf(server)
      if (batch) paying ??= client.payouts.pay(batch.id)
    },
  )
  await paying
  expect(batchesOf(server)).toMatchObject([{ id: result.id, status: 'PAID' }])
})

test('a retry with the key waits for what another process completes', { timeout: 60_000 }, async ({ server }) => {
  addMany(server, COMMISSIONS, AFFILIATES)
  const headers = { 'Idempotency-Key': 'monthly' }
  expect(await dieBefore(server, 4, () => create(server, {}, headers))).toBe('died')
  server.clock.advance(LEASE_MS)
  const [claimed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let resuming: Promise<void> | undefined
  let transactions = 0
  const end = beforeTransaction(server, async (shopId) => {
    if (shopId === undefined) return
    const n = ++transactions
    // The retry has read the batch and is about to claim it: another run claims it first, and stops before its first step.
    if (n === 1) {
      resuming = resumeBatches(server.deps)
      await claimed.promise
    }
    if (n === 3) {
      claimed.resolve()
      await gate.promise
    }
  })
  const reads = watchReads(server, 'payoutBatches')
  const retry = create(server, {}, headers)
  await claimed.promise
  const before = reads.count()
  const answered = retry.then(() => true)
  while (reads.count() === before && !(await Promise.race([answered, nextTurn()])));
  gate.resolve()
  const { status, body, headers: given } = await retry
  await resuming
  end()
  reads.end()
  expect([status, body.data.totals, given.get('Idempotent-Replayed')]).toEqual([200, TOTALS, 'true'])
  expect(batchesOf(server).map((batch) => sumOf(server, batch.id))).toEqual([TOTALS])
})

test('a process that dies at any step of a creation leaves no batch, or one that the next request completes', {
  timeout: 60_000,
}, async ({ server }) => {
  let outcome = 'died'
  let begun = 0
  for (let n = 2; outcome === 'died'; n++) {
    const shop = { ...server, ...server.asShop(await server.createShop()) }
    addDebtors(shop)
    const headers: Record<string, string> = n % 2 === 0 ? { 'Idempotency-Key': 'monthly' } : {}
    outcome = await dieBefore(shop, n, () => create(shop, {}, headers))
    server.clock.advance(LEASE_MS)
    const [batch] = batchesOf(shop)
    if (batch) begun++
    const retried = await create(shop, {}, headers)
    const isDone = batch?.status === 'OPEN'
    if (n % 2 === 0 || !batch) expect([codeOf(retried), retried.body.data.status]).toEqual([null, 'OPEN'])
    else expect(codeOf(retried)).toBe(isDone ? 'no_eligible_commissions' : 'payout_claimed_concurrently')
    await resumeBatches(server.deps)
    await expectExact(shop)
    const { id } = batchesOf(shop)[0]!
    expect([...new Set(rowsOf(shop, 'commissions', { payoutBatchId: id }).map((row) => row.orderStatus))]).toEqual([
      'PAYABLE',
    ])
    expect(await audits(shop, 'payout.created')).toBe(1)
  }
  // Of at least two steps of commissions and one of debts.
  expect(begun).toBeGreaterThan(3)
})

test.for([
  ['pay', 'PAID', 'payout.paid'],
  ['cancel', 'APPROVED', 'payout.canceled'],
] as const)(
  'a process that dies at any step of %s leaves all commissions %s',
  { timeout: 60_000 },
  async ([action, status, audit], { server }) => {
    let outcome = 'died'
    for (let n = 2; outcome === 'died'; n++) {
      const shop = { ...server, ...server.asShop(await server.createShop()) }
      addMany(shop, COMMISSIONS, AFFILIATES)
      const { id, totals } = await shop.client.payouts.create(OCTOBER)
      const send = () =>
        action === 'pay' ? shop.client.payouts.pay(id) : expectOk(shop.owner('POST', `/payouts/${id}/cancel`))
      outcome = await dieBefore(shop, n, send)
      const [begun] = batchesOf(shop)
      server.clock.advance(LEASE_MS)
      if (begun?.status === 'OPEN') await send()
      await resumeBatches(server.deps)
      const rows = rowsOf(shop, 'commissions', { shopId: shop.shop.shopId, orderStatus: status })
      // The balancing rows of debts have one version less, and are canceled with the batch.
      const moved = rows.filter(({ version, debtId }) => version > (debtId === null ? 2 : 1))
      expect(moved).toHaveLength(totals.commissions - (action === 'cancel' ? DEBTS : 0))
      expect(batchesOf(shop)).toMatchObject([{ status: action === 'pay' ? 'PAID' : 'FAILED', process: null }])
      expect(await audits(shop, audit)).toBe(1)
      expect(await problems(shop)).toEqual([])
    }
  },
)

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
    const taken = Promise.withResolvers<void>()
    const end = beforeTransaction(server, async () => {
      const [batch] = batchesOf(server)
      if (batch?.status !== 'PROCESSING') return
      end()
      updateRows(server, 'payoutBatches', { version: batch.version + 1, claimedBy: 'another run' }, { shopId })
      taken.resolve()
    })
    const sent =
      action === 'create'
        ? create(server)
        : action === 'pay'
          ? server.client.payouts.pay(created)
          : server.owner('POST', `/payouts/${created}/cancel`)
    await taken.promise
    const reads = watchReads(server, 'payoutBatches')
    while (reads.count() === 0) await nextTurn()
    reads.end()
    expect(batchesOf(server)).toMatchObject([{ status: 'PROCESSING', claimedBy: 'another run' }])
    expect(changed()).toHaveLength(before)
    // The other one dies.
    server.clock.advance(LEASE_MS)
    await sent
    expect(changed().length).toBeGreaterThan(before)
    expect(batchesOf(server)).toMatchObject([{ process: null }])
  },
)

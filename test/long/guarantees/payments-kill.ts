import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../../server/src/config.ts'
import { createDeps } from '../../../server/src/core/context.ts'
import * as shops from '../../../server/src/domains/accounts/shops.ts'
import { setPayee } from '../../../server/src/domains/affiliates/payees.ts'
import { adjustmentRow, insertCommissions } from '../../../server/src/domains/ledger/commissions.ts'
import { type Answer, call } from '../../support/calls.ts'
import { freePort, type RunningServer } from '../../support/process.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { createWorld, type World } from '../world.ts'

const PAYEES = 150
const CENTS = 1000

/** The affiliates of a shop, all paid by PayPal. */
async function addPayees({ look, env }: World, shopId: string, key: string, server: RunningServer): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < PAYEES; i++) {
    const made = await call(server, key, ['POST', '/api/v1/affiliates', { email: `p${i}@example.com`, name: `P ${i}` }])
    await call(server, key, ['PATCH', `/api/v1/affiliates?id=${made.body.data.id}`, { status: 'APPROVED' }])
    ids.push(made.body.data.id)
  }
  await look(async (db) => {
    const ctx = await shops.operatorContext(createDeps({ ...readConfig(env), logLevel: 'silent' }, db), shopId)
    for (const id of ids) await setPayee(ctx, id, { method: 'PAYPAL', email: 'p@pay.example' })
  })
  return ids
}

/** An approved commission of each affiliate at a time. */
const addCommissions = ({ look, env }: World, shopId: string, affiliateIds: string[], happenedAt: string) =>
  look(async (db) => {
    const ctx = await shops.operatorContext(createDeps({ ...readConfig(env), logLevel: 'silent' }, db), shopId)
    const rows = affiliateIds.map((affiliateId) => {
      const id = ctx.newId('com')
      const amounts = { currency: 'USD', orderCurrency: 'USD', commissionAmountCents: CENTS, taxWithheldCents: 0 }
      const place = { orderStatus: 'APPROVED', payoutBatchId: null, debtId: null, programId: null } as const
      return adjustmentRow(ctx, { id, orderId: `adj:${id}`, affiliateId, happenedAt, ...amounts, ...place })
    })
    await db.transact((trx) => insertCommissions(trx, shopId, rows), shopId)
  })

/** The server is killed at times spread over the creation of a payment file, and over its reconciliation; both are repeated. */
export const guarantee: LongTest = {
  title: 'Payments are sent, settled and returned once when the process is killed',
  engines: ['sqlite', 'postgres'],
  minutes: 40,
  run: async (given) => {
    const world = await createWorld(given, { PORT: String(await freePort()) })
    let server = await world.start()
    const killDuring = async (delayMs: number, send: (to: RunningServer) => Promise<Answer>) => {
      const first = send(server).catch(() => undefined)
      await sleep(delayMs)
      await server.stop('SIGKILL')
      const isCutOff = !(await first)
      server = await world.start()
      return { isCutOff, repeated: await send(server) }
    }
    const { shopId, ownerToken, keys } = await world.createShop(1)
    const key = keys[0]!
    const owner = (to: RunningServer, ...request: Parameters<typeof call>[2]) => call(to, ownerToken, request)
    const affiliateIds = await addPayees(world, shopId, key, server)
    const rounds = sized(100, given)
    let [fileMs, reportMs, cutOff, returned] = [0, 0, 0, 0]
    for (let n = 0; n <= rounds; n++) {
      const [periodStart, periodEnd] = [n, n + 1].map((day) => new Date(Date.UTC(2001, 0, 1 + day)).toISOString())
      await addCommissions(world, shopId, affiliateIds, `${periodStart!.slice(0, 10)}T12:00:00.000Z`)
      const created = await call(server, key, ['POST', '/api/v1/payouts', { periodStart, periodEnd }])
      const batchId = created.body.data.id
      const send = (to: RunningServer) =>
        owner(to, 'PUT', `/admin/v1/payout-files/f${n}`, { batchId, format: 'paypal' })
      // The first round is not killed, and measures how long the others take.
      const startedAt = performance.now()
      const file =
        n === 0 ? { isCutOff: false, repeated: await send(server) } : await killDuring((fileMs * n) / rounds, send)
      if (n === 0) fileMs = performance.now() - startedAt
      assert.equal(file.repeated.status, 200, file.repeated.text)
      const { status, lines, totalCents } = file.repeated.body.data
      assert.deepEqual([status, lines, totalCents], ['SENT', PAYEES, PAYEES * CENTS])
      const { data } = (await owner(server, 'GET', `/admin/v1/payout-files/f${n}/lines`)).body
      const results = data.map(({ paymentReference }: { paymentReference: string }, i: number) => ({
        paymentReference,
        outcome: i % 3 === 0 ? 'RETURNED' : 'SETTLED',
      }))
      const report = (to: RunningServer) => owner(to, 'POST', '/admin/v1/payout-lines/reconcile', { results })
      const reportedAt = performance.now()
      const done =
        n === 0
          ? { isCutOff: false, repeated: await report(server) }
          : await killDuring((reportMs * n) / rounds, report)
      if (n === 0) reportMs = performance.now() - reportedAt
      assert.equal(done.repeated.status, 200, done.repeated.text)
      cutOff += Number(file.isCutOff) + Number(done.isCutOff)
      const { totals } = (await owner(server, 'GET', `/admin/v1/payouts/${batchId}/lines`)).body
      assert.deepEqual([totals.RETURNED.lines, totals.SETTLED.lines], [PAYEES / 3, (PAYEES * 2) / 3])
      returned += totals.RETURNED.cents
      const listed = await call(server, key, ['GET', `/api/v1/payouts?id=${batchId}`])
      assert.equal(listed.body.data[0].status, 'PAID')
    }
    // Everything that was returned is payable once, and nothing else is.
    const all = { periodStart: '2000-01-01', periodEnd: '2099-01-01' }
    const last = await call(server, key, ['POST', '/api/v1/payouts', all])
    assert.equal(last.body.data.totals.netPayableCents, returned)
    await server.stop()
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    const paid = figure((rounds + 1) * PAYEES)
    return `${2 * rounds} kills, ${cutOff} of them before the response: ${paid} payments sent once, settled or returned once, to the cent`
  },
}

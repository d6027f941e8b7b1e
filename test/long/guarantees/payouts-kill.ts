import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, call } from '../../support/calls.ts'
import { expectedBatch } from '../../support/many-commissions.ts'
import type { RunningServer } from '../../support/process.ts'
import { type LongTest, sized } from '../guarantee.ts'
import { AFFILIATES, fill, OCTOBER } from '../large-payout.ts'
import { createWorld } from '../world.ts'

const COMMISSIONS = 3000

/** The server is killed at times spread over the creation and the payment of a batch; the client retries. */
export const guarantee: LongTest = {
  title: 'A large payout batch is created once and whole when the process is killed',
  engines: ['sqlite', 'postgres'],
  minutes: 30,
  run: async (given) => {
    const world = await createWorld(given)
    const expected = expectedBatch({ commissions: COMMISSIONS, affiliates: AFFILIATES })
    let server = await world.start()
    /** Sends a request and kills the server after a delay; then starts it again and repeats the request. */
    const killDuring = async (delayMs: number, send: (to: RunningServer) => Promise<Answer>) => {
      const first = send(server).catch(() => undefined)
      await sleep(delayMs)
      await server.stop('SIGKILL')
      const answered = await first
      server = await world.start()
      return { answered, repeated: await send(server) }
    }
    const processing = () =>
      world.look(({ read }) =>
        read.selectFrom('payoutBatches').select('id').where('status', '=', 'PROCESSING').execute(),
      )
    let createMs = 1500
    let payMs = 1000
    let [cutOff, whole] = [0, 0]
    const kills = sized(60, given)
    for (let n = 0; n <= kills; n++) {
      const { shopId, keys } = await world.createShop(1)
      const key = keys[0]!
      await fill(world, given.engine, shopId, COMMISSIONS, `k${n}x`)
      const create = (to: RunningServer) => call(to, key, ['POST', '/api/v1/payouts', OCTOBER, 'monthly'])
      const pay = (to: RunningServer, id: string) => call(to, key, ['PATCH', `/api/v1/payouts?id=${id}&action=pay`])
      let id: string
      if (n === 0) {
        // The durations without a kill.
        const startedAt = performance.now()
        id = (await create(server)).body.data.id
        createMs = performance.now() - startedAt
        await pay(server, id)
        payMs = performance.now() - startedAt - createMs
      } else {
        const { answered, repeated } = await killDuring((createMs * n) / kills, create)
        if (answered) assert.equal(answered.text, repeated.text, 'the response is replayed')
        else cutOff++
        assert.equal(repeated.status, 200, repeated.text)
        const { totals, heldBack } = repeated.body.data
        assert.deepEqual({ totals, heldBack }, expected)
        id = repeated.body.data.id
        const paid = await killDuring((payMs * n) / kills, (to) => pay(to, id))
        const isPaid = paid.repeated.headers.get('X-Error-Code') === 'payout_already_paid'
        if (isPaid) whole++
        assert.ok(isPaid || paid.repeated.status === 200, paid.repeated.text)
      }
      const listed = await call(server, key, ['GET', '/api/v1/payouts'])
      assert.deepEqual(
        listed.body.data.map((batch: { id: string; status: string }) => [batch.id, batch.status]),
        [[id, 'PAID']],
      )
      const rows = await call(server, key, ['GET', '/api/v1/commissions?status=PAID&limit=1'])
      assert.equal(
        rows.body.pagination.total,
        expected.totals.commissions,
        'every commission is PAID once the request is answered',
      )
      assert.deepEqual(await processing(), [])
      const audits = await world.look(({ read }) =>
        read
          .selectFrom('audits')
          .select('action')
          .where('shopId', '=', shopId)
          .where('action', 'like', 'payout.%')
          .execute(),
      )
      assert.deepEqual(audits.map(({ action }) => action).sort(), ['payout.created', 'payout.paid'])
    }
    await server.stop()
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    return `${2 * kills} kills, ${cutOff} creations cut off and ${whole} payments committed before it: each batch once, whole, and exact`
  },
}

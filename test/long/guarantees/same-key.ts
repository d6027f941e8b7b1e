import assert from 'node:assert/strict'
import { call, withAffiliate } from '../../support/calls.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { createWorld } from '../world.ts'

const CALLERS = 32

/** One order in several spellings: the order of fields and whitespace do not distinguish two requests. */
function spell(id: string, n: number): string {
  const order = { externalOrderId: id, amountCents: 10_000, couponCode: 'NISA16' }
  const fields = Object.entries(order)
  const turned = Object.fromEntries([...fields.slice(n % 3), ...fields.slice(0, n % 3)])
  return JSON.stringify(turned, null, n % 4)
}

/** Two processes, 50 keys, 32 callers each at the same time: one commission for each key, returned to every caller. */
export const guarantee: LongTest = {
  title: 'Concurrent requests with one key create one commission',
  engines: ['sqlite', 'postgres'],
  minutes: 2,
  run: async (given) => {
    const world = await createWorld(given)
    const { keys, shopId } = await world.createShop(8)
    const servers = await Promise.all([world.start(), world.start()])
    await withAffiliate(servers[0]!, keys[0]!)
    const rounds = sized(50, given)
    let replays = 0
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        Array.from({ length: CALLERS }, (_, n) =>
          call(servers[n % 2]!, keys[n % 8]!, ['POST', '/api/v1/events', spell(`o-${round}`, n), `k-${round}`]),
        ),
      )
      const unlike = answers.filter(({ status, text }) => status !== 201 || text !== answers[0]!.text)
      assert.deepEqual(
        unlike.map(({ status, text }) => [status, text]),
        [],
        `answers unlike the first: ${answers[0]!.text}`,
      )
      const first = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === null)
      assert.equal(first.length, 1, 'exactly one caller is the first')
      replays += answers.length - 1
    }
    const rows = await world.look((db) =>
      db.read.selectFrom('commissions').select('id').where('shopId', '=', shopId).execute(),
    )
    assert.equal(rows.length, rounds, 'one commission for each key')
    for (const server of servers) await server.stop()
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    return `${rounds} keys, ${CALLERS} callers each over 2 processes: ${rows.length} commissions, ${figure(replays)} identical replays, 0 errors`
  },
}

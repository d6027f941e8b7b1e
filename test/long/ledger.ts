import assert from 'node:assert/strict'
import type { Database } from '../../server/src/database/database.ts'
import { decide } from '../../server/src/engine/decide.ts'
import { parseFacts } from '../../server/src/engine/stored-facts.ts'
import type { Acknowledged, Sent } from './load.ts'

/** 16%, rounded half up to whole cents: independent arithmetic to compare with the engine's. */
const share = (cents: number) => Number((BigInt(cents) * 1600n + 5000n) / 10_000n)

/** Every acknowledged order of a shop is stored once with the right amount. */
export async function checkAcknowledged(
  db: Database,
  shopId: string,
  { sent, acknowledged }: { sent: Sent[]; acknowledged: Acknowledged[] },
): Promise<void> {
  const commissions = await db.read
    .selectFrom('commissions')
    .select(['id', 'externalOrderId', 'commissionAmountCents'])
    .where('shopId', '=', shopId)
    .execute()
  compare(commissions, { sent, acknowledged })
}

interface StoredCommission {
  id: string
  externalOrderId: string | null
  commissionAmountCents: number
}

function compare(
  commissions: StoredCommission[],
  { sent, acknowledged }: { sent: Sent[]; acknowledged: Acknowledged[] },
): void {
  const byOrder = Map.groupBy(commissions, ({ externalOrderId }) => externalOrderId)
  const doubled = sent.filter(({ id }) => (byOrder.get(id)?.length ?? 0) > 1).map(({ id }) => id)
  const lost = acknowledged.filter(({ id, commissionId }) => byOrder.get(id)?.[0]?.id !== commissionId)
  assert.deepEqual({ lost: lost.map(({ id }) => id), doubled }, { lost: [], doubled: [] })
  const wrong = sent.filter(({ id, amountCents }) => {
    const [row] = byOrder.get(id) ?? []
    return row && row.commissionAmountCents !== share(amountCents)
  })
  assert.deepEqual(wrong, [], 'each commission is 16% of its order')
}

/** Every acknowledged order is stored once with the right amount, one audit record and one stored response. */
export async function checkLedger(
  db: Database,
  { sent, acknowledged }: { sent: Sent[]; acknowledged: Acknowledged[] },
) {
  const commissions = await db.read
    .selectFrom('commissions')
    .select(['id', 'externalOrderId', 'commissionAmountCents'])
    .execute()
  compare(commissions, { sent, acknowledged })
  const counts = await countAll(db)
  const { length } = commissions
  assert.deepEqual(counts, { orders: length, audits: length, replies: length })
  assert.equal(
    await sumAgain(db),
    commissions.reduce((sum, row) => sum + row.commissionAmountCents, 0),
  )
}

async function countAll({ read }: Database) {
  const of = async (query: { execute: () => Promise<{ n: number }[]> }) => Number((await query.execute())[0]?.n)
  const count = ({ fn }: { fn: typeof read.fn }) => fn.countAll<number>().as('n')
  return {
    orders: await of(read.selectFrom('orders').select(count)),
    audits: await of(read.selectFrom('audits').where('action', '=', 'commission.created').select(count)),
    replies: await of(read.selectFrom('idempotencyKeys').select(count)),
  }
}

/** The amount that the stored facts earn when the engine decides them again. */
async function sumAgain({ read }: Database): Promise<number> {
  const orders = await read.selectFrom('orders').select('facts').execute()
  return orders.reduce((sum, { facts }) => sum + decide(parseFacts(facts)).amountCents, 0)
}

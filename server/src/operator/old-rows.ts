import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Deps } from '../core/context.ts'
import { listShops } from '../domains/accounts/queries.ts'
import { operatorContext } from '../domains/accounts/shops.ts'
import { longestClickWindow } from '../domains/programs/queries.ts'

/** The rows that the command `retention` deletes. */
export type OldRows = 'responses' | 'journey' | 'deliveries' | 'orders'

type Table = 'idempotencyKeys' | 'journey' | 'deliveries' | 'webhookEvents' | 'orders'

/** A table's rows that can be deleted. */
interface Step {
  table: Table
  /** The primary key, together with the shop. */
  key: string
  /** A condition on the rows, named `r`. */
  where: RawBuilder<unknown>
}

const DAY_MS = 86_400_000
/** The minimum age of rows, in days. Retries, refunds, and explanations of recent requests need newer ones. */
const MIN_AGE_DAYS: Record<OldRows, number> = { responses: 30, journey: 1, deliveries: 1, orders: 30 }
/** Rows deleted in one transaction. */
const STEP_ROWS = 200
/** Pauses after this time, because running servers try to write every 25 ms. */
const WRITE_MS = 100
const PAUSE_MS = 50

function stepsOf(kind: OldRows, before: string): Step[] {
  switch (kind) {
    case 'responses':
      return [{ table: 'idempotencyKeys', key: 'key', where: sql`r."createdAt" < ${before}` }]
    case 'journey':
      return [{ table: 'journey', key: 'id', where: sql`r."occurredAt" < ${before}` }]
    case 'deliveries':
      return [
        { table: 'deliveries', key: 'id', where: sql`r.status in ('SENT', 'FAILED') and r."finishedAt" < ${before}` },
        {
          table: 'webhookEvents',
          key: 'id',
          where: sql`r."createdAt" < ${before}
            and not exists (select 1 from deliveries d where d."shopId" = r."shopId" and d."eventId" = r.id
              and (d.status in ('PENDING', 'RETRYING') or d."finishedAt" >= ${before}))`,
        },
      ]
    case 'orders':
      return [
        // First, so that an order reported again can add its entry.
        {
          table: 'journey',
          key: 'id',
          where: sql`r."orderId" is not null and r."commissionId" is null and r."occurredAt" < ${before}`,
        },
        // Refunds, explanations, and reopening need the facts of orders with a commission.
        {
          table: 'orders',
          key: 'orderId',
          where: sql`r."commissionId" is null and r."orderAt" < ${before} and r."updatedAt" < ${before}`,
        },
      ]
  }
}

export interface Selection {
  kind: OldRows
  /** The cutoff. Earlier rows are deleted. */
  before: string
  /** Defaults to all shops. */
  shop?: string | undefined
}

/** @throws Error with a message for the operator if rows of this age are still needed. */
export async function checkAge(deps: Deps, { kind, before }: Selection): Promise<void> {
  const window = kind === 'journey' ? await longestClickWindow(deps.db.read) : 0
  const days = Math.max(MIN_AGE_DAYS[kind], window)
  if (Date.parse(before) > deps.now() - days * DAY_MS) {
    const reason = window > MIN_AGE_DAYS[kind] ? ': a click can count for that long' : ''
    throw new Error(`--before must be at least ${days} days ago for ${kind}${reason}.`)
  }
}

type Counts = Partial<Record<Table, number>>

/** How many rows of each table {@link deleteOldRows} would delete. */
export const countOldRows = (deps: Deps, selection: Selection): Promise<Counts> =>
  forEachStep(deps, selection, async (shopId, { table, where }) => {
    const { rows } = await sql<{ rows: number }>`
      select count(*) as rows from ${sql.table(table)} r where r."shopId" = ${shopId} and ${where}`.execute(
      deps.db.read,
    )
    return Number(rows[0]?.rows ?? 0)
  })

/** Deletes old rows in small transactions, even while servers run, and returns how many per table. */
export const deleteOldRows = (deps: Deps, selection: Selection): Promise<Counts> => {
  const pace = createPace()
  return forEachStep(deps, selection, async (shopId, { table, key, where }) => {
    const column = sql`r.${sql.ref(key)}`
    let deleted = 0
    for (let after = ''; ; await pace()) {
      const { rows } = await sql<{ id: string }>`
        select ${column} as id from ${sql.table(table)} r where r."shopId" = ${shopId} and ${column} > ${after} and ${where}
        order by r."shopId", ${column} limit ${sql.lit(STEP_ROWS)}`.execute(deps.db.read)
      if (rows.length === 0) return deleted
      const ids = rows.map(({ id }) => id)
      // Checked again, so that a row that changed since it was read stays.
      const statement = sql`delete from ${sql.table(table)} as r
        where r."shopId" = ${shopId} and ${column} in (${sql.join(ids)}) and ${where}`
      const { numAffectedRows } = await deps.db.transact((trx) => statement.execute(trx), shopId)
      deleted += Number(numAffectedRows ?? 0)
      after = ids.at(-1)!
    }
  })
}

async function forEachStep(
  deps: Deps,
  { kind, before, shop }: Selection,
  work: (shopId: string, step: Step) => Promise<number>,
): Promise<Counts> {
  const shops = shop === undefined ? await listShops(deps.db.read) : [(await operatorContext(deps, shop)).shop]
  const counts: Counts = {}
  for (const { id } of shops)
    for (const step of stepsOf(kind, before)) counts[step.table] = (counts[step.table] ?? 0) + (await work(id, step))
  return counts
}

/** Pauses to let running servers write. */
function createPace(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < WRITE_MS) return
    await sleep(PAUSE_MS)
    since = performance.now()
  }
}

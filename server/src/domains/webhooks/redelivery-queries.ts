import { sql } from 'kysely'
import { defineReport, type Reader, type Transaction } from '../../database/database.ts'
import type { DeliveryRow } from '../../database/tables.ts'

/** A delivery to queue again. */
export type Redeliverable = Pick<DeliveryRow, 'id' | 'eventId' | 'webhookId' | 'subscriptionId'>

interface RedeliverableFilter {
  subscriptionId: string
  /** Inclusive bounds of `createdAt`. */
  from: string
  to: string
  status: 'SENT' | 'FAILED'
  event?: string | null | undefined
  limit: number
}

/**
 * Only the latest delivery of an event to a subscription, so that none is queued twice. An event that a person was erased
 * from can no longer be sent as it was.
 */
const latest = (db: Reader, shopId: string) =>
  db
    .selectFrom('deliveries as d')
    .select(['d.id', 'd.eventId', 'd.webhookId', 'd.subscriptionId'])
    .where('d.shopId', '=', shopId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhookEvents as sent')
          .select('sent.id')
          .whereRef('sent.shopId', '=', 'd.shopId')
          .whereRef('sent.id', '=', 'd.eventId')
          .where('sent.erasedAt', 'is', null),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('deliveries as later')
            .select('later.id')
            .whereRef('later.shopId', '=', 'd.shopId')
            .whereRef('later.eventId', '=', 'd.eventId')
            .whereRef('later.subscriptionId', '=', 'd.subscriptionId')
            // An expression, because SQLite would read all later deliveries of the shop by their ids.
            .where(sql<string>`later.id || ''`, '>', (eb) => eb.ref('d.id')),
        ),
      ),
    )

/** The first deliveries of a period to queue again, and how many there are. Reads every delivery of the shop. */
export const redeliverableReport = defineReport(
  import.meta.url,
  'redeliverableReport',
  async (
    db,
    { shopId, query }: { shopId: string; query: RedeliverableFilter },
  ): Promise<{ rows: Redeliverable[]; total: number }> => {
    let list = latest(db, shopId)
      .where('d.createdAt', '>=', query.from)
      .where('d.createdAt', '<=', query.to)
      .where('d.subscriptionId', '=', query.subscriptionId)
      .where('d.status', '=', query.status)
    const { event } = query
    if (event) {
      list = list.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('webhookEvents as e')
            .select('e.id')
            .whereRef('e.shopId', '=', 'd.shopId')
            .whereRef('e.id', '=', 'd.eventId')
            .where('e.event', '=', event),
        ),
      )
    }
    const { total } = await list
      .clearSelect()
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow()
    return { rows: await list.orderBy('d.id').limit(query.limit).execute(), total: Number(total) }
  },
)

/** Those that no other request has queued again or that were deleted since. */
export async function listStillRedeliverable(
  trx: Transaction,
  shopId: string,
  rows: Redeliverable[],
): Promise<Redeliverable[]> {
  // PostgreSQL rejects an empty list.
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  return latest(trx, shopId).where('d.id', 'in', ids).orderBy('d.id').execute()
}

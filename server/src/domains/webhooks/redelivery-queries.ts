import { sql } from 'kysely'
import { countOf } from '../../core/pagination.ts'
import { defineReport, type Reader, type Transaction } from '../../database/database.ts'
import type { DeliveryRow } from '../../database/tables.ts'

/** A delivery to queue again. */
type Redeliverable = Pick<DeliveryRow, 'id' | 'eventId' | 'webhookId' | 'subscriptionId'>

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
 * Only an event's latest delivery to a subscription, so that none is queued twice. An event from which a person was
 * erased can no longer be sent unchanged.
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
            // An expression. Otherwise, SQLite would read all of the shop's later deliveries by ID.
            .where(sql<string>`later.id || ''`, '>', (eb) => eb.ref('d.id')),
        ),
      ),
    )

/** A period's first deliveries to queue again, and their total number. Reads all of the shop's deliveries. */
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
    return { rows: await list.orderBy('d.id').limit(query.limit).execute(), total: await countOf(list) }
  },
)

/** Excludes deliveries that another request queued again or that were deleted meanwhile. */
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

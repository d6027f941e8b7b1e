import type { Kysely } from 'kysely'
import { createAccounts } from './0001-start/accounts.ts'
import { createAffiliates } from './0001-start/affiliates.ts'
import { createCore } from './0001-start/core.ts'
import { createOrders } from './0001-start/orders.ts'
import { createRowCounts } from './0001-start/row-counts.ts'
import { schemaOf } from './0001-start/schema.ts'
import { createWebhooks } from './0001-start/webhooks.ts'

/** The first release's schema. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const schema = schemaOf(db)
  await createAccounts(schema)
  await createCore(schema)
  await createAffiliates(schema)
  await createOrders(schema)
  await createWebhooks(schema)
  await createRowCounts(schema)
}

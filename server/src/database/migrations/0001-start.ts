import type { Kysely } from 'kysely'
import { createAccounts } from './start-accounts.ts'
import { createAffiliates } from './start-affiliates.ts'
import { schemaOf } from './start-columns.ts'
import { createOrders } from './start-orders.ts'
import { createRowCounts } from './start-row-counts.ts'
import { createWebhooks } from './start-webhooks.ts'

/** The schema of the first release. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const schema = schemaOf(db)
  await createAccounts(schema)
  await createAffiliates(schema)
  await createOrders(schema)
  await createWebhooks(schema)
  await createRowCounts(schema)
}

import type { Kysely } from 'kysely'

/** Retention finds the old entries of each shop by its own index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('journey_occurredAt').execute()
}

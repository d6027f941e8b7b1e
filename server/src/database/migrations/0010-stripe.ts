import type { Kysely } from 'kysely'

/** The Stripe endpoint's secrets, and the payments that belong to an invoice. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('shops').addColumn('stripeWebhookSecret', 'text').execute()
  await db.schema
    .createTable('orderPayments')
    .addColumn('shopId', 'text', (column) => column.notNull())
    .addColumn('paymentId', 'text', (column) => column.notNull())
    .addColumn('orderId', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('orderPayments_pk', ['shopId', 'paymentId'])
    .execute()
}

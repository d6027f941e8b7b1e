import { sql } from 'kysely'
import { required, type Schema } from './schema.ts'

export async function createWebhooks(schema: Schema): Promise<void> {
  await subscriptions(schema)
  await outbox(schema)
  await streams(schema)
}

async function subscriptions({ db, text }: Schema) {
  await db.schema
    .createTable('subscriptions')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('url', text, required)
    .addColumn('events', text, required)
    .addColumn('source', text, required)
    .addColumn('secret', text)
    .addColumn('previousSecret', text)
    .addColumn('previousSecretUntil', text)
    .addColumn('claimedBy', text)
    .addColumn('claimedAt', text)
    .addColumn('retryPolicy', text, required)
    .addColumn('extendedEvents', 'integer', required)
    .addColumn('failingSince', text)
    .addColumn('disabledAt', text)
    .addColumn('disabledReason', text)
    .addColumn('createdAt', text, required)
    .addColumn('updatedAt', text, required)
    .addPrimaryKeyConstraint('subscriptions_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('subscriptions_shopId_createdAt_id')
    .on('subscriptions')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('subscriptions_claimedBy')
    .on('subscriptions')
    .columns(['claimedBy'])
    .where(sql.ref('claimedBy'), 'is not', null)
    .execute()
}

async function outbox({ db, text }: Schema) {
  await db.schema
    .createTable('webhookEvents')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('event', text, required)
    .addColumn('body', text, required)
    .addColumn('traceparent', text)
    .addColumn('createdAt', text, required)
    .addColumn('erasedAt', text)
    .addPrimaryKeyConstraint('webhookEvents_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createTable('deliveries')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('eventId', text, required)
    .addColumn('subscriptionId', text, required)
    .addColumn('webhookId', text, required)
    .addColumn('follows', text)
    .addColumn('status', text, required)
    .addColumn('code', text)
    .addColumn('httpStatus', 'integer')
    .addColumn('durationMs', 'integer')
    .addColumn('finishedAt', text)
    .addColumn('attempts', 'integer', required)
    .addColumn('nextAttemptAt', text)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('deliveries_pk', ['shopId', 'id'])
    .execute()
  // First attempts come before retries.
  await db.schema
    .createIndex('deliveries_shopId_subscriptionId_attempts_id')
    .on('deliveries')
    .columns(['shopId', 'subscriptionId', 'attempts', 'id'])
    .where(sql.ref('status'), '=', 'PENDING')
    .execute()
  await db.schema
    .createIndex('deliveries_nextAttemptAt')
    .on('deliveries')
    .columns(['nextAttemptAt'])
    .where(sql.ref('status'), '=', 'RETRYING')
    .execute()
  // A test shop's retries are due by its own clock.
  await db.schema
    .createIndex('deliveries_shopId_nextAttemptAt')
    .on('deliveries')
    .columns(['shopId', 'nextAttemptAt'])
    .where(sql.ref('status'), '=', 'RETRYING')
    .execute()
  await db.schema
    .createIndex('deliveries_shopId_subscriptionId_retrying')
    .on('deliveries')
    .columns(['shopId', 'subscriptionId', 'id'])
    .where(sql.ref('status'), '=', 'RETRYING')
    .execute()
  await db.schema.createIndex('deliveries_shopId_eventId').on('deliveries').columns(['shopId', 'eventId']).execute()
}

async function streams({ db, text }: Schema) {
  await db.schema
    .createTable('streams')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('events', text, required)
    .addColumn('extendedEvents', 'integer', required)
    .addColumn('secret', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('expiresAt', text, required)
    .addColumn('userId', text)
    .addColumn('connection', text)
    .addColumn('connectedUntil', text)
    .addPrimaryKeyConstraint('streams_pk', ['shopId', 'id'])
    .execute()
  await db.schema.createIndex('streams_shopId_expiresAt').on('streams').columns(['shopId', 'expiresAt']).execute()
  await db.schema
    .createTable('streamDeliveries')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('streamId', text, required)
    .addColumn('seq', 'integer', required)
    .addColumn('eventId', text, required)
    .addPrimaryKeyConstraint('streamDeliveries_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('streamDeliveries_shopId_streamId_seq')
    .unique()
    .on('streamDeliveries')
    .columns(['shopId', 'streamId', 'seq'])
    .execute()
}

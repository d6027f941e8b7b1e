import { required, type Schema } from './schema.ts'

export async function createAccounts(schema: Schema): Promise<void> {
  await shops(schema)
  await credentials(schema)
}

async function shops({ db, text }: Schema) {
  await db.schema
    .createTable('shops')
    .addColumn('id', text, required)
    .addColumn('name', text, required)
    .addColumn('plan', text, required)
    .addColumn('currency', text, required)
    .addColumn('apiEnabled', 'integer', required)
    .addColumn('defaultProgramId', text)
    .addColumn('minimumPayoutCents', 'bigint')
    .addColumn('minimumPayoutCentsByCurrency', text, required)
    .addColumn('legacyMinimumPayout', text)
    .addColumn('taxWithholdingBps', 'integer', required)
    .addColumn('attributionPrecedence', text, required)
    .addColumn('clickTouch', text, required)
    .addColumn('storeWebhookSecret', text)
    .addColumn('storeDomain', text)
    .addColumn('storeDomainAliases', text, required)
    .addColumn('webhooksVersion', 'integer', required)
    .addColumn('version', 'integer', required)
    .addColumn('createdAt', text, required)
    .addColumn('updatedAt', text, required)
    .addPrimaryKeyConstraint('shops_pk', ['id'])
    .execute()
}

/** Credentials are found by the hash of a secret, before the shop is known. */
async function credentials({ db, text }: Schema) {
  await db.schema
    .createTable('users')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('email', text, required)
    .addColumn('role', text, required)
    .addColumn('tokenHash', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('revokedAt', text)
    .addPrimaryKeyConstraint('users_pk', ['shopId', 'id'])
    .execute()
  await db.schema.createIndex('users_tokenHash').unique().on('users').columns(['tokenHash']).execute()
  await db.schema.createIndex('users_shopId_email').unique().on('users').columns(['shopId', 'email']).execute()
  await db.schema
    .createTable('sessions')
    .addColumn('tokenHash', text, required)
    .addColumn('shopId', text, required)
    .addColumn('userId', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('expiresAt', text, required)
    .addPrimaryKeyConstraint('sessions_pk', ['tokenHash'])
    .execute()
  await db.schema.createIndex('sessions_expiresAt').on('sessions').columns(['expiresAt']).execute()
  await db.schema
    .createTable('signInLinks')
    .addColumn('tokenHash', text, required)
    .addColumn('shopId', text, required)
    .addColumn('userId', text, required)
    .addColumn('expiresAt', text, required)
    .addPrimaryKeyConstraint('signInLinks_pk', ['tokenHash'])
    .execute()
  await db.schema
    .createTable('apiKeys')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('label', text, required)
    .addColumn('prefix', text, required)
    .addColumn('secretHash', text, required)
    .addColumn('scopes', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('lastUsedAt', text)
    .addColumn('expiresAt', text)
    .addColumn('revokedAt', text)
    .addColumn('limitSubject', text)
    .addPrimaryKeyConstraint('apiKeys_pk', ['shopId', 'id'])
    .execute()
  await db.schema.createIndex('apiKeys_secretHash').unique().on('apiKeys').columns(['secretHash']).execute()
  await db.schema.createIndex('apiKeys_shopId_createdAt').on('apiKeys').columns(['shopId', 'createdAt']).execute()
}

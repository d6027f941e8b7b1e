import { sql } from 'kysely'
import { required, type Schema } from './schema.ts'

export async function createAffiliates(schema: Schema): Promise<void> {
  await programs(schema)
  await affiliates(schema)
  await aliases(schema)
  await payees(schema)
  await connections(schema)
  await rules(schema)
}

async function programs({ db, text }: Schema) {
  await db.schema
    .createTable('programs')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('name', text, required)
    .addColumn('description', text)
    .addColumn('commissionType', text, required)
    .addColumn('commissionPercent', 'double precision', required)
    .addColumn('defaultCommissionBps', 'bigint', required)
    .addColumn('cookieDurationDays', 'integer', required)
    .addColumn('autoApproveAffiliate', 'integer', required)
    .addColumn('autoApproveOrder', 'integer', required)
    .addColumn('status', text, required)
    .addColumn('lifetimeCommission', 'integer', required)
    .addColumn('discountEnabled', 'integer', required)
    .addColumn('discountType', text)
    .addColumn('discountValue', 'double precision')
    .addColumn('version', 'integer', required)
    .addColumn('createdAt', text, required)
    .addColumn('updatedAt', text, required)
    .addPrimaryKeyConstraint('programs_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('programs_shopId_createdAt_id')
    .on('programs')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('programs_cookieDurationDays')
    .on('programs')
    .columns(['shopId', 'cookieDurationDays'])
    .execute()
}

/**
 * Each list has an index that filters and sorts. With an index that only filters, SQLite without statistics would scan all
 * rows of the shop in order.
 */
async function affiliates({ db, text }: Schema) {
  await db.schema
    .createTable('affiliates')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('name', text, required)
    .addColumn('firstName', text)
    .addColumn('lastName', text)
    .addColumn('email', text, required)
    .addColumn('phone', text)
    .addColumn('website', text)
    .addColumn('status', text, required)
    .addColumn('campaignId', text)
    .addColumn('slug', text, required)
    .addColumn('discountCode', text, required)
    .addColumn('instagramHandle', text)
    .addColumn('tiktokHandle', text)
    .addColumn('youtubeHandle', text)
    .addColumn('homeCountry', text)
    .addColumn('homeState', text)
    .addColumn('homeCity', text)
    .addColumn('homePostalCode', text)
    .addColumn('homeAddress', text)
    .addColumn('createdAt', text, required)
    .addColumn('updatedAt', text, required)
    .addColumn('deletedAt', text)
    .addColumn('emailKey', text, required)
    .addColumn('codeKey', text, required)
    .addColumn('searchText', text, required)
    .addColumn('tokensRevokedAt', text)
    .addColumn('version', 'integer', required)
    .addPrimaryKeyConstraint('affiliates_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('affiliates_shopId_emailKey')
    .unique()
    .on('affiliates')
    .columns(['shopId', 'emailKey'])
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
  await db.schema
    .createIndex('affiliates_shopId_codeKey')
    .unique()
    .on('affiliates')
    .columns(['shopId', 'codeKey'])
    .execute()
  await db.schema.createIndex('affiliates_shopId_slug').unique().on('affiliates').columns(['shopId', 'slug']).execute()
  await db.schema
    .createIndex('affiliates_list')
    .on('affiliates')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
  await db.schema
    .createIndex('affiliates_list_campaignId')
    .on('affiliates')
    .columns(['shopId', 'campaignId', 'createdAt desc', 'id desc'])
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
  await db.schema
    .createIndex('affiliates_list_status')
    .on('affiliates')
    .columns(['shopId', 'status', 'createdAt desc', 'id desc'])
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
  await db.schema
    .createIndex('affiliates_unpaid')
    .on('affiliates')
    .columns(['shopId', 'id'])
    .where(sql<boolean>`"deletedAt" is not null or status = 'REJECTED'`)
    .execute()
}

async function aliases({ db, text }: Schema) {
  await db.schema
    .createTable('affiliateAliases')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('affiliateId', text, required)
    .addColumn('kind', text, required)
    .addColumn('value', text, required)
    .addColumn('codeKey', text, required)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('affiliateAliases_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('affiliateAliases_shopId_codeKey_kind')
    .unique()
    .on('affiliateAliases')
    .columns(['shopId', 'codeKey', 'kind'])
    .execute()
  await db.schema
    .createIndex('affiliateAliases_list')
    .on('affiliateAliases')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('affiliateAliases_list_affiliateId')
    .on('affiliateAliases')
    .columns(['shopId', 'affiliateId', 'createdAt desc', 'id desc'])
    .execute()
}

async function payees({ db, text }: Schema) {
  await db.schema
    .createTable('payees')
    .addColumn('shopId', text, required)
    .addColumn('affiliateId', text, required)
    .addColumn('method', text, required)
    .addColumn('details', text, required)
    .addColumn('createdAt', text, required)
    .addColumn('updatedAt', text, required)
    .addPrimaryKeyConstraint('payees_pk', ['shopId', 'affiliateId'])
    .execute()
}

async function connections({ db, text }: Schema) {
  await db.schema
    .createTable('connections')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('kind', text, required)
    .addColumn('value', text, required)
    .addColumn('affiliateId', text, required)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('connections_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('connections_shopId_kind_value')
    .unique()
    .on('connections')
    .columns(['shopId', 'kind', 'value'])
    .execute()
  await db.schema
    .createIndex('connections_list')
    .on('connections')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('connections_list_kind')
    .on('connections')
    .columns(['shopId', 'kind', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('connections_list_affiliateId')
    .on('connections')
    .columns(['shopId', 'affiliateId', 'createdAt desc', 'id desc'])
    .execute()
}

async function rules({ db, text }: Schema) {
  await db.schema
    .createTable('productRules')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('programId', text, required)
    .addColumn('kind', text, required)
    .addColumn('value', text, required)
    .addColumn('commissionType', text, required)
    .addColumn('rate', 'bigint', required)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('productRules_pk', ['shopId', 'id'])
    .execute()
  await db.schema
    .createIndex('productRules_shopId_programId_kind_value')
    .unique()
    .on('productRules')
    .columns(['shopId', 'programId', 'kind', 'value'])
    .execute()
  await db.schema
    .createIndex('productRules_list')
    .on('productRules')
    .columns(['shopId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createIndex('productRules_list_programId')
    .on('productRules')
    .columns(['shopId', 'programId', 'createdAt desc', 'id desc'])
    .execute()
  await db.schema
    .createTable('geoRules')
    .addColumn('shopId', text, required)
    .addColumn('programId', text, required)
    .addColumn('countries', text, required)
    .addColumn('states', text, required)
    .addColumn('cities', text, required)
    .addColumn('postalPrefixes', text, required)
    .addColumn('updatedAt', text, required)
    .addPrimaryKeyConstraint('geoRules_pk', ['shopId', 'programId'])
    .execute()
}

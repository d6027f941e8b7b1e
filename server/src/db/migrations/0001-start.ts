import type { CreateTableBuilder, Kysely } from 'kysely'
import { sql } from 'kysely'

type Columns = Record<string, 'text' | 'integer' | 'bigint' | 'double precision'>

/** A trailing `?` on the name of a column means that it may be null. */
async function createTable(db: Kysely<unknown>, name: string, primaryKey: string[], columns: Columns) {
  let table: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, type] of Object.entries(columns)) {
    const nullable = column.endsWith('?')
    table = table.addColumn(nullable ? column.slice(0, -1) : column, type, (c) => (nullable ? c : c.notNull()))
  }
  await table.addPrimaryKeyConstraint(`${name}_pk`, primaryKey as [string, ...string[]]).execute()
}

async function createIndex(
  db: Kysely<unknown>,
  table: string,
  columns: string[],
  options: { unique?: boolean; where?: string } = {},
) {
  const name = `${table}_${columns.map((c) => c.split(' ')[0]).join('_')}${options.where ? '_some' : ''}`
  const list = sql.join(columns.map((c) => (c.endsWith(' desc') ? sql`${sql.ref(c.slice(0, -5))} desc` : sql.ref(c))))
  const where = options.where ? sql` where ${sql.raw(options.where)}` : sql``
  await sql`create ${sql.raw(options.unique ? 'unique ' : '')}index ${sql.ref(name)} on ${sql.table(table)} (${list})${where}`.execute(
    db,
  )
}

const shop = { shopId: 'text' } as const
const created = { createdAt: 'text' } as const
const dated = { createdAt: 'text', updatedAt: 'text' } as const

export async function up(db: Kysely<unknown>): Promise<void> {
  await people(db)
  await affiliates(db)
  await orders(db)
  await engineInputs(db)
  await payouts(db)
  await webhooks(db)
  await records(db)
}

async function people(db: Kysely<unknown>) {
  await createTable(db, 'shops', ['id'], {
    id: 'text',
    name: 'text',
    plan: 'text',
    currency: 'text',
    apiEnabled: 'integer',
    'defaultProgramId?': 'text',
    'minimumPayoutCents?': 'bigint',
    'legacyMinimumPayout?': 'text',
    taxWithholdingBps: 'integer',
    attributionPrecedence: 'text',
    clickTouch: 'text',
    'storeWebhookSecret?': 'text',
    webhooksVersion: 'integer',
    version: 'integer',
    ...dated,
  })
  await createTable(db, 'users', ['id'], {
    id: 'text',
    ...shop,
    email: 'text',
    role: 'text',
    tokenHash: 'text',
    ...created,
  })
  await createIndex(db, 'users', ['tokenHash'], { unique: true })
  await createIndex(db, 'users', ['shopId', 'email'], { unique: true })
  await createTable(db, 'apiKeys', ['id'], {
    id: 'text',
    ...shop,
    label: 'text',
    prefix: 'text',
    secretHash: 'text',
    scopes: 'text',
    ...created,
    'lastUsedAt?': 'text',
    'expiresAt?': 'text',
    'revokedAt?': 'text',
  })
  await createIndex(db, 'apiKeys', ['secretHash'], { unique: true })
  await createIndex(db, 'apiKeys', ['shopId', 'createdAt'])
}

async function affiliates(db: Kysely<unknown>) {
  await createTable(db, 'programs', ['id'], {
    id: 'text',
    ...shop,
    name: 'text',
    'description?': 'text',
    commissionType: 'text',
    commissionPercent: 'double precision',
    defaultCommissionBps: 'bigint',
    cookieDurationDays: 'integer',
    autoApproveAffiliate: 'integer',
    autoApproveOrder: 'integer',
    status: 'text',
    lifetimeCommission: 'integer',
    discountEnabled: 'integer',
    'discountType?': 'text',
    'discountValue?': 'double precision',
    version: 'integer',
    ...dated,
  })
  await createIndex(db, 'programs', ['shopId', 'createdAt desc', 'id desc'])
  await createTable(db, 'affiliates', ['id'], {
    id: 'text',
    ...shop,
    name: 'text',
    'firstName?': 'text',
    'lastName?': 'text',
    email: 'text',
    'phone?': 'text',
    'website?': 'text',
    status: 'text',
    'campaignId?': 'text',
    slug: 'text',
    discountCode: 'text',
    'instagramHandle?': 'text',
    'tiktokHandle?': 'text',
    'youtubeHandle?': 'text',
    'homeCountry?': 'text',
    'homeState?': 'text',
    'homeCity?': 'text',
    'homePostalCode?': 'text',
    'homeAddress?': 'text',
    ...dated,
    'deletedAt?': 'text',
    emailKey: 'text',
    codeKey: 'text',
    searchText: 'text',
    version: 'integer',
  })
  await createIndex(db, 'affiliates', ['shopId', 'createdAt desc', 'id desc'])
  await createIndex(db, 'affiliates', ['shopId', 'campaignId', 'createdAt desc', 'id desc'])
  await createIndex(db, 'affiliates', ['shopId', 'status', 'createdAt desc', 'id desc'])
  await createIndex(db, 'affiliates', ['shopId', 'emailKey'], { unique: true, where: '"deletedAt" is null' })
  await createIndex(db, 'affiliates', ['shopId', 'codeKey'], { unique: true })
  await createIndex(db, 'affiliates', ['shopId', 'slug'], { unique: true })
}

async function orders(db: Kysely<unknown>) {
  await createTable(db, 'commissions', ['id'], {
    id: 'text',
    ...shop,
    affiliateId: 'text',
    'programId?': 'text',
    'externalOrderId?': 'text',
    orderId: 'text',
    'orderName?': 'text',
    currency: 'text',
    'commissionType?': 'text',
    commissionBaseCents: 'bigint',
    commissionRateBps: 'integer',
    commissionAmountCents: 'bigint',
    taxWithheldCents: 'bigint',
    orderSubtotalCents: 'bigint',
    orderDiscountCents: 'bigint',
    orderShippingCents: 'bigint',
    orderTaxCents: 'bigint',
    trackingMethod: 'text',
    'attributionMethod?': 'text',
    'attributionReasonCode?': 'text',
    'restrictionReasonCode?': 'text',
    orderStatus: 'text',
    'payoutBatchId?': 'text',
    happenedAt: 'text',
    'paidAt?': 'text',
    ...dated,
    version: 'integer',
  })
  await createIndex(db, 'commissions', ['shopId', 'orderId'], { unique: true })
  await createIndex(db, 'commissions', ['shopId', 'happenedAt desc', 'id desc'])
  await createIndex(db, 'commissions', ['shopId', 'orderStatus', 'happenedAt desc', 'id desc'])
  await createIndex(db, 'commissions', ['shopId', 'affiliateId', 'happenedAt desc', 'id desc'])
  await createIndex(db, 'commissions', ['shopId', 'programId', 'happenedAt desc', 'id desc'])
  await createIndex(db, 'commissions', ['shopId', 'externalOrderId'])
  await createIndex(db, 'commissions', ['payoutBatchId'], { where: '"payoutBatchId" is not null' })
  await createTable(db, 'orders', ['shopId', 'orderId'], {
    ...shop,
    orderId: 'text',
    'commissionId?': 'text',
    facts: 'text',
    decision: 'text',
    ...dated,
  })
  await createTable(db, 'journey', ['id'], {
    id: 'text',
    ...shop,
    type: 'text',
    occurredAt: 'text',
    'sessionId?': 'text',
    'affiliateId?': 'text',
    'programId?': 'text',
    'clickId?': 'text',
    'ref?': 'text',
    'customerId?': 'text',
    'customerEmail?': 'text',
    'customerEmailKey?': 'text',
    'url?': 'text',
    'landingPage?': 'text',
    'referrerUrl?': 'text',
    'utmSource?': 'text',
    'utmMedium?': 'text',
    'utmCampaign?': 'text',
    'utmTerm?': 'text',
    'utmContent?': 'text',
    'country?': 'text',
    'device?': 'text',
    'externalOrderId?': 'text',
    'orderId?': 'text',
    'commissionId?': 'text',
    ...created,
  })
  await createIndex(db, 'journey', ['shopId', 'sessionId', 'occurredAt desc', 'id desc'])
  await createIndex(db, 'journey', ['shopId', 'affiliateId', 'occurredAt desc', 'id desc'])
  await createIndex(db, 'journey', ['shopId', 'customerEmailKey', 'occurredAt desc', 'id desc'])
  await createIndex(db, 'journey', ['shopId', 'clickId'])
  await createIndex(db, 'journey', ['shopId', 'type', 'occurredAt'])
  await createIndex(db, 'journey', ['shopId', 'orderId'], { unique: true, where: '"orderId" is not null' })
}

async function engineInputs(db: Kysely<unknown>) {
  await createTable(db, 'connections', ['id'], {
    id: 'text',
    ...shop,
    kind: 'text',
    value: 'text',
    affiliateId: 'text',
    ...created,
  })
  await createIndex(db, 'connections', ['shopId', 'kind', 'value'], { unique: true })
  await createTable(db, 'productRules', ['id'], {
    id: 'text',
    ...shop,
    programId: 'text',
    kind: 'text',
    value: 'text',
    commissionType: 'text',
    rate: 'bigint',
    ...created,
  })
  await createIndex(db, 'productRules', ['programId', 'kind', 'value'], { unique: true })
  await createTable(db, 'geoRules', ['programId'], {
    programId: 'text',
    ...shop,
    countries: 'text',
    states: 'text',
    cities: 'text',
    postalPrefixes: 'text',
    updatedAt: 'text',
  })
}

async function payouts(db: Kysely<unknown>) {
  await createTable(db, 'payoutBatches', ['id'], {
    id: 'text',
    ...shop,
    status: 'text',
    periodStart: 'text',
    periodEnd: 'text',
    currency: 'text',
    commissions: 'integer',
    affiliates: 'integer',
    commissionCents: 'bigint',
    taxWithheldCents: 'bigint',
    netPayableCents: 'bigint',
    heldBackCommissions: 'integer',
    heldBackCents: 'bigint',
    minimumPayoutCents: 'bigint',
    'failureReason?': 'text',
    version: 'integer',
    ...dated,
    'paidAt?': 'text',
  })
  await createIndex(db, 'payoutBatches', ['shopId', 'createdAt desc', 'id desc'])
  await createIndex(db, 'payoutBatches', ['shopId', 'status', 'createdAt desc', 'id desc'])
}

async function webhooks(db: Kysely<unknown>) {
  await createTable(db, 'subscriptions', ['id'], {
    id: 'text',
    ...shop,
    url: 'text',
    events: 'text',
    source: 'text',
    'secret?': 'text',
    ...dated,
  })
  await createIndex(db, 'subscriptions', ['shopId', 'createdAt desc', 'id desc'])
  await createTable(db, 'webhookEvents', ['id'], { id: 'text', ...shop, event: 'text', body: 'text', ...created })
  await createTable(db, 'deliveries', ['id'], {
    id: 'text',
    ...shop,
    eventId: 'text',
    subscriptionId: 'text',
    webhookId: 'text',
    'follows?': 'text',
    status: 'text',
    'code?': 'text',
    'httpStatus?': 'integer',
    'durationMs?': 'integer',
    'claimedBy?': 'text',
    'claimedAt?': 'text',
    'finishedAt?': 'text',
    ...created,
  })
  await createIndex(db, 'deliveries', ['subscriptionId', 'id'], { where: `"status" = 'PENDING'` })
  await createIndex(db, 'deliveries', ['claimedBy', 'claimedAt'], { where: `"status" = 'SENDING'` })
  await createIndex(db, 'deliveries', ['shopId', 'id desc'])
}

async function records(db: Kysely<unknown>) {
  await createTable(db, 'idempotencyKeys', ['shopId', 'key'], {
    ...shop,
    key: 'text',
    fingerprint: 'text',
    result: 'text',
    'expiresAt?': 'text',
    ...created,
  })
  await createIndex(db, 'idempotencyKeys', ['expiresAt'], { where: '"expiresAt" is not null' })
  await createTable(db, 'audits', ['id'], {
    id: 'text',
    ...shop,
    actor: 'text',
    action: 'text',
    'subjectId?': 'text',
    data: 'text',
    requestId: 'text',
    ...created,
  })
  await createIndex(db, 'audits', ['shopId', 'id desc'])
  await createTable(db, 'instanceSettings', ['name'], { name: 'text', value: 'text' })
}

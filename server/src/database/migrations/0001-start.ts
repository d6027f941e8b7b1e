import { type CreateTableBuilder, type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'

const TYPES: Record<string, RawBuilder<unknown>> = {
  int: sql`integer`,
  big: sql`bigint`,
  real: sql`double precision`,
}

const isPostgres = (db: Kysely<unknown>) => db.getExecutor().adapter instanceof PostgresAdapter

/** Text is compared by its bytes, as on SQLite, whatever the language of the database. */
const typeOf = (db: Kysely<unknown>, type: string): RawBuilder<unknown> =>
  TYPES[type] ?? (isPostgres(db) ? sql`text collate "C"` : sql`text`)

/** Columns as words: `name` is text, `name:int` a number; a trailing `?` allows null. */
async function table(db: Kysely<unknown>, name: string, keys: string[], columns: string): Promise<void> {
  let create: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const word of columns.trim().split(/\s+/)) {
    const [, column = '', type = 'text', optional] = /^(\w+)(?::(\w+))?(\?)?$/.exec(word) ?? []
    create = create.addColumn(column, typeOf(db, type) as RawBuilder<string>, (definition) =>
      optional ? definition : definition.notNull(),
    )
  }
  await create.addPrimaryKeyConstraint(`${name}_pk`, keys as [string, ...string[]]).execute()
}

/** `columns` as words; `-name` is descending. */
async function index(
  db: Kysely<unknown>,
  on: string,
  columns: string,
  options: { unique?: true; where?: string } = {},
): Promise<void> {
  const words = columns.split(' ')
  const name = [on, ...words.map((word) => word.replace('-', ''))].join('_')
  const list = sql.join(
    words.map((word) => (word.startsWith('-') ? sql`${sql.ref(word.slice(1))} desc` : sql.ref(word))),
  )
  const where = options.where ? sql` where ${sql.raw(options.where)}` : sql``
  const unique = sql.raw(options.unique ? 'unique ' : '')
  await sql`create ${unique}index ${sql.ref(name)} on ${sql.table(on)} (${list})${where}`.execute(db)
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await people(db)
  await affiliates(db)
  await orders(db)
  await engineInputs(db)
  await payouts(db)
  await webhooks(db)
  await records(db)
  if (isPostgres(db)) await limits(db)
}

async function people(db: Kysely<unknown>) {
  await table(
    db,
    'shops',
    ['id'],
    `
    id name plan currency apiEnabled:int defaultProgramId? minimumPayoutCents:big? legacyMinimumPayout?
    taxWithholdingBps:int attributionPrecedence clickTouch storeWebhookSecret? webhooksVersion:int
    version:int createdAt updatedAt`,
  )
  await table(db, 'users', ['id'], 'id shopId email role tokenHash createdAt revokedAt?')
  await index(db, 'users', 'tokenHash', { unique: true })
  await index(db, 'users', 'shopId email', { unique: true })
  await table(db, 'sessions', ['tokenHash'], 'tokenHash shopId userId createdAt expiresAt')
  await index(db, 'sessions', 'expiresAt')
  await table(db, 'signInLinks', ['tokenHash'], 'tokenHash shopId userId expiresAt')
  await table(
    db,
    'apiKeys',
    ['id'],
    `
    id shopId label prefix secretHash scopes createdAt lastUsedAt? expiresAt? revokedAt?`,
  )
  await index(db, 'apiKeys', 'secretHash', { unique: true })
  await index(db, 'apiKeys', 'shopId createdAt')
}

async function affiliates(db: Kysely<unknown>) {
  await table(
    db,
    'programs',
    ['id'],
    `
    id shopId name description? commissionType commissionPercent:real defaultCommissionBps:big cookieDurationDays:int
    autoApproveAffiliate:int autoApproveOrder:int status lifetimeCommission:int discountEnabled:int discountType?
    discountValue:real? version:int createdAt updatedAt`,
  )
  await index(db, 'programs', 'shopId -createdAt -id')
  await table(
    db,
    'affiliates',
    ['id'],
    `
    id shopId name firstName? lastName? email phone? website? status campaignId? slug discountCode instagramHandle?
    tiktokHandle? youtubeHandle? homeCountry? homeState? homeCity? homePostalCode? homeAddress? createdAt updatedAt
    deletedAt? emailKey codeKey searchText version:int`,
  )
  await index(db, 'affiliates', 'shopId -createdAt -id')
  await index(db, 'affiliates', 'shopId campaignId -createdAt -id')
  await index(db, 'affiliates', 'shopId status -createdAt -id')
  await index(db, 'affiliates', 'shopId emailKey', { unique: true, where: '"deletedAt" is null' })
  await index(db, 'affiliates', 'shopId codeKey', { unique: true })
  await index(db, 'affiliates', 'shopId slug', { unique: true })
}

async function orders(db: Kysely<unknown>) {
  await table(
    db,
    'commissions',
    ['id'],
    `
    id shopId affiliateId programId? externalOrderId? orderId orderName? currency commissionType? commissionBaseCents:big
    commissionRateBps:int commissionAmountCents:big taxWithheldCents:big orderSubtotalCents:big orderDiscountCents:big
    orderShippingCents:big orderTaxCents:big trackingMethod attributionMethod? attributionReasonCode?
    restrictionReasonCode? orderStatus payoutBatchId? happenedAt paidAt? createdAt updatedAt version:int`,
  )
  await index(db, 'commissions', 'shopId orderId', { unique: true })
  await index(db, 'commissions', 'shopId -happenedAt -id')
  await index(db, 'commissions', 'shopId orderStatus -happenedAt -id')
  await index(db, 'commissions', 'shopId affiliateId -happenedAt -id')
  await index(db, 'commissions', 'shopId programId -happenedAt -id')
  await index(db, 'commissions', 'shopId externalOrderId')
  await index(db, 'commissions', 'shopId payoutBatchId', { where: '"payoutBatchId" is not null' })
  await table(
    db,
    'orders',
    ['shopId', 'orderId'],
    'shopId orderId commissionId? orderAt facts decision createdAt updatedAt',
  )
  await index(db, 'orders', 'shopId -orderAt -orderId')
  await table(
    db,
    'refunds',
    ['id'],
    `
    id shopId commissionId externalRefundId amountCents:big? lineItems reason? goodsCents:big commissionCents:big
    taxCents:big adjustmentId? createdAt`,
  )
  await index(db, 'refunds', 'shopId commissionId externalRefundId', { unique: true })
  await table(
    db,
    'storeNotices',
    ['shopId', 'orderId', 'kind', 'noticeId'],
    'shopId orderId kind noticeId body createdAt',
  )
  await table(
    db,
    'journey',
    ['id'],
    `
    id shopId type occurredAt sessionId? affiliateId? programId? clickId? ref? customerId? customerEmail?
    customerEmailKey? url? landingPage? referrerUrl? utmSource? utmMedium? utmCampaign? utmTerm? utmContent? country?
    device? externalOrderId? orderId? commissionId? createdAt`,
  )
  await index(db, 'journey', 'shopId sessionId -occurredAt -id')
  await index(db, 'journey', 'shopId affiliateId -occurredAt -id')
  await index(db, 'journey', 'shopId customerEmailKey -occurredAt -id')
  await index(db, 'journey', 'shopId customerId', { where: '"customerId" is not null' })
  await index(db, 'journey', 'shopId clickId')
  await index(db, 'journey', 'shopId type occurredAt affiliateId')
  await index(db, 'journey', 'occurredAt')
  await index(db, 'journey', 'shopId orderId', { unique: true, where: '"orderId" is not null' })
}

async function engineInputs(db: Kysely<unknown>) {
  await table(db, 'connections', ['id'], 'id shopId kind value affiliateId createdAt')
  await index(db, 'connections', 'shopId kind value', { unique: true })
  await table(db, 'productRules', ['id'], 'id shopId programId kind value commissionType rate:big createdAt')
  await index(db, 'productRules', 'programId kind value', { unique: true })
  await table(db, 'geoRules', ['programId'], 'programId shopId countries states cities postalPrefixes updatedAt')
}

async function payouts(db: Kysely<unknown>) {
  await table(
    db,
    'payoutBatches',
    ['id'],
    `
    id shopId status periodStart periodEnd currency commissions:int affiliates:int commissionCents:big taxWithheldCents:big
    netPayableCents:big heldBackCommissions:int heldBackCents:big minimumPayoutCents:big failureReason? version:int
    createdAt updatedAt paidAt?`,
  )
  await index(db, 'payoutBatches', 'shopId -createdAt -id')
  await index(db, 'payoutBatches', 'shopId status -createdAt -id')
}

async function webhooks(db: Kysely<unknown>) {
  await table(
    db,
    'subscriptions',
    ['id'],
    'id shopId url events source secret? previousSecret? previousSecretUntil? claimedBy? claimedAt? createdAt updatedAt',
  )
  await index(db, 'subscriptions', 'shopId -createdAt -id')
  await index(db, 'subscriptions', 'claimedBy', { where: '"claimedBy" is not null' })
  await table(db, 'webhookEvents', ['id'], 'id shopId event body createdAt')
  await table(
    db,
    'deliveries',
    ['id'],
    `
    id shopId eventId subscriptionId webhookId follows? status code? httpStatus:int? durationMs:int? finishedAt?
    createdAt`,
  )
  await index(db, 'deliveries', 'subscriptionId id', { where: `"status" = 'PENDING'` })
  await index(db, 'deliveries', 'shopId -id')
  // An event is kept as long as a delivery names it.
  await index(db, 'deliveries', 'eventId')
  await table(db, 'streams', ['id'], 'id shopId events secret createdAt expiresAt')
  await index(db, 'streams', 'shopId expiresAt')
  await table(db, 'streamDeliveries', ['id'], 'id streamId seq:int eventId')
  await index(db, 'streamDeliveries', 'streamId seq', { unique: true })
}

async function records(db: Kysely<unknown>) {
  await table(db, 'idempotencyKeys', ['shopId', 'key'], 'shopId key fingerprint result expiresAt? createdAt')
  await index(db, 'idempotencyKeys', 'expiresAt', { where: '"expiresAt" is not null' })
  await table(
    db,
    'audits',
    ['id'],
    'id shopId seq:int actor action subjectId? data requestId createdAt previousHash hash',
  )
  await index(db, 'audits', 'shopId -seq', { unique: true })
  await table(db, 'instanceSettings', ['name'], 'name value')
}

/** Windows of rate limits, shared between processes. A crash may forget them, so they need no log. */
async function limits(db: Kysely<unknown>) {
  await sql`create unlogged table "rateLimits" (key text collate "C" primary key, points integer not null, expire bigint)`.execute(
    db,
  )
}

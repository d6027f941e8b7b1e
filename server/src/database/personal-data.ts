import type { Tables } from './tables.ts'

/**
 * What a column may say about a person:
 * - `none`: IDs of the server, amounts, times, statuses, secrets.
 * - `text`: text of a caller. A mention is replaced.
 * - `about`: text that is deleted when the row belongs to the person; a mention elsewhere is replaced.
 * - `email`, `emailKey`: an address, as sent or as compared.
 * - `customerId`, `sessionId`: IDs of callers, replaced when they are of this person alone.
 * - `code`: a code or slug, replaced when it is that of the person's affiliate.
 * - `json`: JSON of any of these.
 * - `shop`: what the merchant configured. A mention is reported, because only the merchant can change it.
 * - `special`: handled by its table.
 */
export type Kind =
  | 'none'
  | 'text'
  | 'about'
  | 'email'
  | 'emailKey'
  | 'customerId'
  | 'sessionId'
  | 'code'
  | 'json'
  | 'shop'
  | 'special'

/** All tables except the ones that triggers derive from others, which contain only IDs and statuses. */
export type TableName = Exclude<keyof Tables, 'rowCounts'>

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text

/** @param lists column names separated by spaces */
const none = <List extends string>(...lists: List[]): Record<Words<List>, 'none'> =>
  Object.fromEntries(lists.flatMap((list) => list.split(' ').map((column) => [column, 'none']))) as Record<
    Words<List>,
    'none'
  >

/** Every column of every table. A column without a kind does not compile. */
export const COLUMNS: { [Table in TableName]: { [Column in keyof Tables[Table]]: Kind } } = {
  shops: {
    ...none(
      'id plan currency apiEnabled defaultProgramId minimumPayoutCents minimumPayoutCentsByCurrency',
      'minimumAffiliatePayoutCentsByCurrency timeZone legacyMinimumPayout taxWithholdingBps',
      'attributionPrecedence clickTouch storeWebhookSecret stripeWebhookSecret storeDomain storeDomainAliases siteDomains emailHashKey webhooksVersion erasureVersion',
      'requestsPerMinute maxActiveKeys suspendedAt deletionStartedAt exportDigest isTest testOf',
      'clockOffsetMs version createdAt updatedAt',
    ),
    name: 'shop',
  },
  users: {
    ...none('id shopId role tokenHash challengeAt lastSignInAt createdAt revokedAt'),
    email: 'email',
    emailKey: 'emailKey',
  },
  sessions: none('tokenHash shopId userId id method linkCreatedBy browser network createdAt expiresAt'),
  signInLinks: none('tokenHash shopId userId createdBy expiresAt'),
  passkeys: {
    ...none('id shopId userId credentialId publicKey counter transports createdAt lastUsedAt'),
    name: 'shop',
  },
  apiKeys: {
    ...none(
      'id shopId prefix secretHash scopes createdAt lastUsedAt expiresAt revokedAt limitSubject',
      'previousSecretHash previousSecretUntil',
    ),
    label: 'shop',
  },
  programs: {
    ...none(
      'id shopId commissionType commissionPercent defaultCommissionBps cookieDurationDays',
      'autoApproveAffiliate autoApproveOrder status lifetimeCommission discountEnabled discountType',
      'discountValue termsVersion version createdAt updatedAt',
    ),
    name: 'shop',
    description: 'shop',
  },
  affiliates: {
    ...none('id shopId status campaignId createdAt updatedAt deletedAt version'),
    name: 'text',
    firstName: 'about',
    lastName: 'about',
    email: 'email',
    phone: 'about',
    website: 'about',
    slug: 'special',
    discountCode: 'special',
    instagramHandle: 'about',
    tiktokHandle: 'about',
    youtubeHandle: 'about',
    homeCountry: 'about',
    homeState: 'about',
    homeCity: 'about',
    homePostalCode: 'about',
    homeAddress: 'about',
    emailKey: 'emailKey',
    codeKey: 'special',
    searchText: 'special',
    tokensRevokedAt: 'none',
  },
  affiliateAliases: {
    ...none('id shopId affiliateId kind createdAt'),
    value: 'special',
    codeKey: 'special',
  },
  payees: { ...none('shopId affiliateId method createdAt updatedAt'), details: 'special' },
  commissions: {
    ...none(
      'id shopId affiliateId programId currency orderCurrency commissionType commissionBaseCents',
      'remainingBaseCents commissionRateBps commissionAmountCents taxWithheldCents orderSubtotalCents orderDiscountCents',
      'orderShippingCents orderTaxCents trackingMethod attributionMethod attributionReasonCode',
      'restrictionReasonCode orderStatus payoutBatchId termsVersion termsRule availableAt debtId customer happenedAt paidAt createdAt updatedAt version',
    ),
    externalOrderId: 'text',
    orderId: 'text',
    orderName: 'text',
  },
  orders: {
    ...none('shopId commissionId orderAt orderCurrency goodsCents createdAt updatedAt'),
    orderId: 'text',
    orderName: 'text',
    facts: 'json',
    decision: 'json',
  },
  refunds: {
    ...none('id shopId commissionId amountCents goodsCents commissionCents taxCents adjustmentId occurredAt createdAt'),
    externalRefundId: 'text',
    lineItems: 'json',
    reason: 'about',
  },
  refundTotals: none('shopId commissionId goodsCents totals statusBefore'),
  orderNotices: { ...none('shopId kind createdAt'), orderId: 'text', noticeId: 'text', body: 'json' },
  orderPayments: { ...none('shopId'), paymentId: 'text', orderId: 'text' },
  journey: {
    ...none('id shopId type occurredAt affiliateId programId commissionId createdAt'),
    sessionId: 'sessionId',
    clickId: 'text',
    ref: 'code',
    customerId: 'customerId',
    customerEmail: 'email',
    customerEmailKey: 'emailKey',
    url: 'about',
    landingPage: 'about',
    referrerUrl: 'about',
    utmSource: 'about',
    utmMedium: 'about',
    utmCampaign: 'about',
    utmTerm: 'about',
    utmContent: 'about',
    country: 'text',
    device: 'about',
    externalOrderId: 'text',
    orderId: 'text',
  },
  connections: none('id shopId kind value affiliateId createdAt'),
  customers: {
    ...none('id shopId affiliateId programId boundAt boundBy importedOrders importedFirstOrderAt createdAt'),
    customerId: 'customerId',
    emailHash: 'special',
    mailboxHash: 'special',
  },
  productRules: none('id shopId programId kind value commissionType rate createdAt'),
  programTerms: none('shopId programId version holdDays appliesTo commissionType currency hasAmounts rules createdAt'),
  geoRules: none('programId shopId countries states cities postalPrefixes updatedAt'),
  payoutBatches: none(
    'id shopId status periodStart periodEnd includeEarlier currency commissions affiliates',
    'commissionCents taxWithheldCents netPayableCents heldBackCommissions heldBackCents onHoldCommissions onHoldCents nextAvailableAt',
    'minimumPayoutCents failureReason version createdAt updatedAt paidAt process movedCommissions claimedBy claimedUntil',
  ),
  payoutFiles: {
    ...none(
      'shopId batchId assumedPaid format currency status executionDate debtor note lines totalCents settledLines',
      'settledCents returnedLines returnedCents createdAt updatedAt',
    ),
    id: 'shop',
  },
  payoutLines: {
    ...none(
      'shopId id fileId batchId affiliateId state currency programId commissions commissionCents',
      'taxWithheldCents amountCents method date createdAt updatedAt',
    ),
    details: 'special',
    reference: 'text',
    reason: 'about',
  },
  subscriptions: {
    ...none(
      'id shopId secret previousSecret previousSecretUntil maxInFlight retryPolicy extendedEvents',
      'failingSince disabledAt disabledReason createdAt updatedAt',
    ),
    url: 'shop',
    events: 'shop',
    source: 'shop',
  },
  webhookEvents: { ...none('id shopId event traceparent createdAt erasedAt'), body: 'json' },
  deliveries: none(
    'id shopId eventId subscriptionId webhookId follows status code httpStatus durationMs finishedAt',
    'attempts nextAttemptAt claimedBy claimedUntil createdAt',
  ),
  idempotencyKeys: { ...none('shopId fingerprint expiresAt createdAt'), key: 'special', result: 'special' },
  audits: {
    ...none('id shopId seq actor action requestId createdAt previousHash hash salt digest'),
    subjectId: 'text',
    data: 'json',
  },
  auditHeads: none('shopId seq hash eventId'),
  erasures: none('shopId id person subject rows mentions startedAt finishedAt'),
  installationSettings: none('name value'),
}

export const TABLE_NAMES = Object.keys(COLUMNS) as TableName[]

/** Tables that contain shops' rows. */
export const SHOP_TABLES: TableName[] = TABLE_NAMES.filter((name) => name !== 'installationSettings')

const hasKind = (table: TableName, test: (kind: Kind) => boolean): boolean =>
  Object.values<Kind>(COLUMNS[table]).some(test)

/**
 * The tables that may contain a person. Orders come first, because other rows are found by their IDs, and affiliates come
 * last, because the names in other rows are found by theirs.
 */
export const PERSONAL_TABLES: TableName[] = [
  'orders',
  ...SHOP_TABLES.filter((table) => table !== 'orders' && table !== 'affiliates').filter((table) =>
    hasKind(table, (kind) => kind !== 'none' && kind !== 'shop'),
  ),
  'affiliates',
]

/** Tables that the merchant writes. */
export const CONFIGURED_TABLES: TableName[] = SHOP_TABLES.filter((table) => hasKind(table, (kind) => kind === 'shop'))

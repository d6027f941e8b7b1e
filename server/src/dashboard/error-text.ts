import type { ApiError, ErrorCode } from '../contract/errors.ts'
import { nameOf } from './status.ts'

/** Remedies for page users, where the API's remedy addresses API callers. */
const REMEDIES: Partial<Record<ErrorCode, string>> = {
  concurrent_change: 'Open the page again and repeat your change.',
  currency_in_use: 'Change or remove them first.',
  outcome_unknown: 'Check whether it was made before you repeat it.',
  payout_mixed_currencies: 'Choose one in the field “Currency”.',
  payout_claimed_concurrently: 'Open the list of payouts before you try again.',
  payout_total_mismatch: 'Check the total, and type it as it is shown now.',
  payout_nothing_to_send: 'The payments of the batch show why.',
  refund_exceeds_order: 'Enter a smaller amount.',
}

/** Labels of API fields in forms. */
const LABELS = new Map([
  ['periodStart', 'First day'],
  ['periodEnd', 'Last day'],
  ['currency', 'Currency'],
  ['expiresAt', 'Expires'],
  ['label', 'Label'],
  ['url', 'URL'],
  ['name', 'Name'],
  ['firstName', 'First name'],
  ['lastName', 'Last name'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['website', 'Website'],
  ['code', 'Code'],
  ['value', 'Value'],
  ['commissionPercent', 'Rate'],
  ['cookieDurationDays', 'Click window'],
  ['discountValue', 'Discount'],
  ['description', 'Description'],
  ['amountCents', 'Amount'],
  ['externalRefundId', 'Refund ID'],
  ['minimumPayoutCents', 'Minimum payout'],
  ['taxWithholdingBps', 'Tax withheld'],
  ['storeDomain', 'Store domain'],
  ['storeWebhookSecret', 'Store secret'],
  ['role', 'Role'],
  ['timeZone', 'Time zone'],
  ['minimumCurrency', 'Currency'],
  ['affiliate', 'Affiliate'],
  ['order', 'Order'],
  ['from', 'From'],
  ['to', 'To'],
  ['min', 'At least'],
  ['max', 'At most'],
  ['iban', 'IBAN'],
  ['bic', 'BIC'],
  ['streetName', 'Street'],
  ['buildingNumber', 'Number'],
  ['postalCode', 'Postal code'],
  ['townName', 'Town'],
  ['country', 'Country'],
  ['campaignId', 'Program'],
  ['executionDate', 'Execution date'],
  ['affiliateId', 'Affiliate'],
  ['programId', 'Program'],
  ['customerEmail', 'Customer by email'],
  ['customerId', 'Customer by id'],
  ['kind', 'Kind'],
  ['expiresInSeconds', 'Valid'],
  ['overlapSeconds', 'The old secret'],
  ['retryPolicy', 'When a delivery fails'],
  ['advanceSeconds', 'Advance by'],
  ['sessionId', 'Session ID'],
  ['commissionType', 'Commission'],
])
/** Kinds of commission, as the form calls them. */
const KINDS = new Map([
  ['PERCENT_OF_SALE', 'a percentage'],
  ['FLAT_PER_ORDER', 'an amount per order'],
  ['FLAT_PER_ITEM', 'an amount per item'],
])
const BY_LABEL = [...LABELS].map(([name, label]) => [label, name] as const).sort(([a], [b]) => b.length - a.length)

/** The API field whose label a message begins with. */
export const fieldOfLabel = (message: string): string | undefined =>
  BY_LABEL.find(([label]) => message.startsWith(`${label} `))?.[1]

/** Texts of forms that replace messages of the API, by their beginning. */
const SENTENCES: readonly (readonly [message: RegExp, sentence: string])[] = [
  [
    /^(?:debtor\.)?iban (?:must be text|is not a valid).*/,
    'This IBAN is incomplete. Enter all of it, including the country code.',
  ],
  [/^(?:debtor\.)?iban must belong.*/, 'This IBAN is not of a country in SEPA. Choose another payment method.'],
  [/^(?:debtor\.)?bic (?:must be text|is not a valid).*/, 'This is not a BIC, such as DEUTDEFF or DEUTDEFF500.'],
  [/^(?:debtor\.)?bic and .*/, 'The BIC and the IBAN are of different countries.'],
  [/^email must be (?:an email|text).*/, 'Enter an email address, such as name@example.com.'],
  [/^(?:taxWithholdingBps|Tax withheld) must be.*/, 'Enter a percentage from 0 to 100, such as 12.5.'],
  [/^name must be text of \d+ to (\d+) .*/, 'Enter a name of at most $1 characters.'],
  [/^name must not be blank.*/, 'Enter a name.'],
  [/^hours must be.*/, 'Choose how long the link is valid.'],
  [/^[a-z]\w* must be one of .*/, 'Choose one of the offered options.'],
  [/^ids\b.*/, 'Select at least one row of the list.'],
  [/^country must be.*/, 'Enter the two letters of the country, such as DE.'],
  [/^timeZone must be.*/, 'Choose a time zone, such as Europe/Berlin.'],
]

const INSTANT = /an ISO 8601 date \((.+?)\) or a timestamp .+?(?=\.$)/

/** Names of settings of the server, which are not API constants. */
const SETTING = /^(REFERRAL|METRICS|OPERATOR)_/

/** A message of the API with the labels of the form and names instead of constants. Date fields accept days only. */
function withLabels(message: string): string {
  const quoted = (name: string) => (LABELS.has(name) ? `“${LABELS.get(name)}”` : name)
  const text = message.replace(/^debtor\./, '').replace(/(?!^)\b[a-z]+[A-Z]\w+/g, quoted)
  // Two labels in one sentence are quoted to be told apart.
  const label = (name: string) => (text.includes('“') ? quoted(name) : (LABELS.get(name) ?? name))
  return text
    .replace(/^\w+/, label)
    .replace(INSTANT, 'a day, such as $1')
    .replace(/\b[A-Z]+(?:_[A-Z]+)+\b/g, (name) =>
      SETTING.test(name) ? name : (KINDS.get(name) ?? nameOf(name).toLowerCase()),
    )
}

/**
 * The message of an error as a page shows it: in the words of its form.
 */
export function pageText({ code, message, problem }: ApiError): string {
  const own = SENTENCES.find(([begins]) => begins.test(message))
  if (own) return message.replace(...own)
  const remedy = REMEDIES[code]
  return withLabels(problem !== undefined && remedy ? `${problem} ${remedy}` : message)
}

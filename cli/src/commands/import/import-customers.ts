import type { CustomerCreate, ReferralError } from '@referral/sdk'
import { mapColumns } from '../../csv/columns.ts'
import type { FailedRow } from '../../csv/failed-rows.ts'
import { type Connection, printColumns, readImportFile, reportImport, rowProblem, sendNew } from '../../csv/import.ts'
import { contentHash } from '../../csv/journal.ts'
import type { Csv, CsvRow } from '../../csv/parse.ts'
import { type ExitCode, notFoundError, usageError } from '../../errors.ts'
import { counted } from '../../output/text.ts'
import { rateLimitedClient } from '../../rate-limiter.ts'
import type { Run } from '../../run.ts'
import type { DateFormat, RowImportOptions } from '../events/order-fields.ts'
import { checkTimezone, detectDateFormat, timeProblem, toInstant } from '../events/parse-order.ts'
import type { ExistingShop } from './import-affiliate.ts'
import { readExisting } from './import-affiliates.ts'
import { emailKey, refsInLinks } from './plan.ts'
import { type Provider, providers } from './providers.ts'

/** The columns of all services, which do not conflict. The names of the affiliate come first. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  affiliateEmail: ['partnerEmail', 'promoterEmail', 'referrerEmail'],
  ref: ['token', 'linkToken', 'affiliateToken', 'refId', 'refToken', 'promoterRefId', 'referralCode', 'via'],
  link: ['linkUrl', 'affiliateLink', 'referralLink', 'partnerLink'],
  coupon: ['couponToken', 'couponCode', 'promoCode', 'promotionCode', 'affiliateCode'],
  customerId: ['stripeCustomerId', 'externalId', 'uid', 'customerUid'],
  customerEmail: ['email', 'referralEmail', 'leadEmail'],
  status: ['conversionState', 'state', 'customerStatus'],
  deactivatedAt: [],
  signedUpAt: ['becameLeadAt', 'leadAt', 'signupDate', 'signedUp', 'createdAt', 'created'],
  firstOrderAt: ['becameConversionAt', 'customerSince', 'activeAt', 'firstSaleAt', 'firstOrder', 'firstOrderDate'],
  orders: ['sales', 'salesCount', 'ordersCount', 'numberOfOrders'],
}

const AFFILIATE_FIELDS = ['affiliateEmail', 'ref', 'link', 'coupon']
const CUSTOMER_FIELDS = ['customerId', 'customerEmail']

/** The services' words for a customer who stays with the affiliate, paying or not. */
const CUSTOMER_STATES = new Set(
  'lead signup subscribed trial trialing active conversion converted customer cancelled canceled churned refunded'.split(
    ' ',
  ),
)
/** Someone who only clicked. */
const VISITOR = 'visitor'

type Imported = CustomerCreate & { ref: string; orders: number }

interface PendingCustomer {
  row: CsvRow
  customer: Imported
}

interface CustomerPlan {
  customers: PendingCustomer[]
  failed: FailedRow[]
  visitors: number
}

interface Counts {
  bound: number
  knownBefore: number
}

/** Binds customers from another service's export to their affiliates. Bound customers stay unchanged. */
export async function importCustomers(
  run: Run,
  [name = '', , file = '']: string[],
  options: RowImportOptions,
): Promise<ExitCode | undefined> {
  const csv = await readImportFile(run, file)
  if (csv.rows.length === 0) throw notFoundError('The file has no customers.')
  const mapping = mapCustomerColumns(csv, options)
  checkTimezone(options.timeZone)
  const affiliates = affiliateIndex(await readExisting(await run.client()))
  const { linkParameter } = providers[name] as Provider
  const { customers, failed, visitors } = planCustomers(csv, mapping, { linkParameter, affiliates, options })
  printMapping(run, csv, mapping)
  const counts: Counts = { bound: 0, knownBefore: 0 }
  const forecast = run.dryRun && options.forecast > 0 ? { customers: 0, bound: 0 } : null
  const pending = await sendNew(run, file, {
    noun: 'customer',
    items: customers,
    failed,
    hashOf: ({ customer }) => contentHash(customer),
    send: ({ customer }, connection) => sendCustomer(customer, { counts, forecast }, connection),
    summarize: () => `${counted(counts.bound, 'customer')} bound.`,
    sample: (items) => items.slice(0, options.forecast),
    parallel: options.parallel,
    yes: options.yes,
  })
  if (forecast) run.reporter.info(`Of ${counted(forecast.customers, 'customer')}, ${forecast.bound} would be bound.`)
  else if (!run.dryRun) counts.knownBefore += customers.length - pending
  const isNothingNew = counts.bound === 0 && counts.knownBefore > 0
  const nothingNew = isNothingNew ? `Nothing new: ${counted(counts.knownBefore, 'customer')} already bound.` : undefined
  return reportImport(run, csv, { file, failed, counts: { ...counts, visitors }, forecast, nothingNew })
}

function mapCustomerColumns({ header }: Csv, { map }: RowImportOptions): Record<string, string> {
  const mapping = mapColumns(header, FIELDS, map)
  for (const [whose, fields] of [
    ['the customer', CUSTOMER_FIELDS],
    ["the customer's affiliate", AFFILIATE_FIELDS],
  ] as const)
    if (!fields.some((field) => mapping[field]))
      throw usageError(
        `No column for ${whose} was found.`,
        `Add --map field=Column with one of ${fields.join(', ')}. Columns: ${header.filter(Boolean).join(', ')}.`,
      )
  return mapping
}

interface AffiliateIndex {
  /** IDs by email address, link name, or code. */
  ids: ReadonlyMap<string, string>
  /** The IDs of rejected affiliates, whose customers are not bound. */
  rejected: ReadonlySet<string>
}

const fold = (name: string): string => name.normalize('NFKC').toLowerCase()

function affiliateIndex({ affiliates, aliases }: ExistingShop): AffiliateIndex {
  const ids = new Map<string, string>()
  for (const { value, kind, affiliateId } of [...aliases.values()].flat())
    ids.set(`${kind} ${fold(value)}`, affiliateId)
  for (const [email, { id, slug, discountCode }] of affiliates)
    for (const key of [`EMAIL ${email}`, `LINK ${fold(slug)}`, `CODE ${fold(discountCode)}`]) ids.set(key, id)
  const rejected = [...affiliates.values()].filter(({ status }) => status === 'REJECTED')
  return { ids, rejected: new Set(rejected.map(({ id }) => id)) }
}

interface PlanSettings {
  linkParameter: string
  affiliates: AffiliateIndex
  options: RowImportOptions
}

function planCustomers(
  { rows }: Csv,
  mapping: Record<string, string>,
  { linkParameter, affiliates, options }: PlanSettings,
): CustomerPlan {
  const dateFormat = options.dateFormat ?? detectDateFormat(rows, [mapping.signedUpAt, mapping.firstOrderAt])
  const times = { timezone: options.timeZone, dateFormat }
  const plan: CustomerPlan = { customers: [], failed: [], visitors: 0 }
  const lines = new Map<unknown, number>()
  for (const row of rows) {
    const cell = (field: string) => row.cells[mapping[field] ?? '']?.trim() ?? ''
    if (cell('status').toLowerCase() === VISITOR) {
      plan.visitors += 1
      continue
    }
    const customer = row.problem ?? parseCustomer(cell, { times, affiliates, linkParameter })
    if (typeof customer === 'string') {
      plan.failed.push({ row, problem: customer })
      continue
    }
    const { customerId, customerEmail } = customer
    const keys = [customerId && `id ${customerId}`, customerEmail && `email ${emailKey(customerEmail)}`].filter(Boolean)
    const earlier = keys.map((key) => lines.get(key)).find((line) => line !== undefined)
    if (earlier !== undefined) plan.failed.push({ row, problem: `the customer is already in line ${earlier}` })
    else plan.customers.push({ row, customer })
    for (const key of keys) if (!lines.has(key)) lines.set(key, row.line)
  }
  return plan
}

interface RowSettings {
  times: { timezone: string | undefined; dateFormat: DateFormat | undefined }
  affiliates: AffiliateIndex
  linkParameter: string
}

/** Returns the customer of a row, or its problem. */
function parseCustomer(
  cell: (field: string) => string,
  { times, affiliates, linkParameter }: RowSettings,
): Imported | string {
  const [customerId, customerEmail, status] = [cell('customerId'), cell('customerEmail'), cell('status')]
  if (!customerId && !customerEmail) return 'no customer id and no email address'
  if (status && !CUSTOMER_STATES.has(status.toLowerCase()))
    return `${status} is not a customer status; the statuses are ${[...CUSTOMER_STATES].join(', ')}`
  const deactivatedAt = cell('deactivatedAt')
  if (deactivatedAt) return `deactivated ${deactivatedAt}, so it earns nothing; empty the cell to bind the customer`
  const affiliate = findAffiliate(cell, affiliates, linkParameter)
  if (affiliate.problem !== undefined) return affiliate.problem
  const [signedUpAt, firstOrderAt] = ['signedUpAt', 'firstOrderAt'].map((field) =>
    cell(field) ? toInstant(cell(field), times) : undefined,
  )
  const problem = timeProblem(signedUpAt, times) ?? timeProblem(firstOrderAt, times)
  if (problem !== undefined) return problem
  const orders = cell('orders') || (firstOrderAt ? '1' : '0')
  if (!/^\d{1,7}$/.test(orders)) return `${orders} is not a number of orders`
  if (Number(orders) > 0 && !firstOrderAt) return `${orders} orders, but no date of the first one`
  return {
    ...(customerId && { customerId }),
    ...(customerEmail && { customerEmail }),
    ref: affiliate.id,
    ...(signedUpAt && { occurredAt: signedUpAt }),
    orders: Number(orders),
    // Some exports have a first order date even for customers whose orders are all refunded.
    ...(Number(orders) > 0 && { firstOrderAt }),
  } as Imported
}

/** The affiliate named by the columns. Columns that match nobody are ignored if another one matches. */
function findAffiliate(
  cell: (field: string) => string,
  { ids: idByName, rejected }: AffiliateIndex,
  linkParameter: string,
): { id: string; problem?: undefined } | { problem: string } {
  const names = [
    ['EMAIL', emailKey(cell('affiliateEmail'))],
    ['LINK', cell('ref')],
    ...refsInLinks(cell('link'), linkParameter).map((ref) => ['LINK', ref]),
    ['CODE', cell('coupon')],
  ].filter(([, name]) => name)
  const ids = names.flatMap(([kind, name = '']) => idByName.get(`${kind} ${fold(name)}`) ?? [])
  const [id] = ids
  const written = names.map(([, name]) => name).join(', ')
  if (names.length === 0) return { problem: 'no affiliate' }
  if (id === undefined) return { problem: `no affiliate of your shop is ${written}; import the affiliates first` }
  if (ids.some((one) => one !== id)) return { problem: `${written} are different affiliates` }
  return rejected.has(id) ? { problem: `not bound: the affiliate ${written} is rejected` } : { id }
}

const NOT_BOUND: Readonly<Record<string, string>> = {
  AFFILIATE_REJECTED: 'the affiliate is rejected',
  AFFILIATE_ARCHIVED: 'the affiliate is archived',
  SELF_REFERRAL: "the address is the affiliate's own",
}

interface Outcome {
  counts: Counts
  /** The dry run's result. Null without a dry run. */
  forecast: { customers: number; bound: number } | null
}

async function sendCustomer(
  customer: Imported,
  { counts, forecast }: Outcome,
  { client, limiter, signal }: Connection,
): Promise<string | undefined> {
  const { rateLimited } = rateLimitedClient(client, limiter)
  try {
    const { data, attribution, alreadyBound } = await rateLimited(() =>
      client.customers.create(customer, { maxRetries: 5, signal, ...(forecast && { dryRun: true }) }),
    )
    if (forecast) forecast.customers += 1
    if (data.affiliateId === null) return `not bound: ${NOT_BOUND[attribution.reasonCode] ?? attribution.reasonCode}`
    if (!alreadyBound) {
      if (forecast) forecast.bound += 1
      else counts.bound += 1
      return undefined
    }
    if (data.affiliateId !== customer.ref) return `already bound to ${data.affiliateId}, which was not changed`
    const isUncounted = data.boundBy !== 'IMPORT' && customer.orders > 0
    if (isUncounted)
      return `already bound (${data.boundBy}), so the earlier orders do not count; referral customers remove ${data.id} makes the import possible`
    counts.knownBefore += 1
    return undefined
  } catch (error) {
    return rowProblem(error as ReferralError)
  }
}

function printMapping(run: Run, { header, rows }: Csv, mapping: Record<string, string>): void {
  printColumns(
    run,
    Object.entries(mapping).map(([field, column]) => ({
      field,
      column,
      format: '',
      first: rows[0]?.cells[column] ?? '',
    })),
  )
  const read = new Set([...Object.values(mapping), 'error'])
  const unread = header.filter((column) => column !== '' && !read.has(column))
  if (unread.length > 0) run.reporter.info(`Columns that are not imported: ${unread.join(', ')}.`)
  if (!mapping.firstOrderAt)
    run.reporter.warn(
      "No column for the first order: the months of a program's terms start with the customer's first order here.",
    )
}

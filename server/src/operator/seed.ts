import { setTimeout as sleep } from 'node:timers/promises'
import { ulid } from 'ulid'
import type { Context, Deps } from '../core/context.ts'
import { type AuditEntry, mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/database.ts'
import { insertRow } from '../database/rows.ts'
import { operatorContext } from '../domains/accounts/shops.ts'
import { newAffiliate } from '../domains/affiliates/affiliates.ts'
import { findAffiliateByEmail } from '../domains/affiliates/queries.ts'
import { findClickOwner } from '../domains/journey/queries.ts'
import { storeTouch } from '../domains/orders/clicks.ts'
import { type Conversion, toIncomingOrder } from '../domains/orders/conversions.ts'
import { recordOrder } from '../domains/orders/record-order.ts'
import { parseStoredRefund } from '../domains/orders/refund-reports.ts'
import * as programs from '../domains/programs/programs.ts'
import { emailKey } from '../engine/normalize.ts'
import { demoProgram } from './demo.ts'

export interface SeedOptions {
  shop: string
  affiliates: number
  clicks: number
  commissions: number
  /** Number of days up to now. */
  days: number
}

const DAY_MS = 86_400_000
/** Rows per transaction. */
const BATCH_SIZE = 200
/** Pauses after this time, because running servers try to write every 25 ms. */
const WRITE_MS = 200
const PAUSE_MS = 30
/** Number of progress lines. */
const PROGRESS_LINES = 20

/**
 * Fills a shop with data for load and growth tests, through the same engine and audit as real orders, without sending
 * webhooks. The same options on the same day give the same data; existing data is not changed.
 */
export async function seed(
  deps: Deps,
  options: SeedOptions,
  report: (line: string) => void = () => {},
): Promise<SeedOptions> {
  if (options.affiliates < 1) throw new Error('--affiliates must be at least 1: clicks and orders need an affiliate.')
  const shop = { deps, shopId: options.shop, ...timeline(deps.now(), options.days) }
  const reportProgress = (count: number, { from, to, what }: Range & { what: string }) => {
    if (Math.floor((PROGRESS_LINES * to) / count) > Math.floor((PROGRESS_LINES * from) / count))
      report(`${to} of ${count} ${what}`)
  }
  await ensureProgram(await operatorContextAt(shop, 'program', 0))
  const affiliates: SeedAffiliate[] = []
  await inBatches(options.affiliates, async (from, to) => {
    const ctx = await operatorContextAt(shop, `affiliates ${from}`, 0)
    affiliates.push(...(await mutate(ctx, (trx) => addAffiliates(ctx, trx, { from, to }))))
    reportProgress(options.affiliates, { from, to, what: 'affiliates' })
  })
  await inBatches(options.clicks, async (from, to) => {
    const ctx = await operatorContextAt(shop, `clicks ${from}`, from / options.clicks)
    await mutate(ctx, (trx) => addClicks(ctx, trx, { from, to, affiliates, at: (n) => shop.at(n / options.clicks) }))
    reportProgress(options.clicks, { from, to, what: 'clicks' })
  })
  await inBatches(options.commissions, async (from, to) => {
    const ctx = await operatorContextAt(shop, `orders ${from}`, to / options.commissions)
    await mutate(ctx, (trx) =>
      addOrders(ctx, trx, { from, to, affiliates, at: (n) => shop.at(n / options.commissions) }),
    )
    reportProgress(options.commissions, { from, to, what: 'commissions' })
  })
  return options
}

/** `at(part)` returns the time in milliseconds after that fraction of the period. */
function timeline(now: number, days: number): { at: (part: number) => number } {
  const end = Math.floor(now / DAY_MS) * DAY_MS
  return { at: (part) => end - Math.round(days * DAY_MS * (1 - part)) }
}

/** A context at a time in the past, with ids and codes derived from the name of the batch. */
async function operatorContextAt(
  shop: { deps: Deps; shopId: string; at: (part: number) => number },
  batch: string,
  part: number,
): Promise<Context> {
  const next = seededRandom(`${shop.shopId} ${batch}`)
  const now = () => shop.at(part)
  const newId: Deps['newId'] = (prefix) => `${prefix}_${ulid(now(), next)}`
  const random = (bytes: number) => Uint8Array.from({ length: bytes }, () => Math.floor(next() * 256))
  const ctx = await operatorContext(shop.deps, shop.shopId)
  return { ...ctx, now, newId, random, wakeDispatcher: () => {} }
}

async function inBatches(count: number, work: (from: number, to: number) => Promise<void>): Promise<void> {
  let since = performance.now()
  for (let from = 0; from < count; from += BATCH_SIZE) {
    await work(from, Math.min(count, from + BATCH_SIZE))
    if (performance.now() - since < WRITE_MS) continue
    await sleep(PAUSE_MS)
    since = performance.now()
  }
}

async function ensureProgram(ctx: Context): Promise<void> {
  if (ctx.shop.defaultProgramId) return
  await programs.create(ctx, demoProgram('Seed program'))
}

interface Range {
  from: number
  to: number
}

async function addAffiliates(ctx: Context, trx: Transaction, { from, to }: Range) {
  const campaignId = ctx.shop.defaultProgramId
  const result: SeedAffiliate[] = []
  const audit: AuditEntry[] = []
  for (let n = from; n < to; n++) {
    const person = seedPerson(n)
    const known = await findAffiliateByEmail(trx, ctx.shop.id, emailKey(person.email))
    result.push(known ?? (await addAffiliate(person)))
  }
  return { result, audit: audit.length > 0 ? audit : null }

  async function addAffiliate(person: ReturnType<typeof seedPerson>): Promise<SeedAffiliate> {
    const row = await newAffiliate(ctx, trx, { ...person, campaignId, status: 'APPROVED' })
    await insertRow(trx, 'affiliates', row)
    audit.push({ action: 'affiliate.created', subjectId: row.id, data: { campaignId } })
    return row
  }
}

interface DatedRange extends Range {
  affiliates: SeedAffiliate[]
  at: (n: number) => number
}

async function addClicks(ctx: Context, trx: Transaction, { from, to, affiliates, at }: DatedRange) {
  for (let n = from; n < to; n++) {
    if (await findClickOwner(trx, ctx.shop.id, seedClickId(n))) continue
    await storeTouch(ctx, trx, { body: seedClick(n, affiliates), occurredAt: new Date(at(n)).toISOString() })
  }
  return { result: undefined, audit: null }
}

async function addOrders(ctx: Context, trx: Transaction, { from, to, affiliates, at }: DatedRange) {
  const audit: AuditEntry[] = []
  for (let n = from; n < to; n++) {
    const body = seedOrder(n, affiliates, new Date(at(n)).toISOString())
    // Seeding sends no webhooks, so that the events are dropped.
    const options = { parseRefund: parseStoredRefund }
    const { audit: entry } = await recordOrder(ctx, trx, toIncomingOrder(ctx, body), options)
    audit.push(...[entry ?? []].flat())
  }
  return { result: undefined, audit: audit.length > 0 ? audit : null }
}

/** A deterministic generator of numbers from 0 to 1, seeded by a name. */
function seededRandom(name: string): () => number {
  let state = 2_166_136_261
  for (const char of name) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16_777_619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const FIRST = ['Nisa', 'Omar', 'Lena', 'Hugo', 'Aiko', 'Zora', 'Iván', 'Maëlle', 'Tom', 'Priya', 'Chidi', 'Sanna']
const LAST = ['Karim', 'Weber', 'Okafor', 'Lindqvist', 'Tanaka', 'Moreau', 'Silva', 'Novák', 'Brown', 'Rao']
const PAGES = ['/', '/shoes', '/shoes/runner', '/hats', '/sale', '/journal/autumn']
const COUNTRIES = ['US', 'US', 'US', 'DE', 'GB', 'FR', 'JP', 'BR']
const DEVICES = ['mobile', 'mobile', 'desktop', 'tablet']

const pick = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() * list.length)] as T

/** Picks an item, preferring the first ones: few affiliates have most clicks and orders. */
const skewed = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() ** 2 * list.length)] as T

interface SeedAffiliate {
  slug: string
  discountCode: string
}

/** The n-th affiliate, counted from 0. */
function seedPerson(n: number): { name: string; email: string; firstName: string; lastName: string } {
  const next = seededRandom(`affiliate ${n}`)
  const firstName = pick(next, FIRST)
  const lastName = `${pick(next, LAST)} ${n + 1}`
  return { name: `${firstName} ${lastName}`, email: `seed-${n + 1}@example.com`, firstName, lastName }
}

const seedClickId = (n: number): string => `seed-${n + 1}`

/** The n-th click, on one of these affiliates' links. */
function seedClick(n: number, affiliates: readonly SeedAffiliate[]) {
  const next = seededRandom(`click ${n}`)
  const { slug } = skewed(next, affiliates)
  const url = `https://shop.example.com${pick(next, PAGES)}?ref=${slug}`
  return {
    type: 'click' as const,
    clickId: seedClickId(n),
    sessionId: `seed-session-${n + 1}`,
    ref: slug,
    url,
    landingPage: url,
    country: pick(next, COUNTRIES),
    device: pick(next, DEVICES),
  }
}

/** The n-th order, with a coupon or a ref. */
function seedOrder(n: number, affiliates: readonly SeedAffiliate[], occurredAt: string): Conversion {
  const next = seededRandom(`order ${n}`)
  const { slug, discountCode } = skewed(next, affiliates)
  const amountCents = 500 + Math.floor(next() ** 3 * 40_000)
  const hasCoupon = next() < 0.6
  return {
    type: 'conversion',
    externalOrderId: `seed-${n + 1}`,
    orderName: `#S${n + 1}`,
    occurredAt,
    amountCents,
    discountCents: hasCoupon ? Math.floor(amountCents / 10) : 0,
    shippingCents: amountCents < 5000 ? 490 : 0,
    customerId: `seed-customer-${Math.floor(next() * 1e6)}`,
    ...(hasCoupon ? { couponCode: discountCode } : { ref: slug }),
    lineItems: [{ productId: `product-${Math.floor(next() * 40)}`, quantity: 1, priceCents: amountCents }],
  }
}

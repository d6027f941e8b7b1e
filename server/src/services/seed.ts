import { setTimeout as sleep } from 'node:timers/promises'
import { ulid } from 'ulid'
import type { Context, Deps } from '../context.ts'
import type { Trx } from '../db/database.ts'
import { emailKey } from '../engine/email.ts'
import { findAffiliateByEmail, insertAffiliate } from '../repositories/affiliates.ts'
import { findClickOwner } from '../repositories/journey-clicks.ts'
import { newAffiliate } from './affiliate-new.ts'
import { toIncoming } from './conversions.ts'
import { type AuditEntry, mutate } from './mutate.ts'
import { recordOrder } from './orders.ts'
import * as programs from './programs.ts'
import { numbersOf, type SeedAffiliate, seedClick, seedClickId, seedOrder, seedPerson } from './seed-data.ts'
import { operatorContext } from './shops.ts'
import { keepTouch } from './touches.ts'

export interface SeedWish {
  shop: string
  affiliates: number
  clicks: number
  commissions: number
  /** Over so many days up to now. */
  days: number
}

const DAY_MS = 86_400_000
/** So much is written in one transaction. */
const LOT = 200
/** Servers beside it ask for the turn to write every 25 ms: after so much writing they get one. */
const STRETCH_MS = 200
const PAUSE_MS = 30
/** So many lines tell how far it is. */
const STEPS = 20

/**
 * Fills a shop with data for load and growth tests, through the same engine and audit as real orders; nothing is sent to
 * subscribers. The same wish on the same day gives the same data, and what is there already is left as it is.
 */
export async function seed(deps: Deps, wish: SeedWish, report: (line: string) => void = () => {}): Promise<SeedWish> {
  if (wish.affiliates < 1) throw new Error('--affiliates must be at least 1: clicks and orders need somebody.')
  const shop = { deps, shopId: wish.shop, ...timesOf(deps.now(), wish.days) }
  const tell = (count: number, { from, to, what }: Lot & { what: string }) => {
    if (Math.floor((STEPS * to) / count) > Math.floor((STEPS * from) / count)) report(`${to} of ${count} ${what}`)
  }
  await programFor(await contextAt(shop, 'program', 0))
  const affiliates: SeedAffiliate[] = []
  await inLots(wish.affiliates, async (from, to) => {
    const ctx = await contextAt(shop, `affiliates ${from}`, 0)
    affiliates.push(...(await mutate(ctx, (trx) => addAffiliates(ctx, trx, { from, to }))))
    tell(wish.affiliates, { from, to, what: 'affiliates' })
  })
  await inLots(wish.clicks, async (from, to) => {
    const ctx = await contextAt(shop, `clicks ${from}`, from / wish.clicks)
    await mutate(ctx, (trx) => addClicks(ctx, trx, { from, to, affiliates, at: (n) => shop.at(n / wish.clicks) }))
    tell(wish.clicks, { from, to, what: 'clicks' })
  })
  await inLots(wish.commissions, async (from, to) => {
    const ctx = await contextAt(shop, `orders ${from}`, to / wish.commissions)
    await mutate(ctx, (trx) => addOrders(ctx, trx, { from, to, affiliates, at: (n) => shop.at(n / wish.commissions) }))
    tell(wish.commissions, { from, to, what: 'commissions' })
  })
  return wish
}

/** `at(part)` is the instant, in milliseconds, when that part of the time is over. */
function timesOf(now: number, days: number): { at: (part: number) => number } {
  const end = Math.floor(now / DAY_MS) * DAY_MS
  return { at: (part) => end - Math.round(days * DAY_MS * (1 - part)) }
}

/** The operator at a moment of the past, whose ids and codes follow from the name of the lot. */
async function contextAt(
  shop: { deps: Deps; shopId: string; at: (part: number) => number },
  lot: string,
  part: number,
): Promise<Context> {
  const next = numbersOf(`${shop.shopId} ${lot}`)
  const now = () => shop.at(part)
  const newId: Deps['newId'] = (prefix) => `${prefix}_${ulid(now(), next)}`
  const random = (bytes: number) => Uint8Array.from({ length: bytes }, () => Math.floor(next() * 256))
  const ctx = await operatorContext(shop.deps, shop.shopId)
  return { ...ctx, now, newId, random, wakeDispatcher: () => {} }
}

async function inLots(count: number, work: (from: number, to: number) => Promise<void>): Promise<void> {
  let since = performance.now()
  for (let from = 0; from < count; from += LOT) {
    await work(from, Math.min(count, from + LOT))
    if (performance.now() - since < STRETCH_MS) continue
    await sleep(PAUSE_MS)
    since = performance.now()
  }
}

async function programFor(ctx: Context): Promise<void> {
  if (ctx.shop.defaultProgramId) return
  await programs.create(ctx, {
    name: 'Seed program',
    commissionType: 'PERCENT_OF_SALE',
    commissionPercent: 16,
    cookieDurationDays: 30,
    autoApproveAffiliate: false,
    autoApproveOrder: true,
    status: 'PUBLISH',
  })
}

interface Lot {
  from: number
  to: number
}

async function addAffiliates(ctx: Context, trx: Trx, { from, to }: Lot) {
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
    await insertAffiliate(trx, ctx.shop.id, row)
    audit.push({ action: 'affiliate.created', subjectId: row.id, data: { campaignId } })
    return row
  }
}

interface Dated extends Lot {
  affiliates: SeedAffiliate[]
  at: (n: number) => number
}

async function addClicks(ctx: Context, trx: Trx, { from, to, affiliates, at }: Dated) {
  for (let n = from; n < to; n++) {
    if (await findClickOwner(trx, ctx.shop.id, seedClickId(n))) continue
    await keepTouch(ctx, trx, { body: seedClick(n, affiliates), occurredAt: new Date(at(n)).toISOString() })
  }
  return { result: undefined, audit: null }
}

async function addOrders(ctx: Context, trx: Trx, { from, to, affiliates, at }: Dated) {
  const audit: AuditEntry[] = []
  for (let n = from; n < to; n++) {
    const body = seedOrder(n, affiliates, new Date(at(n)).toISOString())
    // The events stay behind: a shop that is filled with data has nothing to tell its subscribers.
    const { audit: entry } = await recordOrder(ctx, trx, toIncoming(ctx, body))
    audit.push(...[entry ?? []].flat())
  }
  return { result: undefined, audit: audit.length > 0 ? audit : null }
}

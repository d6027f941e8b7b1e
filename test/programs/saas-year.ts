// A year of a SaaS program, computed from the contract alone: what every order, batch, statement and balance must be.
import { expect } from 'vitest'
import { addMonths, instantOf, local, monthOf } from '../support/calendar.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'

const DAY = 86_400_000
const HOUR = 3_600_000
const ZONE = 'America/New_York'
/** The start of a local month, as if it were UTC. */
const month = (index: number) => instantOf(Date.UTC(2027, index, 1), ZONE)
const START = month(0)
const TAX_BPS = 1000
const PROGRAM_BPS = 2000
const HOLD_DAYS = 30

interface Rule {
  fromMonth?: number
  fromOrders?: number
  bps: number | null
  cap?: number
}

/** Customers keep the version of their first credited order, except those before all of these. */
const VERSIONS: { at: number; rules: Rule[] }[] = [
  {
    at: START - 60 * DAY,
    rules: [
      { fromMonth: 12, bps: 1000 },
      { fromOrders: 8, bps: 2500, cap: 15_000 },
    ],
  },
  {
    at: month(6),
    rules: [
      { fromMonth: 12, bps: null },
      { fromOrders: 6, bps: 3000 },
    ],
  },
]

interface Customer {
  id: string
  affiliate: number
  importedOrders: number
  importedFirstAt: number | null
}

interface Order {
  id: string
  at: number
  customer: Customer
  affiliate: number
  cents: number
  discount: number
  /** What decided it. */
  bps: number | null
  cap: number
  availableAt: number
  /** By refund. */
  refunds: Map<string, number>
  /** Owed now, with its adjustments. */
  amount: number
  tax: number
  batch: string | null
}

/** A change of what an affiliate is owed after tax. */
interface Entry {
  affiliate: number
  /** Of an order, and of its refund. */
  order?: string
  refund?: string
  at: number
  net: number
}

interface Adjustment extends Entry {
  isBatched: boolean
}

/** What happens, by the time at which it is reported. */
type Happening = { now: number } & (
  | { do: 'customer'; customer: Customer }
  | { do: 'order'; id: string; at: number; customer: Customer; coded: number | null; cents: number; discount: number }
  | { do: 'refund' | 'takeBack'; order: string; refund: string; part: number }
  | { do: 'batch'; month: number }
  | { do: 'terms'; version: number }
)

/** Numbers from 0 to 1, the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

/** The happenings of a year. */
function plan({ affiliates, customers, seed }: Size): Happening[] {
  const next = randomNumbers(seed)
  const chance = (part: number) => next() < part
  const whole = (below: number) => Math.floor(next() * below)
  const all: Happening[] = VERSIONS.map(({ at }, version) => ({ do: 'terms', now: at, version }))
  for (let index = 1; index <= 12; index++)
    all.push({ do: 'batch', now: instantOf(Date.UTC(2027, index, 3, 9), ZONE), month: index - 1 })
  let count = 0
  const order = (customer: Customer, at: number, cents: number) => {
    const id = `o-${++count}`
    const now = chance(0.03) ? at + (1 + whole(5)) * DAY : at
    const discount = chance(0.1) ? Math.round(cents / 5) : 0
    const coded = chance(0.04) ? whole(affiliates) : null
    all.push({ do: 'order', now, id, at, customer, coded, cents, discount })
    if (!chance(0.08)) return
    const refundedAt = now + [3, 12, 20, 45, 100][whole(5)]! * DAY + HOUR
    const part = chance(0.5) ? 1 : next()
    all.push({ do: 'refund', now: refundedAt, order: id, refund: 'r', part })
    if (chance(0.3)) all.push({ do: 'refund', now: refundedAt + 40 * DAY, order: id, refund: 's', part: 0.4 })
    if (chance(0.2)) all.push({ do: 'takeBack', now: refundedAt + 50 * DAY, order: id, refund: 'r', part })
  }
  for (let index = 0; index < customers; index++) {
    const isImported = index % 3 === 0
    const months = 1 + whole(22)
    const moment = whole(28 * DAY)
    const firstAt = isImported ? addMonths(START + moment, -months, ZONE) : START + whole(340 * DAY)
    const customer: Customer = {
      id: `c-${index}`,
      // The first affiliates refer most.
      affiliate: Math.floor(next() ** 2 * affiliates),
      importedOrders: isImported ? months : 0,
      importedFirstAt: isImported ? firstAt : null,
    }
    const signedUpAt = isImported ? START + index : firstAt - HOUR - whole(14 * DAY)
    all.push({ do: 'customer', now: Math.max(signedUpAt, START + index), customer })
    const isYearly = chance(0.25)
    let cents = isYearly ? 29_000 : 2900
    for (let k = 0; ; k += isYearly ? 12 : 1) {
      const at = addMonths(firstAt, k, ZONE)
      if (at > month(12)) break
      if (at <= START + customers) continue
      if (k > 0 && chance(isYearly ? 0.2 : 0.05)) break
      order(customer, at, cents)
      if (!chance(0.08)) continue
      // An upgrade pays for what is left of the period.
      const upgraded = isYearly ? 79_000 : 7900
      if (upgraded > cents) order(customer, at + 9 * DAY, Math.round((upgraded - cents) * 0.7))
      cents = upgraded
    }
  }
  return all.sort((a, b) => a.now - b.now)
}

const half = (numerator: number, denominator: number) =>
  Number((2n * BigInt(numerator) + BigInt(denominator)) / (2n * BigInt(denominator)))
const iso = (at: number) => new Date(at).toISOString()

class Year {
  readonly server: TestServer
  readonly size: Size
  readonly orders: Order[] = []
  readonly adjustments: Adjustment[] = []
  readonly entries: Entry[] = []
  readonly paid: number[] = []
  affiliateIds: string[] = []
  codes: string[] = []
  programId = ''

  constructor(server: TestServer, size: Size) {
    this.server = server
    this.size = size
  }

  async open(): Promise<void> {
    const { server } = this
    server.clock.ms = VERSIONS[0]!.at - DAY
    await expectOk(server.owner('PATCH', '/settings', { timeZone: ZONE, taxWithholdingBps: TAX_BPS }))
    const program = { name: 'SaaS', commissionPercent: PROGRAM_BPS / 100, autoApproveOrder: true }
    this.programId = (await server.client.programs.create(program)).id
    for (let index = 0; index < this.size.affiliates; index++) {
      const code = `A${String(index).replaceAll('0', 'X')}`
      this.codes.push(code)
      this.affiliateIds.push((await newAffiliate(server, { campaignId: this.programId, code })).id)
    }
  }

  async take(one: Happening): Promise<void> {
    this.server.clock.ms = one.now
    if (one.do === 'terms') return this.#setTerms(one.version)
    if (one.do === 'customer') return this.#signUp(one.customer)
    if (one.do === 'order') return this.#order(one)
    if (one.do === 'batch') return this.#batch(one)
    return this.#refund(one)
  }

  async #setTerms(version: number): Promise<void> {
    const rules = VERSIONS[version]!.rules.map(({ fromMonth, fromOrders, bps, cap }) => ({
      when: {
        ...(fromMonth && { customerMonth: { from: fromMonth } }),
        ...(fromOrders && { affiliateOrders: { from: fromOrders, period: 'MONTH' as const } }),
      },
      commissionPercent: bps === null ? null : bps / 100,
      ...(cap && { maxCommissionCents: cap }),
    }))
    await this.server.client.programs.setTerms(this.programId, {
      holdDays: HOLD_DAYS,
      appliesTo: 'CUSTOMERS',
      rules,
    })
  }

  async #signUp({ id, affiliate, importedOrders, importedFirstAt }: Customer): Promise<void> {
    const { data } = await this.server.client.customers.create({
      customerId: id,
      couponCode: this.codes[affiliate]!,
      ...(importedFirstAt !== null && { orders: importedOrders, firstOrderAt: iso(importedFirstAt) }),
    })
    expect(data.affiliateId).toBe(this.affiliateIds[affiliate])
  }

  async #order({ id, at, customer, coded, cents, discount, now }: Happening & { do: 'order' }): Promise<void> {
    const affiliate = coded ?? customer.affiliate
    const decided = this.#decide(at, customer, affiliate)
    const base = cents - discount
    const amount = Math.min(half(base * (decided.bps ?? 0), 10_000), decided.cap)
    const tax = half(amount * TAX_BPS, 10_000)
    const availableAt = at + HOLD_DAYS * DAY
    const order = { id, at, customer, affiliate, cents, discount, ...decided, availableAt }
    this.orders.push({ ...order, refunds: new Map(), amount, tax, batch: null })
    this.entries.push({ affiliate, at, net: amount - tax })
    const { commission, attribution } = await this.server.client.events.conversion({
      externalOrderId: id,
      customerId: customer.id,
      amountCents: cents,
      discountCents: discount,
      ...(coded !== null && { couponCode: this.codes[coded]! }),
      ...(at !== now && { occurredAt: iso(at) }),
    })
    expect([id, attribution.affiliateId, commission.amountCents, commission.restrictionReasonCode]).toEqual([
      id,
      this.affiliateIds[affiliate],
      amount,
      decided.bps === null ? 'TERMS_NOT_MET' : null,
    ])
  }

  /** The rate of an order, and the most that it earns. */
  #decide(at: number, customer: Customer, affiliate: number): Pick<Order, 'bps' | 'cap'> {
    const before = this.orders.filter((order) => order.at < at && isCredited(order))
    const own = before.filter((order) => order.customer === customer).map((order) => order.at)
    if (customer.importedFirstAt !== null) own.push(customer.importedFirstAt)
    const firstAt = own.length > 0 ? Math.min(...own) : at
    const versionAt = (instant: number) => VERSIONS.findLast((version) => version.at <= instant)
    const { rules } = versionAt(firstAt) ?? versionAt(at)!
    const ofMonth = localMonth(at)
    const won = before.filter((order) => order.affiliate === affiliate && localMonth(order.at) === ofMonth).length
    const rule = rules.find(
      ({ fromMonth = 0, fromOrders = 0 }) => monthOf(firstAt, at, ZONE) >= fromMonth && won >= fromOrders,
    )
    return { bps: rule ? rule.bps : PROGRAM_BPS, cap: rule?.cap ?? Number.POSITIVE_INFINITY }
  }

  async #refund({ do: what, order: id, refund, part, now }: Happening & { do: 'refund' | 'takeBack' }): Promise<void> {
    const order = this.orders.find((one) => one.id === id)!
    const base = order.cents - order.discount
    const name = { externalOrderId: id, externalRefundId: refund }
    if (what === 'refund') {
      const amountCents = Math.floor((base - refundedOf(order)) * part)
      await this.server.client.refunds.create({ ...name, amountCents })
      order.refunds.set(refund, amountCents)
    } else {
      await this.server.client.refunds.cancel(name)
      order.refunds.delete(refund)
    }
    if (order.bps === null) return
    const left = base - refundedOf(order)
    const full = half(base * order.bps, 10_000)
    const amount = full > order.cap ? half(order.cap * left, base) : half(left * order.bps, 10_000)
    const tax = half(amount * TAX_BPS, 10_000)
    const entry = {
      affiliate: order.affiliate,
      order: id,
      refund,
      at: now,
      net: amount - tax - (order.amount - order.tax),
    }
    Object.assign(order, { amount, tax })
    // Taken back before the payment, a refund has never been.
    const earlier = order.batch === null && what === 'takeBack' ? this.#entryOf(id, refund) : undefined
    if (earlier) this.entries.splice(this.entries.indexOf(earlier), 1)
    else this.entries.push(entry)
    if (order.batch !== null) this.adjustments.push({ ...entry, isBatched: false })
  }

  #entryOf = (id: string, refund: string) => this.entries.find((entry) => entry.order === id && entry.refund === refund)

  /** The commissions until the end of a month that are available, with what earlier batches left. */
  async #batch({ month: index, now }: Happening & { do: 'batch' }): Promise<void> {
    const [start, end] = [month(index), month(index + 1) - 1]
    const open = this.orders.filter(({ at, batch, amount }) => at <= end && batch === null && amount > 0)
    const held = open.filter(({ availableAt }) => availableAt > now)
    const due = open.filter(({ availableAt }) => availableAt <= now)
    const adjusted = this.adjustments.filter(({ at, isBatched }) => at <= end && !isBatched)
    const nets = new Map<number, number>()
    const add = (affiliate: number, net: number) => nets.set(affiliate, (nets.get(affiliate) ?? 0) + net)
    for (const { affiliate, amount, tax } of due) add(affiliate, amount - tax)
    for (const { affiliate, net } of adjusted) add(affiliate, net)
    const period = { periodStart: iso(start), periodEnd: iso(end), includeEarlier: true }
    if (nets.size === 0) {
      const reply = await this.server.request('POST', '/api/v1/payouts', { body: period })
      expect([index, reply.status]).toEqual([index, 404])
      return
    }
    const { id, onHold } = await this.server.client.payouts.create(period)
    const [batch] = (await this.server.client.payouts.list({ id, include: 'lines' })).data
    const total = [...nets.values()].reduce((sum, net) => sum + Math.max(net, 0), 0)
    expect({ index, onHold, net: batch!.totals.netPayableCents, lines: linesOf(batch!.lines ?? []) }).toEqual({
      index,
      onHold: {
        commissions: held.length,
        commissionCents: held.reduce((sum, { amount }) => sum + amount, 0),
        nextAvailableAt: held.length > 0 ? iso(Math.min(...held.map(({ availableAt }) => availableAt))) : null,
      },
      net: total,
      lines: linesOf(
        [...nets].map(([affiliate, netPayableCents]) => ({
          affiliateId: this.affiliateIds[affiliate]!,
          netPayableCents,
        })),
      ),
    })
    this.server.clock.advance(HOUR)
    await this.server.client.payouts.pay(id, { expectedTotalCents: total })
    for (const order of due) order.batch = id
    for (const adjustment of adjusted) adjustment.isBatched = true
    this.paid.push(total)
    for (const [affiliate, net] of nets) {
      if (net > 0) this.entries.push({ affiliate, at: now + HOUR, net: -net })
      if (net >= 0) continue
      // A debt is moved to the next period.
      const moved = { affiliate, at: end + 1, net }
      this.adjustments.push({ ...moved, isBatched: false })
      this.entries.push({ affiliate, at: end, net: -net }, moved)
    }
  }

  /** Every commission, statement and balance at the end. */
  async check(): Promise<void> {
    for (const order of this.orders) await this.#checkOrder(order)
    for (const [affiliate, id] of this.affiliateIds.entries()) {
      for (let index = 0; index < 12; index++) {
        const name = `2027-${String(index + 1).padStart(2, '0')}`
        const { currencies } = (await this.server.owner('GET', `/affiliates/${id}/statement?month=${name}`)).body
        const own = this.entries.filter((entry) => entry.affiliate === affiliate && entry.at < month(index + 1))
        const closing = own.reduce((sum, { net }) => sum + net, 0)
        expect([id, name, currencies[0]?.closingCents ?? 0]).toEqual([id, name, closing])
      }
      await this.#checkBalance(affiliate, id)
    }
  }

  async #checkOrder(order: Order): Promise<void> {
    const { id, affiliate, batch, availableAt } = order
    const { data } = await this.server.client.commissions.list({ externalOrderId: id })
    const row = data.find(({ trackingMethod }) => trackingMethod !== 'ADJUSTMENT')!
    const left = order.cents - order.discount - refundedOf(order)
    const status = order.bps === null ? 'REJECTED' : batch !== null ? 'PAID' : left === 0 ? 'REFUNDED' : 'APPROVED'
    expect([id, row.affiliateId, row.orderStatus, row.payoutBatchId, row.availableAt]).toEqual([
      id,
      this.affiliateIds[affiliate],
      status,
      batch,
      iso(availableAt),
    ])
    if (batch === null)
      expect([id, row.commissionAmountCents, row.taxWithheldCents]).toEqual([id, order.amount, order.tax])
  }

  async #checkBalance(affiliate: number, id: string): Promise<void> {
    const { balances } = await this.server.client.affiliates.balance(id)
    const { approvedCents = 0, onHoldCents = 0, batchedCents = 0, taxWithheldCents = 0 } = balances[0] ?? {}
    const own = this.entries.filter((entry) => entry.affiliate === affiliate)
    const held = this.orders.filter(
      (order) => order.affiliate === affiliate && order.batch === null && order.availableAt > this.server.clock.ms,
    )
    expect([id, approvedCents - taxWithheldCents, onHoldCents, batchedCents]).toEqual([
      id,
      own.reduce((sum, { net }) => sum + net, 0),
      held.reduce((sum, { amount }) => sum + amount, 0),
      0,
    ])
  }
}

const refundedOf = ({ refunds, cents, discount }: Order) =>
  Math.min(
    cents - discount,
    [...refunds.values()].reduce((sum, one) => sum + one, 0),
  )
const isCredited = (order: Order) => order.bps !== null && refundedOf(order) < order.cents - order.discount
const localMonth = (at: number) => iso(local(at, ZONE)).slice(0, 7)
const linesOf = (lines: { affiliateId: string; netPayableCents: number }[]) =>
  lines
    .filter(({ netPayableCents }) => netPayableCents > 0)
    .map(({ affiliateId, netPayableCents }) => `${affiliateId} ${netPayableCents}`)
    .sort()

interface Size {
  affiliates: number
  customers: number
  seed: number
}

/** Compares a year with the server. Returns what was compared. */
export async function checkYear(server: TestServer, size: Size) {
  const year = new Year(server, size)
  await year.open()
  const happenings = plan(size)
  for (const one of happenings.filter(({ now }) => now < month(12) + 5 * DAY)) await year.take(one)
  await year.check()
  const { orders, adjustments, paid } = year
  return {
    orders: orders.length,
    adjustments: adjustments.length,
    batches: paid.length,
    paidCents: paid.reduce((a, b) => a + b, 0),
  }
}

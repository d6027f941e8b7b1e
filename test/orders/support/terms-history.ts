import type { ReferralClient } from '@referral/sdk'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { TermsCondition } from '../../../server/src/engine/facts.ts'
import { local, monthOf } from '../../support/calendar.ts'
import { admin } from '../../support/owner.ts'
import type { TestServer, TestShop } from '../../support/server.ts'
import { expectOk, newAffiliate } from '../../support/shop.ts'

const DAY = 86_400_000
const RATE = 1600
const ZONES = ['UTC', 'America/New_York', 'Europe/Berlin', 'Pacific/Auckland']
/** Ends of months, a leap day, and both changes of daylight saving of each zone, a second before and after. */
const EDGES = [
  '2027-01-31T05:00:00Z',
  '2027-02-28T05:00:00Z',
  '2027-03-01T00:00:00Z',
  '2027-03-14T07:00:00Z',
  '2027-03-28T01:00:00Z',
  '2027-04-03T14:00:00Z',
  '2027-04-30T22:00:00Z',
  '2027-05-31T05:00:00Z',
  '2027-09-25T14:00:00Z',
  '2027-10-31T01:00:00Z',
  '2027-11-07T06:00:00Z',
  '2028-01-31T05:00:00Z',
  '2028-02-29T05:00:00Z',
  '2028-03-14T06:00:00Z',
]
const INSTANTS = EDGES.flatMap((edge) => [-1000, 0, 1000].map((ms) => Date.parse(edge) + ms))
const CODES = ['AAA', 'BBB']
const CUSTOMERS = 3
const LAST = INSTANTS.at(-1)! + DAY

interface Terms {
  holdDays: number
  appliesTo: 'ORDERS' | 'CUSTOMERS'
  rules: { when: TermsCondition; commissionPercent: number | null; maxCommissionCents?: number }[]
}

type NamedBy = 'id' | 'address' | 'both'

/** Customer 0 is not named. Affiliate 0 is not named either, so that only a binding can win. */
type Step =
  | { do: 'order'; at: number; customer: number; by: NamedBy; affiliate: number; cents: number }
  | { do: 'signUp'; customer: number; by: NamedBy; affiliate: number }
  | { do: 'unbind'; customer: number }
  | { do: 'erase'; customer: number }
  | { do: 'refund' | 'takeBack'; order: number; part: number }
  | { do: 'terms'; terms: Terms }

const bounds = (...values: number[]) => {
  const value = fc.constantFrom(...values)
  return fc.oneof(
    value.map((from) => ({ from })),
    value.map((to) => ({ to })),
  )
}
const period = fc.constantFrom('MONTH' as const, 'ALL_TIME' as const)
const counted = (...values: number[]) =>
  fc.tuple(bounds(...values), period).map(([range, of]) => ({ ...range, period: of }))
const when = fc.oneof(
  fc.record({ customerMonth: bounds(0, 1, 2, 6, 12) }),
  fc.record({ customerOrder: bounds(1, 2, 3) }),
  fc.record({ affiliateOrders: counted(0, 1, 3) }),
  fc.record({ affiliateRevenueCents: counted(1, 5000, 20_000) }),
  fc.record({ orderSubtotalCents: bounds(1000, 5000), customerMonth: bounds(0, 1, 11) }),
  fc.constant({}),
)
const terms: fc.Arbitrary<Terms> = fc.record({
  holdDays: fc.constantFrom(0, 30, 365),
  appliesTo: fc.constantFrom('ORDERS' as const, 'CUSTOMERS' as const),
  rules: fc.array(
    fc
      .tuple(when, fc.constantFrom(null, 5, 12.5, 30), fc.constantFrom(undefined, undefined, 500))
      .map(([condition, commissionPercent, cap]) => ({
        when: condition,
        commissionPercent,
        ...(cap && commissionPercent !== null && { maxCommissionCents: cap }),
      })),
    { maxLength: 3 },
  ),
})
const by = fc.constantFrom<NamedBy>('id', 'id', 'address', 'both')
const named = fc.integer({ min: 1, max: CUSTOMERS })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('order' as const),
      at: fc.nat(INSTANTS.length - 1),
      customer: fc.nat(CUSTOMERS),
      by,
      affiliate: fc.nat(CODES.length),
      cents: fc.integer({ min: 1, max: 9999 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('signUp' as const), customer: named, by, affiliate: fc.nat(CODES.length) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom<'unbind' | 'erase'>('unbind', 'erase'), customer: named }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('refund' as const, 'takeBack' as const),
      order: fc.nat(30),
      part: fc.constantFrom(1, 33, 50, 100),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('terms' as const), terms }) },
)

/** What the model knows of a customer. An erased one has neither id nor address. */
interface Customer {
  id: string | null
  address: string | null
  /** Bound to this one; 0 to nobody. */
  affiliate: number
}

interface Name {
  customerId?: string | null
  customerEmail?: string | null
}

/** What the model knows of an order. */
interface Known {
  id: string
  at: number
  customer: Customer | undefined
  affiliate: number
  cents: number
  version: number
  rule: number | null
  /** In basis points; null for an order that earns nothing. */
  bps: number | null
  cap: number
  holdDays: number
  refunds: Map<string, number>
}

/** Rounded half up, computed apart from the engine. */
const half = (numerator: bigint, denominator: bigint) => Number((2n * numerator + denominator) / (2n * denominator))
const refundedOf = ({ refunds, cents }: Known) =>
  Math.min(
    cents,
    [...refunds.values()].reduce((a, b) => a + b, 0),
  )
const isCredited = (order: Known) => order.bps !== null && refundedOf(order) < order.cents

interface Setting {
  zone: string
  lifetimeCommission: boolean
}

class History {
  readonly server: TestServer
  readonly shop: TestShop
  readonly zone: string
  readonly client: ReferralClient
  readonly orders: Known[] = []
  readonly customers: Customer[] = []
  /** Ids that orders have with their address. */
  readonly linked = new Set<string>()
  readonly versions: (Terms & { createdAt: number })[] = [{ createdAt: 0, holdDays: 0, appliesTo: 'ORDERS', rules: [] }]
  programId = ''
  readonly lifetimeCommission: boolean
  readonly #affiliateIds: string[] = []
  #count = 0

  constructor(server: TestServer, shop: TestShop, { zone, lifetimeCommission }: Setting) {
    this.server = server
    this.shop = shop
    this.zone = zone
    this.lifetimeCommission = lifetimeCommission
    this.client = server.clientOf(shop.key)
  }

  async open(): Promise<void> {
    const { key } = this.shop
    await this.owner('PATCH', '/settings', { timeZone: this.zone })
    const program = await this.client.programs.create({ name: 'P', autoApproveOrder: true })
    this.programId = program.id
    await this.client.programs.update(program.id, { lifetimeCommission: this.lifetimeCommission })
    for (const code of CODES)
      this.#affiliateIds.push((await newAffiliate(this.server, { key, campaignId: program.id, code })).id)
  }

  owner = (method: string, path: string, body?: unknown) =>
    admin(this.server, method, path, body, { key: this.shop.ownerToken })

  async take(one: Step): Promise<void> {
    if (one.do === 'order') return this.#order(one)
    if (one.do === 'terms') return this.#terms(one.terms)
    if (one.do === 'signUp') return this.#signUp(one)
    if (one.do === 'unbind') return this.#unbind(one.customer)
    if (one.do === 'erase') return this.#erase(one.customer)
    const order = this.orders[one.order % (this.orders.length || 1)]
    if (!order) return
    const externalOrderId = order.id
    if (one.do === 'refund') {
      const externalRefundId = `r-${++this.#count}`
      const left = order.cents - refundedOf(order)
      const amountCents = Math.floor((left * one.part) / 100)
      await this.client.refunds.create({ externalOrderId, externalRefundId, amountCents })
      order.refunds.set(externalRefundId, amountCents)
      return
    }
    const [externalRefundId] = order.refunds.keys()
    if (externalRefundId === undefined) return
    await this.client.refunds.cancel({ externalOrderId, externalRefundId })
    order.refunds.delete(externalRefundId)
  }

  async #terms(next: Terms): Promise<void> {
    // In between the orders, so that late ones are decided by an earlier version.
    this.server.clock.ms = LAST
    const at = INSTANTS[(this.versions.length * 7) % INSTANTS.length]!
    const previous = this.versions.at(-1)!
    if (
      JSON.stringify([next.holdDays, next.appliesTo, next.rules]) ===
      JSON.stringify([previous.holdDays, previous.appliesTo, previous.rules])
    )
      return
    this.server.clock.ms = Math.max(at, previous.createdAt + 1)
    await this.client.programs.setTerms(this.programId, next)
    this.versions.push({ ...next, createdAt: this.server.clock.ms })
    this.server.clock.ms = LAST
  }

  /** Whom a report names: the customer with the id, else the one with the address unless that one has another id. */
  #identify({ customerId = null, customerEmail = null }: Name) {
    const byId = this.customers.find(({ id }) => id !== null && id === customerId)
    const byAddress = this.customers.find(({ address }) => address !== null && address === customerEmail)
    const isSame = byAddress && (byAddress.id === null || customerId === null)
    return { byId, byAddress, customer: byId ?? (isSame ? byAddress : undefined) }
  }

  #create({ customerId = null, customerEmail = null }: Name): Customer {
    const { byAddress } = this.#identify({ customerId, customerEmail })
    const created = { id: customerId, address: byAddress ? null : customerEmail, affiliate: 0 }
    this.customers.push(created)
    return created
  }

  /** Adds what the customer lacks. An address stays that of the customer who had it first. */
  #complete(customer: Customer, { customerId = null, customerEmail = null }: Name, byAddress: Customer | undefined) {
    customer.id ??= customerId
    if (!byAddress) customer.address ??= customerEmail
  }

  #name(customer: number, by: NamedBy): Name {
    const [customerId, customerEmail] = [`c-${customer}`, `c-${customer}@example.com`]
    return { ...(by !== 'address' && { customerId }), ...(by !== 'id' && { customerEmail }) }
  }

  async #signUp({ customer: index, by, affiliate }: Step & { do: 'signUp' }): Promise<void> {
    const name = this.#name(index, by)
    const { customer = this.#create(name), byAddress } = this.#identify(name)
    const { data, alreadyBound } = await this.client.customers.create({
      ...(name as { customerId: string }),
      ...(affiliate > 0 && { couponCode: CODES[affiliate - 1]! }),
    })
    expect(alreadyBound).toBe(customer.affiliate > 0)
    if (!alreadyBound) {
      customer.affiliate = affiliate
      this.#complete(customer, name, byAddress)
    }
    expect(data.affiliateId).toBe(this.#affiliateIds[customer.affiliate - 1] ?? null)
  }

  async #unbind(index: number): Promise<void> {
    const { customer } = this.#identify({ customerId: `c-${index}` })
    if (!customer) return
    const { data } = await this.client.customers.list({ customerId: `c-${index}` })
    await this.client.customers.unbind(data[0]!.id!)
    customer.affiliate = 0
  }

  /** Customers with the address are unknown afterwards, and so is one with the id if orders had both. */
  async #erase(index: number): Promise<void> {
    const [customerId, customerEmail] = [`c-${index}`, `c-${index}@example.com`]
    await expectOk(this.owner('POST', '/privacy/erasures', { email: customerEmail }))
    for (const one of this.customers) {
      if (one.address !== customerEmail && !(one.id === customerId && this.linked.has(customerId))) continue
      one.id = null
      one.address = null
    }
    this.linked.delete(customerId)
  }

  async #order({ at: index, customer: who, by, affiliate: coded, cents }: Step & { do: 'order' }): Promise<void> {
    const at = INSTANTS[index]!
    const id = `o-${++this.#count}`
    const name: Name = who > 0 ? this.#name(who, by) : {}
    if (name.customerId && name.customerEmail) this.linked.add(name.customerId)
    const { byId, byAddress, customer } = this.#identify(name)
    const bound = byId?.affiliate || byAddress?.affiliate || 0
    const affiliate = coded || bound
    const decided = this.#decide({ at, customer, affiliate, cents })
    const { attribution } = await this.client.events.conversion({
      externalOrderId: id,
      amountCents: cents,
      occurredAt: new Date(at).toISOString(),
      ...(coded > 0 && { couponCode: CODES[coded - 1]! }),
      ...name,
    })
    const method = coded > 0 ? 'COUPON' : bound > 0 ? 'CONNECTED_CUSTOMER' : null
    expect([attribution.affiliateId, attribution.method]).toEqual([this.#affiliateIds[affiliate - 1] ?? null, method])
    if (affiliate === 0) return
    const ordered = customer ?? (who > 0 ? this.#create(name) : undefined)
    if (ordered) this.#complete(ordered, name, byAddress)
    const isFirst = !this.orders.some((one) => one.customer === ordered && isCredited(one))
    if (ordered && this.lifetimeCommission && decided.bps !== null && bound === 0 && isFirst)
      ordered.affiliate = affiliate
    const known = { id, at, customer: ordered, affiliate, cents, refunds: new Map(), ...decided }
    this.orders.push(known)
    await this.#check(known)
  }

  /** @param inForceAt the instant whose version of the terms counts, unless the customer keeps an earlier one */
  #decide({ at, customer, affiliate, cents }: Pick<Known, 'at' | 'customer' | 'affiliate' | 'cents'>, inForceAt = at) {
    const before = this.orders.filter((order) => order.at < at && isCredited(order))
    const own = customer ? before.filter((order) => order.customer === customer) : []
    const firstAt = own.length > 0 ? Math.min(...own.map((order) => order.at)) : undefined
    const versionAt = (instant: number) => this.versions.findLastIndex(({ createdAt }) => createdAt <= instant)
    const first = firstAt === undefined ? undefined : versionAt(firstAt)
    const keeps = first !== undefined && this.versions[first]!.appliesTo === 'CUSTOMERS'
    const version = keeps ? first : versionAt(inForceAt)
    const { rules, holdDays } = this.versions[version]!
    const won = before.filter((order) => order.affiliate === affiliate)
    const localMonth = (instant: number) => new Date(local(instant, this.zone)).toISOString().slice(0, 7)
    const ofPeriod = (name: string) =>
      won.filter((order) => name === 'ALL_TIME' || localMonth(order.at) === localMonth(at))
    const month = firstAt === undefined ? 0 : monthOf(firstAt, at, this.zone)
    const within = ({ from = 0, to = Number.POSITIVE_INFINITY }: { from?: number; to?: number }, value: number) =>
      value >= from && value <= to
    const holds = ({ when: asked }: Terms['rules'][number]) =>
      within(asked.customerOrder ?? {}, own.length + 1) &&
      within(asked.customerMonth ?? {}, month) &&
      within(asked.orderSubtotalCents ?? {}, cents) &&
      (!asked.affiliateOrders || within(asked.affiliateOrders, ofPeriod(asked.affiliateOrders.period).length)) &&
      (!asked.affiliateRevenueCents ||
        within(
          asked.affiliateRevenueCents,
          ofPeriod(asked.affiliateRevenueCents.period).reduce((sum, order) => sum + order.cents, 0),
        ))
    const index = rules.findIndex(holds)
    const rule = rules[index]
    return {
      version: version + 1,
      rule: rule ? index : null,
      bps: rule ? (rule.commissionPercent === null ? null : rule.commissionPercent * 100) : RATE,
      cap: rule?.maxCommissionCents ?? Number.POSITIVE_INFINITY,
      holdDays,
    }
  }

  /** The commission is the share of what is left; a capped one is the share of the cap. */
  async #check(known: Known): Promise<number> {
    const { bps, cap, cents } = known
    const left = cents - refundedOf(known)
    const share = (of: number) => half(BigInt(of) * BigInt(bps ?? 0), 10_000n)
    const capped = share(cents) > cap ? half(BigInt(cap) * BigInt(left), BigInt(cents)) : Number.POSITIVE_INFINITY
    const amount = left === 0 ? 0 : Math.min(share(left), capped)
    const { data } = await this.client.commissions.list({ externalOrderId: known.id })
    const { orderStatus, commissionAmountCents, termsVersion, termsRule, availableAt, restrictionReasonCode } = data[0]!
    const status = bps === null ? 'REJECTED' : left === 0 ? 'REFUNDED' : 'APPROVED'
    expect({
      known,
      orderStatus,
      commissionAmountCents,
      termsVersion,
      termsRule,
      availableAt,
      restrictionReasonCode,
    }).toEqual({
      known,
      orderStatus: status,
      commissionAmountCents: amount,
      termsVersion: known.version,
      termsRule: known.rule,
      availableAt: new Date(known.at + known.holdDays * DAY).toISOString(),
      restrictionReasonCode: bps === null ? 'TERMS_NOT_MET' : null,
    })
    return amount
  }

  /** Every order to the cent, its replay, and what is on hold. */
  async check(): Promise<void> {
    const sums = { approved: 0, held: 0 }
    for (const known of this.orders) {
      const amount = await this.#check(known)
      sums.approved += amount
      if (known.holdDays > 0 && known.at + known.holdDays * DAY > this.server.clock.ms) sums.held += amount
      const { replay } = await expectOk(this.owner('GET', `/orders/${known.id}/explanation`))
      expect([known.id, replay.identical]).toEqual([known.id, true])
    }
    for (let index = 1; index <= CUSTOMERS; index++) await this.#checkCustomer(`c-${index}`)
    const { data } = await this.client.affiliates.list()
    const balances = await Promise.all(data.map(({ id }) => this.client.affiliates.balance(id)))
    const all = balances.flatMap((one) => one.balances)
    expect(all.reduce((total, { approvedCents }) => total + approvedCents, 0)).toBe(sums.approved)
    expect(all.reduce((total, one) => total + (one.onHoldCents ?? 0), 0)).toBe(sums.held)
  }

  /** The binding, the orders that count, and that nothing is earned once the commission has ended. */
  async #checkCustomer(customerId: string): Promise<void> {
    const { customer } = this.#identify({ customerId })
    const { data } = await this.client.customers.list({ customerId })
    const own = this.orders.filter((order) => customer && order.customer === customer && isCredited(order))
    const firstAt = own.length > 0 ? Math.min(...own.map(({ at }) => at)) : null
    const { affiliateId, orders, firstOrderAt, commissionEndsAt } = data[0] ?? {}
    const stored = customer && [
      this.#affiliateIds[customer.affiliate - 1] ?? null,
      own.length,
      firstAt && new Date(firstAt).toISOString(),
    ]
    expect(data.length > 0 ? [affiliateId, orders, firstOrderAt] : undefined).toEqual(stored)
    if (!customer || !commissionEndsAt || firstAt === null) return
    const end = Date.parse(commissionEndsAt)
    const at = Math.max(end, firstAt + 1)
    const { bps } = this.#decide({ at, customer, affiliate: customer.affiliate, cents: 100 }, LAST)
    expect([customerId, commissionEndsAt, bps]).toEqual([customerId, commissionEndsAt, null])
  }
}

/** Random histories of orders, customers, refunds and terms agree with a model that knows nothing of the engine. */
export async function checkHistories(server: TestServer, numRuns: number, seed?: number): Promise<void> {
  const steps = fc.array(step, { minLength: 4, maxLength: 24 })
  const setting = fc.record({ zone: fc.constantFrom(...ZONES), lifetimeCommission: fc.boolean() })
  const property = fc.asyncProperty(setting, terms, steps, async (given, initial, taken) => {
    server.clock.ms = LAST
    const history = new History(server, await server.createShop(), given)
    await history.open()
    for (const one of [{ do: 'terms' as const, terms: initial }, ...taken]) await history.take(one)
    await history.check()
  })
  await fc.assert(property, { numRuns, ...(seed && { seed }) })
}

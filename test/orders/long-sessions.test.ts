// Full: it stores thousands of clicks.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { insertRows, rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { type Client, type Owner, test } from '../support/test.ts'

const MINUTE = 60_000
const DAY = 86_400_000

/** An affiliate, or null for a reference that nobody owns, with the days a click on it counts. */
interface Person {
  id: string | null
  days: number
}

interface Click extends Person {
  clickId: string
  at: number
}

let people: Person[]
/** A program with a click window of 7 days, and its many affiliates. */
let short: string
let others: string[]
test.beforeAll(async ({ server, client }) => {
  const withCookie = async (cookieDurationDays: number) => {
    const { id: campaignId } = await client.programs.create({ name: 'P', cookieDurationDays })
    if (cookieDurationDays === 7) short = campaignId
    return { id: (await newAffiliate(server, { campaignId })).id, days: cookieDurationDays }
  }
  people = [
    await withCookie(30),
    await withCookie(7),
    await withCookie(7),
    await withCookie(0),
    { id: null, days: 30 },
    // Without a program: the default of 30 days applies.
    { id: (await newAffiliate(server)).id, days: 30 },
  ]
  updateRows(server, 'affiliates', { campaignId: null }, { id: people[5]!.id! })
  const row = rowOf(server, 'affiliates', { id: people[1]!.id! })
  const copies = Array.from({ length: 120 }, (_, i) => ({ emailKey: `x${i}`, codeKey: `x${i}`, slug: `x${i}` }))
  insertRows(
    server,
    'affiliates',
    copies.map((copy, i) => ({ ...row, id: `${row.id}-${i}`, ...copy })),
  )
  others = rowsOf(server, 'affiliates', { campaignId: short }).map(({ id }) => id)
})

const iso = (ms: number) => new Date(ms).toISOString()
let count = 0

/** Consecutive clicks on one reference. */
interface Run {
  who: number
  clicks: number
  /** From the order on, in milliseconds. */
  from: number
  step: number
}

const runs = fc.array(
  fc.record({
    who: fc.nat(5),
    clicks: fc.integer({ min: 1, max: 160 }),
    from: fc.oneof(
      fc.integer({ min: -40 * DAY, max: 10 * MINUTE }),
      // At the ends of the windows.
      fc.constantFrom(-30 * DAY - 1, -30 * DAY, -7 * DAY - 1, -7 * DAY, 0, 5 * MINUTE, 5 * MINUTE + 1),
    ),
    step: fc.constantFrom(0, 1, MINUTE, DAY / 4),
  }),
  { minLength: 1, maxLength: 6 },
)

/** Inserts the clicks of a session: reporting them would take thousands of requests. */
function store(server: TestServer, sessionId: string, all: Click[]): void {
  const { shopId } = server.shop
  const rows = all.map(({ id: affiliateId, clickId, at }, n) => {
    const times = { occurredAt: iso(at), createdAt: iso(at) }
    return { id: `jrn_${sessionId}_${n}`, shopId, sessionId, clickId, affiliateId, type: 'click', ...times } as const
  })
  insertRows(server, 'journey', rows)
}

const clicksOf = (sessionId: string, orderAt: number, given: Run[]): Click[] =>
  given.flatMap(({ who, clicks, from, step }, run) =>
    Array.from({ length: clicks }, (_, n) => {
      // Not sorted by time: equal times are ordered by click id.
      const hash = createHash('sha256').update(`${sessionId} ${run} ${n}`).digest('hex').slice(0, 16)
      return { ...people[who]!, clickId: `c-${hash}`, at: orderAt + from + n * step }
    }),
  )

const counts = ({ id, days, at }: Click, orderAt: number) =>
  id !== null && days > 0 && at >= orderAt - days * DAY && at <= orderAt + 5 * MINUTE

/** The click that wins according to the rules. */
function expected(clicks: Click[], orderAt: number, touch: 'FIRST' | 'LAST') {
  const valid = clicks
    .filter((click) => counts(click, orderAt))
    .sort((a, b) => a.at - b.at || (a.clickId < b.clickId ? -1 : 1))
  const won = valid.at(touch === 'FIRST' ? 0 : -1)
  return won ? [won.id, won.clickId] : [null, undefined]
}

async function winner(client: Client, sessionId: string, orderAt: number) {
  const order = { externalOrderId: `o-${++count}`, amountCents: 10_000, sessionId, occurredAt: iso(orderAt) }
  const { attribution, trace } = await client.events.dryRun(order)
  return [attribution.affiliateId, trace.candidates.find(({ won }) => won)?.value]
}

const prefer = (owner: Owner, clickTouch: 'FIRST' | 'LAST') => expectOk(owner('PATCH', '/settings', { clickTouch }))

describe.each(['FIRST', 'LAST'] as const)('clickTouch %s', (touch) => {
  test.beforeAll(({ owner }) => prefer(owner, touch))

  test('is exact in sessions of any length, for any affiliates', async ({ server, client }) => {
    const property = fc.asyncProperty(runs, async (given) => {
      const sessionId = `s-${++count}`
      const orderAt = server.clock.ms
      const all = clicksOf(sessionId, orderAt, given)
      store(server, sessionId, all)
      expect(await winner(client, sessionId, orderAt)).toEqual(expected(all, orderAt, touch))
    })
    await fc.assert(property, { numRuns: 60, seed: 20_261_102, endOnFailure: true })
  })

  test.for([
    ['of a program with a shorter cookie', 1],
    ['of a program without a cookie', 3],
    ['of nobody', 4],
  ])('is exact between hundreds of clicks that do not count: %s', async ([_, who], { server, client }) => {
    const sessionId = `s-${++count}`
    const orderAt = server.clock.ms
    const expired = who === 1 ? -29 * DAY : -6 * DAY
    const all = clicksOf(sessionId, orderAt, [
      { who, clicks: 150, from: expired, step: MINUTE },
      { who: 0, clicks: 2, from: expired + DAY / 2, step: MINUTE },
      { who, clicks: 150, from: expired + DAY, step: MINUTE },
    ])
    store(server, sessionId, all)
    const [id, clickId] = await winner(client, sessionId, orderAt)
    expect([id, clickId]).toEqual(expected(all, orderAt, touch))
    expect(id).toBe(people[0]?.id)
  })

  test('is exact with clicks on more affiliates than fit on a page', async ({ server, client }) => {
    const sessionId = `s-${++count}`
    const orderAt = server.clock.ms
    const many = others.map((id, n) => ({ id, days: 7, clickId: `c-${n}`, at: orderAt - 20 * DAY + n }))
    const [first, last] = [-15 * DAY, -14 * DAY].map((ms, n) => ({
      ...people[0]!,
      clickId: `kept-${n}`,
      at: orderAt + ms,
    }))
    const all = [
      ...many,
      first!,
      last!,
      ...many.map((one) => ({ ...one, clickId: `${one.clickId}b`, at: one.at + 10 * DAY })),
    ]
    store(server, sessionId, all)
    expect(await winner(client, sessionId, orderAt)).toEqual([people[0]?.id, touch === 'FIRST' ? 'kept-0' : 'kept-1'])
  })
})

import { text } from 'node:stream/consumers'
import { admit, answer, type Caller, hashOf, KEY_SQL, listen, open } from './contract.ts'
import {
  type Conversion,
  emailHashes,
  factsOf,
  fingerprintOf,
  type Gathered,
  INSERTED,
  type Link,
  orderOf,
  record,
} from './order.ts'

/**
 * The floor of a conversion: the same reads, the same seven rows, synchronous=FULL, statements prepared by hand. All
 * orders of a turn of the event loop share a transaction; with `SINGLE` each has its own.
 */
const database = open()
const sql = <Row = unknown>(text: string) => database.prepare<unknown[], Row>(text)
const insert = (table: keyof typeof INSERTED) => {
  const names = INSERTED[table].split(' ')
  return sql(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => '?')})`)
}
const findKey = sql<Caller>(`${KEY_SQL} +?`)
const findStoredResponse = sql<{ fingerprint: string; result: string }>(
  'select fingerprint, result from "idempotencyKeys" where "shopId" = +? and key = +?',
)
const findOrder = sql<{ commissionId: string }>(
  'select "commissionId" from orders where "shopId" = +? and "orderId" = +?',
)
const findAffiliate = sql<NonNullable<Gathered['affiliate']>>(
  'select id, email, status, "deletedAt", "campaignId" from affiliates where "shopId" = +? and "codeKey" = +?',
)
const findCustomer = sql<{ id: string; affiliateId: string | null }>(
  'select id, "affiliateId" from customers where "shopId" = +? and "emailHash" = +?',
)
const findProgram = sql<NonNullable<Gathered['program']>>(
  'select id, "commissionType", "defaultCommissionBps" rate, "cookieDurationDays", "autoApproveOrder", "lifetimeCommission" from programs where "shopId" = +? and id = +?',
)
const findGeo = sql('select * from "geoRules" where "shopId" = +? and "programId" = +?')
const findHead = sql<Link>('select seq, hash from "auditHeads" where "shopId" = +?')
const storeHead = sql(`insert into "auditHeads" ("shopId", seq, hash, "eventId") values (?, ?, ?, ?)
  on conflict ("shopId") do update set seq = excluded.seq, hash = excluded.hash, "eventId" = excluded."eventId"`)
const findTakers = sql<{ id: string; events: string }>('select id, events from subscriptions where "shopId" = +?')
const insertCommission = insert('commissions')
const insertCustomer = insert('customers')
const insertOrder = insert('orders')
const insertJourney = insert('journey')
const insertAudit = insert('audits')
const insertEvent = insert('webhookEvents')
const insertDelivery = insert('deliveries')
const insertReply = insert('idempotencyKeys')

interface Answer {
  status: number
  body: unknown
}

function recordOnce(caller: Caller, key: string, body: Conversion): Answer {
  const { shopId } = caller
  const stored = findStoredResponse.get(shopId, key)
  if (stored)
    return stored.fingerprint === fingerprintOf(body)
      ? { status: 201, body: JSON.parse(stored.result).reply }
      : { status: 409, body: { error: 'reused' } }
  if (findOrder.get(shopId, `api:${body.externalOrderId}`)) return { status: 409, body: { error: 'recorded' } }
  const at = new Date().toISOString()
  const order = orderOf(body, at)
  const affiliate = findAffiliate.get(shopId, body.couponCode.toLowerCase())
  const program = affiliate && findProgram.get(shopId, affiliate.campaignId)
  if (program) findGeo.get(shopId, program.id)
  const customer = findCustomer.get(shopId, emailHashes(caller, body).emailHash)
  const facts = factsOf(caller, order, { affiliate, customer, program })
  const last = heads.get(shopId) ?? findHead.get(shopId) ?? { seq: 0, hash: '' }
  const takers = findTakers.all(shopId)
  const { rows, deliveries, link, eventId, reply } = record({
    caller,
    key,
    body,
    order,
    facts,
    customer,
    at,
    last,
    takers,
  })
  if (rows.customers) insertCustomer.run(rows.customers)
  insertCommission.run(rows.commissions)
  insertOrder.run(rows.orders)
  insertJourney.run(rows.journey)
  insertAudit.run(rows.audits)
  insertEvent.run(rows.webhookEvents)
  for (const delivery of deliveries) insertDelivery.run(delivery)
  insertReply.run(rows.idempotencyKeys)
  heads.set(shopId, { ...link, eventId })
  return { status: 201, body: reply }
}

const begin = sql('begin immediate')
const commit = sql('commit')
/** The heads of the audit chains that the open transaction has moved. */
const heads = new Map<string, Link & { eventId: string }>()
let group: { work: () => Answer; done: (answer: Answer) => void }[] = []

/** One transaction, one fsync; any failure fails the whole group. */
function flush(): void {
  const jobs = group
  group = []
  begin.run()
  const answers = jobs.map(({ work }) => work())
  for (const [shopId, { seq, hash, eventId }] of heads) storeHead.run(shopId, seq, hash, eventId)
  heads.clear()
  commit.run()
  for (const [n, { done }] of jobs.entries()) done(answers[n] as Answer)
}

export const findCaller = async (secretHash: string): Promise<Caller | undefined> => findKey.get(secretHash)

export const convert = (caller: Caller, key: string, body: Conversion): Promise<Answer> =>
  new Promise((done) => {
    group.push({ work: () => recordOnce(caller, key, body), done })
    if (process.env.SINGLE) flush()
    else if (group.length === 1) setImmediate(flush)
  })

export const close = async (): Promise<void> => void database.close()

if (import.meta.main)
  listen(async (request, response) => {
    const caller = findKey.get(hashOf(request))
    if (!admit(response, caller, 'events:write')) return
    const key = request.headers['idempotency-key'] as string
    const { status, body } = await convert(caller, key, JSON.parse(await text(request)))
    answer(response, status, body)
  })

import { text } from 'node:stream/consumers'
import { admit, answer, type Caller, hashOf, KEY_SQL, listen, open } from './contract.ts'
import {
  auditOf,
  type Conversion,
  decide,
  factsOf,
  fingerprintOf,
  type Gathered,
  INSERTED,
  type Link,
  newId,
  orderOf,
  replyOf,
  serializeFacts,
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
const findConnection = sql<{ affiliateId: string }>(
  `select "affiliateId" from connections where "shopId" = +? and kind = 'customerEmail' and value = +?`,
)
const findProgram = sql<NonNullable<Gathered['program']>>(
  'select id, "commissionType", "defaultCommissionBps" rate, "cookieDurationDays", "autoApproveOrder", "lifetimeCommission" from programs where "shopId" = +? and id = +?',
)
const findGeo = sql('select * from "geoRules" where "shopId" = +? and "programId" = +?')
const findHead = sql<Link>('select seq, hash from "auditHeads" where "shopId" = +?')
const storeHead = sql(`insert into "auditHeads" ("shopId", seq, hash, "eventId") values (?, ?, ?, ?)
  on conflict ("shopId", generation) do update set seq = excluded.seq, hash = excluded.hash, "eventId" = excluded."eventId"`)
const findTakers = sql<{ id: string; events: string }>('select id, events from subscriptions where "shopId" = +?')
const insertCommission = insert('commissions')
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

function record(caller: Caller, key: string, body: Conversion): Answer {
  const { shopId } = caller
  const fingerprint = fingerprintOf(body)
  const stored = findStoredResponse.get(shopId, key)
  if (stored)
    return stored.fingerprint === fingerprint
      ? { status: 201, body: JSON.parse(stored.result) }
      : { status: 409, body: { error: 'reused' } }
  const orderId = `api:${body.externalOrderId}`
  if (findOrder.get(shopId, orderId)) return { status: 409, body: { error: 'recorded' } }
  const at = new Date().toISOString()
  const order = orderOf(body, at)
  const affiliate = findAffiliate.get(shopId, body.couponCode.toLowerCase())
  const program = affiliate && findProgram.get(shopId, affiliate.campaignId)
  if (program) findGeo.get(shopId, program.id)
  const connection = findConnection.get(shopId, body.customerEmail.toLowerCase())?.affiliateId ?? null
  const facts = factsOf(caller, order, { affiliate, connection, program })
  const decision = decide(facts)
  const id = newId('com')
  const {
    attribution: by,
    commissionType,
    baseCents,
    rateBps,
    amountCents,
    taxWithheldCents,
    subtotalCents,
    status,
  } = decision
  insertCommission.run(
    id,
    shopId,
    by.affiliateId,
    program?.id,
    order.externalOrderId,
    orderId,
    body.orderName,
    order.currency,
    order.currency,
    commissionType,
    baseCents,
    baseCents,
    rateBps,
    amountCents,
    taxWithheldCents,
    subtotalCents,
    0,
    0,
    0,
    'API',
    by.method,
    by.reasonCode,
    status,
    at,
    at,
    at,
    1,
  )
  insertOrder.run(
    shopId,
    orderId,
    id,
    at,
    body.orderName,
    order.currency,
    subtotalCents,
    serializeFacts(facts),
    JSON.stringify(decision),
    at,
    at,
  )
  insertJourney.run(
    newId('jrn'),
    shopId,
    'conversion',
    at,
    by.affiliateId,
    program?.id,
    order.customerEmail,
    order.customerEmail?.toLowerCase(),
    order.externalOrderId,
    orderId,
    id,
    at,
  )
  const last = heads.get(shopId) ?? findHead.get(shopId) ?? { seq: 0, hash: '' }
  const values = [
    newId('aud'),
    `key:${caller.keyId}`,
    'commission.created',
    id,
    JSON.stringify({ orderId, amountCents, status }),
    newId('req'),
    at,
  ]
  const { seq, hash } = auditOf(last, values)
  insertAudit.run(shopId, seq, ...values, last.hash, hash)
  heads.set(shopId, { seq, hash })
  enqueue(shopId, at, { id, affiliateId: by.affiliateId, orderId, amountCents, status })
  const reply = replyOf(decision, id)
  insertReply.run(shopId, key, fingerprint, JSON.stringify(reply), at)
  return { status: 201, body: reply }
}

function enqueue(shopId: string, at: string, data: unknown): void {
  const event = 'commission.created'
  const takers = findTakers.all(shopId).filter(({ events }) => events === '[]' || JSON.parse(events).includes(event))
  const eventId = newId('evt')
  lastEvents.set(shopId, eventId)
  insertEvent.run(eventId, shopId, event, JSON.stringify({ event, timestamp: at, shop_id: shopId, data }), at)
  for (const taker of takers) {
    const id = newId('dlv')
    insertDelivery.run(id, shopId, eventId, taker.id, id, 'PENDING', 0, at)
  }
}

const begin = sql('begin immediate')
const commit = sql('commit')
/** The heads of the audit chains that the open transaction has moved. */
const heads = new Map<string, Link>()
const lastEvents = new Map<string, string>()
let group: { work: () => Answer; done: (answer: Answer) => void }[] = []

/** One transaction, one fsync; any failure fails the whole group. */
function flush(): void {
  const jobs = group
  group = []
  begin.run()
  const answers = jobs.map(({ work }) => work())
  for (const [shopId, { seq, hash }] of heads) storeHead.run(shopId, seq, hash, lastEvents.get(shopId) ?? '')
  heads.clear()
  commit.run()
  for (const [n, { done }] of jobs.entries()) done(answers[n] as Answer)
}

listen(async (request, response) => {
  const caller = findKey.get(hashOf(request))
  if (!admit(response, caller, 'events:write')) return
  const key = request.headers['idempotency-key'] as string
  const body: Conversion = JSON.parse(await text(request))
  group.push({ work: () => record(caller, key, body), done: ({ status, body }) => answer(response, status, body) })
  if (process.env.SINGLE) flush()
  else if (group.length === 1) setImmediate(flush)
})

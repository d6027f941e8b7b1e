import { createHash, randomUUID } from 'node:crypto'
import SQLite from 'better-sqlite3'
import Fastify from 'fastify'

/** Fastify and better-sqlite3 written by hand for speed: statements prepared once, one transaction for each order. */
const database = new SQLite((process.env.DATABASE_URL ?? '').slice('file:'.length))
const key = database.prepare<[string], { shopId: string }>('select "shopId" from "apiKeys" where "secretHash" = ?')
const count = database.prepare<[string], { total: number }>('select count(*) total from commissions where "shopId" = ?')
const list = database.prepare(
  'select * from commissions where "shopId" = ? order by "happenedAt" desc, id desc limit ?',
)
const known = database.prepare('select id from commissions where "shopId" = ? and "orderId" = ?')
const affiliate = database.prepare<[string, string], { id: string }>(
  'select id from affiliates where "shopId" = ? and "codeKey" = ?',
)
const insert = database.prepare(`
  insert into commissions (id, "shopId", "affiliateId", "orderId", currency, "orderCurrency", "commissionBaseCents", "commissionRateBps",
    "commissionAmountCents", "taxWithheldCents", "orderSubtotalCents", "orderDiscountCents", "orderShippingCents",
    "orderTaxCents", "trackingMethod", "orderStatus", "happenedAt", "createdAt", "updatedAt", version)
  values (?, ?, ?, ?, ?, ?, ?, 1600, ?, 0, ?, 0, 0, 0, 'API', 'APPROVED', ?, ?, ?, 1)`)

interface Order {
  externalOrderId: string
  couponCode: string
  currency: string
  amountCents: number
}

const record = database.transaction((shopId: string, order: Order) => {
  const orderId = `api:${order.externalOrderId}`
  const owner = affiliate.get(shopId, order.couponCode.toLowerCase())
  if (known.get(shopId, orderId) || !owner) return undefined
  const id = `com_${randomUUID()}`
  const at = new Date().toISOString()
  const earned = Math.round(order.amountCents * 0.16)
  insert.run(
    id,
    shopId,
    owner.id,
    orderId,
    order.currency,
    order.currency,
    order.amountCents,
    earned,
    order.amountCents,
    at,
    at,
    at,
  )
  return id
})

const app = Fastify()
app.decorateRequest('shopId', '')
app.addHook('onRequest', async (request, reply) => {
  const token = request.headers.authorization?.slice(7) ?? ''
  const found = key.get(createHash('sha256').update(token).digest('hex'))
  if (!found) return reply.code(403).send({ error: 'unknown key' })
  Object.assign(request, found)
})
app.get<{ Querystring: { limit?: string } }>('/api/v1/commissions', async (request) => {
  const { shopId } = request as unknown as { shopId: string }
  const limit = Number(request.query.limit ?? 20)
  const total = count.get(shopId)?.total ?? 0
  const data = list.all(shopId, limit)
  return { data, pagination: { page: 1, limit, total, totalPages: Math.ceil(total / limit) } }
})
app.post<{ Body: Order }>('/api/v1/events', async (request, reply) => {
  const { shopId } = request as unknown as { shopId: string }
  const id = record.immediate(shopId, request.body)
  return reply.code(id ? 201 : 409).send({ id })
})

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
console.log(`listening on http://127.0.0.1:${process.env.PORT}`)
process.once('SIGTERM', () => process.exit(0))

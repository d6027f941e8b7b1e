import { createHash, randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import SQLite from 'better-sqlite3'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { Kysely, SqliteDialect } from 'kysely'
import type { Tables } from '../../../server/src/database/tables.ts'

/** Hono and Kysely as in their manuals: a middleware that authenticates, queries built where they are needed. */
const database = new SQLite((process.env.DATABASE_URL ?? '').slice('file:'.length))
const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
const app = new Hono<{ Variables: { shopId: string } }>()

const authenticated = createMiddleware<{ Variables: { shopId: string } }>(async (c, next) => {
  const token = c.req.header('Authorization')?.slice(7) ?? ''
  const secretHash = createHash('sha256').update(token).digest('hex')
  const key = await db.selectFrom('apiKeys').selectAll().where('secretHash', '=', secretHash).executeTakeFirst()
  if (!key) return c.json({ error: 'unknown key' }, 403)
  c.set('shopId', key.shopId)
  await next()
})
app.use(authenticated)

app.get('/api/v1/commissions', async (c) => {
  const limit = Number(c.req.query('limit') ?? 20)
  const rows = db.selectFrom('commissions').where('shopId', '=', c.get('shopId'))
  const { total } = await rows.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const data = await rows.selectAll().orderBy('happenedAt', 'desc').orderBy('id', 'desc').limit(limit).execute()
  return c.json({ data, pagination: { page: 1, limit, total, totalPages: Math.ceil(total / limit) } })
})

app.post('/api/v1/events', async (c) => {
  const shopId = c.get('shopId')
  const body = await c.req.json()
  const id = `com_${randomUUID()}`
  const at = new Date().toISOString()
  const isNew = await db.transaction().execute(async (trx) => {
    const orderId = `api:${body.externalOrderId}`
    const known = await trx
      .selectFrom('commissions')
      .select('id')
      .where('shopId', '=', shopId)
      .where('orderId', '=', orderId)
      .executeTakeFirst()
    const affiliate = await trx
      .selectFrom('affiliates')
      .selectAll()
      .where('shopId', '=', shopId)
      .where('codeKey', '=', body.couponCode.toLowerCase())
      .executeTakeFirst()
    if (known || !affiliate) return false
    const cents = { orderDiscountCents: 0, orderShippingCents: 0, orderTaxCents: 0, taxWithheldCents: 0 }
    const money = { currency: body.currency, orderCurrency: body.currency, ...cents }
    const row = { id, shopId, orderId, affiliateId: affiliate.id, ...money, version: 1 }
    const amounts = {
      commissionBaseCents: body.amountCents,
      orderSubtotalCents: body.amountCents,
      commissionRateBps: 1600,
    }
    const rest = {
      trackingMethod: 'API',
      orderStatus: 'APPROVED',
      happenedAt: at,
      createdAt: at,
      updatedAt: at,
    } as const
    const commissionAmountCents = Math.round(body.amountCents * 0.16)
    await trx
      .insertInto('commissions')
      .values({ ...row, ...amounts, ...rest, commissionAmountCents } as never)
      .execute()
    return true
  })
  return c.json({ id }, isNew ? 201 : 409)
})

const port = Number(process.env.PORT)
serve({ fetch: app.fetch, hostname: '127.0.0.1', port }, () => console.log(`listening on http://127.0.0.1:${port}`))
process.once('SIGTERM', () => process.exit(0))

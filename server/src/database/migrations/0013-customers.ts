import { randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { ulid } from 'ulid'
import { type EmailHashes, hashEmail } from '../email-hash.ts'
import { required, schemaOf } from './0001-start/schema.ts'

/** Customers get their own rows. Until now, only their connections to affiliates were stored, with their addresses. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createTable(db)
  const { rows: shops } = await sql<{ id: string }>`select id from shops`.execute(db)
  for (const { id } of shops) {
    const key = randomBytes(32).toString('base64url')
    await sql`update shops set "emailHashKey" = ${key} where id = ${id}`.execute(db)
    await addOrders(db, id, key)
    await moveConnections(db, id, key)
  }
  await sql`delete from connections where kind in ('customerId', 'customerEmail')`.execute(db)
  await db.schema.dropIndex('journey_orders_customerId').execute()
  await db.schema.dropIndex('journey_orders_customerEmailKey').execute()
}

async function createTable(db: Kysely<unknown>): Promise<void> {
  const { text } = schemaOf(db)
  await db.schema
    .alterTable('shops')
    .addColumn('emailHashKey', text, (column) => column.notNull().defaultTo(''))
    .execute()
  await db.schema
    .createTable('customers')
    .addColumn('shopId', text, required)
    .addColumn('id', text, required)
    .addColumn('customerId', text)
    .addColumn('emailHash', text)
    .addColumn('mailboxHash', text)
    .addColumn('affiliateId', text)
    .addColumn('programId', text)
    .addColumn('boundAt', text)
    .addColumn('boundBy', text)
    .addColumn('importedOrders', 'bigint', required)
    .addColumn('importedFirstOrderAt', text)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('customers_pk', ['shopId', 'id'])
    .execute()
  for (const column of ['customerId', 'emailHash'])
    await db.schema
      .createIndex(`customers_shopId_${column}`)
      .unique()
      .on('customers')
      .columns(['shopId', column])
      .execute()
  const lists = { list: [], list_affiliateId: ['affiliateId'], list_programId: ['programId'] }
  for (const [name, columns] of Object.entries(lists))
    await db.schema
      .createIndex(`customers_${name}`)
      .on('customers')
      .columns(['shopId', ...columns, 'createdAt desc', 'id desc'])
      .execute()
  await db.schema
    .createIndex('customers_bound')
    .on('customers')
    .columns(['shopId', 'boundAt desc', 'id desc'])
    .where(sql.ref('affiliateId'), 'is not', null)
    .execute()
  await db.schema.alterTable('commissions').addColumn('customer', text).execute()
  await db.schema
    .createIndex('commissions_shopId_customer_happenedAt')
    .on('commissions')
    .columns(['shopId', 'customer', 'happenedAt', 'orderStatus'])
    .where(sql.ref('customer'), 'is not', null)
    .execute()
}

interface Named extends Partial<EmailHashes> {
  customerId?: string | undefined
}

interface Found extends Required<Named> {
  id: string
}

/** The customer with an ID, otherwise the one with this address and no other ID. */
async function findOrInsert(db: Kysely<unknown>, shopId: string, named: Named, createdAt: string): Promise<string> {
  const { customerId = null, emailHash = null, mailboxHash = null } = named
  const { rows } = await sql<Found>`select * from customers where "shopId" = ${shopId}
    and ("customerId" = ${customerId} or "emailHash" = ${emailHash})`.execute(db)
  const byEmail = rows.find((row) => row.emailHash === emailHash && emailHash !== null)
  const known =
    rows.find((row) => row.customerId === customerId && customerId !== null) ??
    (byEmail && (byEmail.customerId === null || customerId === null) ? byEmail : undefined)
  const isFree = byEmail === undefined
  if (known) return known.id
  const id = `cus_${ulid(Date.parse(createdAt))}`
  await sql`insert into customers ("shopId", id, "customerId", "emailHash", "mailboxHash", "importedOrders", "createdAt")
    values (${shopId}, ${id}, ${customerId}, ${isFree ? emailHash : null}, ${isFree ? mailboxHash : null}, 0, ${createdAt})`.execute(
    db,
  )
  return id
}

const PAGE_SIZE = 500

/** Adds the customers of orders that have a commission, earliest order first. */
async function addOrders(db: Kysely<unknown>, shopId: string, key: string): Promise<void> {
  for (let after = { orderAt: '', orderId: '' }; ; ) {
    const { rows } = await sql<{
      orderAt: string
      orderId: string
      commissionId: string | null
      createdAt: string
      facts: string
    }>`
      select "orderAt", "orderId", "commissionId", "createdAt", facts from orders where "shopId" = ${shopId}
        and ("orderAt", "orderId") > (${after.orderAt}, ${after.orderId}) order by "orderAt", "orderId" limit ${PAGE_SIZE}`.execute(
      db,
    )
    for (const { commissionId, createdAt, facts } of rows) {
      const { customerId, customerEmail } = JSON.parse(facts).order
      if (commissionId === null || !(customerId || customerEmail)) continue
      const named = { customerId: customerId || undefined, ...(customerEmail && hashEmail(key, customerEmail)) }
      const customer = await findOrInsert(db, shopId, named, createdAt)
      await sql`update commissions set customer = ${customer} where "shopId" = ${shopId} and id = ${commissionId}`.execute(
        db,
      )
    }
    const last = rows.at(-1)
    if (!last) return
    after = last
  }
}

/** Binds connected customers. Customers with orders were usually connected by their first order. */
async function moveConnections(db: Kysely<unknown>, shopId: string, key: string): Promise<void> {
  const { rows } = await sql<Record<'kind' | 'value' | 'affiliateId' | 'createdAt', string>>`
    select * from connections where "shopId" = ${shopId} and kind in ('customerId', 'customerEmail')
      order by "createdAt", id`.execute(db)
  for (const { kind, value, affiliateId, createdAt } of rows) {
    const named = kind === 'customerId' ? { customerId: value } : hashEmail(key, value)
    const id = await findOrInsert(db, shopId, named, createdAt)
    await sql`update customers set "affiliateId" = ${affiliateId}, "boundAt" = ${createdAt},
      "programId" = (select "campaignId" from affiliates where "shopId" = ${shopId} and id = ${affiliateId}),
      "boundBy" = case when exists (select 1 from commissions where "shopId" = ${shopId} and customer = ${id})
        then 'ORDER' else 'OWNER' end
      where "shopId" = ${shopId} and id = ${id} and "affiliateId" is null`.execute(db)
  }
}

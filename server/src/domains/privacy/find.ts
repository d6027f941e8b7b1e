import type { Context } from '../../core/context.ts'
import { createPause, yieldToEventLoop } from '../../database/event-loop.ts'
import type { TableName } from '../../database/personal-data.ts'
import { pagesOf, type Row } from '../../database/table-keys.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { addressesOf, type Buyer, isBuyer } from './concern.ts'
import type { Person } from './person.ts'

/** Rows read at a time, so that other requests wait for milliseconds only. */
const PAGE_SIZE = 100

/** The rows of a shop, a page at a time. Stops when the server does. */
export async function* pages(ctx: Context, table: TableName): AsyncGenerator<Row[], void> {
  for await (const rows of pagesOf(ctx.db.read, table, { shopId: ctx.shop.id, limit: PAGE_SIZE })) {
    ctx.stopping.throwIfAborted()
    yield rows
    await yieldToEventLoop()
  }
}

const BUYERS: TableName[] = ['orders', 'journey']

const buyerIn = (table: TableName, row: Row): Buyer =>
  table === 'orders' ? JSON.parse(String(row.facts)).order : (row as Buyer)

function addIds(person: Person, buyer: Buyer): void {
  if (!addressesOf(buyer).some((email) => person.hasAddress(email))) return
  if (buyer.customerId) person.customerIds.add(buyer.customerId)
  if (buyer.sessionId) person.sessionIds.add(buyer.sessionId)
}

/** Customers are stored with a hash instead of their address. */
function addCustomer(person: Person, { customerId, mailboxHash }: Row): void {
  if (customerId && mailboxHash && mailboxHash === person.mailboxHash) person.customerIds.add(String(customerId))
}

function removeCustomerOfOthers(person: Person, { customerId, mailboxHash }: Row): void {
  if (mailboxHash && mailboxHash !== person.mailboxHash) person.customerIds.delete(String(customerId))
}

function removeIdsOfOthers(person: Person, buyer: Buyer): void {
  const addresses = addressesOf(buyer)
  if (addresses.length === 0 || addresses.some((email) => person.hasAddress(email)) || !isBuyer(person, buyer)) return
  if (buyer.customerId) person.customerIds.delete(buyer.customerId)
  if (buyer.sessionId) person.sessionIds.delete(buyer.sessionId)
}

/** One reading of a table that adds to what is known about a person. */
export interface IdPass {
  table: TableName
  visit: (person: Person, row: Row) => void
}

/**
 * What finds the affiliates of a person, and the customer ids and sessions that belong to the person alone, in this order:
 * an id that other addresses have too, such as that of all guests, identifies nobody.
 */
export const ID_PASSES: IdPass[] = [
  {
    table: 'affiliates',
    visit: (person, { id, email, slug, discountCode }) => {
      if (!person.hasAddress(String(email))) return
      person.affiliateIds.add(String(id))
      person.codes.add(codeKey(String(slug))).add(codeKey(String(discountCode)))
    },
  },
  {
    table: 'affiliateAliases',
    visit: (person, { affiliateId, value }) => {
      if (person.affiliateIds.has(String(affiliateId))) person.codes.add(codeKey(String(value)))
    },
  },
  ...BUYERS.map((table) => ({ table, visit: (person: Person, row: Row) => addIds(person, buyerIn(table, row)) })),
  { table: 'customers', visit: addCustomer },
  ...BUYERS.map((table) => ({
    table,
    visit: (person: Person, row: Row) => {
      if (person.customerIds.size + person.sessionIds.size > 0) removeIdsOfOthers(person, buyerIn(table, row))
    },
  })),
  { table: 'customers', visit: removeCustomerOfOthers },
]

/** Finds the ids of a person. */
export async function findIds(ctx: Context, person: Person): Promise<void> {
  const pause = createPause()
  for (const { table, visit } of ID_PASSES)
    for await (const rows of pages(ctx, table))
      for (const row of rows) {
        await pause()
        visit(person, row)
      }
}

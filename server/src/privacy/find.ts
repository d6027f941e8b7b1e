import type { Context } from '../core/context.ts'
import { yieldToEventLoop } from '../database/event-loop.ts'
import { pagesOf, type Row, type TableName } from '../database/table-keys.ts'
import { codeKey } from '../engine/affiliate-codes.ts'
import { addressesOf, isBuyer } from './concern.ts'
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

/** How long the rows of a page may block the event loop: orders can have a thousand lines. */
const MAX_BLOCKING_MS = 10

/** Lets other requests proceed once in a while. */
export function createPause(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < MAX_BLOCKING_MS) return
    await yieldToEventLoop()
    since = performance.now()
  }
}

interface Buyer {
  customerEmail?: string | null
  otherEmails?: string[]
  customerId?: string | null
  sessionId?: string | null
}

async function* buyers(ctx: Context): AsyncGenerator<Buyer, void> {
  const pause = createPause()
  for await (const rows of pages(ctx, 'orders'))
    for (const { facts } of rows) {
      await pause()
      yield JSON.parse(String(facts)).order
    }
  for await (const rows of pages(ctx, 'journey')) yield* rows as Buyer[]
}

/**
 * Finds the affiliates of a person, and the customer ids and sessions that belong to the person alone: an id that other
 * addresses have too, such as that of all guests, identifies nobody.
 */
export async function findIds(ctx: Context, person: Person): Promise<void> {
  for await (const rows of pages(ctx, 'affiliates'))
    for (const { id, slug, discountCode } of rows.filter((row) => person.hasAddress(String(row.email)))) {
      person.affiliateIds.add(String(id))
      person.codes.add(codeKey(String(slug))).add(codeKey(String(discountCode)))
    }
  for await (const rows of pages(ctx, 'affiliateAliases'))
    for (const { affiliateId, value } of rows)
      if (person.affiliateIds.has(String(affiliateId))) person.codes.add(codeKey(String(value)))
  const { customerIds, sessionIds } = person
  for await (const buyer of buyers(ctx)) {
    if (!addressesOf(buyer).some((email) => person.hasAddress(email))) continue
    if (buyer.customerId) customerIds.add(buyer.customerId)
    if (buyer.sessionId) sessionIds.add(buyer.sessionId)
  }
  if (customerIds.size + sessionIds.size === 0) return
  for await (const buyer of buyers(ctx)) {
    const addresses = addressesOf(buyer)
    if (addresses.length === 0 || addresses.some((email) => person.hasAddress(email)) || !isBuyer(person, buyer))
      continue
    if (buyer.customerId) customerIds.delete(buyer.customerId)
    if (buyer.sessionId) sessionIds.delete(buyer.sessionId)
  }
}

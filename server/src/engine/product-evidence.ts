import { hit, miss } from './candidate.ts'
import type { Candidate, Facts, OrderLine } from './facts.ts'
import type { Goods } from './goods.ts'
import { affiliateOf } from './people.ts'

/** What one line of an order is connected by. */
interface Connection {
  source: 'variantId' | 'productId'
  value: string
  affiliateId: string | null
}

/**
 * Evidence CONNECTED_PRODUCT, one entry for each distinct product or variant: first those of the affiliate with the
 * highest matched line total (a tie goes to the lowest affiliate id), last those that nobody is connected to.
 */
export function productEvidence(facts: Facts, goods: Goods): Candidate[] {
  const connections = facts.order.lines.map((line) => connectionOf(facts, line))
  const totals = new Map<string, number>()
  connections.forEach((connection, index) => {
    const id = connection?.affiliateId
    if (id) totals.set(id, (totals.get(id) ?? 0) + goods.gross[index]!)
  })
  const distinct = new Map(connections.flatMap((found) => (found ? [[`${found.source}:${found.value}`, found]] : [])))
  return [...distinct.values()].sort((a, b) => byTotal(totals, a.affiliateId, b.affiliateId)).map(candidateOf)
}

/** Indexes of the lines that are connected to an affiliate: the only ones CONNECTED_PRODUCT pays on. */
export function connectedLines(facts: Facts, affiliateId: string): number[] {
  return facts.order.lines.flatMap((line, index) =>
    connectionOf(facts, line)?.affiliateId === affiliateId ? [index] : [],
  )
}

/** The variant's connection wins over the product's; ids are compared exactly. */
function connectionOf(facts: Facts, line: OrderLine): Connection | null {
  const variant = line.variantId ? named(facts, 'variantId', line.variantId) : null
  const product = line.productId ? named(facts, 'productId', line.productId) : null
  return variant?.affiliateId ? variant : product?.affiliateId ? product : (variant ?? product)
}

function named(facts: Facts, source: Connection['source'], value: string): Connection {
  const id = facts.matches.products[`${source === 'variantId' ? 'variant' : 'product'}:${value}`]
  return { source, value, affiliateId: affiliateOf(facts, id ?? null)?.id ?? null }
}

function byTotal(totals: Map<string, number>, a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return totals.get(b)! - totals.get(a)! || (a < b ? -1 : 1)
}

function candidateOf({ source, value, affiliateId }: Connection): Candidate {
  const from = { kind: 'CONNECTED_PRODUCT', source, value } as const
  return affiliateId === null ? miss(from, 'NO_MATCH') : hit(from, affiliateId, 'CONNECTED_PRODUCT_MATCH')
}

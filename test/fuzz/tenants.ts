import fc from 'fast-check'
import type { DocumentedOperation } from '../support/document.ts'
import { allTables } from '../support/inspect.ts'
import { type Call, callsOf } from './call.ts'
import { directCalls } from './direct.ts'
import type { FuzzWorld } from './world.ts'

type Row = Record<string, unknown>

/** Texts that only the first shop has: every text of its rows that is longer than a word. */
export interface Foreign {
  texts: string[]
  rows: () => string
  /** Everything that the other shop has sent. */
  sent: string
}

export function foreignTo({ server, stranger }: FuzzWorld): Foreign {
  const { shop } = server
  const ownRows = () => rowsOfShop(server, shop.shopId)
  // Anywhere in its rows: the audit of a test shop names the user of the live shop who created it.
  const strange = JSON.stringify(rowsOfShop(server, stranger.shopId))
  const isStrange = (text: string) => strange.includes(JSON.stringify(text).slice(1, -1))
  const texts = [...new Set(ownRows().flatMap(textsOf))].filter((text) => text.length >= 8 && !isStrange(text))
  return { texts: [...texts, shop.shopId], rows: () => JSON.stringify(ownRows()), sent: '' }
}

const rowsOfShop = (server: FuzzWorld['server'], shopId: string): Row[] =>
  allTables(server).flatMap(([table, rows]) =>
    rows
      .filter((row) => row[table === 'shops' ? 'id' : 'shopId'] === shopId)
      .map(({ lastUsedAt, ...row }) => row)
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  )

// Times, common words, and ids derived from what a caller sent.
const COMMON = /^\d{4}-\d\d-\d\d|^[a-z]+$|^[[{]|^(api|shopify):/i
const isOwn = (value: unknown): value is string =>
  typeof value === 'string' && !COMMON.test(value) && /[\d@/-]/.test(value)
const textsOf = (row: Row): string[] => Object.values(row).filter(isOwn)

/**
 * Calls of another shop with the ids of the first: a valid call for each parameter and id, then generated ones.
 *
 * @throws with the call that got through.
 */
export async function trespass(
  world: FuzzWorld,
  foreign: Foreign,
  op: DocumentedOperation,
  { numRuns, seed }: { numRuns: number; seed: number },
): Promise<number> {
  const before = foreign.rows()
  const direct = directCalls(op, world.ids)
  for (const call of direct) await attempt(world, foreign, { op, call })
  if (foreign.rows() !== before) throw new Error('rows of another shop were changed by a right call')
  const property = fc.asyncProperty(callsOf(op, world), (call) =>
    attempt(world, foreign, { op, call: { ...call, credential: 'foreign' } }),
  )
  await fc.assert(property, { numRuns, seed, endOnFailure: true })
  if (foreign.rows() !== before) throw new Error('rows of another shop were changed')
  return direct.length + numRuns
}

async function attempt(world: FuzzWorld, foreign: Foreign, { op, call }: { op: DocumentedOperation; call: Call }) {
  // Responses may contain what the caller has sent, and nothing else of the other shop.
  foreign.sent += `${decodeURIComponent(call.path)} ${JSON.stringify(call.query)} ${JSON.stringify(call.headers)} ${call.body}`
  const response = await world.send(op, call)
  const answer = `${await response.text()} ${JSON.stringify([...response.headers])}`
  const found = foreign.texts.filter((text) => answer.includes(text) && !foreign.sent.includes(text))
  const what = `answered ${response.status} to ${JSON.stringify(call)}`
  if (response.status >= 500) throw new Error(what)
  if (found.length > 0) throw new Error(`${what} and told ${found.join(', ')}`)
  if (response.status < 300 && namesForeign(op, call, world)) throw new Error(`${what}, which is another shop's`)
}

/** Whether the one thing that a call is about is another shop's; a filter with such an id returns an empty list instead. */
function namesForeign(op: DocumentedOperation, { path, query }: Call, { ids }: FuzzWorld): boolean {
  // The ids of orders are chosen by the caller.
  if (op.id === 'explainOrder') return false
  const isOf = (text: string) => ids.includes(text) && /^(aff|prg|com|bat|whs|key|con|rul|dlv)_01/.test(text)
  if (path !== op.path && decodeURIComponent(path).split('/').some(isOf)) return true
  return op.method !== 'GET' && query.some(([name, value]) => name === 'id' && isOf(value))
}

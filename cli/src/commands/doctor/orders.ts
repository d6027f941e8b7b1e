import type { Order, ReferralClient } from '@referral/sdk'
import { findColumn } from '../../csv/columns.ts'
import { readCsv } from '../../csv/parse.ts'
import { type ExitCode, exitCode, usageError } from '../../errors.ts'
import { counted } from '../../output/text.ts'
import { Progress } from '../../progress.ts'
import type { Run } from '../../run.ts'
import type { Check } from './checks.ts'

const MAX_IDS = 100_000
const PAGE_SIZE = 100
const COLUMNS = ['externalOrderId', 'orderId', 'order', 'orderNumber', 'orderNo', 'id', 'name']

const STATES = ['neverReported', 'nobody', 'canceled', 'credited'] as const

interface ComparedOrder {
  id: string
  state: (typeof STATES)[number]
  /** The stored ID. Null for an order that was never reported. */
  orderId: string | null
  reason: string | null
}

/** Compares a file's order IDs with the reported orders. */
export async function compareOrders(run: Run, file: string): Promise<ExitCode | undefined> {
  const ids = readIds(file)
  const client = (await run.client()).withOptions({ retryRateLimited: true })
  const { total } = (await client.orders.list({ limit: 1 })).pagination
  const pages = Math.ceil(total / PAGE_SIZE)
  const progress = new Progress(run.reporter, Math.min(ids.length, pages))
  const found = await (ids.length < pages ? findEach(client, ids, progress) : findInList(client, ids, progress))
  progress.end()
  const compared = ids.map((id) => compare(id, found.get(keyOf(id))))
  const counts = Object.fromEntries(
    STATES.map((state) => [state, compared.filter((one) => one.state === state).length]),
  ) as Record<ComparedOrder['state'], number>
  const rows = compared.filter(({ state, reason }) => state !== 'credited' || reason !== null)
  const { neverReported, nobody, canceled, credited } = counts
  const isComplete = neverReported === 0
  const detail = `${counted(ids.length, 'order')}: ${neverReported} never reported, ${nobody} credited to nobody, ${canceled} canceled, ${credited} credited`
  if (run.style.format === 'json' || run.style.format === 'ndjson') {
    const check: Check = { check: 'orders', result: isComplete ? 'ok' : 'failed', detail }
    run.printRecord({ healthy: isComplete, checks: [check], orders: { counts, rows } })
  } else {
    run.printRows(rows, ['state', 'id', 'orderId', 'reason'])
    run.reporter.info(detail)
  }
  return isComplete ? undefined : exitCode.partial
}

/** The IDs from a CSV file's ID column, or from a file with one ID per line. */
function readIds(file: string): string[] {
  const { header, rows } = readCsv(file)
  const column = findColumn(header, COLUMNS)
  if (column === undefined && header.length > 1)
    throw usageError(`${file} has no column of order ids.`, `Name it one of ${COLUMNS.join(', ')}.`)
  const texts =
    column === undefined
      ? [...header, ...rows.map(({ fields }) => fields[0]!)]
      : rows.map(({ cells }) => cells[column]!)
  const ids = [...new Set(texts.map((text) => text.trim()).filter(Boolean))]
  if (ids.length > MAX_IDS) throw usageError(`${file} has more than ${MAX_IDS} order ids.`, 'Split it.')
  return ids
}

async function findEach(client: ReferralClient, ids: string[], progress: Progress): Promise<Map<string, Order>> {
  const found = new Map<string, Order>()
  for (const externalOrderId of ids) {
    const { data } = await client.orders.list({ externalOrderId })
    const order = data.find(({ commissionId }) => commissionId !== null) ?? data[0]
    if (order) found.set(keyOf(externalOrderId), order)
    progress.step(client.rateLimit?.limit)
  }
  return found
}

/** Reads all orders, which takes fewer requests than one for each ID. */
async function findInList(client: ReferralClient, ids: string[], progress: Progress): Promise<Map<string, Order>> {
  const found = new Map<string, { order: Order; rank: number }>()
  const keys = new Set(ids.map(keyOf))
  let read = 0
  for await (const order of client.orders.list({ limit: PAGE_SIZE })) {
    const { orderId, externalOrderId, orderName, commissionId } = order
    // Same precedence as a lookup by ID: the stored ID, then the reported ID, then the name.
    for (const [at, text] of [orderId, externalOrderId, orderName ?? ''].entries()) {
      const key = keyOf(text)
      const rank = at * 2 + (commissionId === null ? 1 : 0)
      if (keys.has(key) && rank < (found.get(key)?.rank ?? Infinity)) found.set(key, { order, rank })
    }
    if (++read % PAGE_SIZE === 0) progress.step(client.rateLimit?.limit)
  }
  return new Map([...found].map(([id, { order }]) => [id, order]))
}

/** Stores put `#` before an order's name. */
const keyOf = (text: string) => text.normalize('NFC').replace(/^#/, '').trim()

function compare(id: string, order: Order | undefined): ComparedOrder {
  if (!order) return { id, state: 'neverReported', orderId: null, reason: null }
  const { orderId, commissionId, canceledAt, attribution, restrictionReasonCode } = order
  const isCredited = commissionId !== null
  const state = canceledAt ? 'canceled' : isCredited ? 'credited' : 'nobody'
  return { id, state, orderId, reason: isCredited ? restrictionReasonCode : attribution.reasonCode }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, conflict } from '../contract/errors.ts'
import type { Query } from '../contract/spec.ts'
import { type Context, type OwnerContext, systemClock } from '../core/context.ts'
import { bestEffort } from '../core/log.ts'
import { mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/database.ts'
import type { StreamRow } from '../database/tables.ts'
import { deliveryHeaders } from './delivery/headers.ts'
import { openSecret, sealSecret } from './delivery/secret.ts'
import * as streams from './queries.ts'
import { listRetainedStreams, type RetainedStream, updateStream } from './queries.ts'

/** How long one connection lasts. Its stream is retained for another hour, so that a client can resume it. */
const CONNECTION_MS = 3_600_000
const STREAM_RETENTION_MS = 2 * CONNECTION_MS
const POLL_INTERVAL_MS = 300
const HEARTBEAT_INTERVAL_MS = 15_000
/** How long a connection counts as open after a heartbeat, in case its process was killed. */
const CONNECTION_TIMEOUT_MS = 3 * HEARTBEAT_INTERVAL_MS
const BATCH_SIZE = 100

/**
 * Streams the shop's events to the caller as server-sent events. When `lastEventId` is the id of a retained stream or of
 * one of its deliveries, the stream is resumed after it, and any other connection to that stream is closed. Otherwise a
 * new stream starts with the next event.
 *
 * @throws ApiError 409 `stream_limit_reached`, 503 when the stream or its audit record cannot be stored.
 */
export async function open(
  ctx: OwnerContext,
  query: Query<'streamDeliveries'>,
  lastEventId: string | undefined,
): Promise<ReadableStream> {
  const connection = ctx.newId('req')
  const { stream, seq } = await mutate(ctx, async (trx) => {
    const resumed = lastEventId === undefined ? undefined : await findRetained(ctx, trx, lastEventId)
    await evictStreams(ctx, trx, resumed?.id)
    const { seq, ...row } = resumed ?? { ...newStream(ctx, query), seq: undefined }
    const stream = {
      ...row,
      userId: ctx.user.id,
      expiresAt: timeIn(ctx, STREAM_RETENTION_MS),
      connection,
      connectedUntil: timeIn(ctx, CONNECTION_TIMEOUT_MS),
    }
    if (resumed) await streams.updateStream(trx, ctx.shop.id, resumed.id, stream)
    else await streams.insertStream(trx, ctx.shop.id, stream)
    const data = { resumed: resumed !== undefined }
    return { result: { stream, seq }, audit: { action: 'stream.opened', subjectId: stream.id, data } }
  })
  return toStream(ctx, stream, frames(ctx, stream, seq))
}

// Connections and signatures have the time of the server, also in a test shop.
const timeIn = (ctx: Context, ms: number): string => new Date(systemClock(ctx).now() + ms).toISOString()

async function findRetained(ctx: Context, trx: Transaction, lastEventId: string) {
  const stream = await streams.findStreamAt(trx, ctx.shop.id, lastEventId)
  const isKept = stream && stream.expiresAt > timeIn(ctx, 0) && openSecret(ctx.vault, stream.id, stream.secret) !== null
  return isKept ? stream : undefined
}

function newStream(ctx: Context, { events, extendedEvents }: Query<'streamDeliveries'>) {
  const id = ctx.newId('whs')
  const secret = Buffer.from(ctx.random(24)).toString('base64url')
  const names = (events ?? '').split(',').map((name) => name.trim())
  return {
    id,
    shopId: ctx.shop.id,
    events: JSON.stringify(names.filter(Boolean)),
    extendedEvents: extendedEvents ? (1 as const) : (0 as const),
    secret: sealSecret(ctx.vault, id, secret),
    createdAt: timeIn(ctx, 0),
  }
}

/** The next frames; null when there is nothing to send for now. */
type Frames = AsyncGenerator<string | null, void>

/** @param seq the number of the last delivery that the caller has received, when the stream is resumed. */
async function* frames(ctx: Context, stream: StreamRow, seq: number | undefined): Frames {
  const secret = openSecret(ctx.vault, stream.id, stream.secret) ?? ''
  // The id lets a client resume before its first delivery; a resumed stream keeps the position it has.
  yield (seq === undefined ? `id: ${stream.id}\n` : '') + frame('open', { subscriptionId: stream.id, secret })
  let last = seq ?? 0
  for (;;) {
    const rows = await streams.listStreamed(ctx.db.read, ctx.shop.id, stream.id, last, BATCH_SIZE)
    for (const { id, seq, event, body, traceparent } of rows) {
      const headers = await deliveryHeaders(secret, { id, event, body, traceparent, at: systemClock(ctx).now() })
      yield `id: ${id}\n${frame('delivery', { headers, body })}`
      last = seq
    }
    if (rows.length < BATCH_SIZE) yield null
  }
}

// Serialized JSON has no line breaks, so one data line is enough.
const frame = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/**
 * Whether the connection may continue: the stream was not resumed over another connection, and the credential that
 * opened it is still valid and has not lost its role.
 */
async function isStillAllowed(ctx: Context, { id, connection }: StreamRow): Promise<boolean> {
  if ((await streams.findConnection(ctx.db.read, ctx.shop.id, id)) !== connection) return false
  try {
    await ctx.recheck?.(ctx.db.read)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

/** Pulls frames as the client reads them, polls when there are none, and sends heartbeats. */
function toStream(ctx: Context, stream: StreamRow, source: Frames): ReadableStream {
  const ending = new AbortController()
  const signal = AbortSignal.any([ending.signal, ctx.stopping])
  const encoder = new TextEncoder()
  const startedAt = performance.now()
  const isOver = () => signal.aborted || performance.now() - startedAt >= CONNECTION_MS
  let beatAt = startedAt
  const next = async (): Promise<string | undefined> => {
    while (!isOver()) {
      const { value } = await source.next()
      if (!(await isStillAllowed(ctx, stream))) return undefined
      if (value) return value
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => {})
      if (performance.now() - beatAt < HEARTBEAT_INTERVAL_MS) continue
      beatAt = performance.now()
      return ': still here\n\n'
    }
    return undefined
  }
  const end = async () => {
    ending.abort()
    clearInterval(renewal)
    await renewConnection(ctx, stream, null)
  }
  // Not part of reading: a client that does not read keeps its connection open, too.
  const renewal = setInterval(
    () => void (isOver() ? end() : renewConnection(ctx, stream)),
    HEARTBEAT_INTERVAL_MS,
  ).unref()
  return new ReadableStream({
    pull: async (controller) => {
      const value = await next().catch(async (error) => {
        await end()
        throw error
      })
      if (value !== undefined) return controller.enqueue(encoder.encode(value))
      if (!ending.signal.aborted) controller.close()
      await end()
    },
    cancel: end,
  })
}

/** Records until when the connection is open, or null when it has ended. A storage failure does not end the stream. */
const renewConnection = (
  ctx: Context,
  stream: StreamRow,
  until: string | null = timeIn(ctx, CONNECTION_TIMEOUT_MS),
): Promise<void> =>
  bestEffort(ctx.log, 'stream_renewal_failed', () =>
    ctx.db.transact((trx) => streams.updateConnection(trx, stream, until), stream.shopId),
  )

/** Every event of the shop is stored once for each retained stream, so their number is bounded. */
const MAX_PER_SHOP = 20
const MAX_OPEN_PER_USER = 5

/**
 * Makes room for one more open stream. A new stream replaces the oldest retained stream without a connection when the
 * shop has reached its limit, the caller's own first.
 *
 * @throws ApiError 409 `stream_limit_reached`.
 */
export async function evictStreams(ctx: OwnerContext, trx: Transaction, resumedId: string | undefined): Promise<void> {
  const now = timeIn(ctx, 0)
  const userId = ctx.user.id
  const others = (await listRetainedStreams(trx, ctx.shop.id, now)).filter(({ id }) => id !== resumedId)
  const isOpen = ({ connectedUntil }: RetainedStream) => connectedUntil !== null && connectedUntil > now
  const open = others.filter(isOpen)
  if (open.filter((one) => one.userId === userId).length >= MAX_OPEN_PER_USER) {
    throw tooMany(`You have ${MAX_OPEN_PER_USER} event streams open, which is the limit. Close one and retry.`)
  }
  if (open.length >= MAX_PER_SHOP) {
    throw tooMany(`Your shop has ${MAX_PER_SHOP} event streams open, which is the limit. Close one and retry.`)
  }
  if (resumedId !== undefined) return
  const closed = others.filter((one) => !isOpen(one))
  const inOrder = [...closed.filter((one) => one.userId === userId), ...closed.filter((one) => one.userId !== userId)]
  const excess = others.length + 1 - MAX_PER_SHOP
  for (const { id } of inOrder.slice(0, Math.max(0, excess)))
    await updateStream(trx, ctx.shop.id, id, { expiresAt: now })
}

const tooMany = (message: string) => conflict('stream_limit_reached', message)

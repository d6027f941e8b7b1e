import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, nowIso } from '../context.ts'
import type { StreamRow } from '../db/tables-owner.ts'
import { ApiError } from '../errors.ts'
import * as streams from '../repositories/streams.ts'
import { openSecret, sealSecret, signatureHeaders } from '../webhooks/secrets.ts'
import { mutate } from './mutate.ts'

/** How long one connection lasts, and how long events are kept from its beginning: an hour longer. */
const CONNECTION_MS = 3_600_000
const KEPT_MS = 2 * CONNECTION_MS
const LOOK_EVERY_MS = 300
const BEAT_EVERY_MS = 15_000
const LOT = 100

/**
 * Sends the shop's events to the caller as they happen (server-sent events), after `lastEventId` when that is a stream
 * that is still kept, or a delivery of one. A new stream begins with what happens from now on.
 *
 * @throws ApiError 503 when the stream cannot be written down or audited.
 */
export async function open(
  ctx: Context,
  events: string | undefined,
  lastEventId: string | undefined,
): Promise<ReadableStream> {
  const known = lastEventId ? await findKept(ctx, lastEventId) : undefined
  const stream = known ?? newStream(ctx, events)
  const expiresAt = new Date(ctx.now() + KEPT_MS).toISOString()
  await mutate(ctx, async (trx) => {
    if (known) await streams.updateStream(trx, ctx.shop.id, known.id, expiresAt)
    else await streams.insertStream(trx, { ...stream, expiresAt })
    return {
      result: undefined,
      audit: { action: 'stream.opened', subjectId: stream.id, data: { resumed: Boolean(known) } },
    }
  })
  return toStream(ctx, frames(ctx, stream, known))
}

async function findKept(ctx: Context, lastEventId: string) {
  const stream = await streams.findStreamAt(ctx.db.read, ctx.shop.id, lastEventId)
  const isKept = stream && stream.expiresAt > nowIso(ctx) && openSecret(ctx.vault, stream.id, stream.secret) !== null
  return isKept ? stream : undefined
}

function newStream(ctx: Context, events: string | undefined): StreamRow {
  const id = ctx.newId('whs')
  const secret = Buffer.from(ctx.random(24)).toString('base64url')
  const names = (events ?? '').split(',').map((name) => name.trim())
  const createdAt = nowIso(ctx)
  return {
    id,
    shopId: ctx.shop.id,
    events: JSON.stringify(names.filter(Boolean)),
    secret: sealSecret(ctx.vault, id, secret),
    createdAt,
    expiresAt: createdAt,
  }
}

/** What is sent next; null when there is nothing for now, undefined at the end. */
type Frames = AsyncGenerator<string | null, void>

async function* frames(ctx: Context, stream: StreamRow, known: { seq: number } | undefined): Frames {
  const secret = openSecret(ctx.vault, stream.id, stream.secret) ?? ''
  // With its id, so that a gap before the first delivery loses nothing; one that goes on keeps the place it has.
  yield (known ? '' : `id: ${stream.id}\n`) + frame('open', { subscriptionId: stream.id, secret })
  let last = known?.seq ?? 0
  for (;;) {
    const rows = await streams.listStreamed(ctx.db.read, stream.id, last, LOT)
    for (const { id, seq, event, body } of rows) {
      const headers = {
        'Content-Type': 'application/json',
        'User-Agent': 'referral-webhooks/1',
        'X-Service-Event': event,
        ...(await signatureHeaders(secret, body, { id, at: ctx.now() })),
      }
      yield `id: ${id}\n${frame('delivery', { headers, body })}`
      last = seq
    }
    if (rows.length < LOT) yield null
  }
}

// JSON has no line breaks of its own, so one data line holds it.
const frame = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** Whether the credential that opened the stream still opens it: not revoked, signed out or of a lower role. */
async function isStillAllowed(ctx: Context): Promise<boolean> {
  try {
    await ctx.recheck?.(ctx.db.read)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

/** Pulls frames as they are read; looks again when there are none, and ends when anybody wants it to. */
function toStream(ctx: Context, source: Frames): ReadableStream {
  const left = new AbortController()
  const signal = AbortSignal.any([left.signal, ctx.stopping])
  const encoder = new TextEncoder()
  const startedAt = performance.now()
  let beatAt = startedAt
  return new ReadableStream({
    pull: async (controller) => {
      while (!signal.aborted && performance.now() - startedAt < CONNECTION_MS) {
        const { value } = await source.next()
        if (!(await isStillAllowed(ctx))) break
        if (value) return controller.enqueue(encoder.encode(value))
        await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
        if (performance.now() - beatAt < BEAT_EVERY_MS) continue
        beatAt = performance.now()
        return controller.enqueue(encoder.encode(': still here\n\n'))
      }
      if (!left.signal.aborted) controller.close()
    },
    cancel: () => left.abort(),
  })
}

import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import { conflict } from '../errors.ts'
import { type KeptStream, listKeptStreams, updateStream } from '../repositories/streams.ts'

/** Every event of the shop is written down once for each stream that is kept. */
const MAX_PER_SHOP = 20
const MAX_OPEN_PER_USER = 5

/**
 * Makes room for one more open stream: the given one when it is resumed, else a new one, for which the oldest that nobody
 * reads gives way, the caller's own first.
 *
 * @throws ApiError 409 `stream_limit_reached`.
 */
export async function makeRoom(ctx: Context, trx: Trx, resumedId: string | undefined): Promise<void> {
  const now = nowIso(ctx)
  const userId = ctx.user?.id ?? null
  const others = (await listKeptStreams(trx, ctx.shop.id, now)).filter(({ id }) => id !== resumedId)
  const isOpen = ({ connectedUntil }: KeptStream) => connectedUntil !== null && connectedUntil > now
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

import type { Context } from './context.ts'
import { type CountFilter, countByStatus, countRows } from './queries.ts'

/** Above this, a page does not wait for the read. */
export const MAX_INLINE_ROWS = 5000

/** The exact number of rows of a list of the shop, from the stored counts. */
export const sizeOf = ({ db, shop }: Context, filter: CountFilter): Promise<number> =>
  countRows(db.read, shop.id, filter)

export const isLargeList = async (ctx: Context, filter: CountFilter): Promise<boolean> =>
  (await sizeOf(ctx, filter)) > MAX_INLINE_ROWS

/** The exact number of rows of a list by status, from the stored counts. */
export const sizesByStatus = ({ db, shop }: Context, filter: CountFilter): Promise<Map<string, number>> =>
  countByStatus(db.read, shop.id, filter)

import type { Context } from '../context.ts'
import { invalid } from '../errors.ts'
import { findPlace, type Place, type Walked } from '../repositories/page-place.ts'

/**
 * Where a list is to begin: behind the item that `after` names, or at its start.
 *
 * @throws ApiError 400 `invalid_parameter` when the shop has no such item, and for a page beside it.
 */
export async function placeAfter(
  ctx: Context,
  list: Walked,
  { after, page }: { after?: string | undefined; page: number },
): Promise<Place | undefined> {
  if (after === undefined) return undefined
  // Pages are counted from the start of the list; one behind an item would be none of those.
  if (page > 1) throw invalid('invalid_parameter', 'Send after or page, not both.')
  const place = await findPlace(ctx.db.read, ctx.shop.id, list, after)
  if (!place) throw invalid('invalid_parameter', 'after must be the id of an item of this list.')
  return place
}

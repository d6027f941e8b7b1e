import type { ShopRow } from '../database/tables.ts'

/** The link that credits visits to an affiliate. Without a domain of the store only its parameter is known. */
export function linkOf({ storeDomain }: Pick<ShopRow, 'storeDomain'>, slug: string): string {
  const query = `?ref=${encodeURIComponent(slug)}`
  return storeDomain ? `https://${storeDomain}/${query}` : query
}

import type { ShopRow } from '../../database/tables.ts'

export const urlWithQuery = (path: string, query: Record<string, string | undefined>): string => {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const text = new URLSearchParams(pairs).toString()
  return text ? `${path}?${text}` : path
}

/** The link that credits visits to an affiliate. Without a domain, only its query string is known. */
export function linkOf(
  { siteDomains, storeDomain }: Pick<ShopRow, 'siteDomains' | 'storeDomain'>,
  slug: string,
): string {
  const query = `?ref=${encodeURIComponent(slug)}`
  const domain = JSON.parse(siteDomains)[0] ?? storeDomain
  return domain ? `https://${domain}/${query}` : query
}

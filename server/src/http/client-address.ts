import type { Context } from 'hono'

/** The socket's address or, behind `proxies` trusted ones, the address that the outermost of them saw. */
export function clientAddress(c: Context, proxies: number): string {
  const env = c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined
  const socket = env?.incoming?.socket?.remoteAddress ?? 'unknown'
  if (proxies === 0) return socket
  const hops = (c.req.header('X-Forwarded-For') ?? '')
    .split(',')
    .map((hop) => hop.trim())
    .filter(Boolean)
  return hops.at(-proxies) ?? socket
}

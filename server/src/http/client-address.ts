import type { Context } from 'hono'
import ipaddr from 'ipaddr.js'

/** The address of the socket or, behind `proxies` trusted proxies, the one that the outermost of them received from. */
export function clientAddress(c: Context, proxies: number): string {
  const env = c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined
  return resolveAddress(
    { socket: env?.incoming?.socket?.remoteAddress, forwardedFor: c.req.header('X-Forwarded-For') },
    proxies,
  )
}

interface Connection {
  socket?: string | undefined
  forwardedFor?: string | undefined
}

export function resolveAddress({ socket = 'unknown', forwardedFor = '' }: Connection, proxies: number): string {
  if (proxies === 0) return socket
  const hops = forwardedFor
    .split(',')
    .map((hop) => hop.trim())
    .filter(Boolean)
  return hops.at(-proxies) ?? socket
}

const IPV6_NETWORK_BYTES = 8

/**
 * The rate-limit subject of requests without a key: an IPv4 address, or the /64 network of an IPv6 address, because one
 * client usually has a whole /64. A port added by a proxy is ignored.
 */
export function clientNetwork(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address
  if (!ipaddr.isValid(host)) return address
  const ip = ipaddr.process(host)
  if (ip.kind() === 'ipv4') return ip.toString()
  const network = ip.toByteArray().map((byte, i) => (i < IPV6_NETWORK_BYTES ? byte : 0))
  return `${ipaddr.fromByteArray(network)}/64`
}

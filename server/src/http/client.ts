import type { Context } from 'hono'
import ipaddr from 'ipaddr.js'
import type { Client } from '../core/context.ts'

/** The first name that the user agent contains. Browsers also name the browsers they derive from. */
const BROWSERS = [
  ['Edge', /\bEdgA?\/|\bEdgiOS\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\bFirefox\/|\bFxiOS\//],
  ['Chrome', /\bChrome\/|\bCriOS\/|\bHeadlessChrome\//],
  ['Safari', /\bSafari\//],
] as const
const SYSTEMS = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad|iPod/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh|Mac OS X/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
] as const
/** Real user agents have about 200 characters. */
const MAX_AGENT = 500

/** @param address the client's address or network */
export const clientOf = (c: Context, address: string): Client => ({
  browser: browserName(c.req.header('User-Agent')),
  network: roughNetwork(address),
})

/** A name from a fixed list, such as `Firefox on Linux`, because user agents are personal data and may contain any text. */
export function browserName(userAgent = ''): string {
  const agent = userAgent.slice(0, MAX_AGENT)
  const browser = BROWSERS.find(([, text]) => text.test(agent))?.[0] ?? 'Unknown browser'
  const system = SYSTEMS.find(([, text]) => text.test(agent))?.[0]
  return system ? `${browser} on ${system}` : browser
}

const IPV4_BITS = 24
const IPV6_BITS = 48

/** The network of an address, large enough not to identify a household: a /24 of IPv4, a /48 of IPv6. */
export function roughNetwork(address: string): string {
  const [host = ''] = address.split('/')
  if (!ipaddr.isValid(host)) return 'Unknown network'
  const ip = ipaddr.process(host)
  if (ip.range() === 'loopback') return 'This machine'
  if (ip.range() !== 'unicast') return 'Private network'
  const bits = ip.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS
  const network = ip.toByteArray().map((byte, index) => (index < bits / 8 ? byte : 0))
  return `${ipaddr.fromByteArray(network)}/${bits}`
}

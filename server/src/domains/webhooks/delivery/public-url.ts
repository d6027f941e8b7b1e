import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The IPv6 ranges that IANA has allocated (IPv6 Global Unicast Address Assignments, as of 2025-10). The rest of 2000::/3
 * is not routed, so an address in it belongs to a private network. Add new allocations here.
 */
const ALLOCATED = `
  2001:200::/23 2001:400::/23 2001:600::/23 2001:800::/22 2001:c00::/23 2001:e00::/23 2001:1200::/23 2001:1400::/22
  2001:1800::/23 2001:1a00::/23 2001:1c00::/22 2001:2000::/19 2001:4000::/23 2001:4200::/23 2001:4400::/23
  2001:4600::/23 2001:4800::/23 2001:4a00::/23 2001:4c00::/23 2001:5000::/20 2001:8000::/19 2001:a000::/20
  2001:b000::/20 2003::/18 2400::/12 2410::/12 2600::/12 2610::/23 2620::/23 2630::/12 2800::/12 2a00::/12 2a10::/12
  2c00::/12`
  .trim()
  .split(/\s+/)
  .map((range) => ipaddr.IPv6.parseCIDR(range))

// Internal to a provider although the registry lists them as public: Azure's host agent.
const PROVIDER_INTERNAL = [ipaddr.IPv4.parseCIDR('168.63.129.16/32')]

/**
 * Whether a literal address belongs to the public Internet: allocated global unicast, and in no special-purpose range.
 * IPv6 addresses that embed an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) never do.
 */
export function isPublicAddress(text: string): boolean {
  // The library accepts more spellings than a resolver returns. Only canonical ones are accepted here.
  if (isIP(text) === 0 || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv6) return ALLOCATED.some((range) => address.match(range))
  return !PROVIDER_INTERNAL.some((range) => address.match(range))
}

/** All of a host name's addresses, IPv4 and IPv6. Rejects if there are none. */
export type Resolve = (host: string) => Promise<string[]>

/**
 * Queries the system's DNS servers, or those given as `address:port`. The hosts file and search domains are ignored. It
 * uses no pool thread, so a slow DNS server delays nothing else.
 */
export function createResolve(servers?: string[]): Resolve {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  if (servers) resolver.setServers(servers)
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0) throw new Error('The name has no address')
    return addresses
  }
}

/** Where a delivery is sent: a URL that passed validation. */
export interface Target {
  /** Scheme, host and port. */
  origin: string
  /** A name, or a literal address without brackets. */
  host: string
  /** Path and query. */
  path: string
  /** Whether the installation allows this host and port by name, although it may not be public. */
  isAllowed: boolean
}

const LOOKUP_MS = 2000
const INTERNAL = ['localhost', 'local', 'internal', 'home.arpa']
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
// Characters that one URL parser skips and another treats as part of the host.
const AMBIGUOUS = /[\s\\\p{Cc}\p{Cf}]/u

/**
 * Parses a subscription's URL: https, a public host name or a public literal address, no user information, any port but
 * 0. DNS is not queried here.
 *
 * @param allow `host:port` pairs that are accepted without these checks, even over http
 * @returns undefined for a URL that is not allowed
 */
export function readTarget(url: string, allow: readonly string[]): Target | undefined {
  if (AMBIGUOUS.test(url) || !/^https?:\/\/[^/?#@]+([/?#]|$)/i.test(url) || !URL.canParse(url)) return undefined
  const { protocol, hostname, port, pathname, search } = new URL(url)
  if (port === '0') return undefined
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isAllowed = allow.includes(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`)
  if (!isAllowed && (protocol !== 'https:' || !isPublicHost(host))) return undefined
  const authority = `${host.includes(':') ? `[${host}]` : host}${port && `:${port}`}`
  return { origin: `${protocol}//${authority}`, host, path: pathname + search, isAllowed }
}

/** Whether a URL was rejected because its host is not public. */
export function isPrivateUrl(url: string): boolean {
  const host = URL.parse(url)
    ?.hostname.replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
  return !AMBIGUOUS.test(url) && host !== undefined && host !== '' && !isPublicHost(host)
}

/** Whether a host, without brackets, is a public literal address or a name that may have public addresses. */
export function isPublicHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host)
  const labels = host.split('.')
  if (labels.length < 2 || host.length > 253 || !labels.every((label) => LABEL.test(label))) return false
  // No top-level domain begins with a digit, but unusual spellings of IPv4 addresses do.
  if (/^\d/.test(labels.at(-1)!)) return false
  return !INTERNAL.some((suffix) => `.${host}`.endsWith(`.${suffix}`))
}

/**
 * Whether all addresses of the target's name are public now. A name that does not resolve within 2 s passes, because
 * each delivery resolves and checks it again.
 */
export async function hasPublicAddresses({ host, isAllowed }: Target, resolve: Resolve): Promise<boolean> {
  if (isAllowed || isIP(host)) return true
  let timer: NodeJS.Timeout | undefined
  const unknown = new Promise<string[]>((done) => {
    timer = setTimeout(done, LOOKUP_MS, [])
  })
  const addresses = await Promise.race([resolve(host).catch(() => []), unknown])
  clearTimeout(timer)
  return addresses.every(isPublicAddress)
}

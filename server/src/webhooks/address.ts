import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What IANA has allocated of IPv6 (IPv6 Global Unicast Address Assignments, as of 2025-10). The rest of 2000::/3 is
 * routed by nobody, so whoever resolves to it means a network of their own. A new allocation is added here.
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

// Of a provider's own network, though the registry calls them public: Azure's host agent.
const PROVIDER_INTERNAL = [ipaddr.IPv4.parseCIDR('168.63.129.16/32')]

/**
 * Whether a literal address is one of the public Internet: allocated global unicast, and in no special-purpose range.
 * IPv6 addresses that carry an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) are not, whatever they carry.
 */
export function isPublicAddress(text: string): boolean {
  // The library reads more spellings than a resolver gives; only the canonical ones are judged here.
  if (isIP(text) === 0 || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv6) return ALLOCATED.some((range) => address.match(range))
  return !PROVIDER_INTERNAL.some((range) => address.match(range))
}

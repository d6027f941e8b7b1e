import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

// Of a provider's own network, though the registry calls them public: Azure's host agent.
const PROVIDER_INTERNAL = [ipaddr.IPv4.parseCIDR('168.63.129.16/32')]

/**
 * Whether a literal address is one of the public Internet: global unicast, and in no special range of the registries.
 * IPv6 addresses that carry an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) are not, whatever they carry.
 */
export function isPublicAddress(text: string): boolean {
  // The library reads more spellings than a resolver gives; only the canonical ones are judged here.
  if (isIP(text) === 0 || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv6) return address.match(GLOBAL_UNICAST)
  return !PROVIDER_INTERNAL.some((range) => address.match(range))
}

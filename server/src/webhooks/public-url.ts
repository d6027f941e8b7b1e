import { isIP } from 'node:net'
import { isPublicAddress } from './address.ts'
import type { Resolve } from './resolve.ts'

/** Where a delivery goes: an address that passed the rules for URLs. */
export interface Target {
  /** Scheme, host and port. */
  origin: string
  /** A name, or a literal address without brackets. */
  host: string
  /** Path and query. */
  path: string
  /** The installation allows this host and port although it is not public. */
  isAllowed: boolean
}

const LOOKUP_MS = 2000
const INTERNAL = ['localhost', 'local', 'internal', 'home.arpa']
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
// What one parser skips and another reads as a part of the host.
const AMBIGUOUS = /[\s\\\p{Cc}\p{Cf}]/u

/**
 * Reads a subscription's URL (section 4.8 rule 2): https, a public host name or a public literal address, no user
 * information, any port but 0. `allow` names `host:port` pairs that are taken as they are, also with http.
 * Undefined means refused. The addresses of a name are not looked at here.
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

/** Whether a host, without brackets, is a public literal address or a name that may have public addresses. */
export function isPublicHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host)
  const labels = host.split('.')
  if (labels.length < 2 || host.length > 253 || !labels.every((label) => LABEL.test(label))) return false
  // No top-level domain begins with a digit, but the odd spellings of IPv4 addresses do.
  if (/^\d/.test(labels.at(-1)!)) return false
  return !INTERNAL.some((suffix) => `.${host}`.endsWith(`.${suffix}`))
}

/**
 * Whether nothing speaks against saving a target: every address its name has now is public. A name that does not
 * resolve within 2 s passes; each delivery looks again.
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

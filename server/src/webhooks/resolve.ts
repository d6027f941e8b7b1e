import { Resolver } from 'node:dns/promises'

/** Every address of a host name, IPv4 and IPv6. Rejects when there is none. */
export type Resolve = (host: string) => Promise<string[]>

/**
 * Asks the system's DNS servers, or those given as `address:port`. The hosts file and search domains play no part, and
 * a slow server holds up nobody else: nothing waits in the thread pool.
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

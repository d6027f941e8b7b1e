import type { Destination } from '../claim-queries.ts'

/** How many of a subscription's deliveries may be in flight after a complete response, and after any other outcome. */
export const RESPONSIVE = 16
export const UNRESPONSIVE = 1

/**
 * How many of a process's deliveries may be in flight: `max` in total and `perShop` for each shop. The last `reserved`
 * are for shops that have none. Unresponsive subscriptions have their own limits, because their deliveries are likely
 * to time out.
 */
const LIMITS = {
  responsive: { max: 256, perShop: 128, reserved: 64 },
  unresponsive: { max: 64, perShop: 8, reserved: 16 },
}

/** From here on, some shops may not have had their turn. */
export const MANY_IN_FLIGHT = LIMITS.responsive.max - LIMITS.responsive.reserved

/**
 * How many deliveries to claim from each subscription. Shops take turns, and so do each shop's subscriptions, until no
 * more may be in flight.
 *
 * @param inFlight each delivery's destination in flight
 */
export function planClaims(destinations: Destination[], inFlight: Iterable<Destination>): Map<Destination, number> {
  const counts = new Map<string, number>()
  const countOf = (key: string) => counts.get(key) ?? 0
  const keysOf = ({ shopId, id, ...destination }: Destination) => {
    const kind = isUnresponsive(destination) ? 'unresponsive' : 'responsive'
    return { kind, ofKind: kind, ofShop: `${kind}/${shopId}`, ofSubscription: id } as const
  }
  const add = (destination: Destination) => {
    const { ofKind, ofShop, ofSubscription } = keysOf(destination)
    for (const key of [ofKind, ofShop, ofSubscription]) counts.set(key, countOf(key) + 1)
  }
  const hasRoom = (destination: Destination) => {
    const { kind, ofKind, ofShop, ofSubscription } = keysOf(destination)
    const { max, perShop, reserved } = LIMITS[kind]
    const shopCount = countOf(ofShop)
    return (
      countOf(ofSubscription) < maxInFlightOf(destination) &&
      shopCount < perShop &&
      countOf(ofKind) < (shopCount === 0 ? max : max - reserved)
    )
  }
  for (const destination of inFlight) add(destination)
  const plan = new Map<Destination, number>()
  let shops = [...Map.groupBy(destinations, ({ shopId }) => shopId).values()]
  while (shops.length > 0) {
    shops = shops.filter((queue) => {
      const next = queue.findIndex(hasRoom)
      if (next < 0) return false
      const [destination] = queue.splice(next, 1)
      if (!destination) return false
      add(destination)
      plan.set(destination, (plan.get(destination) ?? 0) + 1)
      queue.push(destination)
      return true
    })
  }
  return plan
}

/** A disabled subscription's deliveries end without being sent. */
export const maxInFlightOf = ({ disabledAt, maxInFlight }: Pick<Destination, 'disabledAt' | 'maxInFlight'>): number =>
  disabledAt === null ? maxInFlight : RESPONSIVE

const isUnresponsive = (destination: Pick<Destination, 'disabledAt' | 'maxInFlight'>): boolean =>
  maxInFlightOf(destination) <= UNRESPONSIVE

import type { Destination } from '../queries.ts'
import type { Delivery } from './outbox-sync.ts'

/** The deliveries of one subscription that this process has taken from the outbox. */
export interface Queue {
  destination: Destination
  /** Its limit is shared by all who send to this host. */
  host: string
  waiting: Delivery[]
  inFlight: Set<string>
  /** How many may be in flight: twice as many with every complete response, one after anything else. */
  width: number
  /** How many times in a row there was no complete response. */
  failures: number
  isReady: boolean
}

/** A subscription whose last response was not complete is likely to take all the time it has. */
export const isResponsive = ({ failures }: Pick<Queue, 'failures'>): boolean => failures === 0

/** How many deliveries of a queue are in this process. */
export const queueSize = (queue: Queue): number => queue.waiting.length + queue.inFlight.size

/** Takes the next delivery out of what waits. The events of one change go in their order, and hold up no others. */
export function takeDeliverable(queue: Queue): Delivery | undefined {
  const isUnderWay = (id: string) => queue.inFlight.has(id) || queue.waiting.some((one) => one.id === id)
  const at = queue.waiting.findIndex(({ follows }) => follows === null || !isUnderWay(follows))
  return at < 0 ? undefined : queue.waiting.splice(at, 1)[0]
}

/** The host that a destination names, in whatever spelling; what is no URL is never sent to. */
export const hostOf = ({ url }: Destination): string => URL.parse(url)?.hostname.replace(/\.$/, '') ?? ''

/** How many deliveries a process takes from the outbox ahead of time, with their bodies. */
const MAX_HELD = 2048
const MAX_HELD_PER_SHOP = 1024
/** How many of them only shops without any may have. */
const RESERVED_HELD = 512

/**
 * How many more deliveries to take of each subscription: the more the wider its queue is, never more than a fair share of
 * its shop and of its queue, and in batches, because one alone is not worth it.
 */
export class ClaimPlan {
  readonly counts = new Map<string, number>()
  readonly #share: number
  #held: number

  /** `held`: what the process has of all shops; `shops`: how many share it. */
  constructor(held: number, shops: number) {
    this.#held = held
    this.#share = Math.min(MAX_HELD_PER_SHOP, Math.max(1, Math.floor(MAX_HELD / Math.max(1, shops))))
  }

  /** Plans for the subscriptions of one shop; `maxUnresponsive` of its unresponsive ones at a time. */
  addShop(
    queues: ReadonlyMap<string, Queue>,
    maxUnresponsive: number,
    subscriptionIds: string[],
    start: (id: string) => Pick<Queue, 'width' | 'failures'>,
  ): void {
    let held = 0
    let unresponsive = 0
    for (const queue of queues.values()) {
      held += queueSize(queue)
      if (!isResponsive(queue)) unresponsive += queueSize(queue)
    }
    const share = Math.max(1, Math.floor(this.#share / Math.max(subscriptionIds.length, queues.size)))
    for (const id of subscriptionIds) {
      const queue = queues.get(id)
      const state = queue ?? start(id)
      const isSlow = !isResponsive(state)
      const most = isSlow ? 1 : Math.min(state.width ** 2, share)
      const own = queue ? queueSize(queue) : 0
      const all = (held === 0 ? MAX_HELD : MAX_HELD - RESERVED_HELD) - this.#held
      const room = Math.min(most - own, this.#share - held, all)
      if (room <= 0 || own > most / 2 || (isSlow && unresponsive >= maxUnresponsive)) continue
      this.counts.set(id, room)
      this.#held += room
      held += room
      if (isSlow) unresponsive += room
    }
  }
}

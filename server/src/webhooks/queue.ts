import type { Destination } from '../repositories/subscriptions.ts'
import type { Delivery } from './exchange.ts'

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
export const heldBy = (queue: Queue): number => queue.waiting.length + queue.inFlight.size

/** Takes the next delivery out of what waits. The events of one change go in their order, and hold up no others. */
export function takeNext(queue: Queue): Delivery | undefined {
  const isUnderWay = (id: string) => queue.inFlight.has(id) || queue.waiting.some((one) => one.id === id)
  const at = queue.waiting.findIndex(({ follows }) => follows === null || !isUnderWay(follows))
  return at < 0 ? undefined : queue.waiting.splice(at, 1)[0]
}

/** The host that a destination names, in whatever spelling; what is no URL is never sent to. */
export const hostOf = ({ url }: Destination): string => URL.parse(url)?.hostname.replace(/\.$/, '') ?? ''

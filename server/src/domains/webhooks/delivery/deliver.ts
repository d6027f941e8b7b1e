import type { Config } from '../../../config.ts'
import type { Vault } from '../../../core/vault.ts'
import type { ClaimedDelivery, Destination } from '../claim-queries.ts'
import { deliveryHeaders } from './headers.ts'
import { failed, type Outcome } from './outcome.ts'
import { readTarget } from './public-url.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface Dependencies {
  config: Pick<Config, 'webhookAllow'>
  vault: Vault
  transport: Transport
  /** Milliseconds since 1970. */
  now: () => number
}

/** A delivery, and its destination at the time of the claim. */
export interface Addressed extends ClaimedDelivery {
  destination: Destination
}

/** Sends a delivery once. Resolves to undefined if it was aborted. */
export type Deliver = (delivery: Addressed) => Promise<Outcome | undefined>

const MAX_OPENED = 1000

export function createDeliver({ config, vault, transport, now }: Dependencies): Deliver {
  const opened = new Map<string, string | null>()
  const open = (sealed: string | null, subscriptionId: string): string | null | undefined => {
    if (sealed === null) return undefined
    if (opened.size > MAX_OPENED) opened.clear()
    const secret = opened.get(sealed) ?? vault.open(sealed, subscriptionId)
    opened.set(sealed, secret)
    return secret
  }
  return async ({ destination, webhookId: id, event, body, traceparent }) => {
    if (destination.disabledAt !== null) return { ...failed('disabled'), isComplete: true }
    const target = readTarget(destination.url, config.webhookAllow)
    if (!target) return failed('refused_url')
    const secret = open(destination.secret, destination.id)
    if (secret === null) return failed('secret_unreadable')
    const at = now()
    const isRotated = at < Date.parse(destination.previousSecretUntil ?? '')
    const previous = isRotated && open(destination.previousSecret, destination.id)
    const secrets = secret !== undefined && previous ? [secret, previous] : secret
    return transport.post(target, deliveryHeaders(secrets, { id, event, body, traceparent, at }), body)
  }
}

/** Loads the HTTP client. The server calls it after the start: Node.js finds a file once for each file that imports it. */
export const loadTransport = () => import('./transport.ts')

/** A transport that loads its HTTP client on the first delivery, so that the server starts faster. */
export function lazyTransport(options: TransportOptions): Transport {
  let loading: Promise<Transport> | undefined
  let isClosed = false
  const load = async () => (await loadTransport()).createTransport(options)
  return {
    post: async (target, headers, body) => {
      if (isClosed) return undefined
      loading ??= load()
      return (await loading).post(target, headers, body)
    },
    close: async () => {
      isClosed = true
      await (await loading)?.close()
    },
  }
}

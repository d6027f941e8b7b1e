import type { Config } from '../../../config.ts'
import type { Vault } from '../../../core/vault.ts'
import type { Destination } from '../queries.ts'
import { deliveryHeaders } from './headers.ts'
import type { Delivery } from './outbox-sync.ts'
import { type DeliveryCode, failed, type Outcome } from './outcome.ts'
import { readTarget, type Target } from './public-url.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface Dependencies {
  config: Pick<Config, 'webhookAllow'>
  vault: Vault
  transport: Transport
  /** Milliseconds since 1970. */
  now: () => number
}

/** Sends a delivery once. Resolves to undefined when it was aborted. */
export type Deliver = (destination: Destination, delivery: Delivery) => Promise<Outcome | undefined>

interface Route {
  target: Target
  secret: string | undefined
  /** The previous secret, and until when it also signs (milliseconds since 1970). */
  previous?: { secret: string; until: number }
}

export function createDeliver(dependencies: Dependencies): Deliver {
  const routes = new WeakMap<Destination, Route | DeliveryCode>()
  return async (destination, { webhookId, event, body, traceparent }) => {
    let route = routes.get(destination)
    if (!route) {
      route = routeTo(destination, dependencies)
      routes.set(destination, route)
    }
    if (typeof route === 'string') return failed(route)
    const at = dependencies.now()
    const headers = deliveryHeaders(signingSecrets(route, at), { id: webhookId, event, body, traceparent, at })
    return dependencies.transport.post(route.target, headers, body)
  }
}

const signingSecrets = ({ secret, previous }: Route, at: number): string | string[] | undefined =>
  secret !== undefined && previous && at < previous.until ? [secret, previous.secret] : secret

/** Validates the URL and decrypts the secret. Returns the code of the failure otherwise. */
function routeTo(destination: Destination, { config, vault }: Dependencies): Route | DeliveryCode {
  const { id, url, secret, previousSecret, previousSecretUntil } = destination
  const target = readTarget(url, config.webhookAllow)
  if (!target) return 'refused_url'
  if (secret === null) return { target, secret: undefined }
  const opened = vault.open(secret, id)
  if (opened === null) return 'secret_unreadable'
  const previous = previousSecret && previousSecretUntil ? vault.open(previousSecret, id) : null
  return {
    target,
    secret: opened,
    ...(previous && { previous: { secret: previous, until: Date.parse(previousSecretUntil ?? '') } }),
  }
}

/** A transport that loads its HTTP client on the first delivery, so that the server starts faster. */
export function lazyTransport(options: TransportOptions): Transport {
  let loading: Promise<Transport> | undefined
  let isClosed = false
  const load = async () => (await import('./transport.ts')).createTransport(options)
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

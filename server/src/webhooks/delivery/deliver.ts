import type { Config } from '../../config.ts'
import type { Vault } from '../../core/vault.ts'
import type { Destination } from '../queries.ts'
import type { Delivery } from './outbox-sync.ts'
import { type DeliveryCode, failed, type Outcome } from './outcome.ts'
import { readTarget, type Target } from './public-url.ts'
import { openSecret, signatureHeaders } from './signing.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface Dependencies {
  config: Pick<Config, 'webhookAllow'>
  vault: Vault
  transport: Transport
  /** Milliseconds since 1970. */
  now: () => number
}

/** Makes the one attempt of a delivery. Undefined when it was broken off and must be made again. */
export type Deliver = (destination: Destination, delivery: Delivery) => Promise<Outcome | undefined>

interface Route {
  target: Target
  secret: string | undefined
  /** The one before, and until when it still signs (milliseconds since 1970). */
  previous?: { secret: string; until: number }
}

export function createDeliver(means: Dependencies): Deliver {
  const ways = new WeakMap<Destination, Route | DeliveryCode>()
  return async (destination, { webhookId, event, body }) => {
    let way = ways.get(destination)
    if (!way) {
      way = routeTo(destination, means)
      ways.set(destination, way)
    }
    if (typeof way === 'string') return failed(way)
    const at = means.now()
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'referral-webhooks/1',
      'X-Service-Event': event,
      ...(await signatureHeaders(signingSecrets(way, at), body, { id: webhookId, at })),
    }
    return means.transport.post(way.target, headers, body)
  }
}

const signingSecrets = ({ secret, previous }: Route, at: number): string | string[] | undefined =>
  secret !== undefined && previous && at < previous.until ? [secret, previous.secret] : secret

/** Checks the URL and opens the secret; the code says what is wrong with them. */
function routeTo(destination: Destination, { config, vault }: Dependencies): Route | DeliveryCode {
  const { id, url, secret, previousSecret, previousSecretUntil } = destination
  const target = readTarget(url, config.webhookAllow)
  if (!target) return 'refused_url'
  if (secret === null) return { target, secret: undefined }
  const opened = openSecret(vault, id, secret)
  if (opened === null) return 'secret_unreadable'
  const previous = previousSecret && previousSecretUntil ? openSecret(vault, id, previousSecret) : null
  return {
    target,
    secret: opened,
    ...(previous && { previous: { secret: previous, until: Date.parse(previousSecretUntil ?? '') } }),
  }
}

/** A transport that loads its HTTP client with the first delivery: a start need not wait for it. */
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

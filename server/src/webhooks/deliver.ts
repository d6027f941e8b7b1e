import type { Config } from '../config.ts'
import type { ClaimedDelivery } from '../repositories/deliveries.ts'
import type { Vault } from '../vault.ts'
import type { Outcome } from './outcome.ts'
import { readTarget } from './public-url.ts'
import { openSecret, signatureHeaders } from './secrets.ts'
import type { Transport } from './transport.ts'

export interface Means {
  config: Pick<Config, 'webhookAllow'>
  vault: Vault
  transport: Transport
  /** Milliseconds since 1970. */
  now: () => number
}

/** Makes the one attempt of a delivery (section 6.2). Undefined when it was broken off and must be made again. */
export async function deliver(means: Means, delivery: ClaimedDelivery): Promise<Outcome | undefined> {
  const target = readTarget(delivery.url, means.config.webhookAllow)
  if (!target) return { code: 'refused_url', httpStatus: null }
  const secret =
    delivery.secret === null ? undefined : openSecret(means.vault, delivery.subscriptionId, delivery.secret)
  if (secret === null) return { code: 'secret_unreadable', httpStatus: null }
  const stamp = { id: delivery.webhookId, at: means.now() }
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'referral-webhooks/1',
    'X-Service-Event': delivery.event,
    ...(await signatureHeaders(secret, delivery.body, stamp)),
  }
  return means.transport.post(target, headers, delivery.body)
}

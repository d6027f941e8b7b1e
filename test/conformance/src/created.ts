import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Reply } from './client.ts'

/** What a run created in a shop, collected from the responses, so that also a check that fails leaves nothing behind. */
export class Created {
  readonly #webhooks = new Set<string>()
  readonly #affiliates = new Set<string>()
  readonly #programs = new Set<string>()
  readonly #batches = new Set<string>()
  #orders = 0

  note = ({ method, path, status, headers, body }: Reply): void => {
    const [resource = '', query] = path.replace(/^\/api\/v1\//, '').split('?')
    if (status < 200 || status >= 300) return
    if (method === 'DELETE') {
      const id = new URLSearchParams(query).get('id') ?? ''
      if (resource === 'webhooks') this.#webhooks.delete(id)
      if (resource === 'affiliates') this.#affiliates.delete(id)
    }
    if (method !== 'POST') return
    const isRepeated = headers.has('Idempotent-Replayed') || headers.has('X-Order-Already-Recorded')
    if (resource === 'events' && status === 201 && !isRepeated) this.#orders++
    const id = body?.data?.id ?? body?.id
    if (typeof id !== 'string') return
    if (resource === 'webhooks') this.#webhooks.add(id)
    if (resource === 'affiliates') this.#affiliates.add(id)
    if (resource === 'programs') this.#programs.add(id)
    if (resource === 'payouts') this.#batches.add(id)
  }

  /** Deletes the subscriptions and archives the affiliates. What cannot be removed stays in {@link remaining}. */
  async remove(client: Client, concurrency: number): Promise<void> {
    // Concurrent changes of subscriptions return 409.
    for (const id of this.#webhooks) await remove(client, 'webhooks', id, this.#webhooks)
    const queue = [...this.#affiliates]
    const worker = async () => {
      for (let id = queue.shift(); id; id = queue.shift()) await remove(client, 'affiliates', id, this.#affiliates)
    }
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, worker))
  }

  /** What the run leaves in the shop, such as `3 programs`. */
  remaining(): string[] {
    return [
      counted(this.#webhooks.size, 'webhook subscription'),
      counted(this.#affiliates.size, 'affiliate'),
      counted(this.#programs.size, 'program'),
      counted(this.#orders, 'order'),
      counted(this.#batches.size, 'payout batch', 'payout batches'),
    ].filter((text) => text !== '')
  }
}

const MAX_ATTEMPTS = 10

async function remove(client: Client, resource: string, id: string, from: Set<string>): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    // A server that does not respond must not cost the report of the run.
    const reply = await client.call('DELETE', `/api/v1/${resource}?id=${encodeURIComponent(id)}`).catch(() => undefined)
    if (!reply) return
    if (reply.status === 404) from.delete(id)
    if (reply.status !== 409 || reply.headers.get('X-Error-Code') !== 'concurrent_change') return
    await sleep(50 * attempt)
  }
}

const counted = (count: number, one: string, many = `${one}s`): string =>
  count === 0 ? '' : `${count} ${count === 1 ? one : many}`

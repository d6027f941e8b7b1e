import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Reply } from './client.ts'

/** What a run created in a shop, collected from the responses, so that also a check that fails leaves nothing behind. */
export class Created {
  readonly #webhooks = new Set<string>()
  /** Those that are not archived. */
  readonly #affiliates = new Set<string>()
  readonly #allAffiliates = new Set<string>()
  readonly #programs = new Set<string>()
  readonly #batches = new Set<string>()
  #orders = 0
  #customers = 0
  #payable = 0
  readonly #startedAt = Date.now()

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
    if (resource === 'customers' && status === 201) this.#customers++
    if (typeof id !== 'string') return
    if (resource === 'webhooks') this.#webhooks.add(id)
    if (resource === 'affiliates') this.#affiliates.add(id)
    if (resource === 'affiliates') this.#allAffiliates.add(id)
    if (resource === 'programs') this.#programs.add(id)
    if (resource === 'payouts') this.#batches.add(id)
  }

  /**
   * Deletes the subscriptions, cancels the orders that a payout would pay, and archives the affiliates. What cannot be
   * removed stays in {@link remaining}.
   *
   * @param ownerToken cancels the batches that are not paid, whose orders are not cancelled otherwise.
   */
  async remove(client: Client, { concurrency, ownerToken }: RemoveOptions): Promise<void> {
    // Concurrent changes of subscriptions return 409.
    for (const id of this.#webhooks) await remove(client, 'webhooks', id, this.#webhooks)
    if (ownerToken)
      await inParallel(concurrency, this.#batches, async (id) => {
        await client.send('POST', `/admin/v1/payouts/${encodeURIComponent(id)}/cancel`, {}, ownerToken)
      })
    const orderIds = await this.#payableOrders(client)
    this.#payable = orderIds.size
    await inParallel(concurrency, orderIds, async (externalOrderId) => {
      if ((await client.call('POST', '/api/v1/cancellations', { body: { externalOrderId } })).status === 200)
        this.#payable--
    })
    await inParallel(concurrency, this.#affiliates, (id) => remove(client, 'affiliates', id, this.#affiliates))
  }

  /** The orders of the affiliates of this run with commissions that are not in a batch. */
  async #payableOrders(client: Client): Promise<Set<string>> {
    const orderIds = new Set<string>()
    if (this.#allAffiliates.size === 0) return orderIds
    for (const status of ['APPROVED', 'PENDING']) {
      let after: string | undefined
      for (let page = 0; page < MAX_PAGES; page++) {
        const query = { status, limit: 100, after }
        const { body } = await client.call('GET', '/api/v1/commissions', { query }).catch(() => ({ body: undefined }))
        const rows: CommissionOfList[] = body?.data ?? []
        for (const { affiliateId, externalOrderId, payoutBatchId, trackingMethod } of rows)
          if (this.#allAffiliates.has(affiliateId) && !payoutBatchId && trackingMethod !== 'ADJUSTMENT')
            orderIds.add(externalOrderId)
        after = rows.at(-1)?.id
        // The newest are first, and the others are those of the merchant.
        if (!after || Date.parse(rows.at(-1)?.createdAt ?? '') < this.#startedAt - CLOCK_DIFFERENCE_MS) break
      }
    }
    return orderIds
  }

  /** What the run leaves in the shop, such as `3 programs`. */
  remaining(): string[] {
    return [
      counted(this.#webhooks.size, 'webhook subscription'),
      counted(this.#affiliates.size, 'affiliate'),
      counted(this.#programs.size, 'program'),
      counted(this.#orders, 'order'),
      counted(this.#customers, 'customer'),
      counted(this.#payable, 'payable commission'),
      counted(this.#batches.size, 'payout batch', 'payout batches'),
    ].filter((text) => text !== '')
  }
}

interface RemoveOptions {
  concurrency: number
  ownerToken: string | undefined
}

interface CommissionOfList {
  id: string
  affiliateId: string
  externalOrderId: string
  payoutBatchId: string | null
  trackingMethod: string
  createdAt: string
}

/** Of commissions, which a server without pagination would return forever. */
const MAX_PAGES = 100

/** By how much the clock of the server may be behind. */
const CLOCK_DIFFERENCE_MS = 600_000

/** A server that does not respond must not cost the report of the run. */
async function inParallel(count: number, ids: Set<string>, work: (id: string) => Promise<void>): Promise<void> {
  const queue = [...ids]
  const worker = async () => {
    for (let id = queue.shift(); id; id = queue.shift()) await work(id).catch(() => undefined)
  }
  await Promise.all(Array.from({ length: Math.max(1, count) }, worker))
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

const counted = (count: number, singular: string, many = `${singular}s`): string =>
  count === 0 ? '' : `${count} ${count === 1 ? singular : many}`

import type { components, WebhookEventList } from '@referral/sdk'
import { unwrap, usageError } from '../../errors.ts'
import type { Column } from '../../output/render.ts'
import type { Run } from '../../run.ts'

type Delivery = components['schemas']['Delivery']
type Status = components['schemas']['DeliveryStatus']
type Item = WebhookEventList['data'][number]

export interface DeliveriesOptions {
  webhook?: string
  event?: string
  status?: Status
  limit: number
  page: number
}

const COLUMNS: Column<Delivery>[] = [
  'id',
  'event',
  'subscriptionId',
  'status',
  { field: 'code', format: ({ code, httpStatus }) => [httpStatus, code].filter(Boolean).join(' ') },
  'attempts',
  'nextAttemptAt',
  'createdAt',
]

export async function listDeliveries(run: Run, options: DeliveriesOptions): Promise<undefined> {
  const { webhook, event, status, limit, page } = options
  const query = {
    limit,
    page,
    ...(webhook && { subscriptionId: webhook }),
    ...(event && { event }),
    ...(status && { status }),
  }
  const client = await run.ownerClient()
  const { data, pagination } = unwrap(await client.GET('/admin/v1/deliveries', { params: { query } }))
  run.printRows(data, COLUMNS)
  if (data.length < pagination.total) run.reporter.info(`showing ${data.length} of ${pagination.total}`)
}

export interface RedeliverOptions {
  webhook?: string
  from?: string
  to?: string
  event?: string
  status?: 'FAILED' | 'SENT'
}

/** Queues one delivery again, or all of a subscription's in a period, with several requests. */
export async function redeliver(run: Run, id: string | undefined, options: RedeliverOptions): Promise<undefined> {
  const { webhook, from } = options
  if (Boolean(id) === Boolean(webhook)) throw usageError('Pass the id of a delivery, or --webhook and --from.')
  if (id) return redeliverOne(run, id)
  if (!webhook || !from) throw usageError('--webhook requires --from.')
  const { event, status, to = new Date(run.context.now()).toISOString() } = options
  const body = { from, to, ...(event && { event }), ...(status && { status }) }
  const client = await run.ownerClient()
  const call = async (dryRun: boolean) => {
    const params = { path: { id: webhook } }
    const request = { params, body: { ...body, dryRun } }
    return unwrap(await client.POST('/admin/v1/webhooks/{id}/redeliver', request)).data
  }
  if (run.dryRun) {
    run.printRecord({ ...(await call(true)), deliveryId: null })
    return
  }
  let queued = 0
  for (;;) {
    const result = await call(false)
    queued += result.queued
    if (result.remaining === 0 || result.queued === 0) {
      run.printRecord({ dryRun: false, queued, remaining: result.remaining, deliveryId: null })
      return
    }
    run.reporter.info(`${queued} queued, ${result.remaining} remaining`)
  }
}

async function redeliverOne(run: Run, id: string): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/deliveries/${encodeURIComponent(id)}/redeliver`)
  const client = await run.ownerClient()
  const { data } = unwrap(await client.POST('/admin/v1/deliveries/{id}/redeliver', { params: { path: { id } } }))
  run.printRecord({ dryRun: false, queued: 1, remaining: 0, deliveryId: data.id })
}

export interface EventsOptions {
  after?: string
  extendedEvents?: boolean
  limit: number
}

const EVENT_COLUMNS: Column<Item>[] = [
  'id',
  'event',
  'timestamp',
  { field: 'data', title: 'subject', format: ({ data }) => String(data.id ?? '') },
]

const MAX_PAGE = 100

export async function listEvents(run: Run, { after, extendedEvents, limit }: EventsOptions): Promise<undefined> {
  const client = await run.client()
  const rows: Item[] = []
  for (let cursor = after; ; ) {
    const query = {
      limit: Math.min(MAX_PAGE, limit - rows.length),
      ...(cursor && { after: cursor }),
      ...(extendedEvents && { extendedEvents: '1' as const }),
    }
    const { data, next, hasMore } = await client.webhooks.events(query)
    rows.push(...data)
    cursor = next ?? undefined
    if (!hasMore || rows.length >= limit) {
      run.printRows(rows, EVENT_COLUMNS)
      if (hasMore) run.reporter.info(`more events follow; continue with --after ${cursor}`)
      return
    }
  }
}

import { readFileSync } from 'node:fs'
import type { ClickInput, ConversionInput, PageViewInput } from '@referral/sdk'
import { readStdin } from '../ask.ts'
import type { values } from '../contract.ts'
import { notFound, usage } from '../exit.ts'
import type { Run } from '../run.ts'

export interface SendOptions {
  type: (typeof values.EventType)[number]
  input?: string
  idempotencyKey?: string
  [field: string]: unknown
}

// Option, field of the API.
const FIELDS: Record<string, string> = {
  order: 'externalOrderId',
  amountCents: 'amountCents',
  discountCents: 'discountCents',
  shippingCents: 'shippingCents',
  taxCents: 'taxCents',
  currency: 'currency',
  coupon: 'couponCode',
  affiliateCode: 'affiliateCode',
  affiliate: 'affiliateId',
  ref: 'ref',
  click: 'clickId',
  session: 'sessionId',
  email: 'customerEmail',
  customer: 'customerId',
  url: 'url',
  at: 'occurredAt',
}

/** Reports one event. A dry run of an order asks the service what it would decide. */
export async function sendEvent(run: Run, options: SendOptions): Promise<undefined> {
  const { type, idempotencyKey } = options
  const body = { ...(await readInput(run, options.input)), ...fromOptions(options) }
  const client = await run.client()
  if (run.dryRun && type === 'conversion') {
    run.talk.note('Dry run: nothing was recorded.')
    run.record(await client.events.dryRun(body as ConversionInput))
  } else if (run.dryRun) run.wouldSend('POST', '/api/v1/events', { type, ...body })
  else if (type === 'click') run.record(await client.events.click(body as ClickInput, { idempotencyKey }))
  else if (type === 'page_view') run.record(await client.events.pageView(body as PageViewInput, { idempotencyKey }))
  else await sendOrder(run, body as ConversionInput, idempotencyKey)
}

async function sendOrder(run: Run, order: ConversionInput, idempotencyKey: string | undefined): Promise<void> {
  const { data, response, idempotentReplayed } = await (await run.client()).events
    .conversion(order, { idempotencyKey })
    .withResponse()
  if (idempotentReplayed || response.headers.get('X-Order-Already-Recorded') === 'true')
    run.talk.note('This order was recorded before; nothing was changed.')
  run.record(data)
}

const fromOptions = (options: SendOptions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(FIELDS)
      .filter(([option]) => options[option] !== undefined)
      .map(([option, field]) => [field, options[option]]),
  )

async function readInput(run: Run, file: string | undefined): Promise<object> {
  if (file === undefined) return {}
  let text: string
  try {
    text = file === '-' ? (await readStdin(run.world)).toString('utf8') : readFileSync(file, 'utf8')
  } catch (cause) {
    throw notFound(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}.`)
  }
  const body = parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw usage(`${file} is not a JSON object.`)
  const { type: _, ...rest } = body as Record<string, unknown>
  return rest
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage('The input is not valid JSON.')
  }
}

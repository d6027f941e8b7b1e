import type { ClickInput, ConversionInput, PageViewInput } from '@referral/sdk'
import type { enums } from '../../contract.ts'
import { readBytes } from '../../csv/parse.ts'
import { usageError } from '../../errors.ts'
import { readStdin } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import { isRepeated, REPEATED } from './report.ts'

export interface SendOptions {
  type: (typeof enums.EventType)[number]
  input?: string
  idempotencyKey?: string
  [field: string]: unknown
}

// Option name to API field.
const FIELD_BY_OPTION: Record<string, string> = {
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

/** Reports one event. An order's dry run returns the service's decision. */
export async function sendEvent(run: Run, options: SendOptions): Promise<undefined> {
  const { type, idempotencyKey } = options
  // The service validates the fields.
  const body: object = { ...(await readInput(run, options.input)), ...fieldsFrom(options) }
  const client = await run.client()
  if (run.dryRun && type === 'conversion') {
    run.reporter.info('Dry run: nothing was recorded.')
    run.printRecord(await client.events.dryRun(body as ConversionInput))
  } else if (run.dryRun) run.printDryRun('POST', '/api/v1/events', { type, ...body })
  else if (type === 'click') run.printRecord(await client.events.click(body as ClickInput, { idempotencyKey }))
  else if (type === 'page_view')
    run.printRecord(await client.events.pageView(body as PageViewInput, { idempotencyKey }))
  else await sendOrder(run, body as ConversionInput, idempotencyKey)
}

async function sendOrder(run: Run, order: ConversionInput, idempotencyKey: string | undefined): Promise<void> {
  const response = await (await run.client()).events.conversion(order, { idempotencyKey }).withResponse()
  const { data } = response
  if (isRepeated(response)) run.reporter.info(REPEATED)
  else if (data.alreadyRecorded) run.reporter.info('This order is already recorded; nothing was changed.')
  run.printRecord(data)
}

const fieldsFrom = (options: SendOptions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(FIELD_BY_OPTION)
      .filter(([option]) => options[option] !== undefined)
      .map(([option, field]) => [field, options[option]]),
  )

async function readInput(run: Run, file: string | undefined): Promise<object> {
  if (file === undefined) return {}
  const bytes = file === '-' ? await readStdin(run.context) : readBytes(file)
  const body = parse(bytes.toString('utf8'))
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw usageError(`${file} is not a JSON object.`)
  const { type: _, ...rest } = body as Record<string, unknown>
  return rest
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError('The input is not valid JSON.')
  }
}

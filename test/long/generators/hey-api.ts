import { createClient, createConfig } from './client/hey-api/client'
import { listAffiliates, recordEvent } from './client/hey-api/sdk.gen'
import type {
  ConversionEvent,
  PayoutCreate,
  ProgramCreate,
  RecordEventData,
  Webhooks,
} from './client/hey-api/types.gen'
import { zConversionEvent, zRecordEventBody, zStoreOrder } from './client/hey-api/zod.gen'
import type { Use } from './use'

/** Its client checks every request and reply with the generated zod schemas. */
export const use: Use = async ({ baseUrl, apiKey, code }) => {
  const client = createClient(createConfig({ baseUrl, auth: apiKey }))
  const order = { externalOrderId: 'hey-api-1', amountCents: 10_000, couponCode: code }

  const headers = { 'Idempotency-Key': 'hey-api-1' }
  const conversion = await recordEvent({ client, headers, body: order, throwOnError: true })
  const click = await recordEvent({ client, body: { type: 'click', ref: 'nobody' }, throwOnError: true })
  const dryRun = await recordEvent({ client, query: { dryRun: '1' }, body: order, throwOnError: true })
  if (!('attribution' in conversion.data)) throw new Error('no decision')
  if (!('id' in click.data)) throw new Error('no click')
  if (!('trace' in dryRun.data)) throw new Error('no trace')

  const refused = await recordEvent({ client, body: order })
  if (!refused.error) throw new Error('a conversion without a key was accepted')
  const affiliates = await listAffiliates({ client, query: { status: 'APPROVED', limit: 5 }, throwOnError: true })
  return {
    commissionCents: conversion.data.commission.amountCents,
    clickId: click.data.id,
    dryRunBaseCents: dryRun.data.trace.baseCents,
    error: refused.error.error,
    emails: affiliates.data.data.map(({ email }) => email),
  }
}

/** What the zod schemas accept: an order without a type, what a store sends, and no order without an id. */
export const accepted = [
  zStoreOrder.safeParse({ id: 5_678_901, financial_status: 'paid', subtotal_price: 120.5 }).success,
  zRecordEventBody.safeParse({ externalOrderId: '1', amountCents: 100 }).success,
  zRecordEventBody.safeParse({ amountCents: 100 }).success,
  zRecordEventBody.safeParse({ type: 'click' }).success,
  zConversionEvent.safeParse({ externalOrderId: '1', lineItems: [{ productId: '7' }] }).success,
]

// @ts-expect-error an order needs its id
export const withoutOrderId: ConversionEvent = { amountCents: 10_000 }
// @ts-expect-error an order needs its amount, or lines that have prices
export const withoutAmount: ConversionEvent = { externalOrderId: '1', lineItems: [{ productId: '7' }] }
// @ts-expect-error a click needs what was clicked on
export const withoutRef: RecordEventData['body'] = { type: 'click', sessionId: 's-1' }
// @ts-expect-error a click without its type is an order without its id
export const withoutType: RecordEventData['body'] = { ref: 'nisa-karim' }
// @ts-expect-error a batch needs the end of its period
export const withoutEnd: PayoutCreate = { periodStart: '2026-10-01' }

export const withLines: ConversionEvent = { orderId: '1', lineItems: [{ productId: '7', priceCents: 500 }] }
export const batch: PayoutCreate = { periodStart: '2026-10-01', periodEnd: '2026-10-31' }
export const program: ProgramCreate = { name: 'Friends' }
export const subjectOf = ({ body: sent }: Webhooks): string => {
  if (sent.event === 'test') return sent.data.message
  return sent.event === 'commission.created' ? sent.data.orderId : sent.data.email
}

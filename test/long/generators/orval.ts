import {
  type ConversionEvent,
  listAffiliates,
  type PayoutCreate,
  type ProgramCreate,
  recordEvent,
} from './client/orval/client'
import { RecordEventBody, RecordStoreOrderBody } from './client/orval/zod'
import type { Use } from './use'

type Body = Parameters<typeof recordEvent>[0]

/** The base URL is generated into the client. */
export const use: Use = async ({ apiKey, code }) => {
  const headers = { Authorization: `Bearer ${apiKey}` }
  const order = { externalOrderId: 'orval-1', amountCents: 10_000, couponCode: code }

  const keyed = { headers: { ...headers, 'Idempotency-Key': 'orval-1' } }
  const conversion = await recordEvent(order, {}, keyed)
  const click = await recordEvent({ type: 'click', ref: 'nobody' }, {}, { headers })
  const dryRun = await recordEvent(order, { dryRun: '1' }, { headers })
  if (conversion.status !== 201) throw new Error('no decision')
  if (click.status !== 202 || !('id' in click.data)) throw new Error('no click')
  if (dryRun.status !== 200 || !('trace' in dryRun.data)) throw new Error('no trace')

  const refused = await recordEvent(order, {}, { headers })
  if (refused.status !== 400) throw new Error('a conversion without a key was accepted')
  const affiliates = await listAffiliates({ status: 'APPROVED', limit: 5 }, { headers })
  if (affiliates.status !== 200) throw new Error(affiliates.data.error)
  return {
    commissionCents: conversion.data.commission.amountCents,
    clickId: click.data.id,
    dryRunBaseCents: dryRun.data.trace.baseCents,
    error: refused.data.error,
    emails: affiliates.data.data.map(({ email }) => email),
  }
}

/** What the zod schemas accept: an order without a type, what a store sends, and no order without an id. */
export const accepted = [
  RecordStoreOrderBody.safeParse({ id: 5_678_901, financial_status: 'paid', subtotal_price: 120.5 }).success,
  RecordEventBody.safeParse({ externalOrderId: '1', amountCents: 100 }).success,
  RecordEventBody.safeParse({ amountCents: 100 }).success,
  RecordEventBody.safeParse({ type: 'click' }).success,
  RecordEventBody.safeParse({ externalOrderId: '1', lineItems: [{ productId: '7' }] }).success,
]

// @ts-expect-error an order needs its id
export const withoutOrderId: ConversionEvent = { amountCents: 10_000 }
// @ts-expect-error an order needs its amount, or lines that have prices
export const withoutAmount: ConversionEvent = { externalOrderId: '1', lineItems: [{ productId: '7' }] }
// @ts-expect-error a click needs what was clicked on
export const withoutRef: Body = { type: 'click', sessionId: 's-1' }
// @ts-expect-error a click without its type is an order without its id
export const withoutType: Body = { ref: 'nisa-karim' }
// @ts-expect-error a batch needs the end of its period
export const withoutEnd: PayoutCreate = { periodStart: '2026-10-01' }

export const withLines: ConversionEvent = { orderId: '1', lineItems: [{ productId: '7', priceCents: 500 }] }
export const batch: PayoutCreate = { periodStart: '2026-10-01', periodEnd: '2026-10-31' }
export const program: ProgramCreate = { name: 'Friends' }

import {
  AffiliateStatus,
  Api,
  type ConversionDryRun,
  type ConversionEvent,
  type ErrorBody,
  type HttpResponse,
  type PayoutCreate,
  type ProgramCreate,
  type TouchReply,
} from './client/swagger-typescript-api/client'
import type { Use } from './use'

export const use: Use = async ({ baseUrl, apiKey, code }) => {
  const { api } = new Api({ baseUrl, baseApiParams: { headers: { Authorization: `Bearer ${apiKey}` } } })
  const order = { externalOrderId: 'swagger-typescript-api-1', amountCents: 10_000, couponCode: code }

  const keyed = { headers: { 'Idempotency-Key': 'swagger-typescript-api-1' } }
  const conversion = await api.recordEvent(order, {}, keyed)
  // It types only the first of several successes; the others need an explicit type.
  const click: unknown = (await api.recordEvent({ type: 'click', ref: 'nobody' })).data
  const dryRun: unknown = (await api.recordEvent(order, { dryRun: '1' })).data

  const refused = await api.recordEvent(order).then(
    () => {
      throw new Error('a conversion without a key was accepted')
    },
    (reply: HttpResponse<unknown, ErrorBody>) => reply,
  )
  const affiliates = await api.listAffiliates({ status: AffiliateStatus.APPROVED, limit: 5 })
  return {
    commissionCents: conversion.data.commission.amountCents,
    clickId: (click as TouchReply).id,
    dryRunBaseCents: (dryRun as ConversionDryRun).trace.baseCents,
    error: refused.error.error,
    emails: affiliates.data.data.map(({ email }) => email),
  }
}

type Body = Parameters<Api<unknown>['api']['recordEvent']>[0]

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

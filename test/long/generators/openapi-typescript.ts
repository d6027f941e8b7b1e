import createClient from 'openapi-fetch'
import type { components, paths, webhooks } from './client/openapi-typescript'
import type { Use } from './use'

export const use: Use = async ({ baseUrl, apiKey, code }) => {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } })
  const order = { externalOrderId: 'openapi-typescript-1', amountCents: 10_000, couponCode: code }

  const conversion = await client.POST('/api/v1/events', {
    params: { header: { 'Idempotency-Key': 'openapi-typescript-1' } },
    body: order,
  })
  const click = await client.POST('/api/v1/events', { body: { type: 'click', ref: 'nobody' } })
  const dryRun = await client.POST('/api/v1/events', { params: { query: { dryRun: '1' } }, body: order })
  if (!conversion.data || !('attribution' in conversion.data)) throw new Error('no decision')
  if (!click.data || !('id' in click.data)) throw new Error('no click')
  if (!dryRun.data || !('trace' in dryRun.data)) throw new Error('no trace')

  const refused = await client.POST('/api/v1/events', { body: order })
  if (!refused.error) throw new Error('a conversion without a key was accepted')
  const affiliates = await client.GET('/api/v1/affiliates', { params: { query: { status: 'APPROVED', limit: 5 } } })
  if (!affiliates.data) throw new Error(affiliates.error.error)
  return {
    commissionCents: conversion.data.commission.amountCents,
    clickId: click.data.id,
    dryRunBaseCents: dryRun.data.trace.baseCents,
    error: refused.error.error,
    emails: affiliates.data.data.map(({ email }) => email),
  }
}

type Conversion = components['schemas']['ConversionEvent']
type Post = paths['/api/v1/events']['post']['requestBody']['content']['application/json']
type Sent = webhooks[keyof webhooks]['post']['requestBody']['content']['application/json']

// @ts-expect-error an order needs its id
export const withoutOrderId: Conversion = { amountCents: 10_000 }
// @ts-expect-error an order needs its amount, or lines that have prices
export const withoutAmount: Conversion = { externalOrderId: '1', lineItems: [{ productId: '7' }] }
// @ts-expect-error a click needs what was clicked on
export const withoutRef: Post = { type: 'click', sessionId: 's-1' }
// @ts-expect-error a click without its type is an order without its id
export const withoutType: Post = { ref: 'nisa-karim' }
// @ts-expect-error a batch needs the end of its period
export const withoutEnd: components['schemas']['PayoutCreate'] = { periodStart: '2026-10-01' }

export const withLines: Conversion = { orderId: '1', lineItems: [{ productId: '7', priceCents: 500 }] }
export const batch: components['schemas']['PayoutCreate'] = { periodStart: '2026-10-01', periodEnd: '2026-10-31' }
export const program: components['schemas']['ProgramCreate'] = { name: 'Friends' }
export const subjectOf = (sent: Sent): string => {
  if (sent.event === 'test') return sent.data.message
  return sent.event === 'commission.created' ? sent.data.orderId : sent.data.email
}

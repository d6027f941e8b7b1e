// Full: it starts other processes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isKnownEvent, type KnownEvent, type UnknownEvent, unwrap, type WebhookEvent } from '@referral/webhook-verifier'
import { signedRequest } from '@referral/webhook-verifier/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../..')
const openapi = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8'))

describe('event types', () => {
  it('are generated from the current openapi.yaml', () => {
    execFileSync(process.execPath, [join(root, 'webhook-verifier/scripts/generate-event-types.ts'), '--check'])
  })

  it('narrow by isKnownEvent and a switch over event', () => {
    const read = (event: WebhookEvent) => {
      if (!isKnownEvent(event)) {
        expectTypeOf(event).toEqualTypeOf<UnknownEvent>()
        return event.event
      }
      expectTypeOf(event).toEqualTypeOf<KnownEvent>()
      switch (event.event) {
        case 'affiliate.approved':
        case 'affiliate.rejected':
        case 'affiliate.status_changed':
          expectTypeOf(event.data.previousStatus).toExtend<string>()
          return event.data.email
        case 'commission.created':
          expectTypeOf(event.data.commissionAmountCents).toEqualTypeOf<number>()
          expectTypeOf(event.data.attribution.confidence).toEqualTypeOf<number>()
          return event.data.id
        case 'commission.approved':
        case 'commission.rejected':
        case 'commission.reversed':
        case 'commission.paid':
          expectTypeOf(event.data.previousStatus).toExtend<string | null>()
          return event.data.id
        case 'commission.refunded':
          expectTypeOf(event.data.refund.commissionCents).toEqualTypeOf<number>()
          return event.data.id
        case 'customer.bound':
          return event.data.id ?? ''
        case 'payout.created':
        case 'payout.paid':
        case 'payout.failed':
          expectTypeOf(event.data.totals.netPayableCents).toEqualTypeOf<number>()
          return event.data.id ?? ''
        case 'test':
          return event.data.message
        default:
          return event satisfies never
      }
    }
    const base = { timestamp: '2026-10-20T15:04:05.000Z', shop_id: 'shp_1' }
    expect(read({ ...base, event: 'payout.completed', data: {} })).toBe('payout.completed')
    expect(read({ ...base, event: 'test', data: { test: true, message: 'hello' } })).toBe('hello')
  })

  it('accept later enum values', () => {
    type Created = Extract<KnownEvent, { event: 'commission.created' }>['data']
    expectTypeOf<'A_LATER_STATUS'>().toExtend<Created['orderStatus']>()
    expectTypeOf<null>().not.toExtend<Created['orderStatus']>()
  })
})

describe("the examples of openapi.yaml's webhooks", () => {
  const resolve = (example: { $ref?: string; value?: unknown }) =>
    example.$ref ? openapi.components.examples[example.$ref.split('/').at(-1)!].value : example.value

  it.each(Object.keys(openapi.webhooks))('are known events: %s', async (name) => {
    const { examples } = openapi.webhooks[name].post.requestBody.content['application/json']
    for (const example of Object.values<{ $ref?: string }>(examples)) {
      const event = await unwrap(await signedRequest(JSON.stringify(resolve(example)), { secret: 's' }), {
        secret: 's',
      })
      expect(event).toEqual(resolve(example))
      expect([event.event, isKnownEvent(event)]).toEqual([name, true])
    }
  })
})

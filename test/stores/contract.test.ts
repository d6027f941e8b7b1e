import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { withoutMemory, withStalledBody } from '../support/bodies.ts'
import { type DocumentedOperation, ownerOperations, requiredHeaders } from '../support/document.ts'
import {
  failStatement,
  loseCommits,
  rejectWrites,
  removeTable,
  whileBroken,
  whileProcessing,
} from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { type Reply, type RequestOptions, type TestServer, testServer } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { stripeSignature } from '../support/store-signature.ts'

const SECRET = 'hush-hush-hush-hush'
const STRIPE_SECRET = 'whsec_0123456789abcdef'
const ops = ownerOperations.filter((op) => op.path.startsWith('/integrations/'))

interface NotifyOptions {
  text?: string
  /** Instead of the text that is signed. */
  raw?: RequestOptions['raw']
  signature?: string | null
  method?: string
  query?: string
}

const exampleTextOf = (op: DocumentedOperation) => JSON.stringify(Object.values(op.requestExamples)[0]?.value)

/** The first example of the document, signed, changed by `options`. */
function notify(server: TestServer, op: DocumentedOperation, options: NotifyOptions = {}): Promise<Reply> {
  const text = options.text ?? exampleTextOf(op)
  const signature = options.signature === undefined ? signatureOf(server, op, text) : options.signature
  const path = op.path.replace('{shopId}', server.shop.shopId)
  return server.request(options.method ?? op.method, `${path}${options.query ?? ''}`, {
    key: null,
    ...(options.method ? {} : { raw: options.raw ?? text }),
    headers: {
      ...requiredHeaders(op),
      ...(signature === null ? {} : { [isStripe(op) ? 'Stripe-Signature' : 'X-Shopify-Hmac-Sha256']: signature }),
    },
  })
}

const isStripe = (op: DocumentedOperation) => op.id === 'recordStripeEvent'

function signatureOf(server: TestServer, op: DocumentedOperation, text: string): string {
  if (!isStripe(op)) return createHmac('sha256', SECRET).update(text).digest('base64')
  return stripeSignature(text, STRIPE_SECRET, server.deps.now())['Stripe-Signature']
}

/** A Stripe checkout with a payment that is credited. */
const STRIPE_CHECKOUT = JSON.stringify({
  id: 'evt_checkout',
  type: 'checkout.session.completed',
  created: 1_792_490_645,
  livemode: true,
  data: {
    object: {
      id: 'cs_1',
      mode: 'payment',
      payment_status: 'paid',
      payment_intent: 'pi_batched',
      currency: 'usd',
      amount_total: 10_000,
      metadata: { referral_code: 'NISA16' },
    },
  },
})

/** A Stripe refund of a payment, by default one whose invoice is unknown. */
const stripeRefund = (id: number, payment = `pi_${CROWDED}`, currency = 'usd') =>
  JSON.stringify({
    id: `evt_${id}`,
    type: 'refund.created',
    created: 1_792_490_645,
    livemode: true,
    data: { object: { id: `re_${id}`, amount: 1, currency, payment_intent: payment } },
  })

/** An order without an affiliate, with as many refunds as are stored. */
const CROWDED = 77

/** A shop with a connected store. The order of the examples exists already, except for the operation that records it. */
async function storeServer(op: DocumentedOperation): Promise<TestServer> {
  const server = await testServer()
  await withAffiliate(server)
  const secrets = { storeWebhookSecret: SECRET, stripeWebhookSecret: STRIPE_SECRET }
  await expectOk(admin(server, 'PATCH', '/settings', secrets))
  const paid = ops.find(({ id }) => id === 'recordStoreOrder')!
  if (op !== paid && !isStripe(op)) await expectOk(notify(server, paid))
  if (op.id === 'refundStoreOrder') {
    for (let id = 1; id <= 50; id++) {
      await expectOk(notify(server, op, { text: `{"id": ${id}, "order_id": ${CROWDED}, "refund_line_items": []}` }))
    }
  }
  if (isStripe(op)) await expectOk(notify(server, op, { text: STRIPE_CHECKOUT }))
  const october = { periodStart: '2026-10-01', periodEnd: '2026-10-31' }
  if (op.responses[409]?.includes('payout_processing'))
    await expectOk(server.request('POST', '/api/v1/payouts', { body: october }))
  if (isStripe(op)) for (let id = 1; id <= 50; id++) await expectOk(notify(server, op, { text: stripeRefund(id) }))
  return server
}

/** The body of another topic. */
const OTHERS: Record<string, string> = {
  recordStoreOrder: '{"id": 1, "financial_status": "pending", "cancelled_at": null}',
  cancelStoreOrder: '{"id": 1, "financial_status": "paid", "cancelled_at": null}',
  refundStoreOrder: '{"id": 1, "order_id": 2, "kind": "refund", "amount": "10.00"}',
  recordStripeEvent: '{"id": "evt_1", "object": "event"}',
}

const causes: Record<string, (server: TestServer, op: DocumentedOperation) => Promise<Reply>> = {
  body_timeout: (server, op) => withStalledBody(server, ({ raw }) => notify(server, op, { raw })),
  server_busy: (server, op) => withoutMemory(server, () => notify(server, op)),
  invalid_json: (server, op) => notify(server, op, { text: '{"id": ' }),
  body_too_large: (server, op) => notify(server, op, { text: JSON.stringify({ note: 'x'.repeat(5 * 1024 * 1024) }) }),
  invalid_parameter: (server, op) => notify(server, op, { query: '?dryRun=1' }),
  invalid_body: (server, op) => notify(server, op, { text: OTHERS[op.id]! }),
  store_signature_missing: (server, op) => notify(server, op, { signature: null }),
  store_signature_invalid: (server, op) => notify(server, op, { signature: 'bm8=' }),
  stripe_signature_invalid: (server, op) => notify(server, op, { signature: 't=1,v1=00' }),
  store_domain_mismatch: (server, op) => {
    updateRows(server, 'shops', { storeDomain: 'hats.myshopify.com' })
    return whileBroken(
      () => updateRows(server, 'shops', { storeDomain: null }),
      () => notify(server, op),
    )
  },
  store_refund_limit_reached: (server, op) =>
    notify(server, op, {
      text: isStripe(op) ? stripeRefund(51) : `{"id": 51, "order_id": ${CROWDED}, "refund_line_items": []}`,
    }),
  refund_currency_mismatch: (server, op) => notify(server, op, { text: stripeRefund(53, 'pi_batched', 'eur') }),
  payout_processing: (server, op) =>
    whileProcessing(server, () => notify(server, op, isStripe(op) ? { text: stripeRefund(52, 'pi_batched') } : {})),
  store_notifications_suspended: async (server, op) => {
    updateRows(server, 'shops', { suspendedAt: '2026-11-02T12:00:00.000Z' })
    return whileBroken(
      () => updateRows(server, 'shops', { suspendedAt: null }),
      () => notify(server, op),
    )
  },
  plan_required: async (server, op) => {
    updateRows(server, 'shops', { plan: 'GROWTH' })
    return whileBroken(
      () => updateRows(server, 'shops', { plan: 'PROFESSIONAL' }),
      () => notify(server, op),
    )
  },
  rate_limited: (server, op) => {
    server.exhausted.add(`store:${server.shop.shopId}`)
    return whileBroken(
      () => server.exhausted.clear(),
      () => notify(server, op),
    )
  },
  method_not_allowed: (server, op) => notify(server, op, { method: 'GET' }),
  internal_error: (server, op) => {
    const { now } = server.deps
    const signature = signatureOf(server, op, exampleTextOf(op))
    server.deps.now = () => {
      throw new TypeError('a bug')
    }
    return whileBroken(
      () => {
        server.deps.now = now
      },
      () => notify(server, op, { signature }),
    )
  },
  storage_unavailable: (server, op) => {
    return whileBroken(removeTable(server, 'shops'), () => notify(server, op))
  },
  audit_unavailable: (server, op) => {
    return whileBroken(rejectWrites(server, 'insert', 'audits'), () => notify(server, op))
  },
  outcome_unknown: (server, op) => whileBroken(loseCommits(server), () => notify(server, op)),
}

describe.each(ops.map((op) => [op.id, op] as const))('%s', (id, op) => {
  let server: TestServer
  beforeAll(async () => {
    server = await storeServer(op)
  })
  afterAll(() => server.close())

  for (const [status, codes] of Object.entries(op.responses)) {
    for (const code of codes) {
      test(`${status} ${code}`, async () => {
        const before = snapshot(server)
        const reply = await causes[code]?.(server, op)
        expect([String(reply?.status), reply?.headers.get('X-Error-Code')]).toEqual([status, code])
        if (op.sentences[code]) expect(reply?.body.error).toBe(op.sentences[code])
        expect(snapshot(server)).toBe(before)
      })
    }
  }

  test('503 whichever statement fails: nothing changed, and the next try succeeds; again it changes nothing', async () => {
    const before = snapshot(server)
    for (let n = 1; ; n++) {
      const restore = failStatement(server, n)
      const { status } = await notify(server, op)
      restore()
      if (status === 200) break
      expect([n, status]).toEqual([n, 503])
      expect(snapshot(server), `statement ${n}`).toBe(before)
    }
    const after = snapshot(server)
    expect(after).not.toBe(before)
    expect((await notify(server, op)).status).toBe(200)
    expect(snapshot(server), id).toBe(after)
  })
})

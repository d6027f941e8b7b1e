// Type-checked against the packed declarations, as ES module and as CommonJS. Never run.
import { isKnownEvent, unwrap, WebhookError, type WebhookErrorCode } from '@referral/webhook-verifier'
import { webhook as express } from '@referral/webhook-verifier/express'
import { webhook as fastify } from '@referral/webhook-verifier/fastify'
import { webhook as hono } from '@referral/webhook-verifier/hono'
import { webhook as next, pagesWebhook } from '@referral/webhook-verifier/next'
import { webhook as node } from '@referral/webhook-verifier/node'
import { type SignatureHeaders, signedRequest, signWebhook } from '@referral/webhook-verifier/testing'

export const handlers = [express, fastify, hono, next, node, pagesWebhook].map((webhook) => typeof webhook)
export const signed: Promise<SignatureHeaders> = signWebhook('{}', 'secret', { id: 'evt_1', timestamp: 1 })

export const amount = async (): Promise<number | WebhookErrorCode> => {
  try {
    const event = await unwrap(await signedRequest({ event: 'test' }, { secret: 's' }), { secret: 's' })
    return isKnownEvent(event) && event.event === 'commission.created' ? event.data.commissionAmountCents : 0
  } catch (error) {
    if (error instanceof WebhookError) return error.code
    throw error
  }
}

// @ts-expect-error: an unknown event has no amount
export const wrong = async () => (await unwrap(new Request('x'), { secret: 's' })).data.commissionAmountCents.toFixed()

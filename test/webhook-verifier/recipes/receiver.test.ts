import { signedRequest } from '@referral/webhook-verifier/testing'
import { expect, it, vi } from 'vitest'

it('credits an affiliate', async () => {
  vi.stubEnv('WEBHOOK_SECRET', 'test-secret')
  const { app } = await import('./hono.ts')
  const event = {
    event: 'commission.created',
    data: { affiliateId: 'aff_1', commissionAmountCents: 1250, currency: 'EUR' },
  }

  const response = await app.fetch(await signedRequest(event, { secret: 'test-secret' }))
  expect(response.status).toBe(200)

  const forged = await app.fetch(await signedRequest(event, { secret: 'another secret' }))
  expect(forged.status).toBe(400)
})

import { signedDelivery, signedRequest, signWebhook } from '@referral/webhook-verifier/testing'
import { describe, expect, it } from 'vitest'

const metadata = { id: 'evt_1', timestamp: 1_792_508_645 }

describe('signWebhook', () => {
  it('signs webhook-signature with all secrets and X-Service-Signature with the first', async () => {
    const both = await signWebhook('{}', ['new', 'old'], metadata)
    const [first, second] = await Promise.all(['new', 'old'].map((secret) => signWebhook('{}', secret, metadata)))
    expect(both['X-Service-Signature']).toBe(first!['X-Service-Signature'])
    expect(both['webhook-signature']).toBe(`${first!['webhook-signature']} ${second!['webhook-signature']}`)
  })

  it.each(['', 'evt.1', 'evt 1', 'evt\n1', 'evt\u00e91'])('throws a RangeError for a malformed id: %j', async (id) => {
    await expect(signWebhook('{}', 'secret', { ...metadata, id })).rejects.toThrow(RangeError)
  })

  it.each([Date.now(), 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'throws a RangeError for a timestamp that is not in whole seconds: %d',
    async (timestamp) => {
      await expect(signWebhook('{}', 'secret', { ...metadata, timestamp })).rejects.toThrow(RangeError)
    },
  )

  it.each(['', [], ['secret', '']])('rejects for an empty secret: %j', async (secret) => {
    await expect(signWebhook('{}', secret, metadata)).rejects.toMatchObject({ code: 'secret_invalid' })
  })
})

describe('signedRequest', () => {
  it('equals what the server sends', async () => {
    const request = await signedRequest({ event: 'test' }, { secret: 'secret', id: 'evt_1', timestamp: 5 })
    expect(request.method).toBe('POST')
    expect(Object.keys(Object.fromEntries(request.headers)).sort()).toEqual([
      'content-type',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-service-event',
      'x-service-signature',
    ])
    expect(await request.json()).toMatchObject({ event: 'test', shop_id: 'shp_test', data: {} })
  })

  it('overrides or removes headers case-insensitively', async () => {
    const headers = { 'X-Service-Signature': 'broken', 'Webhook-Id': undefined }
    const delivery = await signedDelivery({ event: 'test' }, { secret: 'secret', headers })
    expect(delivery.headers['x-service-signature']).toBe('broken')
    expect('webhook-id' in delivery.headers).toBe(false)
  })
})

import { signWebhook } from '@referral/webhook-verifier/sender'
import { signedDelivery, signedRequest } from '@referral/webhook-verifier/testing'
import { describe, expect, it } from 'vitest'

const stamp = { id: 'evt_1', timestamp: 1_792_508_645 }

describe('signWebhook', () => {
  it('signs webhook-signature with every secret, X-Service-Signature with the first', async () => {
    const both = await signWebhook('{}', ['new', 'old'], stamp)
    const [first, second] = await Promise.all(['new', 'old'].map((secret) => signWebhook('{}', secret, stamp)))
    expect(both['X-Service-Signature']).toBe(first!['X-Service-Signature'])
    expect(both['webhook-signature']).toBe(`${first!['webhook-signature']} ${second!['webhook-signature']}`)
  })

  it.each(['', 'evt.1', 'evt 1', 'evt\n1', 'evt\u00e91'])('throws for an id that cannot be sent: %j', async (id) => {
    await expect(signWebhook('{}', 'secret', { ...stamp, id })).rejects.toThrow(RangeError)
  })

  it.each([Date.now(), 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'throws for a timestamp that is no whole number of seconds: %d',
    async (timestamp) => {
      await expect(signWebhook('{}', 'secret', { ...stamp, timestamp })).rejects.toThrow(RangeError)
    },
  )

  it.each(['', [], ['secret', '']])('rejects for an empty secret: %j', async (secret) => {
    await expect(signWebhook('{}', secret, stamp)).rejects.toMatchObject({ code: 'secret_invalid' })
  })
})

describe('signedRequest', () => {
  it('is what the service sends', async () => {
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

  it('lets a test break a header in any case of letters, or take it away', async () => {
    const headers = { 'X-Service-Signature': 'broken', 'Webhook-Id': undefined }
    const delivery = await signedDelivery({ event: 'test' }, { secret: 'secret', headers })
    expect(delivery.headers['x-service-signature']).toBe('broken')
    expect('webhook-id' in delivery.headers).toBe(false)
  })
})

it('signs alike where there is no Node, with Web Crypto', async () => {
  const sign = () => signWebhook('{"a":"ü"}', ['one', 'two'], { id: 'msg', timestamp: 1_790_000_000 })
  const withNode = await sign()
  const { getBuiltinModule } = process
  let asked = 0
  process.getBuiltinModule = (() => void asked++) as unknown as typeof getBuiltinModule
  const without = await sign().finally(() => {
    process.getBuiltinModule = getBuiltinModule
  })
  expect([asked, without]).toEqual([1, withNode])
})

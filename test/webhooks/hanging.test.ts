import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let at: Fixture
beforeEach(async () => {
  at = await webhookFixture()
})
afterEach(() => at.close())

test.each([1, 20])(
  'of 50 subscribers %i hang: the others have everything before one of these times out',
  async (count) => {
    const hanging = Array.from({ length: count }, (_, i) => at.plant(at.receiver.at(`/hang/${i}`)))
    for (let i = count; i < 50; i++) at.plant(at.receiver.at(`/ok/${i}`))
    await at.send()
    for (let i = 0; i < 20; i++) await at.test()
    await until(() => at.deliveries(`"status" = 'SENT'`).length === (50 - count) * 20)
    expect(at.deliveries(`"finishedAt" is not null`)).toHaveLength((50 - count) * 20)
    expect(at.receiver.received.filter(({ url }) => url.startsWith('/hang'))).toHaveLength(hanging.length * 2)
  },
)

test('a call is answered while its subscriber hangs', async () => {
  at.plant(at.receiver.at('/hang'))
  await at.send()
  await at.test()
  await until(() => at.receiver.received.length === 1)
  await at.test()
  expect(at.deliveries(`"finishedAt" is not null`)).toEqual([])
})

// Full: it waits for receivers that hang or fail.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

test.each([1, 20])(
  '%i of 50 subscribers hang: the others receive everything before one of these times out',
  async (count) => {
    const hanging = Array.from({ length: count }, (_, i) => fixture.plant(fixture.receiver.at(`/hang/${i}`)))
    for (let i = count; i < 50; i++) fixture.plant(fixture.receiver.at(`/ok/${i}`))
    await fixture.send()
    for (let i = 0; i < 20; i++) await fixture.test()
    await until(() => fixture.deliveries({ status: 'SENT' }).length === (50 - count) * 20)
    expect(fixture.finished()).toHaveLength((50 - count) * 20)
    expect(fixture.receiver.received.filter(({ url }) => url.startsWith('/hang'))).toHaveLength(hanging.length * 2)
  },
)

test('a call returns while its subscriber hangs', async () => {
  fixture.plant(fixture.receiver.at('/hang'))
  await fixture.send()
  await fixture.test()
  await until(() => fixture.receiver.received.length === 1)
  await fixture.test()
  expect(fixture.finished()).toEqual([])
})

import { expect } from 'vitest'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const DAY = 86_400_000

test('however many clicks a session has, the first and the last that count are found', async ({
  server,
  client,
  owner,
}) => {
  const nisa = (await withAffiliate(server)).affiliate
  const mara = await newAffiliate(server)
  const sessionId = 's-1'
  const click = (ref: string, ms: number) =>
    client.events.click({ ref, sessionId, occurredAt: new Date(server.clock.ms + ms).toISOString() })
  const decide = async () => {
    const { attribution } = await client.events.dryRun({ externalOrderId: 'o', amountCents: 10_000, sessionId })
    return [attribution.affiliateId, attribution.reasonCode]
  }
  await click(mara.id, -31 * DAY)
  await click(nisa.id, -30 * DAY)
  await click(mara.id, -29 * DAY)
  await Promise.all(Array.from({ length: 101 }, (_, n) => click('nobody', -1 * DAY + n)))
  expect(await decide()).toEqual([mara.id, 'CLICK_MATCH'])
  await expectOk(owner('PATCH', '/settings', { clickTouch: 'FIRST' }))
  expect(await decide()).toEqual([nisa.id, 'CLICK_MATCH'])
  await client.programs.update(nisa.campaignId, { cookieDurationDays: 0 })
  expect(await decide()).toEqual([null, 'NO_MATCH'])
})

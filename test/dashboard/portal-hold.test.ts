// SQLite only: the pages call the use cases that are tested on both databases
import { expect, test } from 'vitest'
import { newAffiliate } from '../support/shop.ts'
import { openPageShop } from './fixture.ts'
import { visitorOf, wordsOf } from './visitor.ts'

test('an approved order on hold names the day, and is not said to be in the next payout', async () => {
  const shop = await openPageShop()
  const { client } = shop.server
  const id = (await client.programs.list()).data[0]?.id ?? ''
  const held = await newAffiliate(shop.server, { name: 'Held Person', code: 'HELD1' })
  await client.programs.setTerms(id, { holdDays: 30, rules: [] })
  await shop.order({ externalOrderId: '7003', orderName: '#7003', couponCode: 'HELD1' })
  await client.programs.setTerms(id, { rules: [] })
  const [commission] = (await client.commissions.list({ affiliateId: held.id })).data
  await shop.owner.submit(`/admin/commissions/${commission!.id}/approve`)
  const sent = await shop.owner.submit(`/admin/affiliates/${held.id}/link`, [['hours', '1']])
  const { text } = await shop.owner.open(sent.headers.get('Location') ?? '')
  const path = /\/affiliate\?token=[\w.%-]+/.exec(text)?.[0] ?? ''
  const words = wordsOf((await visitorOf(shop.server).open(path)).text)
  expect(words).toContain('On hold until ')
  expect(words).not.toContain('Included in the next payout')
  await shop.server.close()
})

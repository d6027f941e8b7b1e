import { expect } from 'vitest'
import { auditLog } from '../support/inspect.ts'
import { type Client, test } from '../support/test.ts'

let people = 0
const create = (client: Client) =>
  client.affiliates.create({ email: `person-${++people}@example.com`, name: 'Nisa Karim' })

test('409 when the code was changed by another request', async ({ client }) => {
  const { id: affiliateId } = await create(client)
  await client.coupons.assign({ affiliateId, code: 'STAYS' })
  const replies = await Promise.all(
    ['NEWER', 'STAYS'].map((code) => client.coupons.assign({ affiliateId, code }).safe()),
  )
  expect(replies.map(({ error }) => error?.code)).toEqual([undefined, 'concurrent_change'])
})

test('one audit record of a new code, and none of the same one', async ({ server, client }) => {
  const { id, discountCode } = await create(client)
  const audits = auditLog(server)
  for (let n = 0; n < 2; n++) await client.coupons.assign({ affiliateId: id, code: 'AUDIT' })
  expect(audits()).toMatchObject([
    { action: 'coupon.assigned', subjectId: id, data: { code: 'AUDIT', previousCode: discountCode } },
  ])
})

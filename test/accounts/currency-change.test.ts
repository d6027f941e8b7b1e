import { expect } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

const FLAT = { name: 'Flat', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }

test("amounts in the shop's currency keep it, each by its name", async ({ server, owner }) => {
  const change = (more: object = {}) => owner('PATCH', '/settings', { currency: 'JPY', ...more })
  const isRefused = async (...names: string[]) => {
    const { status, headers, body } = await change()
    expect([status, headers.get('X-Error-Code')]).toEqual([409, 'currency_in_use'])
    for (const name of names) expect(body.error).toContain(name)
  }
  const create = (body: object) => expectOk(server.request('POST', '/api/v1/programs', { body }))
  const setType = (id: string, body: object) => server.request('PATCH', `/api/v1/programs?id=${id}`, { body })

  const flat = await create(FLAT)
  const fixed = await create({ name: 'Discounted' })
  await expectOk(setType(fixed.id, { discountType: 'FIXED', discountValue: 5 }))
  const ruled = await create({ name: 'Ruled' })
  const rule = {
    programId: ruled.id,
    kind: 'product',
    value: '7',
    commissionType: 'FLAT_PER_ITEM',
    commissionPercent: 1,
  }
  const { id: ruleId } = await expectOk(owner('POST', '/product-rules', rule))
  await expectOk(owner('PATCH', '/settings', { minimumPayoutCents: 2500 }))
  await isRefused('Flat', 'Discounted', 'Ruled', 'minimum payout', 'USD')

  await expectOk(setType(flat.id, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 10 }))
  await expectOk(setType(fixed.id, { discountType: 'PERCENT' }))
  await isRefused('Ruled')
  expect((await owner('DELETE', `/product-rules/${ruleId}`)).status).toBe(200)
  await isRefused('minimum payout')
  expect(await expectOk(change({ minimumPayoutCents: 4000 }))).toMatchObject({
    currency: 'JPY',
    minimumPayoutCents: 4000,
  })
})

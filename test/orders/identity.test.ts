import { expect } from 'vitest'
import { createUser, revokeUser } from '../support/tenants.ts'
import { test } from '../support/test.ts'

test('a user of the shop is created once, however the operator writes the address', async ({ server }) => {
  const { deps, shop } = server
  const staff = { shop: shop.shopId, email: 'Mu\u0308ller@BU\u0308CHER.example.', role: 'STAFF' as const }
  const { userId } = await createUser(deps, { ...staff, email: 'müller@bücher.example' })
  await expect(createUser(deps, staff)).rejects.toThrow('already')
  expect((await revokeUser(deps, staff)).userId).toBe(userId)
})

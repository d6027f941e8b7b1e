import { updateRows } from '../support/inspect.ts'
import type { OwnerServer } from '../support/owner.ts'
import type { TestShop } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type FuzzWorld, fuzzWorld } from './world.ts'

/** A test shop as the stranger, with data of a live shop: the one that it belongs to. */
export const liveData = (): Promise<FuzzWorld> => fuzzWorld(createTestShop)

/** A live shop as the stranger, with data of a test shop: one that belongs to it. */
export async function testData(): Promise<FuzzWorld> {
  const world = await fuzzWorld()
  const { server, stranger } = world
  // The examples are created with the key of the server's first shop, so that shop becomes the test shop.
  updateRows(server, 'shops', { isTest: 1, testOf: stranger.shopId }, { id: server.shop.shopId })
  return world
}

async function createTestShop(server: OwnerServer): Promise<TestShop> {
  const { id, apiKey, ownerToken } = await expectOk(server.owner('POST', '/test-shops', {}))
  const body = { advanceSeconds: 86_400 }
  await expectOk(server.request('POST', `/admin/v1/test-shops/${id}/clock`, { key: ownerToken, body }))
  return { shopId: id, key: apiKey, ownerToken, keyId: '' }
}

/** The owner of a live shop lists and manages its test shops with these. */
export const MANAGEMENT = ['listTestShops', 'createTestShop', 'advanceTestClock', 'deleteTestShop']

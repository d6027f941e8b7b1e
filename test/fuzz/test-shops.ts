import { updateRows } from '../support/inspect.ts'
import type { OwnerServer } from '../support/owner.ts'
import type { TestShop } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type FuzzWorld, fuzzWorld } from './world.ts'

/** A test shop as the stranger, with data of a live shop: the one that it belongs to. */
export const liveData = async (): Promise<FuzzWorld> => withShopId(await fuzzWorld(createTestShop))

/** A live shop as the stranger, with data of a test shop: one that belongs to it. */
export async function testData(): Promise<FuzzWorld> {
  const world = await fuzzWorld()
  const { server, stranger } = world
  // The examples are created with the key of the server's first shop, so that shop becomes the test shop.
  updateRows(server, 'shops', { isTest: 1, testOf: stranger.shopId }, { id: server.shop.shopId })
  return withShopId(world)
}

/** Calls also name the shop itself, but not that of the caller: a test shop may delete itself. */
const withShopId = (world: FuzzWorld): FuzzWorld => {
  const { server, stranger, ids } = world
  return { ...world, ids: [...ids.filter((id) => id !== stranger.shopId), server.shop.shopId] }
}

/** Whether the caller still has access, without which no call says anything. */
export const hasAccess = async ({ server, stranger }: FuzzWorld): Promise<boolean> =>
  (await server.request('GET', '/admin/v1/settings', { key: stranger.ownerToken })).status === 200

async function createTestShop(server: OwnerServer): Promise<TestShop> {
  const { id, apiKey, ownerToken } = await expectOk(server.owner('POST', '/test-shops', {}))
  const body = { advanceSeconds: 86_400 }
  await expectOk(server.request('POST', `/admin/v1/test-shops/${id}/clock`, { key: ownerToken, body }))
  return { shopId: id, key: apiKey, ownerToken, keyId: '' }
}

/** The owner of a live shop lists and manages its test shops with these. */
export const MANAGEMENT = ['listTestShops', 'createTestShop', 'advanceTestClock', 'deleteTestShop']

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as shops from '../../server/src/accounts/shops.ts'
import { insertKeys } from '../support/keys.ts'
import { admin } from '../support/owner.ts'
import { type Reply, type TestServer, type TestShop, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'

const LIMIT = 100

let server: TestServer
let shop: TestShop
beforeAll(async () => {
  server = await testServer({ limited: true })
})
beforeEach(async () => {
  shop = await server.createShop()
})
afterAll(() => server.close())

interface Key {
  id: string
  secret: string
  label: string
  status: string
}

const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const asOwner = (method: string, path: string, body?: unknown) =>
  admin(server, method, path, body, { key: shop.ownerToken })
const tryCreate = (more: object = {}) => asOwner('POST', '/keys', { label: 'K', scopes: ['programs:read'], ...more })
const create = (more?: object): Promise<Key> => expectOk(tryCreate(more))
const revoke = (id: string) => expectOk(asOwner('DELETE', `/keys/${id}`))
const list = (): Promise<Key[]> => expectOk(asOwner('GET', '/keys'))
/** A shop is made with one key. */
const createMany = async (count: number) => {
  const made: Key[] = []
  for (let i = 0; i < count; i++) made.push(await create())
  return made
}
const call = (key: string) => server.request('GET', '/api/v1/programs', { key })
/** Uses a key so often; answers how many requests its window has left. */
async function use(key: string, times: number): Promise<number> {
  const replies = await Promise.all(Array.from({ length: times }, () => call(key)))
  return Math.min(...replies.map(({ headers }) => Number(headers.get('X-RateLimit-Remaining'))))
}

describe('a shop has at most 20 active keys', () => {
  test('409 for one more, and again a key once one of them was revoked', async () => {
    const keys = await createMany(19)
    expect(codeOf(await tryCreate())).toEqual([409, 'key_limit_reached'])
    await revoke(keys[3]!.id)
    expect((await tryCreate()).status).toBe(201)
    expect(codeOf(await tryCreate())).toEqual([409, 'key_limit_reached'])
  })

  test('an expired key does not count, and rotating needs no place', async () => {
    const [first] = await createMany(18)
    await create({ expiresAt: new Date(server.deps.now() + 1000).toISOString() })
    expect(codeOf(await tryCreate())).toEqual([409, 'key_limit_reached'])
    expect((await asOwner('POST', `/keys/${first!.id}/rotate`)).status).toBe(200)
    server.clock.advance(1000)
    expect((await tryCreate()).status).toBe(201)
  })

  test('of many who create at once, exactly as many get a key as there are places', async () => {
    const replies = await Promise.all(Array.from({ length: 40 }, () => tryCreate()))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(19)
    expect(replies.filter((reply) => codeOf(reply)[1] === 'key_limit_reached')).toHaveLength(21)
  })
})

describe('a shop has as many windows as active keys, whatever it does with them', () => {
  test('each of 20 keys has a window of its own', async () => {
    const keys = [shop.key, ...(await createMany(19)).map(({ secret }) => secret)]
    for (const key of keys) expect(await use(key, 2)).toBe(LIMIT - 2)
  })

  test('a rotated key goes on in its window', async () => {
    const { id, secret } = await create()
    expect(await use(secret, 3)).toBe(LIMIT - 3)
    const rotated = await expectOk(asOwner('POST', `/keys/${id}/rotate`))
    expect(await use(rotated.secret, 1)).toBe(LIMIT - 4)
  })

  /** What is left to each of 25 keys that are used twice and ended one after the other, beside one that stays. */
  async function churn(more: () => object, end: (key: Key) => Promise<unknown>): Promise<number[]> {
    await use(shop.key, 5)
    const left: number[] = []
    for (let i = 0; i < 25; i++) {
      const key = await create(more())
      left.push(await use(key.secret, 2))
      await end(key)
    }
    return left
  }
  // The window of the key that stays is nobody else's.
  const SHARED = [...Array(19).fill(LIMIT - 2), ...Array(6).fill(LIMIT - 4)]

  test('creating and revoking keys gives no further windows', async () => {
    const revokeLater = async ({ id }: Key) => {
      await revoke(id)
      server.clock.advance(1)
    }
    expect(await churn(() => ({}), revokeLater)).toEqual(SHARED)
    expect(await use(shop.key, 1)).toBe(LIMIT - 6)
  })

  test('neither does letting them expire', async () => {
    const soon = () => ({ expiresAt: new Date(server.deps.now() + 1000).toISOString() })
    expect(await churn(soon, async () => server.clock.advance(1000))).toEqual(SHARED)
  })

  test('a new key continues the window that has been without a key longest, and is refused when that is used up', async () => {
    const keys = await createMany(19)
    expect(await use(keys[0]!.secret, LIMIT + 1)).toBe(0)
    await revoke(keys[1]!.id)
    server.clock.advance(1)
    await revoke(keys[0]!.id)
    expect(await use((await create()).secret, 1)).toBe(LIMIT - 1)
    expect(codeOf(await call((await create()).secret))).toEqual([429, 'rate_limited'])
  })

  test('a key of another shop has nothing to do with it', async () => {
    await use(shop.key, 5)
    const { key } = await server.createShop()
    expect(await use(key, 1)).toBe(LIMIT - 1)
  })
})

test('ended keys are listed until 200 later ones ended; the audit keeps what happened to them', async () => {
  await insertKeys(await shops.operatorContext(server.deps, shop.shopId), 205)
  const ids = (await list()).map(({ id }) => id).filter((id) => id !== shop.keyId)
  const end = server.sql.prepare('update "apiKeys" set "revokedAt" = ? where id = ?')
  for (const [i, id] of ids.entries()) end.run(new Date(server.deps.now() + i).toISOString(), id)
  server.clock.advance(205)
  const { id } = await create()
  const keys = await list()
  expect(keys.filter(({ status }) => status === 'active').map((key) => key.id)).toEqual([id, shop.keyId])
  const ended = keys.filter(({ status }) => status === 'revoked').map((key) => key.id)
  expect(new Set(ended)).toEqual(new Set(ids.slice(5)))
  const audits = server.sql.prepare(`select count(*) from audits where "shopId" = ? and action = 'key.created'`)
  expect(Number(audits.pluck().get(shop.shopId))).toBe(2)
})

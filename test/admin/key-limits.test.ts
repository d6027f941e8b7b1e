import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Reply, type TestServer, type TestShop, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { admin } from './fixture.ts'

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
const left = async (key: string) => Number((await call(key)).headers.get('X-RateLimit-Remaining'))
/** Uses a key until it is refused; answers how many requests were accepted. */
async function exhaust(key: string): Promise<number> {
  for (let used = 0; ; used++) if ((await call(key)).status === 429) return used
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

describe('no key is refused before its own maximum, and a shop gets no more than 20 times that', () => {
  test('each of 20 keys has all its requests', async () => {
    const keys = [shop.key, ...(await createMany(19)).map(({ secret }) => secret)]
    for (const key of keys) expect(await exhaust(key)).toBe(LIMIT)
  })

  test('a rotated key goes on in its window', async () => {
    const { id, secret } = await create()
    expect(await exhaust(secret)).toBe(LIMIT)
    const rotated = await expectOk(asOwner('POST', `/keys/${id}/rotate`))
    expect(codeOf(await call(rotated.secret))).toEqual([429, 'rate_limited'])
  })

  test('creating and revoking keys gives no further requests', async () => {
    let accepted = await exhaust(shop.key)
    for (let i = 0; i < 25; i++) {
      const { id, secret } = await create()
      accepted += await exhaust(secret)
      await revoke(id)
    }
    expect(accepted).toBe(20 * LIMIT)
  })

  test('neither does letting them expire', async () => {
    let accepted = await exhaust(shop.key)
    for (let i = 0; i < 25; i++) {
      const { secret } = await create({ expiresAt: new Date(server.deps.now() + 1000).toISOString() })
      accepted += await exhaust(secret)
      server.clock.advance(1000)
    }
    expect(accepted).toBe(20 * LIMIT)
  })

  test('a new key continues the window that has been without a key longest', async () => {
    const keys = await createMany(19)
    await exhaust(keys[0]!.secret)
    await revoke(keys[1]!.id)
    server.clock.advance(1)
    await revoke(keys[0]!.id)
    expect(await left((await create()).secret)).toBe(LIMIT - 1)
    expect(codeOf(await call((await create()).secret))).toEqual([429, 'rate_limited'])
  })

  test('a key of another shop has nothing to do with it', async () => {
    await createMany(19)
    await exhaust(shop.key)
    const { key } = await server.createShop()
    expect(await left(key)).toBe(LIMIT - 1)
  })
})

test('ended keys are listed until 200 later ones ended; the audit keeps all of them', async () => {
  const kept = await create({ label: 'kept' })
  for (let i = 0; i < 205; i++) {
    const { id } = await create({ label: String(i) })
    await revoke(id)
    server.clock.advance(1)
  }
  const keys = await list()
  expect(keys.filter(({ status }) => status === 'active').map(({ id }) => id)).toEqual([kept.id, shop.keyId])
  const ended = keys.filter(({ status }) => status === 'revoked').map(({ label }) => Number(label))
  expect([ended[0], ended.length]).toEqual([204, 201])
  const audits = server.sql.prepare(`select count(*) from audits where "shopId" = ? and action = 'key.revoked'`)
  expect(Number(audits.pluck().get(shop.shopId))).toBe(205)
})

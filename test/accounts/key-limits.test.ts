import { describe, expect } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { updateRows } from '../support/inspect.ts'
import { insertKeys } from '../support/keys.ts'
import type { Reply, TestServer, TestShop } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, testWithNewShop } from '../support/test.ts'

const test = testWithNewShop.extend('options', { scope: 'file' }, { limited: true })

const LIMIT = 100

let shop: TestShop

test.beforeEach(({ server }) => {
  shop = server.shop
})

interface Key {
  id: string
  secret: string
  label: string
  status: string
}

const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const tryCreate = (owner: Owner, more: object = {}) =>
  owner('POST', '/keys', { label: 'K', scopes: ['programs:read'], ...more })
const create = (owner: Owner, more?: object): Promise<Key> => expectOk(tryCreate(owner, more))
const revoke = (owner: Owner, id: string) => expectOk(owner('DELETE', `/keys/${id}`))
const list = (owner: Owner): Promise<Key[]> => expectOk(owner('GET', '/keys'))
/** A shop is made with one key. */
const createMany = async (owner: Owner, count: number) => {
  const made: Key[] = []
  for (let i = 0; i < count; i++) made.push(await create(owner))
  return made
}
const call = (server: TestServer, key: string) => server.request('GET', '/api/v1/programs', { key })
/** Sends requests with a key, and returns how many requests remain in its window. */
async function use(server: TestServer, key: string, times: number): Promise<number> {
  const replies = await Promise.all(Array.from({ length: times }, () => call(server, key)))
  return Math.min(...replies.map(({ headers }) => Number(headers.get('X-RateLimit-Remaining'))))
}

describe('a shop has at most 20 active keys', () => {
  test('409 for one more key, and 201 again after one was revoked', async ({ owner }) => {
    const keys = await createMany(owner, 19)
    expect(codeOf(await tryCreate(owner))).toEqual([409, 'key_limit_reached'])
    await revoke(owner, keys[3]!.id)
    expect((await tryCreate(owner)).status).toBe(201)
    expect(codeOf(await tryCreate(owner))).toEqual([409, 'key_limit_reached'])
  })

  test('an expired key does not count, and rotation needs no slot', async ({ server, owner }) => {
    const [first] = await createMany(owner, 18)
    await create(owner, { expiresAt: new Date(server.deps.now() + 1000).toISOString() })
    expect(codeOf(await tryCreate(owner))).toEqual([409, 'key_limit_reached'])
    expect((await owner('POST', `/keys/${first!.id}/rotate`)).status).toBe(200)
    server.clock.advance(1000)
    expect((await tryCreate(owner)).status).toBe(201)
  })

  test('parallel calls create exactly as many keys as there are slots', async ({ owner }) => {
    const replies = await Promise.all(Array.from({ length: 40 }, () => tryCreate(owner)))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(19)
    expect(replies.filter((reply) => codeOf(reply)[1] === 'key_limit_reached')).toHaveLength(21)
  })
})

describe('a shop has as many rate limit windows as active keys', () => {
  test('each of 20 keys has its own window', async ({ server, owner }) => {
    const keys = [shop.key, ...(await createMany(owner, 19)).map(({ secret }) => secret)]
    for (const key of keys) expect(await use(server, key, 2)).toBe(LIMIT - 2)
  })

  test('a rotated key keeps its window', async ({ server, owner }) => {
    const { id, secret } = await create(owner)
    expect(await use(server, secret, 3)).toBe(LIMIT - 3)
    const rotated = await expectOk(owner('POST', `/keys/${id}/rotate`))
    expect(await use(server, rotated.secret, 1)).toBe(LIMIT - 4)
  })

  /** The remaining requests of each of 25 keys that are used twice and ended one by one, while another key stays active. */
  async function churn(server: TestServer, more: () => object, end: (key: Key) => Promise<unknown>): Promise<number[]> {
    await use(server, shop.key, 5)
    const left: number[] = []
    for (let i = 0; i < 25; i++) {
      const key = await create(server.owner, more())
      left.push(await use(server, key.secret, 2))
      await end(key)
    }
    return left
  }
  // The window of the active key is not shared.
  const SHARED = [...Array(19).fill(LIMIT - 2), ...Array(6).fill(LIMIT - 4)]

  test('creating and revoking keys adds no windows', async ({ server, owner }) => {
    const revokeLater = async ({ id }: Key) => {
      await revoke(owner, id)
      server.clock.advance(1)
    }
    expect(await churn(server, () => ({}), revokeLater)).toEqual(SHARED)
    expect(await use(server, shop.key, 1)).toBe(LIMIT - 6)
  })

  test('expired keys add no windows', async ({ server }) => {
    const soon = () => ({ expiresAt: new Date(server.deps.now() + 1000).toISOString() })
    expect(await churn(server, soon, async () => server.clock.advance(1000))).toEqual(SHARED)
  })

  test('a new key continues the window that has been without a key longest: 429 when that is exhausted', async ({
    server,
    owner,
  }) => {
    const keys = await createMany(owner, 19)
    expect(await use(server, keys[0]!.secret, LIMIT + 1)).toBe(0)
    await revoke(owner, keys[1]!.id)
    server.clock.advance(1)
    await revoke(owner, keys[0]!.id)
    expect(await use(server, (await create(owner)).secret, 1)).toBe(LIMIT - 1)
    expect(codeOf(await call(server, (await create(owner)).secret))).toEqual([429, 'rate_limited'])
  })

  test('keys of another shop are not affected', async ({ server }) => {
    await use(server, shop.key, 5)
    const { key } = await server.createShop()
    expect(await use(server, key, 1)).toBe(LIMIT - 1)
  })
})

test('inactive keys are listed until 200 later ones are inactive; the audit keeps their history', async ({
  server,
  owner,
}) => {
  await insertKeys(await shops.operatorContext(server.deps, shop.shopId), 205)
  const ids = (await list(owner)).map(({ id }) => id).filter((id) => id !== shop.keyId)
  for (const [i, id] of ids.entries())
    updateRows(server, 'apiKeys', { revokedAt: new Date(server.deps.now() + i).toISOString() }, { id })
  server.clock.advance(205)
  const { id } = await create(owner)
  const keys = await list(owner)
  expect(keys.filter(({ status }) => status === 'active').map((key) => key.id)).toEqual([id, shop.keyId])
  const ended = keys.filter(({ status }) => status === 'revoked').map((key) => key.id)
  expect(new Set(ended)).toEqual(new Set(ids.slice(5)))
  expect(await expectOk(owner('GET', '/audit?action=key.created'))).toHaveLength(2)
})

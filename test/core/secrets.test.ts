import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { createSecret, isWellFormed, type SecretKind } from '../../server/src/core/secret.ts'
import { watchReads } from '../support/faults.ts'
import { allTables, rowOf, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes))
const KINDS: SecretKind[] = ['rk', 'ro', 'rs', 'rl']

describe('a secret', () => {
  test('has 256 random bits, all of them significant', () => {
    const asked: number[] = []
    const of = (bytes: Uint8Array) =>
      createSecret('rk', (count) => {
        asked.push(count)
        return bytes
      })
    const flipped = Array.from({ length: 256 }, (_, bit) => {
      const bytes = new Uint8Array(32)
      bytes[bit >> 3] = 1 << (bit & 7)
      return of(bytes)
    })
    expect(new Set([of(new Uint8Array(32)), of(new Uint8Array(32).fill(255)), ...flipped]).size).toBe(258)
    expect(new Set(asked)).toEqual(new Set([32]))
  })

  test('has one type, and is rejected after any single typing error', () => {
    for (const kind of KINDS) {
      const secret = createSecret(kind, random)
      expect(KINDS.filter((other) => isWellFormed(other, secret))).toEqual([kind])
      for (let at = 3; at < secret.length; at++) {
        const typo = secret.slice(0, at) + (secret[at] === 'x' ? 'y' : 'x') + secret.slice(at + 1)
        expect(isWellFormed(kind, typo), typo).toBe(false)
      }
    }
  })

  test('is matched by the pattern for secret scanners, and no other word is', ({ server }) => {
    const page = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8')
    const [, expression = ''] = /```regex\n(.+)\n```/.exec(page) ?? []
    const found = (text: string) => text.match(new RegExp(expression, 'g')) ?? []
    const secrets = KINDS.flatMap((kind) => Array.from({ length: 50 }, () => createSecret(kind, random)))
    expect(found(`{"key":"${secrets.join('","')}"}`)).toEqual(secrets)
    expect(found(`KEY=${server.shop.key}\nTOKEN=${server.shop.ownerToken};`)).toHaveLength(2)
    expect(found(`work_${'a'.repeat(49)} rk_short ${server.shop.key}x ${server.shop.shopId}`)).toEqual([])
  })
})

const get = async (server: TestServer, token: string) => {
  const { status, headers } = await server.request('GET', '/api/v1/programs', { key: token })
  return [status, headers.get('X-Error-Code')]
}

describe('a key', () => {
  test('with a wrong checksum is rejected before any database query', async ({ server }) => {
    const typo = server.shop.key.slice(0, -1) + (server.shop.key.endsWith('a') ? 'b' : 'a')
    const watched = watchReads(server, 'apiKeys')
    expect(await get(server, typo)).toEqual([403, 'key_unknown'])
    const before = watched.count()
    expect(await get(server, createSecret('rk', random))).toEqual([403, 'key_unknown'])
    watched.end()
    expect([before, watched.count() > 0]).toEqual([0, true])
  })

  test('whose row has another hash is rejected, however it was found', async ({ server }) => {
    const other = createHash('sha256').update('another').digest('hex')
    const watched = watchReads(server, 'apiKeys', (row) =>
      'keySecretHash' in row ? { ...row, keySecretHash: other } : row,
    )
    const found = await get(server, server.shop.key)
    watched.end()
    expect(found).toEqual([403, 'key_unknown'])
    expect((await get(server, server.shop.key))[0]).toBe(200)
  })

  test('is stored only as its SHA-256, like an owner token', async ({ server }) => {
    const { key, keyId, ownerToken } = await server.createShop()
    const hash = (secret: string) => createHash('sha256').update(secret).digest('hex')
    const row = rowOf(server, 'apiKeys', { id: keyId })
    expect(row.secretHash).toBe(hash(key))
    expect(row.prefix).toBe(key.slice(0, 10))
    expect(rowsOf(server, 'users').map(({ tokenHash }) => tokenHash)).toContain(hash(ownerToken))
    for (const [table, rows] of allTables(server)) {
      const text = JSON.stringify(rows)
      for (const secret of [key, ownerToken]) expect(text.includes(secret.slice(10)), table).toBe(false)
    }
  })
})

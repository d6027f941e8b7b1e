import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { createSecret, isWellFormed, type SecretKind } from '../../server/src/core/secret.ts'
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

interface Executor {
  executeQuery: (query: { sql: string }) => Promise<{ rows: Record<string, unknown>[] }>
}

/** Counts how often keys are looked for, and may change what is found. */
function reading(server: TestServer, change: (row: Record<string, unknown>) => Record<string, unknown> = (row) => row) {
  const executor = server.deps.db.read.getExecutor() as unknown as Executor
  const { executeQuery } = executor
  let reads = 0
  executor.executeQuery = async (query) => {
    if (query.sql.includes('apiKeys')) reads++
    const found = await executeQuery.call(executor, query)
    return { ...found, rows: found.rows.map(change) }
  }
  return {
    reads: () => reads,
    end: () => {
      executor.executeQuery = executeQuery
    },
  }
}

const get = async (server: TestServer, token: string) => {
  const { status, headers } = await server.request('GET', '/api/v1/programs', { key: token })
  return [status, headers.get('X-Error-Code')]
}

describe('a key', () => {
  test('with a wrong checksum is rejected before any database query', async ({ server }) => {
    const typo = server.shop.key.slice(0, -1) + (server.shop.key.endsWith('a') ? 'b' : 'a')
    const watched = reading(server)
    expect(await get(server, typo)).toEqual([403, 'key_unknown'])
    const before = watched.reads()
    expect(await get(server, createSecret('rk', random))).toEqual([403, 'key_unknown'])
    watched.end()
    expect([before, watched.reads() > 0]).toEqual([0, true])
  })

  test('whose row has another hash is rejected, however it was found', async ({ server }) => {
    const other = createHash('sha256').update('another').digest('hex')
    const watched = reading(server, (row) => ('keySecretHash' in row ? { ...row, keySecretHash: other } : row))
    const found = await get(server, server.shop.key)
    watched.end()
    expect(found).toEqual([403, 'key_unknown'])
    expect((await get(server, server.shop.key))[0]).toBe(200)
  })

  test('is stored only as its SHA-256, like an owner token', async ({ server }) => {
    const { key, keyId, ownerToken } = await server.createShop()
    const stored = (table: string, column: string) =>
      server.sql.prepare(`select "${column}" from "${table}"`).pluck().all()
    const hash = (secret: string) => createHash('sha256').update(secret).digest('hex')
    const row = server.sql.prepare('select * from "apiKeys" where id = ?').get(keyId) as Record<string, unknown>
    expect(row.secretHash).toBe(hash(key))
    expect(row.prefix).toBe(key.slice(0, 10))
    expect(stored('users', 'tokenHash')).toContain(hash(ownerToken))
    for (const table of server.sql.tables()) {
      const text = JSON.stringify(server.sql.prepare(`select * from "${table}"`).all())
      for (const secret of [key, ownerToken]) expect(text.includes(secret.slice(10)), table).toBe(false)
    }
  })
})

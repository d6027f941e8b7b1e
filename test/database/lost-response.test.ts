// PostgreSQL only: a commit on SQLite has no connection that can break.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDeps, type MutationContext } from '../../server/src/core/context.ts'
import type { Database } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { testConfig } from '../../server/src/testing/config.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { createShop } from '../support/tenants.ts'

/** Breaks a connection between a commit and its response. */
interface LossyProxy {
  url: string
  /** Loses the response to the next commit that contains this text. */
  loseAfter: (text: string) => void
  lost: () => number
  /** The next query of the outcome of a commit finds what there was a moment before the commit. */
  hideTrace: () => void
  /** How often a trace was hidden. */
  hidden: () => number
  server: Server
}

/** Two columns of a row as PostgreSQL sends them: each has its length in front. */
const TRACED = Buffer.from('committed\0\0\0\x01t')

async function startLossyProxy(target: URL): Promise<LossyProxy> {
  let losing: string | undefined
  let lost = 0
  let isHiding = false
  let hidden = 0
  /** The row (committed, true) becomes (committed, false). */
  const withoutTrace = (chunk: string | Buffer): string | Buffer => {
    if (!isHiding || typeof chunk === 'string') return chunk
    const at = chunk.indexOf(TRACED)
    if (at < 0) return chunk
    isHiding = false
    hidden++
    chunk.write('f', at + TRACED.length - 1)
    return chunk
  }
  const server = createServer({ noDelay: true }, (client) => {
    const upstream: Socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    let isMeant = false
    for (const socket of [client, upstream]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      if (losing && chunk.includes(losing)) isMeant = true
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!isMeant || !chunk.includes('COMMIT\0')) return client.write(withoutTrace(chunk))
      losing = undefined
      lost++
      return client.destroy()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as { port: number }).port}`
  const loseAfter = (text: string) => {
    losing = text
  }
  const hideTrace = () => {
    isHiding = true
  }
  return { url: url.href, loseAfter, lost: () => lost, hideTrace, hidden: () => hidden, server }
}

let database: TestDatabase
let proxy: LossyProxy
let db: Database
let ctx: MutationContext<Awaited<ReturnType<typeof shops.operatorContext>>['shop']>
beforeEach(async () => {
  database = await testDatabase()
  proxy = await startLossyProxy(new URL(database.url))
  db = await openDatabase(proxy.url)
  const deps = createDeps(testConfig(database.dir), db)
  const { shopId } = await createShop(deps, {
    name: 'S',
    plan: 'ENTERPRISE',
    currency: 'USD',
    ownerEmail: 'o@e.example',
  })
  ctx = await shops.operatorContext(deps, shopId)
})
afterEach(async () => {
  await db.close()
  proxy.server.close()
  await database.remove()
})

test('a change whose commit was stored and whose response was lost is acknowledged, and made once', async () => {
  proxy.loseAfter('Kept')
  const key = await createApiKey(ctx, { label: 'Kept', scopes: ['all'] })
  expect(proxy.lost()).toBe(1)
  expect(await db.read.selectFrom('apiKeys').select('id').execute()).toEqual([{ id: key.keyId }])
})

test('a commit that is newer than the first look at its audit row is acknowledged, and made once', async () => {
  proxy.loseAfter('Late')
  proxy.hideTrace()
  const key = await createApiKey(ctx, { label: 'Late', scopes: ['all'] })
  expect([proxy.lost(), proxy.hidden()]).toEqual([1, 1])
  expect(await db.read.selectFrom('apiKeys').select('id').execute()).toEqual([{ id: key.keyId }])
})

// Full: it starts other processes.
import { join } from 'node:path'
import { expect } from 'vitest'
import { createDeps } from '../../server/src/core/context.ts'
import { backup } from '../../server/src/database/backup.ts'
import { copyDatabase } from '../../server/src/database/copy.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { erasureLogLines, readLog, repeatErasures } from '../../server/src/domains/privacy/erasure-log.ts'
import { check } from '../../server/src/operator/check.ts'
import { testConfig } from '../../server/src/testing/config.ts'
import { EMAIL, moneyOf, plantEverywhere, tracesIn } from '../privacy/support/everywhere.ts'
import { emptyDatabase } from '../support/database.ts'
import { deleteRows, insertRow, rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { run } from '../support/process.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { openSqliteSql } from '../support/sql.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWithNewShop as test } from '../support/test.ts'

const folder = temporaryFolder()
test.afterAll(() => folder.remove())

const erase = (server: TestServer, email = EMAIL) => expectOk(admin(server, 'POST', '/privacy/erasures', { email }))

async function textOf(lines: AsyncGenerator<string>): Promise<string> {
  let text = ''
  for await (const line of lines) text += line
  return text
}

/** A copy of the database as it is now, which is served instead of it later. */
async function copyOf(server: TestServer) {
  const { url, sql, remove } = await emptyDatabase()
  const empty = await openDatabase(url)
  await empty.migrate()
  await empty.close()
  await copyDatabase(server.url, url)
  return {
    /** What takes the place of the database of the server. */
    async open(): Promise<{ copy: TestServer; close: () => Promise<void> }> {
      const db = await openDatabase(url)
      const deps = { ...createDeps(server.deps.config, db), now: server.deps.now, log: server.deps.log }
      const close = async () => {
        await db.close()
        sql.close()
        await remove()
      }
      return { copy: { ...server, db, deps, sql }, close }
    },
  }
}

test('after the restore of an earlier backup, erased persons are erased again with the log', async ({ server }) => {
  const { id: campaignId } = await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'By hand' } }))
  const { id: affiliateId } = await newAffiliate(server, { campaignId, code: 'CANARY', email: 'canary@example.com' })
  const order = { amountCents: 1000, couponCode: 'CANARY', customerEmail: 'buyer@example.com' }
  const { commission } = await expectOk(convert(server, { ...order, externalOrderId: 'c-1' }))
  await expectOk(convert(server, { externalOrderId: 'order of jo+x@example.com', amountCents: 1000 }))
  await erase(server, 'nobody@example.com')
  const older = await copyOf(server)

  const { id: joId } = await erase(server, 'Jo@example.com')
  await expectOk(admin(server, 'POST', `/commissions/${commission.id}/reject`))
  const { id: canaryId } = await erase(server, 'Canary@Example.com')
  await erase(server, 'somebody.else@example.com')
  expect(await textOf(erasureLogLines(server.db.read))).not.toMatch(/canary|jo|example/i)
  const log = await readLog(erasureLogLines(server.db.read))

  const { copy, close } = await older.open()
  // The restored server was in use before the erasures were repeated.
  const later = {
    ...rowOf(copy, 'orders', { orderId: 'api:order of jo+x@example.com' }),
    orderId: 'api:jo@example.com',
  }
  insertRow(copy, 'orders', { ...later, createdAt: new Date(server.clock.ms + 1000).toISOString() })
  const before = moneyOf(copy)
  const { failed, ...counts } = await repeatErasures(copy.deps, log)
  expect(counts).toEqual({ repeated: 1, unnecessary: 2 })
  // The commission was rejected after the backup.
  expect(failed).toEqual([{ shopId: server.shop.shopId, id: canaryId, error: expect.stringContaining(affiliateId) }])
  const orderIds = rowsOf(copy, 'orders').map(({ orderId }) => orderId)
  expect(orderIds).toEqual(['api:c-1', expect.stringMatching(/^api:erased-/), 'api:jo@example.com'])
  expect(rowOf(copy, 'erasures', { id: joId })).toEqual({
    ...rowOf(server, 'erasures', { id: joId }),
    finishedAt: expect.any(String),
  })
  expect(moneyOf(copy)).toEqual(before)
  deleteRows(copy, 'orders', { orderId: 'api:jo@example.com' })
  expect((await check(copy.deps)).problems).toEqual([])

  updateRows(copy, 'commissions', { orderStatus: 'REJECTED' }, { id: commission.id })
  expect(await repeatErasures(copy.deps, log)).toEqual({ repeated: 1, unnecessary: 3, failed: [] })
  expect(tracesIn(copy)).toEqual([])
  expect(await repeatErasures(copy.deps, log)).toEqual({ repeated: 0, unnecessary: 4, failed: [] })
  await close()
})

test('a log that is incomplete, or lists missing erasures of another encryption key, is rejected', async ({
  server,
}) => {
  await erase(server, 'jo@example.com')
  const text = await textOf(erasureLogLines(server.db.read))
  const read = (...parts: string[]) =>
    readLog(
      (async function* () {
        yield* parts
      })(),
    )
  const log = await read(text)
  expect(log).toHaveLength(text.trimEnd().split('\n').length - 1)
  await expect(read(text.split('\n').slice(0, -2).join('\n'))).rejects.toThrow('not a complete log')
  await expect(read('')).rejects.toThrow('not a complete log')
  const config = testConfig(folder.path, { encryptionKeys: [new Uint8Array(32).fill(9)] })
  const other = createDeps(config, server.db)
  expect(await repeatErasures(other, log)).toEqual({ repeated: 0, unnecessary: log.length, failed: [] })
  deleteRows(server, 'erasures', {})
  await expect(repeatErasures(other, log)).rejects.toThrow('encryption key')
  const both = { ...config, encryptionKeys: [...config.encryptionKeys, ...server.deps.config.encryptionKeys] }
  expect(await repeatErasures(createDeps(both, server.db), log)).toMatchObject({ failed: [] })
})

test('the restore command of SQLite repeats the erasures of the database that it replaces', async ({ server }) => {
  if (!server.url.startsWith('file:')) return
  await plantEverywhere(server)
  const older = join(folder.path, 'older.db')
  await backup(server.url, older)
  await erase(server)
  const target = join(folder.path, 'referral.db')
  await backup(server.url, target)
  const key = Buffer.from(server.deps.config.encryptionKeys[0]!).toString('base64')
  const env = { REFERRAL_DATA_DIR: folder.path, DATABASE_URL: `file:${target}`, REFERRAL_ENCRYPTION_KEY: key }
  const restored = await run(['restore', older, '--json'], env)
  expect([restored.code, restored.stderr]).toEqual([0, ''])
  expect(JSON.parse(restored.stdout).erasures).toMatchObject({ repeated: 1, failed: [] })
  const sql = openSqliteSql(target)
  expect(tracesIn({ ...server, sql })).toEqual([])
  sql.close()
  expect((await run(['check'], env)).stdout).toMatch(/^No problems found/)
})

// Full: it starts other processes.
import { join } from 'node:path'
import { expect } from 'vitest'
import { backup } from '../../server/src/database/backup.ts'
import { copyDatabase } from '../../server/src/database/copy.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { linesOf, openBatch, report, resultOf, send } from '../payouts/payments.ts'
import { emptyDatabase } from '../support/database.ts'
import { rowsOf, updateRows } from '../support/inspect.ts'
import { run } from '../support/process.ts'
import type { TestServer } from '../support/server.ts'
import { openSqliteSql } from '../support/sql.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWithNewShop as test } from '../support/test.ts'

const folder = temporaryFolder()
test.afterAll(() => folder.remove())

const envOf = (server: TestServer, url: string) => ({
  REFERRAL_DATA_DIR: folder.path,
  DATABASE_URL: url,
  REFERRAL_ENCRYPTION_KEY: Buffer.from(server.deps.config.encryptionKeys[0]!).toString('base64'),
})
async function copyOf(server: TestServer) {
  const copy = await emptyDatabase()
  const db = await openDatabase(copy.url)
  await db.migrate()
  await db.close()
  await copyDatabase(server.url, copy.url)
  return copy
}

const ACCEPT = '--accept-repeated-payments'

test('restore names the payments that the backup lacks, and carries them over so that none is sent twice', async ({
  server,
}) => {
  if (!server.url.startsWith('file:')) return
  const { id: batchId } = await openBatch(server, 2)
  const { id: otherId } = await openBatch(server, 1)
  const older = join(folder.path, 'older.db')
  await backup(server.url, older)

  // A refund after the backup, so that the backup pays another amount.
  updateRows(server, 'commissions', { commissionAmountCents: 900 }, { payoutBatchId: otherId })
  updateRows(server, 'payoutBatches', { commissionCents: 900, netPayableCents: 900 }, { id: otherId })
  await send(server, 'october', batchId)
  const sent = (await linesOf(server, batchId)).data
  await report(
    server,
    sent.map((line) => resultOf(line, 'SETTLED')),
  )
  await send(server, 'changed', otherId)
  const [changed] = (await linesOf(server, otherId)).data
  const target = join(folder.path, 'referral.db')
  await backup(server.url, target)
  const env = envOf(server, `file:${target}`)

  const checked = await run(['check', older], env)
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/backup lacks:\n.*changed.*\n.*october/)])
  const refused = await run(['restore', older], env)
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toMatch(/october.*sent payments 2,.*\n.*october.*settled payments 2,/)
  expect(refused.stderr).toContain(`${batchId} of shop ${server.shop.shopId} was paid`)
  expect(refused.stderr).toContain(ACCEPT)
  const inTarget = <T>(work: (restored: TestServer) => T): T => {
    const sql = openSqliteSql(target)
    const done = work({ ...server, sql })
    sql.close()
    return done
  }
  expect(
    inTarget((one) => rowsOf(one, 'payoutLines'))
      .map(({ state }) => state)
      .sort(),
  ).toEqual(['SENT', 'SETTLED', 'SETTLED'])

  const restored = await run(['restore', older, ACCEPT, '--json'], env)
  expect([restored.code, restored.stderr]).toEqual([0, ''])
  expect(JSON.parse(restored.stdout).payments).toMatchObject({
    carriedOver: 2,
    left: [
      { fileId: 'changed', paymentReference: changed?.paymentReference, amountCents: 900, reason: 'batch_differs' },
    ],
  })
  expect((await run(['check'], env)).stdout).toMatch(/^No problems found/)
  const lines = inTarget((one) => rowsOf(one, 'payoutLines'))
  expect(lines.map(({ id, state }) => [id, state])).toEqual(sent.map(({ id }) => [id, 'SENT']).sort())
})

test('payouts recover carries over what a database restored by other means lacks, on both engines', async ({
  server,
}) => {
  const { id: batchId } = await openBatch(server, 2)
  const restored = await copyOf(server)
  const { lines } = await send(server, 'october', batchId)
  const sent = (await linesOf(server, batchId)).data
  await openBatch(server, 1).then(({ id }) => send(server, 'later', id))

  const replaced = await copyOf(server)
  replaced.sql.close()
  const env = envOf(server, restored.url)
  const recover = (...more: string[]) => run(['payouts', 'recover', '--from', replaced.url, ...more], env)
  expect(await recover()).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(ACCEPT) })
  const { code, stdout } = await recover(ACCEPT, '--json')
  expect(code).toBe(0)
  // The batch of the later file is not in the restored database.
  expect(JSON.parse(stdout)).toMatchObject({ carriedOver: lines, left: [{ fileId: 'later', reason: 'batch_missing' }] })
  const rows = rowsOf({ ...server, sql: restored.sql }, 'payoutLines', { batchId })
  expect(rows.map(({ id }) => id)).toEqual(sent.map(({ id }) => id).sort())
  expect((await run(['check'], env)).stdout).toMatch(/^No problems found/)
  restored.sql.close()
})

// Full: it starts other processes.
// SQLite only: PostgreSQL has its own backups.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BackupError, backup, restore, withBackup } from '../../server/src/database/backup.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { check } from '../../server/src/operator/check.ts'
import { databaseFile } from '../support/database.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'

let server: TestServer
let folder: string
beforeEach(async () => {
  server = await testServer()
  folder = server.deps.config.dataDir
  await withAffiliate(server)
})
afterEach(() => server.close())

let orders = 0
const order = async () => {
  const id = `o-${++orders}`
  const { status } = await convert(server, { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' })
  if (status !== 201) throw new Error(`the order was answered with ${status}`)
  return id
}
const idsIn = (file: string) => {
  const copy = new SQLite(file, { readonly: true })
  const ids = copy.prepare('select "externalOrderId" from commissions').pluck().all() as string[]
  copy.close()
  return new Set(ids)
}

test('backups under load contain every order acknowledged before they started, and are consistent', async () => {
  const acknowledged: string[] = []
  let isOver = false
  const load = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isOver) acknowledged.push(await order())
    }),
  )
  for (let i = 0; i < 6; i++) {
    await new Promise((done) => setTimeout(done, 30))
    const before = [...acknowledged]
    const file = join(folder, `backup-${i}.db`)
    expect((await backup(server.url, file)).bytes).toBe(statSync(file).size)
    const held = idsIn(file)
    expect(before.filter((id) => !held.has(id))).toEqual([])
    const db = await openDatabase(`file:${file}`)
    expect(await check({ db })).toMatchObject({ ok: true, problems: [] })
    await db.close()
  }
  isOver = true
  await load
  expect(acknowledged.length).toBeGreaterThan(20)
})

test('a backup is readable only by its owner, is one file with a checksum file, and never replaces another', async () => {
  const file = join(folder, 'backup.db')
  await backup(server.url, file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(`${file}.sha256`).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).filter((name) => name.startsWith('backup'))).toEqual(['backup.db', 'backup.db.sha256'])
  await expect(backup(server.url, file)).rejects.toThrow(/already exists/)
  const none = join(folder, 'none')
  await expect(backup(server.url, join(none, 'backup.db'))).rejects.toThrow(none)
})

test('a restored backup contains the state of its time, and the replaced files are kept', async () => {
  const first = await order()
  const file = join(folder, 'backup.db')
  await backup(server.url, file)
  const later = await order()
  const target = join(folder, 'restored.db')
  copyFileSync(databaseFile(server.url), target)
  // A leftover WAL of a database that was not closed, which would be applied to the restored one.
  copyFileSync(`${databaseFile(server.url)}-wal`, `${target}-wal`)
  const { replaced, isVerified } = await restore(file, `file:${target}`)
  expect([isVerified, existsSync(`${target}-wal`)]).toEqual([true, false])
  expect([idsIn(target).has(first), idsIn(target).has(later)]).toEqual([true, false])
  expect(idsIn(replaced ?? '').has(later)).toBe(true)
  const db = await openDatabase(`file:${target}`)
  expect(await check({ db })).toMatchObject({ ok: true })
  await db.close()
})

test('a backup can be restored to an empty folder', async () => {
  const file = join(folder, 'backup.db')
  await backup(server.url, file)
  const target = join(folder, 'new', 'referral.db')
  expect(await restore(file, `file:${target}`)).toEqual({ replaced: undefined, isVerified: true })
  expect(idsIn(target)).toEqual(idsIn(file))
})

test('a damaged database is kept unchanged, with its log', async () => {
  const file = join(folder, 'backup.db')
  await backup(server.url, file)
  const target = join(folder, 'damaged.db')
  writeFileSync(target, 'this is not a database, and longer than a header of one hundred bytes'.repeat(3))
  writeFileSync(`${target}-wal`, 'log')
  const { replaced } = await restore(file, `file:${target}`)
  expect([existsSync(replaced ?? ''), existsSync(`${replaced}-wal`), existsSync(`${target}-wal`)]).toEqual([
    true,
    true,
    false,
  ])
  expect(idsIn(target)).toEqual(idsIn(file))
})

test('restore is rejected while the database is in use, and for files that are not intact backups of this version', async () => {
  const file = join(folder, 'backup.db')
  await backup(server.url, file)
  const refused = async (from: string, to = join(folder, 'target.db')) => {
    const error = await restore(from, `file:${to}`).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(BackupError)
    expect(readdirSync(folder).filter((name) => /restoring|target/.test(name))).toEqual([])
    return error.message
  }
  expect(await refused(file, databaseFile(server.url))).toContain('is in use. Stop the server first')
  expect((await server.request('GET', '/api/v1/programs')).status).toBe(200)
  expect(await refused(join(folder, 'none.db'))).toContain('There is no file')

  const cut = join(folder, 'cut.db')
  copyFileSync(file, cut)
  const bytes = statSync(cut).size
  const half = new SQLite(cut)
  half.exec('create table other (id)')
  half.close()
  writeFileSync(cut, Buffer.alloc(8192, 7), { flag: 'r+' })
  expect(bytes).toBeGreaterThan(8192)
  expect(await refused(cut)).toContain('is not an intact database of this server')
  rmSync(cut)

  const newer = new SQLite(file)
  newer.prepare(`insert into kysely_migration values ('9999-later', '2030-01-01')`).run()
  newer.close()
  rmSync(`${file}.sha256`)
  expect(await refused(file)).toContain('newer version (9999-later)')
})

describe('the checksum of a backup', () => {
  test('equals the one of other programs, and replaces that of an earlier backup', async () => {
    const file = join(folder, 'backup.db')
    writeFileSync(`${file}.sha256`, 'of a backup that is gone')
    const { sha256 } = await backup(server.url, file)
    expect(sha256).toBe(createHash('sha256').update(readFileSync(file)).digest('hex'))
    expect(execFileSync('sha256sum', ['--check', 'backup.db.sha256'], { cwd: folder, encoding: 'utf8' })).toBe(
      'backup.db: OK\n',
    )
  })

  test('detects a changed byte that the integrity check does not', async () => {
    await withAffiliate(server, { code: 'SECRET', program: { description: 'a text nothing is computed from' } })
    const file = join(folder, 'backup.db')
    await backup(server.url, file)
    const bytes = readFileSync(file)
    bytes.write('another', bytes.indexOf('nothing is computed from'))
    writeFileSync(file, bytes)
    const target = join(folder, 'target.db')
    const message = `${file} was changed since it was written`
    await expect(restore(file, `file:${target}`)).rejects.toThrow(message)
    await expect(withBackup(file, async () => {})).rejects.toThrow(message)
    expect(readdirSync(folder).filter((name) => /restoring|target/.test(name))).toEqual([])
    rmSync(`${file}.sha256`)
    expect((await restore(file, `file:${target}`)).isVerified).toBe(false)
  })

  test('is required in the checksum file', async () => {
    const file = join(folder, 'backup.db')
    await backup(server.url, file)
    writeFileSync(`${file}.sha256`, 'lost')
    await expect(restore(file, `file:${join(folder, 'target.db')}`)).rejects.toThrow(
      `${file}.sha256 contains no SHA-256`,
    )
  })
})

test('checking a backup does not change it', async () => {
  await order()
  const file = join(folder, 'backup.db')
  const { sha256 } = await backup(server.url, file)
  const report = await withBackup(file, async (url) => {
    const db = await openDatabase(url)
    return check({ db }).finally(() => db.close())
  })
  expect(report).toMatchObject({ ok: true, problems: [] })
  expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(sha256)
  expect(readdirSync(folder).filter((name) => name.startsWith('backup'))).toEqual(['backup.db', 'backup.db.sha256'])
})

test('the message for PostgreSQL contains its own commands', async () => {
  await expect(backup('postgres://localhost/x', 'file')).rejects.toThrow(/pg_dump/)
  await expect(restore(databaseFile(server.url), 'postgres://localhost/x')).rejects.toThrow(/pg_restore/)
})

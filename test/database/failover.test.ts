// Full: needs large tables, other processes, or failures of the database.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findInstallationSetting, upsertInstallationSetting } from '../../server/src/core/installation.ts'
import { type Database, openDatabase } from '../../server/src/database/database.ts'
import { createCluster, type PostgresCluster, whyNoPostgres } from '../support/postgres-cluster.ts'

const missing = await whyNoPostgres()
if (missing) console.warn(`skipped: DATABASE_URL with several hosts, because ${missing}`)

describe.skipIf(missing)('DATABASE_URL with several hosts', { timeout: 60_000 }, () => {
  let first: PostgresCluster
  let second: PostgresCluster
  let db: Database
  beforeAll(async () => {
    ;[first, second] = await Promise.all([createCluster(['fsync=off']), createCluster(['fsync=off'])])
    for (const { url } of [first, second]) await within(url, (one) => one.migrate())
    await within(first.url, (one) => write(one, 'first'))
    await within(second.url, (one) => write(one, 'second'))
  }, 90_000)
  afterAll(async () => {
    await Promise.all([first?.remove(), second?.remove()])
  })

  async function within<T>(url: string, work: (one: Database) => Promise<T>): Promise<T> {
    const one = await openDatabase(url)
    return work(one).finally(one.close)
  }
  const write = (one: Database, value: string) => one.transact((trx) => upsertInstallationSetting(trx, 'host', value))
  const read = () => findInstallationSetting(db.read, 'host')
  const addressOf = ({ url }: PostgresCluster) => new URL(url).host
  const both = (parameters = '') => `postgres://postgres@${addressOf(first)},${addressOf(second)}/postgres${parameters}`

  /** As when a primary becomes a standby: existing connections stay open and accept no writes. */
  async function setReadOnly({ url }: PostgresCluster, mode: 'on' | 'off'): Promise<void> {
    const client = new pg.Client(url)
    await client.connect()
    await client.query('set default_transaction_read_only = off')
    await client.query(`alter system set default_transaction_read_only = ${mode}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }

  test('the writable host is used, whichever is named first, and the other one when it is lost', async () => {
    db = await openDatabase(both('?target_session_attrs=read-write&lock_timeout=1000'))
    expect(await read()).toBe('first')
    await first.stop('fast')
    expect(await read()).toBe('second')
    await write(db, 'written')
    expect(await read()).toBe('written')
    await first.start()
    // It stays where it is as long as that works.
    expect(await read()).toBe('written')
    await db.close()
  })

  test('changes follow the writable host when the primary becomes a standby, without an error', async () => {
    db = await openDatabase(both())
    await write(db, 'on the first')
    await setReadOnly(first, 'on')
    // The reload reaches the connections within milliseconds.
    await expect.poll(() => write(db, 'on the second').then(read, String)).toBe('on the second')
    await expect
      .poll(() => within(second.url, (one) => findInstallationSetting(one.read, 'host')))
      .toBe('on the second')
    for (let i = 0; i < 20; i++) expect(await read()).toBe('on the second')
    await db.close()
  })

  test('a read-only host is skipped by a new process', async () => {
    db = await openDatabase(both('?application_name=another'))
    await write(db, 'on the second again')
    expect(await read()).toBe('on the second again')
    await db.close()
  })

  test('an unknown target_session_attrs is rejected in one sentence', async () => {
    await expect(openDatabase(both('?target_session_attrs=standby'))).rejects.toThrow(
      'target_session_attrs in DATABASE_URL must be one of any, read-write, primary, not "standby".',
    )
  })
})

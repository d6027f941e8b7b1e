import SQLite from 'better-sqlite3'
import { databaseFile, engine } from './database.ts'
import { beforeStatement } from './faults.ts'
import type { TestServer } from './server.ts'

/** Restores the storage. */
type Restore = () => void

const writers = new Map<string, SQLite.Database>()
const { pragma } = SQLite.prototype
// The server does not expose its connections. The first one that sets durability is the writer.
SQLite.prototype.pragma = function (this: SQLite.Database, source, options) {
  if (source === 'synchronous = FULL' && !writers.get(this.name)?.open) writers.set(this.name, this)
  return pragma.call(this, source, options)
}

function writerOf({ url }: TestServer): SQLite.Database {
  const writer = writers.get(databaseFile(url))
  if (!writer) throw new Error(`nobody writes to ${url}`)
  return writer
}

/** No page is left for any change: SQLite reports a full disk when the audit is written. */
function fillDisk(server: TestServer): Restore {
  server.sql.exec('create table filler (content)')
  server.sql.exec(
    'create trigger full before insert on audits begin insert into filler values (zeroblob(4000000)); end',
  )
  const writer = writerOf(server)
  writer.pragma(`max_page_count = ${writer.pragma('page_count', { simple: true })}`)
  return () => {
    writer.pragma('max_page_count = 4294967294')
    server.sql.exec('drop trigger full')
    server.sql.exec('drop table filler')
  }
}

/** The database may be read only, as on a file system that was mounted again after a fault. */
function forbidWrites(server: TestServer): Restore {
  writerOf(server).pragma('query_only = on')
  return () => void writerOf(server).pragma('query_only = off')
}

/** Another connection holds the lock that every change needs, for longer than the server waits. */
export function holdLock({ sql, shop }: TestServer): Restore {
  sql.exec(engine === 'sqlite' ? 'begin immediate' : 'begin')
  if (engine === 'postgres') sql.prepare('select seq from "auditHeads" where "shopId" = ? for update').get(shop.shopId)
  return () => sql.exec('rollback')
}

const END_OTHERS =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

/** PostgreSQL ends all connections before the n-th statement of every change. */
export const endBackends = (server: TestServer, n: number): Restore =>
  beforeStatement(server, { n, ofShops: true }, () => server.sql.exec(END_OTHERS))

/** PostgreSQL ends the connection of the next change once, before its n-th statement, which is not the first. */
export function endBackendOnce(server: TestServer, n: number): Restore {
  let isEnded = false
  return beforeStatement(server, { n, ofShops: true }, () => {
    if (!isEnded) server.sql.exec(`${END_OTHERS} and xact_start is not null`)
    isEnded = true
  })
}

/** The faults that take effect immediately; `holdLock` takes longer. */
export const FAULTS: Record<string, (server: TestServer) => Restore> =
  engine === 'sqlite'
    ? { 'disk full': fillDisk, 'read-only file': forbidWrites }
    : {
        'backend ended before the first statement': (server) => endBackends(server, 1),
        'backend ended before the second statement': (server) => endBackends(server, 2),
      }

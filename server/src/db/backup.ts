import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import SQLite from 'better-sqlite3'
import { findUnknownMigrations } from './migrate.ts'
import { withStockHandle } from './sqlite.ts'
import { isSqliteBusy } from './storage-error.ts'
import { isPostgresUrl } from './url.ts'

/** A sentence for the operator. */
export class BackupError extends Error {}

const ALL_PAGES = 0x7fffffff

/**
 * Writes a consistent copy of a SQLite database into a new file while others go on writing. Answers its size in bytes.
 *
 * @throws BackupError
 */
export async function backup(url: string, file: string): Promise<number> {
  const path = pathOf(url, 'pg_dump --format=custom --file=referral.dump "$DATABASE_URL"')
  if (!existsSync(path)) throw new BackupError(`There is no database at ${path}.`)
  if (existsSync(file)) throw new BackupError(`${file} exists already; name a new file.`)
  expectFolder(dirname(resolve(file)))
  const part = `${file}.part`
  const source = new SQLite(path, { readonly: true, timeout: 5000 })
  try {
    removeWith(part)
    // In one step: a backup in several begins again whenever somebody has written in between.
    await source.backup(part, { progress: () => ALL_PAGES })
    chmodSync(part, 0o600)
    checkSound(part)
    endWal(part)
    moveDurably(part, file)
  } finally {
    source.close()
    removeWith(part)
  }
  return statSync(file).size
}

/**
 * Puts a backup in the place of a SQLite database that nobody uses. What was there is kept beside it; answers its name.
 *
 * @throws BackupError when the file is no sound backup, is of a newer version, or the database is in use.
 */
export async function restore(file: string, url: string): Promise<string | undefined> {
  const path = pathOf(url, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" referral.dump')
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  const part = `${path}.restoring`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  copyFileSync(file, part)
  try {
    chmodSync(part, 0o600)
    checkSound(part)
    const newer = await withStockHandle(part, findUnknownMigrations)
    if (newer.length > 0) throw new BackupError(`${file} is of a newer version (${newer.join(', ')}); upgrade first.`)
    endWal(part)
    const replaced = setAside(path)
    moveDurably(part, path)
    return replaced
  } finally {
    removeWith(part)
  }
}

function pathOf(url: string, instead: string): string {
  if (isPostgresUrl(url)) throw new BackupError(`This is for SQLite. With PostgreSQL, use its own: ${instead}`)
  return url.replace(/^file:/, '')
}

function expectFolder(folder: string): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new BackupError(isMissing ? `There is no folder ${folder}.` : `This user may not write into ${folder}.`)
  }
}

function checkSound(file: string): void {
  let said: unknown
  try {
    const copy = new SQLite(file)
    said = copy.pragma('integrity_check', { simple: true })
    copy.prepare('select count(*) from kysely_migration').get()
    copy.close()
  } catch (error) {
    said = (error as Error).message
  }
  if (said !== 'ok') throw new BackupError(`${file} is not a sound database of this server: ${said}.`)
}

/** Moves what the database file is still missing into it, which works only when nobody else has it open. */
function endWal(path: string): void {
  const connection = new SQLite(path, { timeout: 0 })
  try {
    connection.pragma('journal_mode = DELETE')
  } finally {
    connection.close()
  }
}

/** Whether somebody has a database file open. */
export function isInUse(path: string): boolean {
  try {
    endWal(path)
    return false
  } catch (error) {
    return isSqliteBusy(error)
  }
}

function setAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const replaced = `${path}.replaced-${new Date().toISOString().replace(/[:.]/g, '-')}`
  // SQLite may throw the log of a damaged database away.
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${replaced}-wal`)
  try {
    endWal(path)
    removeWith(replaced)
  } catch (error) {
    if (isSqliteBusy(error)) {
      removeWith(replaced)
      throw new BackupError(`${path} is in use; stop the server first.`)
    }
    // Damaged: it is kept as it is.
  }
  renameSync(path, replaced)
  // What one database left behind would be read as the end of the other.
  for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true })
  return replaced
}

/** The file is complete on disk before it gets its name, and so is the name. */
function moveDurably(from: string, to: string): void {
  sync(from)
  renameSync(from, to)
  sync(dirname(to))
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function removeWith(file: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(file + ending, { force: true })
}

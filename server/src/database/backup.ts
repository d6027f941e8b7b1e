import { createHash } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import SQLite from 'better-sqlite3'
import { isPostgresUrl } from '../config.ts'
import { findIncompatibility } from './migrate.ts'
import { withSqliteConnection } from './sqlite.ts'
import { isSqliteBusy } from './storage-error.ts'

/** An error with a message for the operator. */
export class BackupError extends Error {}

const ALL_PAGES = 0x7fffffff

/** The file with the checksum of a backup, in the format of `sha256sum --check`. */
const checksumFile = (file: string) => `${file}.sha256`

/**
 * Writes a consistent copy of a SQLite database into a new file, even while the server writes, and its SHA-256 into
 * `<file>.sha256`. Only the owner can read both. Returns the size and the checksum.
 *
 * @throws BackupError
 */
export async function backup(url: string, file: string): Promise<{ bytes: number; sha256: string }> {
  const path = pathOf(url, 'pg_dump --format=custom --file=referral.dump "$DATABASE_URL"')
  if (!existsSync(path)) throw new BackupError(`There is no database at ${path}.`)
  if (existsSync(file)) throw new BackupError(`${file} already exists. Choose a new file name.`)
  checkFolder(dirname(resolve(file)))
  const part = `${file}.part`
  const source = new SQLite(path, { readonly: true, timeout: 5000 })
  try {
    removeDatabaseFiles(part)
    createPrivateFile(part)
    // In one step, because a backup in several steps restarts after every write.
    await source.backup(part, { progress: () => ALL_PAGES })
    vacuum(part)
    checkIntegrity(part)
    checkpointWal(part)
    const sha256 = sha256Of(part)
    // The checksum of an earlier backup of this name does not match the new one.
    rmSync(checksumFile(file), { force: true })
    moveDurably(part, file)
    createPrivateFile(part)
    writeFileSync(part, `${sha256}  ${basename(file)}\n`)
    moveDurably(part, checksumFile(file))
    return { bytes: statSync(file).size, sha256 }
  } finally {
    source.close()
    removeDatabaseFiles(part)
  }
}

interface Restored {
  /** Where the previous database was moved to. */
  replaced: string | undefined
  /** Whether a checksum was found and compared. */
  isVerified: boolean
}

/** What is checked before anything is replaced. Throwing an error prevents the restore. */
interface Reviews {
  /** Checks the intact backup. */
  backup?: (url: string) => Promise<void>
  /** Compares an intact database with the backup that is about to replace it. */
  both?: (urls: { current: string; backup: string }) => Promise<void>
}

/**
 * Replaces a SQLite database that is not in use with a backup. The previous database is kept under another name.
 *
 * @throws BackupError when the file is damaged or changed, is not a backup of this version, or the database is in use.
 */
export async function restore(file: string, url: string, review: Reviews = {}): Promise<Restored> {
  const path = pathOf(url, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" referral.dump')
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  const part = `${path}.restoring`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    const isVerified = await copyVerified(file, part)
    await review.backup?.(`file:${part}`)
    const replaced = await moveAway(path, () => review.both?.({ current: `file:${path}`, backup: `file:${part}` }))
    checkpointWal(part)
    moveDurably(part, path)
    return { replaced, isVerified }
  } finally {
    removeDatabaseFiles(part)
  }
}

/**
 * Runs `work` on a private copy of a backup, which is not changed.
 *
 * @throws BackupError same as {@link restore}.
 */
export async function withBackup<T>(file: string, work: (url: string, isVerified: boolean) => Promise<T>): Promise<T> {
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  const folder = mkdtempSync(join(tmpdir(), 'referral-check-'))
  try {
    const copy = join(folder, 'referral.db')
    const isVerified = await copyVerified(file, copy)
    return await work(`file:${copy}`, isVerified)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Copies an intact backup of this version. Returns whether a checksum was found and compared. */
async function copyVerified(file: string, to: string): Promise<boolean> {
  const expected = readChecksum(file)
  const actual = copyPrivately(file, to)
  if (expected !== undefined && expected !== actual) {
    throw new BackupError(
      `${file} was changed since it was written: its SHA-256 does not match ${checksumFile(file)}. Use another backup.`,
    )
  }
  checkIntegrity(to, file)
  const reason = await withSqliteConnection(to, findIncompatibility)
  if (reason) throw new BackupError(`${file} ${reason}`)
  return expected !== undefined
}

function readChecksum(file: string): string | undefined {
  const path = checksumFile(file)
  if (!existsSync(path)) return undefined
  const [, sum] = /^([0-9a-f]{64})\b/i.exec(readFileSync(path, 'utf8')) ?? []
  if (!sum) throw new BackupError(`${path} contains no SHA-256. Correct or remove it.`)
  return sum.toLowerCase()
}

function pathOf(url: string, instead: string): string {
  if (isPostgresUrl(url)) throw new BackupError(`This command is for SQLite. With PostgreSQL, use: ${instead}`)
  return url.replace(/^file:/, '')
}

function checkFolder(folder: string): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new BackupError(isMissing ? `There is no folder ${folder}.` : `The current user cannot write to ${folder}.`)
  }
}

/** Rewrites a file, because the unused parts of pages contain earlier content, such as a person who was erased. */
function vacuum(path: string): void {
  const connection = new SQLite(path)
  try {
    connection.exec('vacuum')
  } finally {
    connection.close()
  }
}

function checkIntegrity(file: string, name = file): void {
  let result: unknown
  try {
    const copy = new SQLite(file)
    result = copy.pragma('integrity_check', { simple: true })
    copy.prepare('select count(*) from kysely_migration').get()
    copy.close()
  } catch (error) {
    result = (error as Error).message
  }
  if (result !== 'ok') throw new BackupError(`${name} is not an intact database of this server: ${result}.`)
}

/** Checkpoints the WAL into the database file and removes it; fails when another process has the file open. */
function checkpointWal(path: string): void {
  const connection = new SQLite(path, { timeout: 0 })
  try {
    connection.pragma('journal_mode = DELETE')
  } finally {
    connection.close()
  }
}

/** Whether another process has a database file open. */
export function isInUse(path: string): boolean {
  try {
    checkpointWal(path)
    return false
  } catch (error) {
    return isSqliteBusy(error)
  }
}

async function moveAway(path: string, review: () => Promise<void> | undefined): Promise<string | undefined> {
  if (!existsSync(path)) return undefined
  const replaced = `${path}.replaced-${new Date().toISOString().replace(/[:.]/g, '-')}`
  // SQLite may delete the WAL of a damaged database, which is moved unchanged.
  if (existsSync(`${path}-wal`)) copyPrivately(`${path}-wal`, `${replaced}-wal`)
  try {
    if (isIntactAlone(path)) {
      await review()
      if (isIntactAlone(path)) removeDatabaseFiles(replaced)
    }
  } catch (error) {
    removeDatabaseFiles(replaced)
    throw error
  }
  renameSync(path, replaced)
  // SQLite would apply leftover WAL files to the restored database.
  for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true })
  return replaced
}

/** Makes a database one file. Returns false when it is damaged. @throws BackupError when it is in use. */
function isIntactAlone(path: string): boolean {
  try {
    checkpointWal(path)
    return true
  } catch (error) {
    if (isSqliteBusy(error)) throw new BackupError(`${path} is in use. Stop the server first.`)
    return false
  }
}

/** Renames a file so that a crash leaves either the old state or the complete new file. */
function moveDurably(from: string, to: string): void {
  syncToDisk(from)
  renameSync(from, to)
  syncToDisk(dirname(to))
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function removeDatabaseFiles(file: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(file + ending, { force: true })
}

const CHUNK_BYTES = 1024 * 1024

/** Creates an empty file that only its owner can read. SQLite keeps its mode and uses it for the WAL files. */
function createPrivateFile(file: string): void {
  closeSync(openPrivateFile(file))
}

/**
 * Copies a file into one that only its owner can read; `copyFile` would use the mode of the source. Returns the SHA-256 of
 * the content.
 */
function copyPrivately(from: string, to: string): string {
  const hash = createHash('sha256')
  const target = openPrivateFile(to)
  try {
    for (const chunk of readChunks(from)) {
      hash.update(chunk)
      writeFileSync(target, chunk)
    }
  } finally {
    closeSync(target)
  }
  return hash.digest('hex')
}

function sha256Of(file: string): string {
  const hash = createHash('sha256')
  for (const chunk of readChunks(file)) hash.update(chunk)
  return hash.digest('hex')
}

function openPrivateFile(file: string): number {
  rmSync(file, { force: true })
  return openSync(file, 'wx', 0o600)
}

function* readChunks(file: string): Generator<Buffer> {
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const source = openSync(file, 'r')
  try {
    for (;;) {
      const bytes = readSync(source, buffer)
      if (bytes === 0) return
      yield buffer.subarray(0, bytes)
    }
  } finally {
    closeSync(source)
  }
}

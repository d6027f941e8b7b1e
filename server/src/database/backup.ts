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

/** A sentence for the operator. */
export class BackupError extends Error {}

const ALL_PAGES = 0x7fffffff

/** The file with the checksum of a backup, in the format of `sha256sum --check`. */
const checksumFile = (file: string) => `${file}.sha256`

/**
 * Writes a consistent copy of a SQLite database into a new file while others go on writing, and its SHA-256 into a file
 * beside it. Only their owner can read them, from the first byte on. Returns the size in bytes, and the checksum.
 *
 * @throws BackupError
 */
export async function backup(url: string, file: string): Promise<{ bytes: number; sha256: string }> {
  const path = pathOf(url, 'pg_dump --format=custom --file=referral.dump "$DATABASE_URL"')
  if (!existsSync(path)) throw new BackupError(`There is no database at ${path}.`)
  if (existsSync(file)) throw new BackupError(`${file} exists already; name a new file.`)
  checkFolder(dirname(resolve(file)))
  const part = `${file}.part`
  const source = new SQLite(path, { readonly: true, timeout: 5000 })
  try {
    removeDatabaseFiles(part)
    createPrivateFile(part)
    // In one step: a backup in several begins again whenever somebody has written in between.
    await source.backup(part, { progress: () => ALL_PAGES })
    checkIntegrity(part)
    checkpointWal(part)
    const sha256 = sha256Of(part)
    // Of an earlier backup of this name; beside the new one it would be wrong.
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
  /** Where the database that was there before is kept. */
  replaced: string | undefined
  /** Whether the checksum was there to compare with. */
  isVerified: boolean
}

/**
 * Puts a backup in the place of a SQLite database that nobody uses. What was there is kept beside it.
 *
 * @throws BackupError when the file is no sound backup or not the one that was written, is of another version, or the
 *   database is in use.
 */
export async function restore(file: string, url: string): Promise<Restored> {
  const path = pathOf(url, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" referral.dump')
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  const part = `${path}.restoring`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    const isVerified = await copyVerified(file, part)
    checkpointWal(part)
    const replaced = setAside(path)
    moveDurably(part, path)
    return { replaced, isVerified }
  } finally {
    removeDatabaseFiles(part)
  }
}

/**
 * Lets work read a backup, which stays as it is: work gets the address of a private copy.
 *
 * @throws BackupError as `restore` does.
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

/** Copies a sound backup of this version. Returns whether there was a checksum to compare it with. */
async function copyVerified(file: string, to: string): Promise<boolean> {
  const expected = readChecksum(file)
  const actual = copyPrivately(file, to)
  if (expected !== undefined && expected !== actual) {
    throw new BackupError(
      `${file} was changed since it was written: its SHA-256 is not the one in ${checksumFile(file)}. Use another backup.`,
    )
  }
  checkIntegrity(to, file)
  const reason = await withSqliteConnection(to, findIncompatibility)
  if (reason) throw new BackupError(`${file} ${reason}`)
  return expected !== undefined
}

function readChecksum(file: string): string | undefined {
  const beside = checksumFile(file)
  if (!existsSync(beside)) return undefined
  const [, sum] = /^([0-9a-f]{64})\b/i.exec(readFileSync(beside, 'utf8')) ?? []
  if (!sum) throw new BackupError(`${beside} holds no SHA-256. Put the right one there, or remove it.`)
  return sum.toLowerCase()
}

function pathOf(url: string, instead: string): string {
  if (isPostgresUrl(url)) throw new BackupError(`This is for SQLite. With PostgreSQL, use its own: ${instead}`)
  return url.replace(/^file:/, '')
}

function checkFolder(folder: string): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new BackupError(isMissing ? `There is no folder ${folder}.` : `This user may not write into ${folder}.`)
  }
}

function checkIntegrity(file: string, name = file): void {
  let said: unknown
  try {
    const copy = new SQLite(file)
    said = copy.pragma('integrity_check', { simple: true })
    copy.prepare('select count(*) from kysely_migration').get()
    copy.close()
  } catch (error) {
    said = (error as Error).message
  }
  if (said !== 'ok') throw new BackupError(`${name} is not a sound database of this server: ${said}.`)
}

/** Moves what the database file is still missing into it, which works only when nobody else has it open. */
function checkpointWal(path: string): void {
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
    checkpointWal(path)
    return false
  } catch (error) {
    return isSqliteBusy(error)
  }
}

function setAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const replaced = `${path}.replaced-${new Date().toISOString().replace(/[:.]/g, '-')}`
  // SQLite may throw the log of a damaged database away.
  if (existsSync(`${path}-wal`)) copyPrivately(`${path}-wal`, `${replaced}-wal`)
  try {
    checkpointWal(path)
    removeDatabaseFiles(replaced)
  } catch (error) {
    if (isSqliteBusy(error)) {
      removeDatabaseFiles(replaced)
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

/** Makes an empty file that only its owner can read. SQLite keeps its mode, and gives it to the files beside it. */
export function createPrivateFile(file: string): void {
  closeSync(openPrivateFile(file))
}

/**
 * Copies a file into one that only its owner can read from the first byte on; `copyFile` would give it the mode of the
 * source. Returns the SHA-256 of what was copied.
 */
export function copyPrivately(from: string, to: string): string {
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

export function sha256Of(file: string): string {
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

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import { listShops } from '../accounts/queries.ts'
import { operatorContext } from '../accounts/shops.ts'
import { AUDIT_ARCHIVED, cutChain, findChainBreak, findCut, findLastArchived, findLastBefore } from '../core/audit.ts'
import { type Deps, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { splitLines } from '../core/ndjson.ts'
import { moveDurably } from '../database/backup.ts'
import type { Transaction } from '../database/database.ts'
import { PRIMARY_KEYS, type Row } from '../database/table-keys.ts'
import type { AuditRow, Tables } from '../database/tables.ts'
import { longestClickWindow } from '../programs/queries.ts'
import type { ArchiveKind as Kind } from './archive-kinds.ts'

/** An error with a message for the operator. */
export class ArchiveError extends Error {}

type ArchivedTable = 'idempotencyKeys' | 'journey' | 'deliveries' | 'webhookEvents' | 'orders' | 'audits'

/** Rows of a table that are archived. */
interface Step {
  table: ArchivedTable
  /** A condition on the rows, named `r`. */
  where: RawBuilder<unknown>
}

const DAY_MS = 86_400_000
/** How old rows must be at least, in days: retries, refunds and explanations of recent requests need them. */
const MIN_AGE_DAYS: Record<Kind, number> = { responses: 30, journey: 1, deliveries: 1, orders: 30, audits: 30 }
/** Rows read at a time. */
const PAGE_SIZE = 500
/** Rows deleted in one transaction. */
const DELETE_SIZE = 200
/** Pauses after this time, because running servers try to write every 25 ms. */
const WRITE_MS = 100
const PAUSE_MS = 50

function stepsOf(kind: Exclude<Kind, 'audits'>, before: string): Step[] {
  switch (kind) {
    case 'responses':
      return [{ table: 'idempotencyKeys', where: sql`r."createdAt" < ${before}` }]
    case 'journey':
      return [{ table: 'journey', where: sql`r."occurredAt" < ${before}` }]
    case 'deliveries':
      return [
        { table: 'deliveries', where: sql`r.status in ('SENT', 'FAILED') and r."finishedAt" < ${before}` },
        {
          table: 'webhookEvents',
          where: sql`r."createdAt" < ${before}
            and not exists (select 1 from deliveries d where d."shopId" = r."shopId" and d."eventId" = r.id
              and (d.status in ('PENDING', 'RETRYING') or d."finishedAt" >= ${before}))
            and not exists (select 1 from "streamDeliveries" d where d."shopId" = r."shopId" and d."eventId" = r.id)`,
        },
      ]
    case 'orders':
      return [
        // First, so that an order that is reported again can add its entry.
        {
          table: 'journey',
          where: sql`r."orderId" is not null and r."commissionId" is null and r."occurredAt" < ${before}`,
        },
        {
          table: 'orders',
          where: sql`r."commissionId" is null and r."orderAt" < ${before} and r."updatedAt" < ${before}`,
        },
      ]
  }
}

interface Selection {
  kind: Kind
  /** An instant; earlier rows are archived. */
  before: string
  /** All shops by default. */
  shop?: string | undefined
}

/** @throws ArchiveError when rows of this age are still needed. */
export async function checkAge(deps: Deps, { kind, before }: Selection): Promise<void> {
  const window = kind === 'journey' ? await longestClickWindow(deps.db.read) : 0
  const days = Math.max(MIN_AGE_DAYS[kind], window)
  if (Date.parse(before) > deps.now() - days * DAY_MS) {
    const reason = window > MIN_AGE_DAYS[kind] ? ': a click can count for that long' : ''
    throw new ArchiveError(`--before must be at least ${days} days ago for ${kind}${reason}.`)
  }
}

const shopIdsOf = async (deps: Deps, { shop }: Selection): Promise<string[]> =>
  shop === undefined
    ? (await listShops(deps.db.read)).map(({ id }) => id)
    : [(await operatorContext(deps, shop)).shop.id]

/** The number of rows of each table that a run would archive. */
export async function countArchivable(
  deps: Deps,
  selection: Selection,
): Promise<Partial<Record<ArchivedTable, number>>> {
  const counts: Partial<Record<ArchivedTable, number>> = {}
  for (const shopId of await shopIdsOf(deps, selection)) {
    if (selection.kind === 'audits') {
      const [cut, last] = [
        await findCut(deps.db.read, shopId),
        await findLastBefore(deps.db.read, shopId, selection.before),
      ]
      counts.audits = (counts.audits ?? 0) + Math.max(0, (last?.seq ?? 0) - cut.seq)
      continue
    }
    for (const { table, where } of stepsOf(selection.kind, selection.before)) {
      const { rows } = await sql<{ rows: number }>`
        select count(*) as rows from ${sql.table(table)} r where r."shopId" = ${shopId} and ${where}`.execute(
        deps.db.read,
      )
      counts[table] = (counts[table] ?? 0) + Number(rows[0]?.rows ?? 0)
    }
  }
  return counts
}

export interface ArchiveOptions extends Selection {
  folder: string
}

export interface ArchiveResult {
  /** Null when there are no rows to archive. */
  file: string | null
  sha256: string | null
  rows: number
}

/**
 * Writes the rows into a new archive, reads it back, and deletes the rows that it contains, in small transactions. A run
 * that was interrupted leaves rows that are not deleted yet; the next run archives them.
 *
 * @throws ArchiveError when the rows are too young or the archive differs from what was written.
 */
export async function runArchive(
  deps: Deps,
  options: ArchiveOptions,
  report: (line: string) => void = () => {},
): Promise<ArchiveResult> {
  await checkAge(deps, options)
  const file = archiveFile(deps, options)
  const written = await writeArchive(deps, options, file)
  if (written.rows === 0) return { file: null, sha256: null, rows: 0 }
  report(`${written.rows} rows archived in ${file}`)
  const verified = await verifyArchive(file)
  if (verified.problems.length > 0 || verified.rows !== written.rows) {
    throw new ArchiveError(
      `${file} differs from what was written: ${verified.problems[0] ?? 'rows are missing'}. Nothing was deleted.`,
    )
  }
  let deleted = 0
  const pace = createPace()
  const onDeleted = async (count: number) => {
    deleted += count
    if (Math.floor(deleted / PROGRESS_ROWS) > Math.floor((deleted - count) / PROGRESS_ROWS))
      report(`${deleted} rows deleted`)
    await pace()
  }
  if (options.kind === 'audits') await deleteAudits(deps, { file, sha256: written.sha256 }, onDeleted)
  else await deleteRows(deps, options, file, onDeleted)
  return { file, sha256: written.sha256, rows: written.rows }
}

const PROGRESS_ROWS = 10_000

/** Lets running servers write in between. */
function createPace(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < WRITE_MS) return
    await sleep(PAUSE_MS)
    since = performance.now()
  }
}

function archiveFile(deps: Deps, { kind, before, shop, folder }: ArchiveOptions): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stamp = nowIso(deps).replace(/[:.]/g, '-')
  const name = [kind, ...(shop ? [shop] : []), `before-${before.slice(0, 10)}`, stamp].join('_')
  const file = resolve(join(folder, `${name}.ndjson.gz`))
  if (existsSync(file)) throw new ArchiveError(`${file} already exists.`)
  return file
}

/** A line of an archive. */
interface Line {
  table: ArchivedTable
  row: Row
}

/** Writes one line of JSON per row, compressed, and the SHA-256 of the file next to it. */
async function writeArchive(
  deps: Deps,
  options: ArchiveOptions,
  file: string,
): Promise<{ rows: number; sha256: string }> {
  const part = `${file}.part`
  const gzip = createGzip()
  const target = createWriteStream(part, { flags: 'wx', mode: 0o600 })
  gzip.pipe(target)
  let rows = 0
  const write = async (table: ArchivedTable, page: Row[]) => {
    const text = page.map((row) => `${JSON.stringify({ table, row } satisfies Line)}\n`).join('')
    rows += page.length
    if (!gzip.write(text)) await once(gzip, 'drain')
  }
  for (const shopId of await shopIdsOf(deps, options)) await writeShop(deps, { ...options, shopId }, write)
  gzip.end()
  await once(target, 'close')
  if (rows === 0) {
    rmSync(part)
    return { rows, sha256: '' }
  }
  const sha256 = await sha256OfFile(part)
  moveDurably(part, file)
  writeFileSync(`${file}.sha256`, `${sha256}  ${basename(file)}\n`, { mode: 0o600 })
  return { rows, sha256 }
}

async function writeShop(
  { db }: Deps,
  { kind, before, shopId }: ArchiveOptions & { shopId: string },
  write: (table: ArchivedTable, page: Row[]) => Promise<void>,
): Promise<void> {
  if (kind === 'audits') {
    const last = await findLastBefore(db.read, shopId, before)
    const where = sql`r.seq <= ${last?.seq ?? 0}`
    return forEachPage(db.read, { table: 'audits', where, shopId }, (page) => write('audits', page))
  }
  for (const { table, where } of stepsOf(kind, before)) {
    await forEachPage(db.read, { table, where, shopId }, (page) => write(table, page))
  }
}

/** The columns of the primary key after the shop. */
const keysOf = (table: ArchivedTable): string[] => PRIMARY_KEYS[table].map(String).filter((key) => key !== 'shopId')

async function forEachPage(
  db: Deps['db']['read'],
  { table, where, shopId }: Step & { shopId: string },
  onPage: (rows: Row[]) => Promise<void>,
): Promise<void> {
  const [key = ''] = keysOf(table)
  let after: unknown
  for (;;) {
    const from = after === undefined ? sql`` : sql`and r.${sql.ref(key)} > ${after}`
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)} r where r."shopId" = ${shopId} ${from} and ${where}
      order by r."shopId", r.${sql.ref(key)} limit ${sql.lit(PAGE_SIZE)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    await onPage(rows)
    after = last[key]
  }
}

async function* readLines(file: string): AsyncGenerator<Line> {
  const source = createReadStream(file)
  const gunzip = source.pipe(createGunzip())
  source.once('error', (error) => gunzip.destroy(error))
  for await (const line of splitLines(gunzip.setEncoding('utf8'))) yield JSON.parse(line)
}

/** Consecutive lines of one table and shop. */
async function* readGroups(file: string, size: number): AsyncGenerator<Line[]> {
  let group: Line[] = []
  for await (const line of readLines(file)) {
    const [first] = group
    if (first && (group.length === size || first.table !== line.table || first.row.shopId !== line.row.shopId)) {
      yield group
      group = []
    }
    group.push(line)
  }
  if (group.length > 0) yield group
}

async function deleteRows(
  deps: Deps,
  { kind, before }: ArchiveOptions,
  file: string,
  onDeleted: (count: number) => Promise<void>,
): Promise<void> {
  const steps = stepsOf(kind as Exclude<Kind, 'audits'>, before)
  for await (const group of readGroups(file, DELETE_SIZE)) {
    const { table, row } = group[0]!
    const { where } = steps.find((step) => step.table === table)!
    const shopId = String(row.shopId)
    const [key = ''] = keysOf(table)
    const ids = group.map((line) => line.row[key])
    await deps.db.transact((trx) => deleteByKey(trx, { table, where, shopId, key, ids }), shopId)
    await onDeleted(group.length)
  }
}

/** Deletes the rows that still meet the condition: one that has changed since it was archived stays. */
const deleteByKey = async (
  trx: Transaction,
  { table, where, shopId, key, ids }: Step & { shopId: string; key: string; ids: unknown[] },
): Promise<void> => {
  await sql`delete from ${sql.table(table)} as r
    where r."shopId" = ${shopId} and r.${sql.ref(key)} in (${sql.join(ids)}) and ${where}`.execute(trx)
}

/** The audit of each shop first states the last archived row and its hash, so that the remaining chain authenticates the cut. */
async function deleteAudits(
  deps: Deps,
  archive: { file: string; sha256: string },
  onDeleted: (count: number) => Promise<void>,
): Promise<void> {
  const ends = new Map<string, AuditRow>()
  for await (const { row } of readLines(archive.file)) ends.set(String(row.shopId), row as unknown as AuditRow)
  for (const [shopId, { seq, hash }] of ends) {
    const ctx = await operatorContext(deps, shopId)
    const data = { throughSeq: seq, throughHash: hash, sha256: archive.sha256 }
    await mutate(ctx, async (trx) => {
      const stated = await findLastArchived(trx, shopId)
      // A run at the same time has stated a later row, which vouches for earlier cuts too.
      const isStated = stated !== undefined && JSON.parse(stated.data).throughSeq > seq
      return { result: undefined, audit: isStated ? null : { action: AUDIT_ARCHIVED, subjectId: null, data } }
    })
  }
  for await (const group of readGroups(archive.file, DELETE_SIZE)) {
    const { shopId, seq, hash } = group.at(-1)!.row as unknown as Tables['audits']
    await deps.db.transact((trx) => cutChain(trx, shopId, { seq, hash }), shopId)
    await onDeleted(group.length)
  }
}

export interface ArchiveReport {
  rows: number
  tables: Partial<Record<ArchivedTable, number>>
  /** The rows of each audit: the first one, and the last one with its hash. */
  audits: { shopId: string; from: number; through: number; hash: string }[]
  /** Empty when the archive is intact. */
  problems: string[]
}

/** Reads an archive to its end and compares its SHA-256. Verifies the chains of audits. */
export async function verifyArchive(file: string): Promise<ArchiveReport> {
  if (!existsSync(file)) throw new ArchiveError(`There is no file ${file}.`)
  const report: ArchiveReport = { rows: 0, tables: {}, audits: [], problems: [] }
  const sumFile = `${file}.sha256`
  if (!existsSync(sumFile)) report.problems.push(`${sumFile} is missing`)
  else if (readFileSync(sumFile, 'utf8').slice(0, 64) !== (await sha256OfFile(file))) {
    report.problems.push('its SHA-256 differs')
  }
  try {
    for await (const group of readGroups(file, PAGE_SIZE)) {
      const { table } = group[0]!
      report.rows += group.length
      report.tables[table] = (report.tables[table] ?? 0) + group.length
      if (table === 'audits')
        addAudits(
          report,
          group.map(({ row }) => row as unknown as AuditRow),
        )
    }
  } catch (error) {
    report.problems.push(`it cannot be read to its end: ${(error as Error).message}`)
  }
  return report
}

function addAudits(report: ArchiveReport, rows: AuditRow[]): void {
  const [first] = rows as [AuditRow]
  const { shopId } = first
  let chain = report.audits.find((one) => one.shopId === shopId)
  if (!chain) {
    chain = { shopId, from: first.seq, through: first.seq - 1, hash: first.previousHash }
    report.audits.push(chain)
  }
  const broken = findChainBreak(rows, { seq: chain.through, hash: chain.hash })
  if (broken) report.problems.push(`the audit of shop ${shopId} is broken at row ${broken.seq}`)
  const last = rows.at(-1)!
  chain.through = last.seq
  chain.hash = last.hash
}

async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

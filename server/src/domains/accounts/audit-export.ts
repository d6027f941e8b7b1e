import { createReadStream } from 'node:fs'
import { invalidField } from '../../contract/errors.ts'
import { findChainBreak, listChain, UnstatedErasures } from '../../core/audit.ts'
import type { Context } from '../../core/context.ts'
import { parseObject, splitLines, toByteStream } from '../../core/ndjson.ts'
import type { Reads } from '../../database/database.ts'
import type { AuditRow } from '../../database/tables.ts'
import { findAuditHead } from './queries.ts'

const PAGE_SIZE = 200

/** A position in an audit chain: a row by its number, 0 before the first, and its hash. */
type Position = Pick<AuditRow, 'seq' | 'hash'>
const START: Position = { seq: 0, hash: '' }

/**
 * Streams the shop's audit log after a row, in chain order, as newline-delimited JSON that {@link verifyFile} checks
 * without the database. The credential is checked again before each page.
 *
 * @throws ApiError 400 `invalid_parameter` when the audit has no row `after`.
 */
export async function exportAudit(ctx: Context, after = 0): Promise<ReadableStream<Uint8Array>> {
  const from = await findPosition(ctx.db, ctx.shop.id, after)
  return toByteStream(linesOf(ctx.db, ctx.shop.id, from, async () => void (await ctx.recheck?.(ctx.db.read))))
}

/** A chain's row with this number. @throws ApiError 400 `invalid_parameter`. */
export async function findPosition({ read }: Pick<Reads, 'read'>, shopId: string, seq: number): Promise<Position> {
  const [row] = seq === 0 ? [START] : await listChain(read, shopId, seq - 1, 1)
  if (row?.seq !== seq) throw invalidField('invalid_parameter', 'after', 'must be the number of a record of the audit.')
  return { seq, hash: row.hash }
}

/** An export's lines, each with its line break: a first line, a row of the audit each, and a last line. */
export async function* linesOf(
  { read }: Pick<Reads, 'read'>,
  shopId: string,
  after: Position,
  beforePage: () => Promise<void> = async () => {},
): AsyncGenerator<string, void> {
  // The chain may grow while it is read.
  const { seq: last } = (await findAuditHead(read, shopId)) ?? START
  yield toLine(headOf(shopId, after))
  let end = after
  while (end.seq < last) {
    await beforePage()
    const rows = await listChain(read, shopId, end.seq, Math.min(PAGE_SIZE, last - end.seq))
    for (const row of rows) yield toLine(columnsOf(row))
    const newest = rows.at(-1)
    if (!newest) break
    end = { seq: newest.seq, hash: newest.hash }
  }
  yield toLine(endOf(end))
}

/** The columns that a row's hash covers, the hash, and the input for the digest of its subject and data. */
const columnsOf = (row: AuditRow): AuditRow => ({
  seq: row.seq,
  id: row.id,
  shopId: row.shopId,
  actor: row.actor,
  action: row.action,
  subjectId: row.subjectId,
  data: row.data,
  requestId: row.requestId,
  createdAt: row.createdAt,
  previousHash: row.previousHash,
  hash: row.hash,
  salt: row.salt,
  digest: row.digest,
})

const headOf = (shopId: string, { seq, hash }: Position) => ({
  export: 'audit',
  version: 1,
  shopId,
  after: { seq, hash },
})
const endOf = ({ seq, hash }: Position) => ({ end: { seq, hash } })

const toLine = (value: object): string => `${JSON.stringify(value)}\n`

/** The result of verifying a file. */
interface FileCheck {
  ok: boolean
  /** The first invalid line's number and its problem. */
  problem: string | null
  shopId: string | null
  /** The verified rows. */
  rows: number
  /** The first row follows `after`, and the last row is `end`. */
  after: Position | null
  end: Position | null
}

const BREAKS = {
  CHANGED: 'was changed after it was written',
  UNLINKED: 'does not follow the row before it',
} as const

/**
 * Verifies an export without the database: every row is unchanged, none is missing, and they are in order.
 *
 * @param known a row known from elsewhere, such as an earlier check's `audit.heads`; the file must contain it
 */
export async function verifyFile(path: string, known?: Position): Promise<FileCheck> {
  const check: FileCheck = { ok: false, problem: null, shopId: null, rows: 0, after: null, end: null }
  let number = 0
  let isComplete = false
  let hasKnown = known === undefined
  const erasures = new UnstatedErasures()
  const fail = (problem: string): FileCheck => ({ ...check, problem: `Line ${number}: ${problem}.` })
  for await (const line of splitLines(createReadStream(path, 'utf8'))) {
    number++
    const value = parseObject(line)
    if (value === undefined) return fail('it is not JSON')
    if (isComplete) return fail('the export continues after its end')
    if (number === 1) {
      if (value.export !== 'audit' || value.version !== 1) return fail('it is not the first line of an audit export')
      if (!isExactly(line, headOf(value.shopId, value.after ?? START))) return fail(OTHER_CONTENT)
      Object.assign(check, { shopId: value.shopId, after: value.after, end: value.after })
    } else if (value.end) {
      if (!isExactly(line, endOf(value.end))) return fail(OTHER_CONTENT)
      if (value.end.seq !== check.end?.seq || value.end.hash !== check.end?.hash)
        return fail(`row ${value.end.seq} is the last of the export, but the last row before is ${check.end?.seq}`)
      isComplete = true
    } else {
      const problem = problemOf(value, check) ?? (isExactly(line, columnsOf(value)) ? undefined : OTHER_CONTENT)
      if (problem) return fail(problem)
      check.end = { seq: value.seq, hash: value.hash }
      check.rows++
      erasures.add([value])
    }
    if (known && check.end?.seq === known.seq) {
      if (check.end.hash !== known.hash) return fail(`row ${known.seq} has another hash than the known one`)
      hasKnown = true
    }
  }
  if (!isComplete) return fail('the export ends before its last line, so rows may be missing')
  if (erasures.first !== undefined)
    return fail(
      `the text of row ${erasures.first} was replaced, and no erasure states it. Unless one is running, it was altered`,
    )
  if (!hasKnown) return fail(`row ${known?.seq} is not in the export`)
  return { ...check, ok: true }
}

const OTHER_CONTENT = 'it has content that no hash covers'

/**
 * Whether a line is exactly what the export writes. An additional or repeated member would reach readers unverified.
 */
const isExactly = (line: string, value: object): boolean => line === JSON.stringify(value)

function problemOf(row: AuditRow, { shopId, end }: FileCheck): string | undefined {
  const expected = (end?.seq ?? 0) + 1
  if (row.shopId !== shopId) return `row ${row.seq} belongs to another shop`
  if (row.seq > expected) return `row ${expected} is missing before row ${row.seq}`
  if (row.seq !== expected) return `row ${row.seq} is not in order; row ${expected} was expected`
  const broken = findChainBreak([row], end ?? START)
  if (!broken || broken.reason === 'MISSING') return undefined
  return `row ${row.seq} ${BREAKS[broken.reason]}`
}

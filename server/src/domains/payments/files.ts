import { conflict, conflictWithRemedy, invalidBody, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { derivedId } from '../../core/ids.ts'
import { readFrom } from '../../core/lists.ts'
import { mutate, recordAccess } from '../../core/mutate.ts'
import { isDay, localDate } from '../../core/time-zone.ts'
import { chunks } from '../../database/chunks.ts'
import type { Transaction } from '../../database/database.ts'
import { deleteRows, insertRow, updateRows } from '../../database/rows.ts'
import type { PayoutBatchRow, PayoutFileRow, PayoutLineRow } from '../../database/tables.ts'
import { blockedReason, METHODS_OF, paymentReference } from '../../engine/payment-line.ts'
import { payoutLines } from '../../engine/payout.ts'
import { openPayee, type PayeeDetails, toAccount } from '../affiliates/payees.ts'
import { findAffiliatesById, findPayees } from '../affiliates/queries.ts'
import { sumLine } from '../ledger/batch-commissions.ts'
import { onlyProgramOf, payoutNotFound } from '../ledger/batch-totals.ts'
import {
  deleteDiscardedLines,
  findFile,
  findLinesOfBatch,
  insertLines,
  listFiles,
  listLinesOfFile,
} from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'
import { fileNotFound, toFile } from '../payouts/discard.ts'
import { rejectUnpayable } from '../payouts/payouts.ts'
import { awaitBatch } from '../payouts/process.ts'
import { sendableReport } from './lines.ts'
import { paymentText } from './payment-file.ts'

type Schemas = components['schemas']
type PayoutFile = Schemas['PayoutFile']
type Debtor = Schemas['Debtor']

/** Files with at most this many lines are created in one transaction, larger ones in steps. */
const MAX_LINES_AT_ONCE = 100
/** Fits SEPA message IDs and file names. */
const FILE_ID = /^[A-Za-z0-9][A-Za-z0-9-]{0,29}$/
/** How many of a batch's files are listed. */
const MAX_LISTED = 1000

/**
 * Lists a batch's payment files, newest first, and records the access.
 *
 * @throws ApiError 404 `payout_not_found`.
 */
export async function list(ctx: Context, batchId: string): Promise<{ data: PayoutFile[] }> {
  if (!(await findBatch(ctx.db.read, ctx.shop.id, batchId))) throw payoutNotFound()
  const data = await findAll(ctx, batchId)
  await recordAccess(ctx, 'payout_files.listed', batchId)
  return { data }
}

/** A batch's payment files, newest first. Does not audit; the caller must. */
export const findAll = async (ctx: Context, batchId: string): Promise<PayoutFile[]> =>
  (await listFiles(ctx.db.read, ctx.shop.id, batchId, MAX_LISTED)).map(toFile)

/**
 * Returns a payment file. Does not audit; the caller must.
 *
 * @throws ApiError 404 `payout_file_not_found`.
 */
export async function find(ctx: Context, id: string): Promise<PayoutFile> {
  const file = await findFile(ctx.db.read, ctx.shop.id, id)
  if (!file) throw fileNotFound()
  return toFile(file)
}

/**
 * Lists a payment file's lines in order of ID, and records the access.
 *
 * @throws ApiError 404 `payout_file_not_found`, 409 `payout_file_unfinished` or `payee_unreadable`.
 */
export async function listLines(
  ctx: Context,
  id: string,
  { after, limit }: Query<'listPayoutFileLines'>,
): Promise<Schemas['PayoutFileLines']> {
  const file = await findFile(ctx.db.read, ctx.shop.id, id)
  if (!file) throw fileNotFound()
  if (file.status === 'PREPARING') throw fileUnfinished()
  const rows = await listLinesOfFile(ctx.db.read, ctx.shop.id, { fileId: id, after, limit: limit + 1 })
  const data = rows.slice(0, limit).map((row) => toFileLine(ctx, row))
  const debtor = file.debtor === null ? null : openDebtor(ctx, file)
  const batch = await findBatch(ctx.db.read, ctx.shop.id, file.batchId)
  if (!batch) throw payoutNotFound()
  const { periodStart, periodEnd } = batch
  const note = noteOf(ctx, file, batch)
  await recordAccess(ctx, 'payout_file.shown', id)
  return { file: toFile(file), periodStart, periodEnd, note, debtor, data, hasMore: rows.length > limit }
}

/**
 * Adds a batch's lines that can be sent in a format to a payment file. Repeating the ID returns the same file.
 *
 * @throws ApiError 400 `invalid_parameter`, `invalid_body` or `payee_invalid`; 404 `payout_not_found`; 409
 * `payout_file_exists`, `payout_already_paid`, `payout_not_payable`, `payout_nothing_to_send` or
 * `payout_currency_not_supported`.
 */
export async function create(ctx: Context, id: string, body: Body<'createPayoutFile'>): Promise<PayoutFile> {
  const { batchId } = body
  const debtor = toDebtor(body)
  const batch = await awaitBatch(ctx, batchId)
  if (!FILE_ID.test(id)) throw invalidField('invalid_parameter', 'id', 'must be 1 to 30 letters, digits and hyphens.')
  const existing = await findFile(ctx.db.read, ctx.shop.id, id)
  if (existing?.status === 'DISCARDED') throw fileDiscarded()
  if (existing && !isSameFile(ctx, existing, { body, debtor })) throw fileExists()
  if (existing?.status === 'SENT') return toFile(existing)
  if (body.format === 'sepa' && !debtor)
    throw invalidField('invalid_body', 'debtor', 'is required for the format sepa.')
  if (!existing && body.executionDate) rejectPast(ctx, body.executionDate)
  rejectUnpayable(batch, undefined)
  if (body.format === 'sepa' && batch.currency !== 'EUR') throw currencyNotSupported()
  const file = existing ?? newFile(ctx, batch, { id, body, debtor })
  const query = { batchId, methods: [...METHODS_OF[file.format]] }
  const { sendable, blocked } = await readFrom(ctx, sendableReport, query)
  const affiliateIds = sendable.map(({ affiliateId }) => affiliateId)
  const isSmall = affiliateIds.length <= MAX_LINES_AT_ONCE
  const created = await (isSmall ? createAtOnce : createInSteps)(ctx, file, affiliateIds)
  ctx.countPayments('blocked', blocked)
  return created
}

const keyOf = ({ shopId, id }: PayoutFileRow) => ({ shopId, id })

const createAtOnce = (ctx: Context, file: PayoutFileRow, affiliateIds: string[]) =>
  mutate(ctx, async (trx) => {
    const current = await findFile(trx, ctx.shop.id, file.id)
    if (current?.status === 'SENT') return { result: toFile(current), audit: null }
    if (current?.status === 'DISCARDED') throw fileDiscarded()
    if (!current) await insertRow(trx, 'payoutFiles', file)
    const added = await addLines(ctx, trx, current ?? file, affiliateIds)
    if (added.lines === 0) throw nothingToSend()
    return finish(ctx, trx, { ...(current ?? file), ...added })
  })

/** Many lines: each step is its own transaction. */
async function createInSteps(ctx: Context, file: PayoutFileRow, affiliateIds: string[]): Promise<PayoutFile> {
  await mutate(ctx, async (trx) => {
    const isKnown = await findFile(trx, ctx.shop.id, file.id)
    if (isKnown) return { result: undefined, audit: null }
    await requireOpen(trx, file)
    await insertRow(trx, 'payoutFiles', file)
    return { result: undefined, audit: { action: 'payout_file.started', subjectId: file.id } }
  })
  const step = async (trx: Transaction, some: string[]) => {
    const current = await findFile(trx, ctx.shop.id, file.id)
    // Another request with the same ID has completed it.
    if (current?.status !== 'PREPARING') return
    const added = await addLines(ctx, trx, current, some)
    await updateRows(trx, 'payoutFiles', keyOf(file), { ...added, updatedAt: nowIso(ctx) })
  }
  for (const some of chunks(affiliateIds, MAX_LINES_AT_ONCE))
    await ctx.db.transact((trx) => step(trx, some), ctx.shop.id)
  const finished = await mutate(ctx, async (trx) => {
    const current = await findFile(trx, ctx.shop.id, file.id)
    if (!current) return { result: undefined, audit: null }
    if (current.status === 'SENT') return { result: toFile(current), audit: null }
    if (current.status === 'DISCARDED') {
      // Another request, or paying the batch, has discarded it.
      await requireOpen(trx, current)
      throw fileDiscarded()
    }
    if (current.lines > 0) return finish(ctx, trx, current)
    await deleteRows(trx, 'payoutFiles', keyOf(file))
    return { result: undefined, audit: { action: 'payout_file.discarded', subjectId: file.id } }
  })
  if (!finished) throw nothingToSend()
  return finished
}

/** @throws ApiError 409 `payout_already_paid` or `payout_not_payable`. */
async function requireOpen(trx: Transaction, { shopId, batchId }: PayoutFileRow): Promise<PayoutBatchRow> {
  const batch = await findBatch(trx, shopId, batchId)
  if (!batch) throw payoutNotFound()
  rejectUnpayable(batch, undefined)
  return batch
}

/** Completes a file that has lines. */
async function finish(ctx: Context, trx: Transaction, file: PayoutFileRow) {
  const { lines, totalCents } = file
  const changes = { status: 'SENT' as const, lines, totalCents, updatedAt: nowIso(ctx) }
  await updateRows(trx, 'payoutFiles', keyOf(file), changes)
  const { batchId, format, currency } = file
  const data = { batchId, format, currency, lines, totalCents }
  return { result: toFile({ ...file, ...changes }), audit: { action: 'payout_file.created', subjectId: file.id, data } }
}

/**
 * Inserts these affiliates' lines as of the transaction. Lines that were sent before, pay nothing, or no longer have
 * details for this format are left out.
 *
 * @returns the totals of the file with them
 */
async function addLines(
  ctx: Context,
  trx: Transaction,
  file: PayoutFileRow,
  affiliateIds: string[],
): Promise<Pick<PayoutFileRow, 'lines' | 'totalCents'>> {
  const { shopId, batchId, currency } = file
  await requireOpen(trx, file)
  if (affiliateIds.length === 0) return { lines: file.lines, totalCents: file.totalCents }
  const [payees, sentLines, affiliates, sums] = await Promise.all([
    findPayees(trx, shopId, affiliateIds),
    findLinesOfBatch(trx, shopId, batchId, affiliateIds),
    findAffiliatesById(trx, shopId, affiliateIds),
    Promise.all(affiliateIds.map((affiliateId) => sumLine(trx, shopId, batchId, affiliateId))),
  ])
  const contacts = new Map(affiliates.map(({ id, name, email }) => [id, { name, email }]))
  const createdAt = nowIso(ctx)
  const rows = affiliateIds.flatMap((affiliateId, i): PayoutLineRow[] => {
    const payee = payees.find((payee) => payee.affiliateId === affiliateId)
    const [line] = payoutLines(sums[i] ?? []) ?? []
    const contact = contacts.get(affiliateId)
    if (!payee || !line || !contact || line.netPayableCents <= 0 || sentLines.has(affiliateId)) return []
    if (!METHODS_OF[file.format].includes(payee.method)) return []
    if (blockedReason(payee.method, currency, line.netPayableCents) !== null) return []
    const details = openPayee(ctx.vault, payee)
    if (!details) return []
    // A batch pays an affiliate once. Another batch pays a returned amount.
    const id = derivedId('pln', batchId, affiliateId)
    return [
      {
        shopId,
        id,
        fileId: file.id,
        batchId,
        affiliateId,
        state: 'SENT',
        currency,
        programId: onlyProgramOf(sums[i] ?? []),
        commissions: line.commissions,
        commissionCents: line.commissionCents,
        taxWithheldCents: line.taxWithheldCents,
        amountCents: line.netPayableCents,
        method: payee.method,
        details: ctx.vault.seal(JSON.stringify({ ...contact, payee: details } satisfies SealedLine), id),
        reference: null,
        reason: null,
        date: null,
        createdAt,
        updatedAt: createdAt,
      },
    ]
  })
  if (rows.length > 0) {
    const added = rows.map(({ affiliateId }) => affiliateId)
    await deleteDiscardedLines(trx, shopId, batchId, added)
  }
  await insertLines(trx, rows)
  return {
    lines: file.lines + rows.length,
    totalCents: rows.reduce((sum, row) => sum + row.amountCents, file.totalCents),
  }
}

/** The payee snapshot sealed with a line. */
interface SealedLine {
  name: string
  email: string
  payee: PayeeDetails
}

function newFile(
  ctx: Context,
  batch: PayoutBatchRow,
  { id, body: { format, executionDate }, debtor }: RequestedFile & { id: string },
): PayoutFileRow {
  const createdAt = nowIso(ctx)
  return {
    shopId: ctx.shop.id,
    id,
    batchId: batch.id,
    format,
    currency: batch.currency,
    status: 'PREPARING',
    assumedPaid: 0,
    executionDate: format === 'sepa' ? (executionDate ?? todayOf(ctx)) : null,
    debtor: debtor && ctx.vault.seal(JSON.stringify(debtor), debtorOf(id)),
    note: paymentText(batch, ctx.shop.timeZone),
    lines: 0,
    totalCents: 0,
    settledLines: 0,
    settledCents: 0,
    returnedLines: 0,
    returnedCents: 0,
    createdAt,
    updatedAt: createdAt,
  }
}

/** The remittance text for payees. Stored with the file, so that it survives a change of the shop's time zone. */
export const noteOf = ({ shop }: Context, { note }: PayoutFileRow, batch: PayoutBatchRow): string =>
  note ?? paymentText(batch, shop.timeZone)

export const debtorOf = (fileId: string) => `debtor:${fileId}`

/** The current day in the shop's time zone, as its bank counts it. */
const todayOf = (ctx: Context): string => localDate(nowIso(ctx), ctx.shop.timeZone)

/**
 * Banks reject a file with an execution date before today, when its payments would already be marked as sent.
 *
 * @throws ApiError 400 `invalid_body`.
 */
function rejectPast(ctx: Context, executionDate: string): void {
  if (!isDay(executionDate)) throw invalidField('invalid_body', 'executionDate', 'must be a date, like 2026-11-05.')
  if (executionDate < todayOf(ctx)) throw invalidField('invalid_body', 'executionDate', 'must not be in the past.')
}

/** @throws ApiError 400 `invalid_body` or `payee_invalid`. */
function toDebtor({ format, debtor, executionDate }: Body<'createPayoutFile'>): Debtor | null {
  if (format !== 'sepa') {
    if (debtor || executionDate) throw invalidBody('debtor and executionDate are allowed only with format sepa.')
    return null
  }
  return debtor ? { name: debtor.name.trim(), ...toAccount(debtor, 'debtor.') } : null
}

/** @throws ApiError 409 `payee_unreadable`. */
export function openDebtor(ctx: Context, { id, debtor }: PayoutFileRow): Debtor {
  const text = debtor === null ? null : ctx.vault.open(debtor, debtorOf(id))
  if (text === null) throw payeeUnreadable()
  return JSON.parse(text)
}

interface RequestedFile {
  body: Body<'createPayoutFile'>
  debtor: Debtor | null
}

/** Whether a request matches an existing file. Omitted fields match any value. */
function isSameFile(ctx: Context, file: PayoutFileRow, { body, debtor }: RequestedFile): boolean {
  if (file.batchId !== body.batchId || file.format !== body.format) return false
  if (body.executionDate && body.executionDate !== file.executionDate) return false
  return !debtor || (file.debtor && ctx.vault.open(file.debtor, debtorOf(file.id))) === JSON.stringify(debtor)
}

/** @throws ApiError 409 `payee_unreadable`. */
export function toFileLine({ vault }: Context, row: PayoutLineRow): Schemas['PayoutFileLine'] {
  const text = vault.open(row.details, row.id)
  if (text === null) throw payeeUnreadable()
  const { name, email, payee } = JSON.parse(text) as SealedLine
  const { id, affiliateId, state, amountCents, currency } = row
  return { id, paymentReference: paymentReference(id), affiliateId, name, email, state, amountCents, currency, payee }
}
export const fileUnfinished = () =>
  conflict('payout_file_unfinished', 'This payment file is not complete. Create it again with the same id.')
const fileExists = () =>
  conflict(
    'payout_file_exists',
    'This file id is already used for another batch, format or account. Choose another id.',
  )
export const fileDiscarded = () => conflict('payout_file_exists', 'This payment file was discarded. Choose another id.')
const nothingToSend = () =>
  conflictWithRemedy('payout_nothing_to_send', {
    problem: 'No payment of this batch can be sent in this format.',
    remedy: 'List the payments of the batch to see why.',
  })
const currencyNotSupported = () =>
  conflict('payout_currency_not_supported', 'SEPA files support EUR only. Choose another format.')
const payeeUnreadable = () =>
  conflict(
    'payee_unreadable',
    'The payee details of this file cannot be decrypted. Restore the encryption key of the server.',
  )

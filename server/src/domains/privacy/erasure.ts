import { setTimeout as sleep } from 'node:timers/promises'
import { conflict, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { PERSON_ERASED } from '../../core/audit.ts'
import { type Context, type Deps, nowIso } from '../../core/context.ts'
import { toUnits } from '../../core/currencies.ts'
import { bestEffort } from '../../core/log.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import { countRows } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import { createPause } from '../../database/event-loop.ts'
import type { TableName } from '../../database/personal-data.ts'
import { CONFIGURED_TABLES, PERSONAL_TABLES } from '../../database/personal-data.ts'
import { findRow, insertRow, updateIfUnchanged, updateRows } from '../../database/rows.ts'
import type { Row } from '../../database/table-keys.ts'
import type { AffiliateRow, AuditRow, ErasureRow, UserRow } from '../../database/tables.ts'
import { operatorContext } from '../accounts/shops.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { readBalance, UNPAID } from '../ledger/balance.ts'
import { isConfiguredWith, matchPerson } from './concern.ts'
import { findIds, pages } from './find.ts'
import { hashOfPerson, mailboxHashOf, Person, requireAddress } from './person.ts'
import { addErasedRows, incrementErasureVersion, listUnfinishedErasures } from './queries.ts'
import { type Change, changeRows, toStoredChange } from './write.ts'

type Schemas = components['schemas']
type Erasure = Schemas['Erasure']

/** How long a request waits for an erasure to end. */
const WAIT_MS = 20_000
/** Limits for one transaction: the number of changed rows, and the bytes of their largest column values. */
const STEP_ROWS = 25
const STEP_BYTES = 256 * 1024
const KEY_BYTES = 32

/** An erasure's state for continuing after an interruption. Sealed, and deleted when the erasure ends. */
interface Subject {
  email: string
  /** The key that pseudonyms are computed with. */
  key: string
  /** Found before anything is replaced, because some rows no longer lead to others afterwards. */
  ids?: Record<'customerIds' | 'sessionIds' | 'affiliateIds' | 'codes', string[]>
}

/** An erasure's record outside the database. */
export type LoggedErasure = Pick<ErasureRow, 'shopId' | 'id' | 'person' | 'startedAt'>

export const boundOfErasure = (id: string) => `erasure:${id}`

/** Erasures that this process runs, by ID. */
const running = new Map<string, Promise<void>>()

/**
 * Erases everything stored about a person: addresses, IDs, and texts are replaced with pseudonyms that nobody can
 * compute once the erasure has ended. Money, statuses, and times stay. Runs in small transactions. Repeating the
 * request continues an interrupted erasure and waits for it.
 *
 * @throws ApiError 400 `invalid_body`, 409 `affiliate_has_open_commissions` or `person_is_user`.
 */
export async function erasePerson(ctx: Context, email: string): Promise<Erasure> {
  const row = (await findUnfinished(ctx, requireAddress(email))) ?? (await begin(ctx, requireAddress(email)))
  await Promise.race([start(ctx, row), sleep(WAIT_MS, undefined, { signal: ctx.stopping }).catch(() => {})])
  return readErasure(ctx, row.id)
}

/** @throws ApiError 404 `erasure_not_found`. */
export async function readErasure(ctx: Context, id: string): Promise<Erasure> {
  const row = await findRow(ctx.db.read, 'erasures', { shopId: ctx.shop.id, id })
  if (!row) throw notFound('erasure_not_found', 'No erasure with this id exists in your shop.')
  return {
    id: row.id,
    status: row.finishedAt === null ? 'RUNNING' : 'DONE',
    rows: row.rows,
    mentions: JSON.parse(row.mentions),
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
  }
}

/** {@link erasePerson} for a separate process. Returns when the erasure has ended. */
export async function erasePersonCompletely(ctx: Context, email: string): Promise<Erasure> {
  const row = (await findUnfinished(ctx, requireAddress(email))) ?? (await begin(ctx, requireAddress(email)))
  await run(ctx, row)
  return readErasure(ctx, row.id)
}

/**
 * Repeats an erasure after an earlier backup was restored. Rows stored after it started belong to a new person.
 *
 * @throws ApiError 409 `affiliate_has_open_commissions` or `person_is_user`.
 */
export async function repeatErasure(ctx: Context, email: string, logged: LoggedErasure): Promise<void> {
  await run(ctx, await begin(ctx, email, logged))
}

/** Completes a shop's unfinished erasures. */
export async function completeErasures(ctx: Context): Promise<void> {
  for (const row of await listUnfinishedErasures(ctx.db.read, ctx.shop.id)) await run(ctx, row)
}

/** Continues erasures that a process left unfinished. */
export async function continueErasures(deps: Deps): Promise<void> {
  for (const row of await listUnfinishedErasures(deps.db.read)) {
    const ctx = await operatorContext(deps, row.shopId)
    await bestEffort(deps.log, 'erasure_failed', () => start(ctx, row))
  }
}

function start(ctx: Context, row: ErasureRow): Promise<void> {
  const known = running.get(row.id)
  if (known) return known
  // The erasure continues after the request ends. By then, the user who started it may have lost access.
  const { recheck: _, idempotency: __, ...rest } = ctx
  const done = run(rest, row).finally(() => running.delete(row.id))
  running.set(row.id, done)
  done.catch((error) => ctx.log.error({ erasure: row.id, error: error?.name }, 'erasure interrupted'))
  return done
}

async function findUnfinished(ctx: Context, email: string, db: Reader = ctx.db.read): Promise<ErasureRow | undefined> {
  const person = new Person(email)
  const rows = await listUnfinishedErasures(db, ctx.shop.id)
  return rows.find((row) => person.hasAddress(openSubject(ctx, row).email))
}

function openSubject({ vault }: Context, { id, subject }: ErasureRow): Subject {
  const text = subject === null ? null : vault.open(subject, boundOfErasure(id))
  if (text === null)
    throw conflict(
      'erasure_unreadable',
      'An unfinished erasure cannot be decrypted. Restore the encryption key of the server.',
    )
  return JSON.parse(text)
}

const sealSubject = ({ vault }: Context, id: string, subject: Subject): string =>
  vault.seal(JSON.stringify(subject), boundOfErasure(id))

/**
 * Rejects an erasure that is not possible yet, and archives the affiliates, so that they earn nothing before they are
 * erased.
 */
async function begin(ctx: Context, email: string, logged?: LoggedErasure): Promise<ErasureRow> {
  const person = new Person(email)
  await rejectUser(ctx, person)
  const affiliates: AffiliateRow[] = []
  for await (const rows of pages(ctx, 'affiliates'))
    affiliates.push(
      ...(rows as unknown as AffiliateRow[]).filter(
        (row) => person.hasAddress(row.email) && !(logged && isLater(logged, row)),
      ),
    )
  for (const affiliate of affiliates) await rejectOpenCommissions(ctx, affiliate)
  const id = logged?.id ?? ctx.newId('ers')
  const key = Buffer.from(ctx.random(KEY_BYTES)).toString('base64url')
  const row: ErasureRow = {
    shopId: ctx.shop.id,
    id,
    person: logged?.person ?? hashOfPerson(ctx, email),
    subject: sealSubject(ctx, id, { email, key }),
    rows: 0,
    mentions: '[]',
    startedAt: logged?.startedAt ?? nowIso(ctx),
    finishedAt: null,
  }
  return mutate(ctx, async (trx) => {
    // The same request may have started meanwhile. Two keys would turn one person into two.
    const begun = await findUnfinished(ctx, email, trx)
    if (begun) return { result: begun, audit: null }
    const audit: AuditEntry[] = [{ action: 'person.erasure_started', subjectId: id }]
    const ids = affiliates.map((affiliate) => affiliate.id)
    const counts = await Promise.all(affiliates.map((affiliate) => countOpen(trx, ctx, affiliate)))
    // An order arrived meanwhile.
    if (counts.some((count) => count > 0)) throw openCommissions('This person is an affiliate with new commissions.')
    for (const affiliate of (await findAffiliatesById(trx, ctx.shop.id, ids)).filter(
      (candidate) => candidate.deletedAt === null,
    )) {
      const now = nowIso(ctx)
      const changes = { deletedAt: now, updatedAt: now }
      await updateIfUnchanged(trx, 'affiliates', affiliate, changes)
      audit.push({ action: 'affiliate.archived', subjectId: affiliate.id })
    }
    await insertRow(trx, 'erasures', row)
    await incrementErasureVersion(trx, ctx.shop.id)
    return { result: row, audit }
  })
}

/** @throws ApiError 409 `person_is_user`. */
async function rejectUser(ctx: Context, person: Person): Promise<void> {
  for await (const rows of pages(ctx, 'users'))
    if ((rows as unknown as UserRow[]).some(({ email, revokedAt }) => revokedAt === null && person.hasAddress(email)))
      throw conflict('person_is_user', 'This email address belongs to a user of the shop. Revoke the user first.')
}

async function countOpen(db: Context['db']['read'], { shop }: Context, { id: scope }: AffiliateRow): Promise<number> {
  const counts = await Promise.all(
    UNPAID.map((status) => countRows(db, shop.id, { list: 'commissions', scope, status })),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

const openCommissions = (what: string) =>
  conflict('affiliate_has_open_commissions', `${what} Pay, cancel or reject them first.`)

/** @throws ApiError 409 `affiliate_has_open_commissions`. */
async function rejectOpenCommissions(ctx: Context, affiliate: AffiliateRow): Promise<void> {
  const count = await countOpen(ctx.db.read, ctx, affiliate)
  if (count === 0) return
  const { balances } = await readBalance(ctx, affiliate.id)
  const sums = balances.map(
    ({ currency, pendingCents, approvedCents, batchedCents }) =>
      `${toUnits(pendingCents + approvedCents + batchedCents, currency)} ${currency}`,
  )
  const what = count === 1 ? 'an unsettled commission' : `${count} unsettled commissions`
  throw openCommissions(`This person is the affiliate ${affiliate.id} with ${what} of ${sums.join(' and ')}.`)
}

async function run(ctx: Context, row: ErasureRow): Promise<void> {
  const person = await personOf(ctx, row)
  const erased = new Set<number>()
  const stated = new Set<number>()
  for (const table of PERSONAL_TABLES)
    for await (const rows of pages(ctx, table)) {
      const changed = await erasePage(ctx, { row, person, table }, rows)
      if (table === 'audits')
        noteAudits(rows as unknown as AuditRow[], changed as unknown as AuditRow[], { erased, stated })
    }
  const auditRows = [...erased].filter((seq) => !stated.has(seq))
  await finish(ctx, row, { mentions: await findMentions(ctx, person), auditRows })
}

/** Audit rows that no longer have the text their hash covers, and which of them the audit log already lists. */
function noteAudits(
  rows: AuditRow[],
  changed: AuditRow[],
  { erased, stated }: Record<'erased' | 'stated', Set<number>>,
): void {
  for (const { seq } of [...changed, ...rows.filter(({ salt }) => salt === null)]) erased.add(seq)
  for (const { action, data } of rows)
    if (action === PERSON_ERASED) for (const seq of JSON.parse(data).auditRows) stated.add(seq)
}

/** An erasure's person. The IDs are stored before anything is replaced. */
async function personOf(ctx: Context, row: ErasureRow): Promise<Person> {
  const current = (await findRow(ctx.db.read, 'erasures', { shopId: ctx.shop.id, id: row.id })) ?? row
  const subject = openSubject(ctx, current)
  const person = new Person(subject.email, { key: subject.key, mailboxHash: mailboxHashOf(ctx, subject.email) })
  if (subject.ids) {
    const { customerIds, sessionIds, affiliateIds, codes } = subject.ids
    for (const id of customerIds) person.customerIds.add(id).add(person.pseudonym(id))
    for (const id of sessionIds) person.sessionIds.add(id).add(person.pseudonym(id))
    for (const id of affiliateIds) person.affiliateIds.add(id)
    for (const code of codes) person.codes.add(code)
    return person
  }
  await findIds(ctx, person)
  const { customerIds, sessionIds, affiliateIds, codes } = person
  const ids = {
    customerIds: [...customerIds],
    sessionIds: [...sessionIds],
    affiliateIds: [...affiliateIds],
    codes: [...codes],
  }
  const sealed = sealSubject(ctx, row.id, { ...subject, ids })
  const key = { shopId: ctx.shop.id, id: row.id }
  await ctx.db.transact((trx) => updateRows(trx, 'erasures', key, { subject: sealed }), ctx.shop.id)
  return personOf(ctx, row)
}

interface Erasing {
  row: ErasureRow
  person: Person
  table: TableName
}

/** Erases a person from a page of rows, a few rows per transaction. Returns the changed rows. */
async function erasePage(ctx: Context, { row: erasure, person, table }: Erasing, rows: Row[]): Promise<Row[]> {
  const all: Row[] = []
  let step: { row: Row; change: Change }[] = []
  let bytes = 0
  const flush = async () => {
    if (step.length === 0) return
    const changing = step
    await ctx.db.transact(async (trx) => {
      const changed = await changeRows(trx, table, changing, (row) =>
        changeOf(ctx, { row: erasure, person, table }, row),
      )
      await addErasedRows(trx, ctx.shop.id, erasure.id, changed)
    }, ctx.shop.id)
    all.push(...changing.map(({ row }) => row))
    step = []
    bytes = 0
  }
  const pause = createPause()
  for (const row of rows) {
    await pause()
    const change = changeOf(ctx, { row: erasure, person, table }, row)
    if (!change) continue
    step.push({ row, change })
    bytes += Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
    if (step.length === STEP_ROWS || bytes > STEP_BYTES) await flush()
  }
  await flush()
  return all
}

/** Data that arrives after an erasure has started belongs to a new person. */
const isLater = ({ startedAt }: LoggedErasure, { createdAt }: { createdAt?: unknown }): boolean =>
  String(createdAt) > startedAt

function changeOf(ctx: Context, { row: erasure, person, table }: Erasing, row: Row): Change | undefined {
  if (isLater(erasure, row)) return undefined
  const concern = matchPerson(person, table, row)
  return concern && toStoredChange(ctx, person, { table, row, concern })
}

type Mention = Erasure['mentions'][number]

/** Where the merchant's configuration mentions the person. */
async function findMentions(ctx: Context, person: Person): Promise<Mention[]> {
  const mentions: Mention[] = []
  for (const table of CONFIGURED_TABLES)
    for await (const rows of pages(ctx, table))
      for (const row of rows.filter((mention) => isConfiguredWith(person, table, mention)))
        mentions.push({ table, id: String(row.id) })
  return mentions
}

interface Outcome {
  mentions: Mention[]
  auditRows: number[]
}

/** Drops the key, so that nobody can compute an address's pseudonyms, and lists the changed audit rows. */
async function finish(ctx: Context, { id }: ErasureRow, { mentions, auditRows }: Outcome): Promise<void> {
  const finishedAt = nowIso(ctx)
  await mutate(ctx, async (trx) => {
    const current = await findRow(trx, 'erasures', { shopId: ctx.shop.id, id })
    // Another process was faster.
    if (!current || current.finishedAt !== null) return { result: undefined, audit: null }
    const ended = { subject: null, mentions: JSON.stringify(mentions), finishedAt }
    await updateRows(trx, 'erasures', { shopId: ctx.shop.id, id }, ended)
    await incrementErasureVersion(trx, ctx.shop.id)
    const data = { rows: current.rows, auditRows }
    return { result: undefined, audit: { action: PERSON_ERASED, subjectId: id, data } }
  })
  await ctx.db.overwriteDeleted()
}

import { ApiError } from '../../contract/errors.ts'
import { type Context, type Deps, nowIso } from '../../core/context.ts'
import { parseObject, splitLines } from '../../core/ndjson.ts'
import type { Reader } from '../../database/database.ts'
import { createPause } from '../../database/event-loop.ts'
import { COLUMNS, type Kind, PERSONAL_TABLES } from '../../database/personal-data.ts'
import { findRow, insertRow } from '../../database/rows.ts'
import { listShops } from '../accounts/queries.ts'
import { operatorContext } from '../accounts/shops.ts'
import { completeErasures, type LoggedErasure, repeatErasure } from './erasure.ts'
import { pages } from './find.ts'
import { hashesOfMailbox, isComparable, mailboxesIn } from './person.ts'
import { listErasures } from './queries.ts'

export interface RepeatedErasures {
  repeated: number
  /** Erasures that the database already contains, or of people it contains nothing about. */
  unnecessary: number
  failed: { shopId: string; id: string; error: string }[]
}

/** The erasure log's lines, each with its line break. */
export async function* erasureLogLines(db: Reader): AsyncGenerator<string, void> {
  const erasures = await listErasures(db)
  for (const { shopId, id, person, startedAt } of erasures)
    yield `${JSON.stringify({ shopId, id, person, startedAt } satisfies LoggedErasure)}\n`
  // Proves that the file is complete.
  yield `${JSON.stringify({ end: { erasures: erasures.length } })}\n`
}

/** @throws Error for a file that is incomplete, or another one. */
export async function readLog(text: AsyncIterable<string>): Promise<LoggedErasure[]> {
  const erasures: LoggedErasure[] = []
  for await (const line of splitLines(text)) {
    const value = parseObject(line)
    if (value?.end?.erasures === erasures.length) return erasures
    if (![value?.shopId, value?.id, value?.person, value?.startedAt].every((field) => typeof field === 'string')) break
    erasures.push(value)
  }
  throw new Error('The file is not a complete log of erasures. Write it again with `privacy log`.')
}

/**
 * Repeats the logged erasures that a restored backup does not contain. People are found by the hashes of all addresses
 * in the database. Rows stored after an erasure started belong to a new person, as they did then.
 *
 * @throws Error if a missing erasure was logged with another encryption key.
 */
export async function repeatErasures(deps: Deps, log: LoggedErasure[]): Promise<RepeatedErasures> {
  const known = new Set((await listErasures(deps.db.read)).map(({ id }) => id))
  if (!log.every(({ id, person }) => known.has(id) || isComparable(deps.vault, person)))
    throw new Error('The log contains erasures from before a change of the encryption key. Add the earlier key.')
  const result: RepeatedErasures = { repeated: 0, unnecessary: 0, failed: [] }
  const shops = new Set((await listShops(deps.db.read)).map(({ id }) => id))
  for (const shopId of new Set(log.map((erasure) => erasure.shopId))) {
    const ofShop = log.filter((erasure) => erasure.shopId === shopId)
    if (shops.has(shopId)) await repeatInShop(await operatorContext(deps, shopId), ofShop, result)
    // The backup is older than the shop.
    else result.unnecessary += ofShop.length
  }
  return result
}

async function repeatInShop(ctx: Context, log: LoggedErasure[], result: RepeatedErasures): Promise<void> {
  await completeErasures(ctx)
  const known = await Promise.all(log.map(({ id }) => findRow(ctx.db.read, 'erasures', { shopId: ctx.shop.id, id })))
  const missing = log
    .filter((_, i) => known[i] === undefined)
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : Number(a.startedAt > b.startedAt)))
  result.unnecessary += log.length - missing.length
  if (missing.length === 0) return
  const mailboxes = await findMailboxes(ctx, missing)
  for (const erasure of missing) {
    const mailbox = mailboxes.get(erasure.person)
    try {
      if (mailbox === undefined) await recordErasure(ctx, erasure)
      else await repeatErasure(ctx, mailbox, erasure)
      result[mailbox === undefined ? 'unnecessary' : 'repeated']++
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      result.failed.push({ shopId: ctx.shop.id, id: erasure.id, error: error.message })
    }
  }
}

/** Records an erasure that found nobody, in case another backup is restored. */
const recordErasure = (ctx: Context, erasure: LoggedErasure): Promise<void> =>
  ctx.db.transact(
    (trx) =>
      insertRow(trx, 'erasures', {
        ...erasure,
        subject: null,
        rows: 0,
        mentions: '[]',
        finishedAt: nowIso(ctx),
      }),
    ctx.shop.id,
  )

/** The mailboxes of logged people that the shop contains, by their hash in the log. */
async function findMailboxes(ctx: Context, log: LoggedErasure[]): Promise<Map<string, string>> {
  const persons = new Set(log.map(({ person }) => person))
  const mailboxes = new Map<string, string>()
  const compared = new Set<string>()
  for (const table of PERSONAL_TABLES)
    for await (const rows of pages(ctx, table)) {
      const pause = createPause()
      for (const text of rows.flatMap((row) => textsOf(row, COLUMNS[table]))) {
        await pause()
        for (const mailbox of mailboxesIn(text)) {
          if (compared.has(mailbox)) continue
          compared.add(mailbox)
          for (const hash of await hashesOfMailbox(ctx, mailbox)) if (persons.has(hash)) mailboxes.set(hash, mailbox)
        }
      }
    }
  return mailboxes
}

/** Every text of a row that may mention a person. */
function textsOf(row: Record<string, unknown>, kinds: Record<string, Kind>): string[] {
  return Object.entries(row).flatMap(([column, value]) => {
    const kind = kinds[column]
    if (typeof value !== 'string' || kind === 'none' || kind === 'shop') return []
    return [value, ...stringsIn(kind === 'json' || kind === 'special' ? parseObject(value) : undefined)]
  })
}

/** Every string in a JSON value, and the names of its members. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...stringsIn(inner)])
}

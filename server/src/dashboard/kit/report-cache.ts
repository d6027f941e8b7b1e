import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import { type ListReader, MAX_INLINE_ROWS, type ReadCost } from '../../core/lists.ts'
import type { Database } from '../../database/database.ts'
import { StorageError } from '../../database/storage-error.ts'
import { time } from './format.ts'
import { type Html, html } from './html.ts'
import type { PageRequest } from './route.ts'

/** Figures of large shops stay fresh for a minute, because they can add up a million commissions. */
const FRESH_MS = 60_000
/** Reading them uses at most a twentieth of the report thread's time, which other shops need as well. */
const PAUSE_FACTOR = 20
/** Older figures are still shown while fresh ones are read. */
const MAX_STALE_MS = 3_600_000
/** How long a page waits for uncached figures. After that, it opens without them and reloads when they are ready. */
const WAIT_MS = 10
const RELOAD_MS = 1500
const MAX_KEPT = 200
/**
 * Concurrent reads per shop, so that abandoned pages do not fill the report queue. Others start when their page
 * reloads.
 */
const MAX_READINGS = 8

interface Entry {
  value?: unknown
  readAt: number
  /** How long reading took. */
  tookMs: number
  reading?: Promise<unknown>
  /** The last read's error, until a page has shown it. */
  rejection?: ApiError
}
const keptBy = new WeakMap<object, Map<string, Entry>>()

/** Figures, undefined during the first read, and when they were read if that was before this request. */
export interface Cached<T> {
  value: T | undefined
  readAt: string | null
}

/** A value to cache, and how to read it. */
interface Figures<T, Own extends Context> {
  /** Cache key; must contain everything the value depends on. */
  key: readonly unknown[]
  /** The estimated cost of the read. A page waits unless it is many rows. */
  cost: ReadCost
  /** Must use the given context, which routes long reports to a separate thread. */
  read: (ctx: Own) => Promise<T>
  /** Whether the value stays cached after the user changes something. */
  survivesWrites?: boolean
}

/**
 * Stale-while-revalidate cache for figures of large shops; small shops bypass it. Figures may be up to an hour old when
 * the page opens. They are shown with their time and read again for the next request.
 */
export async function readForPage<T, Own extends Context>(ctx: Own, figures: Figures<T, Own>): Promise<Cached<T>> {
  const { key, cost, read, survivesWrites = false } = figures
  if (!(await isMany(ctx, cost))) return { value: await read(inThread(ctx, false)), readAt: null }
  const entry = entryOf(ctx, { survivesWrites, key })
  const { rejection } = entry
  delete entry.rejection
  if (rejection) throw rejection
  const age = Math.abs(ctx.now() - entry.readAt)
  if (age > Math.max(FRESH_MS, PAUSE_FACTOR * entry.tookMs) && readingsOf(ctx) < MAX_READINGS)
    entry.reading ??= readAgain(ctx, entry, read)
  if ('value' in entry && age <= MAX_STALE_MS)
    return { value: entry.value as T, readAt: new Date(entry.readAt).toISOString() }
  const soon = entry.reading?.catch(ignoreStorageError)
  const value = await Promise.race([soon, sleep(WAIT_MS, undefined, { ref: false })]).catch((error) => {
    delete entry.rejection
    throw error
  })
  return { value: value as T | undefined, readAt: null }
}

const isMany = async ({ db, shop }: Context, cost: ReadCost): Promise<boolean> =>
  typeof cost === 'function' ? cost(db.read, shop.id) : (cost ?? 0) > MAX_INLINE_ROWS

/** The report queue may be full, or a report may have been interrupted. The next request tries again. */
function ignoreStorageError(error: Error): undefined {
  if (!(error instanceof StorageError)) throw error
}

const readingsOf = ({ db, shop }: Context): number =>
  [...(keptBy.get(db) ?? [])].filter(([key, { reading }]) => reading && isOf(key, [shop.id])).length

/** Evicts the oldest entries. */
function entryOf(
  { db, shop }: Context,
  { survivesWrites, key: figures }: { survivesWrites: boolean; key: readonly unknown[] },
): Entry {
  const all = keptBy.get(db) ?? new Map<string, Entry>()
  keptBy.set(db, all)
  const key = keyOf([shop.id, shop.erasureVersion, survivesWrites, ...figures])
  const known = all.get(key)
  if (known) return known
  // Figures read before an erasure may name the person.
  forget(all, (key) => isOf(key, [shop.id]) && !isOf(key, [shop.id, shop.erasureVersion]))
  const [oldest] = all.keys()
  if (all.size >= MAX_KEPT && oldest !== undefined) all.delete(oldest)
  const entry: Entry = { readAt: Number.NEGATIVE_INFINITY, tookMs: 0 }
  all.set(key, entry)
  return entry
}

/** Clears a shop's cache after a user changed something, so that they see the change. */
export function invalidate({ db, shop }: Context): void {
  const all = keptBy.get(db)
  if (all) forget(all, (key) => isOf(key, [shop.id]) && !isOf(key, [shop.id, shop.erasureVersion, true]))
}

const keyOf = (parts: readonly unknown[]): string => JSON.stringify(parts)
/** Whether a key starts with these parts. */
const isOf = (key: string, parts: readonly unknown[]): boolean => key.startsWith(`${keyOf(parts).slice(0, -1)},`)

function forget(all: Map<string, Entry>, isForgotten: (key: string) => boolean): void {
  for (const key of all.keys()) if (isForgotten(key)) all.delete(key)
}

/** A context whose reports run in the thread for long reports, or in the one for short reports. */
function inThread<Own extends Context>(ctx: Own, isLong: boolean): Own {
  const runReport: Database['runReport'] = (report, input, ms) => ctx.db.runReport(report, input, ms, isLong)
  return { ...ctx, db: { ...ctx.db, runReport } }
}

/** Reads figures and caches them. If that fails, the next request tries again. */
function readAgain<Own extends Context>(
  ctx: Own,
  entry: Entry,
  read: (ctx: Own) => Promise<unknown>,
): Promise<unknown> {
  const startedAt = performance.now()
  // The result is as old as the start of the read, because it may miss changes made during the read.
  const readAt = ctx.now()
  const reading = read(inThread(ctx, true)).then((value) => {
    Object.assign(entry, { value, readAt, tookMs: performance.now() - startedAt })
    return value
  })
  reading
    .catch((error: Error) => {
      // The requesting page may have opened without figures and will reload. It must not start reads forever.
      if (error instanceof ApiError && error.status < 500) entry.rejection = error
      else ctx.log.warn({ requestId: ctx.requestId, name: error.name }, 'figures_not_read')
    })
    .finally(() => delete entry.reading)
  return reading
}

/** Shown until the figures are ready. The script reloads the page. */
export const loadingNotice = (text: string): Html =>
  html`<p class="notice info" role="status" data-reload="${String(RELOAD_MS)}">${text} <a href="">Refresh</a></p>`

/** When the figures were read, if that was before this request. */
export const figuresAsOf = (readAt: string | null, zone: string): Html =>
  readAt === null ? html`` : html`Figures of ${time(readAt, '', zone)}.`

/** {@link figuresAsOf} as a paragraph. */
export const figuresNotice = (readAt: string | null, zone: string): Html =>
  readAt === null ? html`` : html`<p class="hint">${figuresAsOf(readAt, zone)}</p>`

/** When the rows were read, if that was before this request. */
export const asOfNotice = (readAt: string | null, zone: string): Html =>
  readAt === null ? html`` : html`<p class="hint">As of ${time(readAt, '', zone)}.</p>`

/** One page of a list. `notice` says how old it is, or that it is being read. */
interface ShownList<Page> {
  /** Undefined while it is being read, and if the filter was rejected. */
  list: Page | undefined
  notice: Html
}

/** {@link readForPage} for a page of a list. The list knows which queries are expensive. */
export async function readListForPage<Query, Page>(
  { ctx, zone, problem }: PageRequest,
  list: ListReader<Query, Page>,
  query: Query,
  loading = 'Counting matching rows…',
): Promise<ShownList<Page>> {
  if (problem) return { list: undefined, notice: html`` }
  const { value, readAt } = await readForPage(ctx, {
    key: [list.listName, query],
    cost: list.cost(query),
    read: (readCtx) => list(readCtx, query),
  })
  return { list: value, notice: value ? asOfNotice(readAt, zone) : loadingNotice(loading) }
}

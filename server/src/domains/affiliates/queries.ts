import { sql } from 'kysely'
import { defineList, isDeep, MAX_INLINE_ROWS, type ReadCost, rowsOf } from '../../core/lists.ts'
import { countOf, likePattern, type PageQuery, pageOf, toPage, type Uncounted } from '../../core/pagination.ts'
import { countRows, withoutIndex } from '../../core/queries.ts'
import { searchable } from '../../core/searchable.ts'
import { chunks } from '../../database/chunks.ts'
import { defineReport, type Reader, type Transaction } from '../../database/database.ts'
import { prepared, preparedByShape } from '../../database/prepared.ts'
import type { AffiliateRow, PayeeRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { restorePlusSigns } from '../../engine/normalize.ts'
import { type AffiliateOrder, figureOf } from './figure-queries.ts'

export interface AffiliateFilter {
  id?: string
  status?: AffiliateRow['status']
  campaignId?: string
  q?: string
  /** `q` also finds a part of the discount code. */
  hasCodes?: boolean
  /** Those that are archived, instead of those that are not. They are not counted. */
  isArchived?: boolean
  /** Newest first by default. */
  sort?: AffiliateSort
}

const unarchived = (db: Reader, shopId: string) =>
  db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where('deletedAt', 'is', null)

const archived = (db: Reader, shopId: string) =>
  db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where('deletedAt', 'is not', null)

/** The ids of archived and rejected affiliates, who are not paid. */
export const ineligibleAffiliates = (db: Reader, shopId: string) =>
  db
    .selectFrom('affiliates')
    .select('affiliates.id')
    .where('affiliates.shopId', '=', shopId)
    // A literal instead of a parameter: a partial index is only used when its condition is part of the query.
    .where(sql<boolean>`("deletedAt" is not null or status = 'REJECTED')`)

/** Whether there are more ineligible affiliates than a number; reads only these, in an index. */
const hasMoreIneligibleThan = async (db: Reader, shopId: string, most: number): Promise<boolean> =>
  (await ineligibleAffiliates(db, shopId).limit(1).offset(most).executeTakeFirst()) !== undefined

export const findAffiliate = (db: Reader, shopId: string, id: string): Promise<AffiliateRow | undefined> =>
  unarchived(db, shopId).where('id', '=', id).executeTakeFirst()

export const findAffiliateByEmail = (db: Reader, shopId: string, emailKey: string): Promise<AffiliateRow | undefined> =>
  unarchived(db, shopId).where('emailKey', '=', emailKey).executeTakeFirst()

/** Prepared, because every order looks up affiliates by one value. */
const findBy = (column: 'id' | 'slug') =>
  prepared<{ shopId: string; value: string }>()((db, { shopId, value }) =>
    db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where(column, '=', value).compile(),
  )
const [byId, bySlug] = [findBy('id'), findBy('slug')]

/** Includes archived affiliates: their codes and links must resolve to be rejected with a reason. */
export function findAffiliatesById(db: Reader, shopId: string, ids: string[]): Promise<AffiliateRow[]> {
  const [value] = ids
  if (value === undefined) return Promise.resolve([])
  if (ids.length === 1) return byId(db, { shopId, value })
  return db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where('id', 'in', ids).execute()
}

export const findAffiliateBySlug = async (
  db: Reader,
  shopId: string,
  value: string,
): Promise<AffiliateRow | undefined> => (await bySlug(db, { shopId, value }))[0]

/** The affiliates that match, in no order, and how many they are, if that is stored. */
async function matching(db: Reader, shopId: string, query: AffiliateFilter & Uncounted) {
  const { id, status, campaignId: programId } = query
  let list = query.isArchived ? archived(db, shopId) : unarchived(db, shopId)
  if (id) list = list.where('id', '=', id)
  const byStatus = !id && status && (!programId || (await isStatusMoreSelective(db, shopId, { status, programId })))
  const byProgram = !id && !byStatus
  // The index of one filter finds the rows; the other filter is checked row by row.
  if (status) list = list.where(byStatus ? 'status' : withoutIndex(db, 'status'), '=', status)
  if (programId) list = list.where(byProgram ? 'campaignId' : withoutIndex(db, 'campaignId'), '=', programId)
  if (query.q) {
    const texts = [...new Set([query.q, restorePlusSigns(query.q)])].map((text) => likePattern(searchable([text])))
    const matches = texts.map((text) => sql<boolean>`"searchText" like ${text} escape '\\'`)
    if (query.hasCodes) matches.push(sql<boolean>`"codeKey" like ${likePattern(codeKey(query.q))} escape '\\'`)
    list = list.where((eb) => eb.or(matches))
  }
  const total =
    id || query.q || query.isArchived || query.isUncounted
      ? undefined
      : await countRows(db, shopId, { list: 'affiliates', programId, status })
  return { list, total }
}

export async function listAffiliates(db: Reader, shopId: string, { sort, ...query }: AffiliateFilter & PageQuery) {
  const { list, total } = await matching(db, shopId, query)
  if (sort) {
    const data = await readSorted(db, shopId, { ...query, sort })
    return toPage(data, query, total ?? (await countOf(list)))
  }
  const newestFirst = list.orderBy('createdAt', 'desc').orderBy('id', 'desc')
  return pageOf(newestFirst, query, { total, list: 'affiliates' })
}

/** The order of a list. Amounts are compared in one currency. */
export interface AffiliateSort {
  by: AffiliateOrder
  isAscending: boolean
  currency: string
}

type SortedFilter = AffiliateFilter & { sort: AffiliateSort }

/** A page of affiliates by a figure, their name, or the day they joined. Equal ones are newest first. */
async function readSorted(db: Reader, shopId: string, query: SortedFilter & PageQuery): Promise<AffiliateRow[]> {
  const ids = await sortedIds(db, shopId, { ...query, offset: (query.page - 1) * query.limit })
  const rows = await findAffiliatesById(db, shopId, ids)
  return rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

/** The ids of the affiliates that match, in an order. */
async function sortedIds(
  db: Reader,
  shopId: string,
  { sort, limit, offset = 0, ...filter }: SortedFilter & { limit?: number; offset?: number },
): Promise<string[]> {
  const { by, currency } = sort
  const way = sort.isAscending ? 'asc' : 'desc'
  const { list } = await matching(db, shopId, { ...filter, isUncounted: true })
  const ids = list.clearSelect().select('affiliates.id')
  const sorted =
    by === 'joined'
      ? ids.orderBy('createdAt', way).orderBy('id', way)
      : (by === 'name'
          ? ids.orderBy('searchText', way)
          : ids
              .leftJoin(figureOf(db, shopId, by, currency).as('figure'), 'figure.scope', 'affiliates.id')
              .orderBy(sql`coalesce(figure.value, 0)`, way)
        )
          .orderBy('createdAt', 'desc')
          .orderBy('id', 'desc')
  const rows = await (limit === undefined ? sorted : sorted.limit(limit).offset(offset)).execute()
  return rows.map(({ id }) => id)
}

async function isStatusMoreSelective(
  db: Reader,
  shopId: string,
  { status, programId }: { status: string; programId: string },
) {
  const list = 'affiliates'
  return (await countRows(db, shopId, { list, status })) < (await countRows(db, shopId, { list, programId }))
}

/** A text search and a sort by figures read every affiliate. */
const costOf = (query: AffiliateFilter & PageQuery): ReadCost => {
  if (query.isArchived) return (db, shopId) => hasMoreIneligibleThan(db, shopId, MAX_INLINE_ROWS)
  const { by = 'joined' } = query.sort ?? {}
  return query.q || isDeep(query) || by !== 'joined' ? rowsOf({ list: 'affiliates' }) : undefined
}

export const affiliateList = defineList(import.meta.url, 'affiliateList', { read: listAffiliates, cost: costOf })

/** The ids of a whole list in an order, for a file. */
export const sortedAffiliateIds = defineReport(
  import.meta.url,
  'sortedAffiliateIds',
  (db, { shopId, query }: { shopId: string; query: SortedFilter }) => sortedIds(db, shopId, query),
)

/** The product and variant of an order line. */
interface ProductLine {
  productId: string | null
  variantId: string | null
}

const productConnections = preparedByShape<{ shopId: string; [n: number]: string }>()((db, { shopId, ...values }) =>
  db
    .selectFrom('connections')
    .select(['kind', 'value', 'affiliateId'])
    .where('shopId', '=', shopId)
    .where('kind', 'in', ['product', 'variant'])
    .where('value', 'in', Object.values(values))
    .orderBy('kind')
    .orderBy('value')
    .compile(),
)

/** The distinct products and variants of an order. */
export const productIds = (lines: ProductLine[]): string[] =>
  [...new Set(lines.flatMap((line) => [line.productId, line.variantId]))].filter((id) => id !== null)

/** Affiliate IDs by `variant:<id>` and `product:<id>` for an order's lines. */
export async function findProductConnections(
  db: Reader,
  shopId: string,
  lines: ProductLine[],
): Promise<Record<string, string>> {
  const values = productIds(lines)
  if (values.length === 0) return {}
  const rows = await productConnections(db, { shopId, ...values })
  return Object.fromEntries(rows.map((row) => [`${row.kind}:${row.value}`, row.affiliateId]))
}

const payees = (db: Reader, shopId: string) => db.selectFrom('payees').selectAll().where('shopId', '=', shopId)

/** Databases limit the number of values in an `in` list. */
const MAX_PAYEES = 500

export const findPayees = async (db: Reader, shopId: string, affiliateIds: string[]): Promise<PayeeRow[]> =>
  affiliateIds.length === 0 ? [] : payees(db, shopId).where('affiliateId', 'in', affiliateIds).execute()

/** How each of these affiliates is paid; there may be many of them. */
export async function findMethods(
  db: Reader,
  shopId: string,
  affiliateIds: string[],
): Promise<Map<string, PayeeRow['method']>> {
  const methods = new Map<string, PayeeRow['method']>()
  for (const some of chunks(affiliateIds, MAX_PAYEES))
    for (const { affiliateId, method } of await findPayees(db, shopId, some)) methods.set(affiliateId, method)
  return methods
}

export async function upsertPayee(trx: Transaction, shopId: string, row: Omit<PayeeRow, 'shopId'>): Promise<void> {
  const { affiliateId, ...changes } = row
  await trx
    .insertInto('payees')
    .values({ shopId, affiliateId, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'affiliateId']).doUpdateSet(changes))
    .execute()
}

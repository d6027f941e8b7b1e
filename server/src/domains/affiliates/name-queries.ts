import { sql } from 'kysely'
import { defineList, rowsOf } from '../../core/lists.ts'
import { type PageQuery, pageOf } from '../../core/pagination.ts'
import { withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { AffiliateRow, AliasRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import type { AliasedSource, Matches } from '../../engine/facts.ts'
import { findAffiliateByCode, findAffiliateBySlug } from './queries.ts'

/** An affiliate that a code or link name matched. */
export interface MatchedAffiliate {
  affiliate: AffiliateRow
  /** The alias that matched; missing when an official code, a slug or an id did. */
  alias?: string
}

/** The match: an official name, or an alias of a kind. */
type MatchedBy = 'OFFICIAL' | AliasRow['kind']

/** Affiliates that are found by something official, and those with an alias. One statement, so that a miss costs no other. */
const findByOr = (column: 'id' | 'slug') =>
  prepared<{ shopId: string; value: string; key: string }>()((db, { shopId, value, key }) =>
    db
      .selectFrom('affiliates')
      .selectAll('affiliates')
      .select([sql<string | null>`cast(null as text)`.as('alias'), sql<MatchedBy>`'OFFICIAL'`.as('matchedBy')])
      .where('affiliates.shopId', '=', shopId)
      .where(`affiliates.${column}`, '=', value)
      .unionAll(
        db
          .selectFrom('affiliateAliases')
          .innerJoin('affiliates', (join) =>
            join
              .onRef('affiliates.shopId', '=', 'affiliateAliases.shopId')
              .onRef('affiliates.id', '=', 'affiliateAliases.affiliateId'),
          )
          .selectAll('affiliates')
          .select(['affiliateAliases.value as alias', 'affiliateAliases.kind as matchedBy'])
          .where('affiliateAliases.shopId', '=', shopId)
          .where('affiliateAliases.codeKey', '=', key),
      )
      .compile(),
  )

const [byIdOrAlias, bySlugOrAlias] = [findByOr('id'), findByOr('slug')]

type FoundByName = Awaited<ReturnType<typeof byIdOrAlias>>

/** The first row in an order of preference. */
function preferred(rows: FoundByName, order: MatchedBy[]): MatchedAffiliate | undefined {
  const found = order.flatMap((one) => rows.find(({ matchedBy }) => matchedBy === one) ?? [])[0]
  if (!found) return undefined
  const { alias, matchedBy, ...affiliate } = found
  return { affiliate, ...(alias !== null && { alias }) }
}

/**
 * Finds an affiliate by discount code, or else by additional code, slug or additional link name. Includes archived
 * affiliates, as does {@link findAffiliateByRef}.
 */
export async function findAffiliateByCodeOrSlug(
  db: Reader,
  shopId: string,
  code: string,
): Promise<MatchedAffiliate | undefined> {
  const key = codeKey(code)
  const affiliate = await findAffiliateByCode(db, shopId, key)
  if (affiliate) return { affiliate }
  return preferred(await bySlugOrAlias(db, { shopId, value: key, key }), ['CODE', 'OFFICIAL', 'LINK'])
}

/** Finds an affiliate by slug, or else by id or additional link name. */
export async function findAffiliateByRef(
  db: Reader,
  shopId: string,
  ref: string,
): Promise<MatchedAffiliate | undefined> {
  const key = codeKey(ref)
  const affiliate = await findAffiliateBySlug(db, shopId, key)
  if (affiliate) return { affiliate }
  return preferred(await byIdOrAlias(db, { shopId, value: ref.trim(), key }), ['OFFICIAL', 'LINK'])
}

/** A name of an affiliate: its official code, its slug, or an alias. */
export interface HeldName {
  affiliateId: string
  name: 'CODE' | 'SLUG' | 'ALIAS'
}

const holdersOf = prepared<{ shopId: string; key: string }>()((db, { shopId, key }) => {
  const official = (column: 'codeKey' | 'slug', name: HeldName['name']) =>
    db
      .selectFrom('affiliates')
      .select(['id as affiliateId', sql<HeldName['name']>`${sql.lit(name)}`.as('name')])
      .where('shopId', '=', shopId)
      .where(column, '=', key)
  const aliases = db
    .selectFrom('affiliateAliases')
    .select(['affiliateId', sql<HeldName['name']>`'ALIAS'`.as('name')])
    .where('shopId', '=', shopId)
    .where('codeKey', '=', key)
  return official('codeKey', 'CODE').unionAll(official('slug', 'SLUG')).unionAll(aliases).compile()
})

/** Who has a name, in the form of {@link codeKey}. Includes archived affiliates: their names are never given to others. */
export const findNameHolders = (db: Reader, shopId: string, key: string): Promise<HeldName[]> =>
  holdersOf(db, { shopId, key })

interface AliasFilter extends PageQuery {
  affiliateId?: string
  /** In the form of {@link codeKey}. */
  key?: string
}

const aliasesOf = (db: Reader, shopId: string) =>
  db.selectFrom('affiliateAliases').selectAll().where('shopId', '=', shopId)

/** Newest first. A name has at most two aliases, so these are sorted without an index. */
function listAliases(db: Reader, shopId: string, query: AliasFilter) {
  const all = aliasesOf(db, shopId)
  let list =
    query.key === undefined ? all.orderBy('createdAt', 'desc') : all.orderBy(withoutIndex(db, 'createdAt'), 'desc')
  if (query.key !== undefined) list = list.where('codeKey', '=', query.key)
  if (query.affiliateId)
    list = list.where(query.key === undefined ? 'affiliateId' : withoutIndex(db, 'affiliateId'), '=', query.affiliateId)
  return pageOf(list.orderBy('id', 'desc'), query)
}

export const aliasList = defineList(import.meta.url, 'aliasList', {
  read: listAliases,
  cost: ({ affiliateId, key }: AliasFilter) =>
    affiliateId || key !== undefined ? undefined : rowsOf({ list: 'affiliates' }),
})

/** All aliases of an affiliate, newest first; their number is limited. */
export const findAliases = (db: Reader, shopId: string, affiliateId: string): Promise<AliasRow[]> =>
  aliasesOf(db, shopId)
    .where('affiliateId', '=', affiliateId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

export async function insertAlias(trx: Transaction, shopId: string, row: Omit<AliasRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('affiliateAliases')
    .values({ ...row, shopId })
    .execute()
}

/** Deletes an alias. Returns its row, if it existed. */
export const deleteAlias = (trx: Transaction, shopId: string, id: string): Promise<AliasRow | undefined> =>
  trx.deleteFrom('affiliateAliases').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()
/** The aliases that matched. Nothing is added without one, because facts are the largest part of what an order stores. */
export function matchedAliases(found: Record<AliasedSource, string | undefined>): Pick<Matches, 'aliases'> {
  const used = Object.entries(found).filter(([, alias]) => alias !== undefined)
  return used.length > 0 ? { aliases: Object.fromEntries(used) } : {}
}

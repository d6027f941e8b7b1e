import { sql } from 'kysely'
import { defineList, rowsOf } from '../../core/lists.ts'
import { type PageQuery, pageOf } from '../../core/pagination.ts'
import { withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { AliasRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import type { AliasedSource, Matches } from '../../engine/facts.ts'
import { affiliatesWithPrograms, type FactRow, factColumns } from './fact-queries.ts'

/** An affiliate that has a name: an official code, a slug, an id, or an alias of a kind. */
interface NamedRow extends FactRow {
  name: 'CODE' | 'SLUG' | 'ID' | 'ALIAS'
  kind: AliasRow['kind'] | null
  alias: string | null
}

/** One statement, so that a miss costs no other, and a match no second one for what an order is decided by. */
const findNamed = prepared<{ shopId: string; key: string; id: string }>()((db, { shopId, key, id }) => {
  const official = (column: 'codeKey' | 'slug' | 'id', name: NamedRow['name'], value: string) =>
    sql`select id as "affiliateId", cast(${sql.lit(name)} as text) as name, cast(null as text) as kind, cast(null as text) as alias
      from affiliates where "shopId" = ${shopId} and ${sql.ref(column)} = ${value}`
  return sql<NamedRow>`select ${factColumns}, n.name, n.kind, n.alias from (
      ${official('codeKey', 'CODE', key)}
      union all ${official('slug', 'SLUG', key)}
      union all ${official('id', 'ID', id)}
      union all select "affiliateId", 'ALIAS', kind, value from "affiliateAliases"
        where "shopId" = ${shopId} and "codeKey" = ${key}
    ) as n cross join ${affiliatesWithPrograms}
    where a."shopId" = ${shopId} and a.id = n."affiliateId"`.compile(db)
})

/** An affiliate that a code or link name matched. */
export interface MatchedAffiliate {
  affiliateId: string
  programId: string | null
  row: FactRow
  /** The alias that matched; missing when an official code, a slug or an id did. */
  alias?: string
}

/** The first row in an order of preference. */
function preferred(rows: NamedRow[], order: string[]): MatchedAffiliate | undefined {
  const nameOf = ({ name, kind }: NamedRow) => (kind ? `${kind} ${name}` : name)
  const [found] = order.flatMap((preferredName) => rows.find((row) => nameOf(row) === preferredName) ?? [])
  if (!found) return undefined
  const { name: _, kind: _k, alias, ...row } = found
  return { affiliateId: row.id, programId: row.campaignId, row, ...(alias !== null && { alias }) }
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
  const rows = await findNamed(db, { shopId, key: codeKey(code), id: '' })
  return preferred(rows, ['CODE', 'CODE ALIAS', 'SLUG', 'LINK ALIAS'])
}

/** Finds an affiliate by slug, or else by id or additional link name. */
export async function findAffiliateByRef(
  db: Reader,
  shopId: string,
  ref: string,
): Promise<MatchedAffiliate | undefined> {
  const rows = await findNamed(db, { shopId, key: codeKey(ref), id: ref.trim() })
  return preferred(rows, ['SLUG', 'ID', 'LINK ALIAS'])
}

/** A name of an affiliate: its official code, its slug, or an alias. */
export interface HeldName {
  affiliateId: string
  name: NamedRow['name']
}

/** Who has a name, in the form of {@link codeKey}. Includes archived affiliates: their names are never given to others. */
export async function findNameHolders(db: Reader, shopId: string, key: string): Promise<HeldName[]> {
  const rows = await findNamed(db, { shopId, key, id: '' })
  return rows.map(({ id: affiliateId, name }) => ({ affiliateId, name }))
}

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

/** Deletes an alias. Returns its row, if it existed. */
export const deleteAlias = (trx: Transaction, shopId: string, id: string): Promise<AliasRow | undefined> =>
  trx.deleteFrom('affiliateAliases').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()
/** The aliases that matched. Nothing is added without one, because facts are the largest part of what an order stores. */
export function matchedAliases(matches: Record<AliasedSource, string | undefined>): Pick<Matches, 'aliases'> {
  const used = Object.entries(matches).filter(([, alias]) => alias !== undefined)
  return used.length > 0 ? { aliases: Object.fromEntries(used) } : {}
}

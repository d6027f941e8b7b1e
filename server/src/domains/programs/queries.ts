import { sql } from 'kysely'
import { countOf, type PageQuery, pageOf } from '../../core/pagination.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { findRow, findRows } from '../../database/rows.ts'
import type { GeoRuleRow, ProductRuleRow, ProgramRow, ProgramTermsRow } from '../../database/tables.ts'
import type { GeoRule } from '../../engine/facts.ts'

/** Programs with amounts in the shop's currency: flat rates, their own or a rule's, fixed discounts, and amounts in their terms. */
export const listProgramsWithAmounts = (db: Reader, shopId: string): Promise<{ name: string }[]> =>
  db
    .selectFrom('programs')
    .select('name')
    .where('shopId', '=', shopId)
    .where((eb) =>
      eb.or([
        eb('commissionType', '<>', 'PERCENT_OF_SALE'),
        eb.and([eb('discountType', '=', 'FIXED'), eb('discountValue', '>', 0)]),
        eb.exists(
          eb
            .selectFrom('productRules')
            .select('productRules.id')
            .where('productRules.shopId', '=', shopId)
            .whereRef('productRules.programId', '=', 'programs.id')
            .where('productRules.commissionType', '<>', 'PERCENT_OF_SALE'),
        ),
        eb.exists(
          eb
            .selectFrom('programTerms')
            .select('programTerms.version')
            .where('programTerms.shopId', '=', shopId)
            .whereRef('programTerms.programId', '=', 'programs.id')
            .whereRef('programTerms.version', '=', 'programs.termsVersion')
            .where('programTerms.hasAmounts', '=', 1),
        ),
      ]),
    )
    .orderBy('id')
    .limit(10)
    .execute()

/** A program with its affiliate count and whether it is the default. */
export type ProgramView = ProgramRow & { isDefault: 1 | null; affiliateCount: number }

const programs = (db: Reader, shopId: string) =>
  db
    .selectFrom('programs')
    .selectAll('programs')
    .select([
      (eb) =>
        eb
          .selectFrom('rowCounts')
          .select(sql<number>`cast(coalesce(sum(rows), 0) as bigint)`.as('count'))
          .whereRef('rowCounts.shopId', '=', 'programs.shopId')
          .where('rowCounts.list', '=', 'affiliates')
          .where('rowCounts.scope', '=', '')
          .whereRef('rowCounts.programId', '=', 'programs.id')
          .as('affiliateCount'),
      (eb) =>
        eb
          .selectFrom('shops')
          .select(sql<1>`1`.as('one'))
          .whereRef('shops.id', '=', 'programs.shopId')
          .whereRef('shops.defaultProgramId', '=', 'programs.id')
          .as('isDefault'),
    ])
    .where('programs.shopId', '=', shopId)

export const findProgram = (db: Reader, shopId: string, id: string): Promise<ProgramRow | undefined> =>
  findRow(db, 'programs', { shopId, id })

export function findPrograms(db: Reader, shopId: string, ids: string[]): Promise<ProgramRow[]> {
  const [id] = ids
  if (id === undefined) return Promise.resolve([])
  if (ids.length === 1) return findRows(db, 'programs', { shopId, id })
  return db.selectFrom('programs').selectAll().where('shopId', '=', shopId).where('id', 'in', ids).execute()
}

export const findProgramView = (db: Reader, shopId: string, id: string) =>
  programs(db, shopId).$castTo<ProgramView>().where('programs.id', '=', id).executeTakeFirstOrThrow()

export function listPrograms(
  db: Reader,
  shopId: string,
  query: PageQuery & { id?: string; status?: ProgramRow['status'] },
) {
  let list = programs(db, shopId)
    .$castTo<ProgramView>()
    .orderBy('programs.createdAt', 'desc')
    .orderBy('programs.id', 'desc')
  if (query.id) list = list.where('programs.id', '=', query.id)
  if (query.status) list = list.where('programs.status', '=', query.status)
  return pageOf(list, query, { list: 'programs' })
}

/** The newest programs' names. */
export const listProgramNames = (db: Reader, shopId: string, limit: number): Promise<NamedProgram[]> =>
  db
    .selectFrom('programs')
    .select(['id', 'name', 'status'])
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()

export type NamedProgram = Pick<ProgramRow, 'id' | 'name' | 'status'>

/** Program versions in force at either of two instants, in order. */
export const listTermsInForce = (
  db: Reader,
  shopId: string,
  { programIds, instants }: { programIds: string[]; instants: [string, string] },
): Promise<ProgramTermsRow[]> =>
  db
    .selectFrom('programTerms as t')
    .selectAll('t')
    .where('t.shopId', '=', shopId)
    .where('t.programId', 'in', programIds)
    .where((eb) =>
      eb.or(
        instants.map((at) =>
          eb('t.version', '=', (inner) =>
            inner
              .selectFrom('programTerms as v')
              .select((query) => query.fn.max('v.version').as('version'))
              .where('v.shopId', '=', shopId)
              .whereRef('v.programId', '=', 't.programId')
              .where('v.createdAt', '<=', at),
          ),
        ),
      ),
    )
    .orderBy('t.version')
    .execute()

/** The affiliates of programs whose terms have other versions than the first. */
export const listTermedAffiliates = (db: Reader, shopId: string, affiliateIds: string[]) =>
  db
    .selectFrom('affiliates as a')
    .innerJoin('programs as p', (join) => join.onRef('p.shopId', '=', 'a.shopId').onRef('p.id', '=', 'a.campaignId'))
    .select(['a.id', 'p.id as programId'])
    .where('a.shopId', '=', shopId)
    .where('a.id', 'in', affiliateIds)
    .where('p.termsVersion', '>', 1)
    .execute()

/** The versions of programs in their order, without the first. */
export const listTerms = (db: Reader, shopId: string, programIds: string[]): Promise<ProgramTermsRow[]> =>
  db
    .selectFrom('programTerms')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('programId', 'in', programIds)
    .orderBy('version')
    .execute()

/** Whether a program's current terms have rules. */
export const hasTermsRules = async (db: Reader, { shopId, id, termsVersion }: ProgramRow): Promise<boolean> => {
  const terms = await findRow(db, 'programTerms', { shopId, programId: id, version: termsVersion })
  return terms !== undefined && terms.rules !== '[]'
}

export const countAffiliates = (db: Reader, shopId: string, ids: string[]): Promise<number> =>
  countOf(db.selectFrom('affiliates').where('shopId', '=', shopId).where('id', 'in', ids))

/** The longest click window of all programs, in days. */
export async function longestClickWindow(db: Reader, shopId?: string): Promise<number> {
  let programs = db.selectFrom('programs').select((eb) => eb.fn.max('cookieDurationDays').as('days'))
  if (shopId !== undefined) programs = programs.where('shopId', '=', shopId)
  const row = await programs.executeTakeFirst()
  return Number(row?.days ?? 0)
}

/** The distinct click windows of the shop's programs, in days. */
export async function listClickWindows(db: Reader, shopId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('programs')
    .select('cookieDurationDays')
    .distinct()
    .where('shopId', '=', shopId)
    .execute()
  return rows.map((row) => row.cookieDurationDays)
}

/** Newest first. */
export function listProductRules(db: Reader, shopId: string, query: PageQuery & { programId?: string }) {
  let list = db.selectFrom('productRules').selectAll().where('shopId', '=', shopId)
  if (query.programId) list = list.where('programId', '=', query.programId)
  return pageOf(list.orderBy('createdAt', 'desc').orderBy('id', 'desc'), query)
}

export const countProductRules = (db: Reader, shopId: string): Promise<number> =>
  countOf(db.selectFrom('productRules').where('shopId', '=', shopId))

/** Deletes a rule. Returns its row, if it existed. */
export const deleteProductRule = (trx: Transaction, shopId: string, id: string): Promise<ProductRuleRow | undefined> =>
  trx.deleteFrom('productRules').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()

/** The programs of a page of rules; each rule can be large. */
export const listGeoRules = (db: Reader, shopId: string, query: PageQuery) =>
  pageOf(db.selectFrom('geoRules').select('programId').where('shopId', '=', shopId).orderBy('programId'), query)

/** How many other programs of the shop have a rule. */
export const countOtherGeoRules = (db: Reader, shopId: string, programId: string): Promise<number> =>
  countOf(db.selectFrom('geoRules').where('shopId', '=', shopId).where('programId', '<>', programId))

/** Sets a program's rule, replacing the previous one. */
export async function upsertGeoRule(
  trx: Transaction,
  shopId: string,
  { programId, ...changes }: Omit<GeoRuleRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('geoRules')
    .values({ shopId, programId, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'programId']).doUpdateSet(changes))
    .execute()
}

export const findGeoRule = (db: Reader, shopId: string, programId: string): Promise<GeoRuleRow | undefined> =>
  findRow(db, 'geoRules', { shopId, programId })

/** The places that a program is limited to, or null without limits. */
export async function findGeoRules(db: Reader, shopId: string, programId: string): Promise<GeoRule | null> {
  const row = await findGeoRule(db, shopId, programId)
  return row ? toGeoRule(row) : null
}

export const toGeoRule = (row: Pick<GeoRuleRow, 'countries' | 'states' | 'cities' | 'postalPrefixes'>): GeoRule => ({
  countries: JSON.parse(row.countries),
  states: JSON.parse(row.states),
  cities: JSON.parse(row.cities),
  postalPrefixes: JSON.parse(row.postalPrefixes),
})

/** Whether the shop has a program. */
export const hasPrograms = async (db: Reader, shopId: string): Promise<boolean> =>
  (await db.selectFrom('programs').select('id').where('shopId', '=', shopId).limit(1).executeTakeFirst()) !== undefined

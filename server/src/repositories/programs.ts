import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { ProgramRow } from '../db/tables.ts'
import { claimVersion } from './claim-version.ts'
import { ofShop } from './of-shop.ts'
import { type PageQuery, pageOf } from './page.ts'
import { prepared } from './prepared.ts'

/** A program with what the list shows beside it. */
export type ProgramView = ProgramRow & { isDefault: 1 | null; affiliateCount: number }

const programs = (db: Trx, shopId: string) =>
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

const byId = prepared<{ shopId: string; id: string }>()((db, { shopId, id }) =>
  db.selectFrom('programs').selectAll().where('shopId', '=', shopId).where('id', '=', id).compile(),
)

export const findProgram = async (db: Trx, shopId: string, id: string): Promise<ProgramRow | undefined> =>
  (await byId(db, { shopId, id }))[0]

export function findPrograms(db: Trx, shopId: string, ids: string[]): Promise<ProgramRow[]> {
  const [id] = ids
  if (id === undefined) return Promise.resolve([])
  if (ids.length === 1) return byId(db, { shopId, id })
  return db.selectFrom('programs').selectAll().where(ofShop(shopId)).where('id', 'in', ids).execute()
}

export const viewProgram = (db: Trx, shopId: string, id: string) =>
  programs(db, shopId).$castTo<ProgramView>().where('programs.id', '=', id).executeTakeFirstOrThrow()

export function listPrograms(db: Trx, shopId: string, query: PageQuery & { status?: ProgramRow['status'] }) {
  let list = programs(db, shopId)
    .$castTo<ProgramView>()
    .orderBy('programs.createdAt', 'desc')
    .orderBy('programs.id', 'desc')
  if (query.status) list = list.where('programs.status', '=', query.status)
  return pageOf(list, query, { list: 'programs' })
}

export async function insertProgram(trx: Trx, shopId: string, row: Omit<ProgramRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('programs')
    .values({ shopId, ...row })
    .execute()
}

/** Changes a program as long as it is still the version that was read. Answers whether it was. */
export const claimProgram = (
  trx: Trx,
  shopId: string,
  row: ProgramRow,
  changes: Partial<ProgramRow>,
): Promise<boolean> => claimVersion(trx, 'programs', { shopId, row, changes })

/** The longest click window of all programs, in days. */
export async function longestCookieDays(db: Trx): Promise<number> {
  const row = await db
    .selectFrom('programs')
    .select((eb) => eb.fn.max('cookieDurationDays').as('days'))
    .executeTakeFirst()
  return Number(row?.days ?? 0)
}

/** How many days a click counts, for each of the shop's programs; each number once. */
export async function listCookieDays(db: Trx, shopId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('programs')
    .select('cookieDurationDays')
    .distinct()
    .where('shopId', '=', shopId)
    .execute()
  return rows.map((row) => row.cookieDurationDays)
}

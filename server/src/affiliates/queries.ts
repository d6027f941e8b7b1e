import { sql } from 'kysely'
import { containing, type PageQuery, pageOf } from '../core/pagination.ts'
import { ofShop, updateIfUnchanged, withoutIndex } from '../core/queries.ts'
import { countRows } from '../core/row-counts.ts'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared } from '../database/prepared.ts'
import { defineReport } from '../database/report-worker.ts'
import type { AffiliateRow } from '../database/tables.ts'
import { withPlus } from '../engine/identity.ts'

interface AffiliateFilter extends PageQuery {
  status?: AffiliateRow['status']
  campaignId?: string
  q?: string
}

const unarchived = (db: Reader, shopId: string) =>
  db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where('deletedAt', 'is', null)

export const findAffiliate = (db: Reader, shopId: string, id: string): Promise<AffiliateRow | undefined> =>
  unarchived(db, shopId).where('id', '=', id).executeTakeFirst()

export const findAffiliateByEmail = (db: Reader, shopId: string, emailKey: string): Promise<AffiliateRow | undefined> =>
  unarchived(db, shopId).where('emailKey', '=', emailKey).executeTakeFirst()

/** Prepared: every order looks for the one affiliate that a text names. */
const findBy = (column: 'id' | 'codeKey' | 'slug') =>
  prepared<{ shopId: string; value: string }>()((db, { shopId, value }) =>
    db.selectFrom('affiliates').selectAll().where('shopId', '=', shopId).where(column, '=', value).compile(),
  )
const [byId, byCode, bySlug] = [findBy('id'), findBy('codeKey'), findBy('slug')]

/** Archived ones too: their codes and links must resolve to be refused by name. */
export function findAffiliatesById(db: Reader, shopId: string, ids: string[]): Promise<AffiliateRow[]> {
  const [value] = ids
  if (value === undefined) return Promise.resolve([])
  if (ids.length === 1) return byId(db, { shopId, value })
  return db.selectFrom('affiliates').selectAll().where(ofShop(shopId)).where('id', 'in', ids).execute()
}

/** Archived ones too: a code is never given twice. */
export const findAffiliateByCode = async (
  db: Reader,
  shopId: string,
  value: string,
): Promise<AffiliateRow | undefined> => (await byCode(db, { shopId, value }))[0]

export const findAffiliateBySlug = async (
  db: Reader,
  shopId: string,
  value: string,
): Promise<AffiliateRow | undefined> => (await bySlug(db, { shopId, value }))[0]

export async function listAffiliates(db: Reader, shopId: string, query: AffiliateFilter) {
  const { status, campaignId: programId } = query
  const byStatus = status && (!programId || (await isStatusMoreSelective(db, shopId, { status, programId })))
  let list = unarchived(db, shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  // One of the two finds the rows by its index, the other checks them.
  if (status) list = list.where(byStatus ? 'status' : withoutIndex(db, 'status'), '=', status)
  if (programId) list = list.where(byStatus ? withoutIndex(db, 'campaignId') : 'campaignId', '=', programId)
  if (query.q) {
    const texts = [...new Set([query.q, withPlus(query.q)])].map((text) => containing(searchable([text])))
    list = list.where((eb) => eb.or(texts.map((text) => sql<boolean>`"searchText" like ${text} escape '\\'`)))
  }
  const total = query.q ? undefined : await countRows(db, shopId, { list: 'affiliates', programId, status })
  return pageOf(list, query, { total, list: 'affiliates' })
}

async function isStatusMoreSelective(
  db: Reader,
  shopId: string,
  { status, programId }: { status: string; programId: string },
) {
  const list = 'affiliates'
  return (await countRows(db, shopId, { list, status })) < (await countRows(db, shopId, { list, programId }))
}

/**
 * The texts a search looks in, one a line; letter case is settled here so that both databases find the same. Lower,
 * upper, lower: `ß` meets `SS` only so; sigma has two small forms and i a dotted capital, which count as one.
 */
export const searchable = (texts: (string | null)[]): string =>
  texts
    .filter((text) => text !== null)
    .map((text) => text.replaceAll('\n', ' '))
    .join('\n')
    .normalize('NFC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll('i\u0307', 'i')
    .normalize('NFC')

export async function insertAffiliate(
  trx: Transaction,
  shopId: string,
  row: Omit<AffiliateRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('affiliates')
    .values({ shopId, ...row })
    .execute()
}

/** Changes an affiliate as long as it is still the version that was read. Answers whether it was. */
export const updateAffiliateIfUnchanged = (
  trx: Transaction,
  shopId: string,
  row: AffiliateRow,
  changes: Partial<AffiliateRow>,
): Promise<boolean> => updateIfUnchanged(trx, 'affiliates', { shopId, row, changes })

export const affiliateList = defineReport(
  import.meta.url,
  'affiliateList',
  (db, input: { shopId: string; query: AffiliateFilter }) => listAffiliates(db, input.shopId, input.query),
)

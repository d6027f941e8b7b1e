import type { ExpressionBuilder } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { Tables } from '../db/tables.ts'
import { prepared } from './prepared.ts'

/** Where an item stands in a list, newest first. */
export interface Place {
  at: string
  id: string
}

/** Lists that may begin behind an item, and what they are ordered by. */
const ORDER = {
  commissions: 'happenedAt',
  affiliates: 'createdAt',
  programs: 'createdAt',
  payoutBatches: 'createdAt',
} as const

export type Walked = keyof typeof ORDER

const placesOf = (list: Walked) =>
  prepared<{ shopId: string; id: string }>()((db, { shopId, id }) =>
    db
      .selectFrom(list)
      .select([`${ORDER[list]} as at`, 'id'])
      .where('id', '=', id)
      .where('shopId', '=', shopId)
      .compile(),
  )

const places = {
  commissions: placesOf('commissions'),
  affiliates: placesOf('affiliates'),
  programs: placesOf('programs'),
  payoutBatches: placesOf('payoutBatches'),
}

/** Where the item with this id stands, archived ones too; undefined when the shop has none. */
export async function findPlace(db: Trx, shopId: string, list: Walked, id: string): Promise<Place | undefined> {
  const [place] = (await places[list](db, { shopId, id })) as Place[]
  return place
}

/** The rows behind a place. One comparison of both columns, which an index finds without walking through equal times. */
export const behind =
  (list: Walked, { at, id }: Place) =>
  // biome-ignore lint/suspicious/noExplicitAny: any of the tables
  (eb: ExpressionBuilder<Tables, any>) =>
    eb(eb.refTuple(`${list}.${ORDER[list]}`, `${list}.id`), '<', eb.tuple(at, id))

import { sql } from 'kysely'

/**
 * A condition that no index is looked for: of three ids and more, SQLite would rather walk through all rows of the shop
 * than look each id up.
 */
export const ofShop = (shopId: string) => sql<boolean>`"shopId" || '' = ${shopId}`

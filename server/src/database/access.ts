import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Reads committed rows; writing through it does not compile. */
export type Reader = Pick<Kysely<Tables>, 'selectFrom' | 'fn' | 'getExecutor'>

/** An open transaction: reads what it has written, and writes. */
export type Transaction = Kysely<Tables>

import { createHash } from 'node:crypto'
import { concurrentChange } from '../../contract/errors.ts'
import { type Context, nowIso, type Operator } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { toByteStream } from '../../core/ndjson.ts'
import { SHOP_TABLES, type TableName } from '../../database/personal-data.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import { pagesOf, type Row } from '../../database/table-keys.ts'
import { operatorContext } from '../accounts/shops.ts'

/** Credentials, and what only they give access to. */
const OMITTED_TABLES: TableName[] = ['sessions', 'signInLinks', 'passkeys', 'idempotencyKeys']
const OMITTED_COLUMNS = [
  'secretHash',
  'previousSecretHash',
  'tokenHash',
  'secret',
  'previousSecret',
  'storeWebhookSecret',
  'stripeWebhookSecret',
  'exportDigest',
  'emailHashKey',
  // The key of an erasure that has not ended, and a hash of the person that only this installation can compute.
  'subject',
  'person',
]

/** Rows read at a time. */
const PAGE_SIZE = 100

/**
 * Streams every row of a shop as newline-delimited JSON, without credentials. The last line has the number of rows and the
 * SHA-256 of all bytes before it, so that an incomplete export is recognized. If the shop was suspended before, the digest
 * is stored for its deletion.
 *
 * @throws ApiError 404 `shop_not_found`.
 */
export const exportShop = async (operator: Operator, shopId: string): Promise<ReadableStream<Uint8Array>> =>
  toByteStream(linesOf(await operatorContext(operator, shopId)))

/** The lines of the export of a shop, each with its line break. */
export async function* linesOf(ctx: Context): AsyncGenerator<string, void> {
  const { shop } = ctx
  const hash = createHash('sha256')
  const toLine = (value: object): string => {
    const line = `${JSON.stringify(value)}\n`
    hash.update(line)
    return line
  }
  yield toLine({ export: 'shop', version: 1, shopId: shop.id, createdAt: nowIso(ctx) })
  let count = 0
  for (const table of SHOP_TABLES.filter((name) => !OMITTED_TABLES.includes(name))) {
    for await (const rows of pagesOf(ctx.db.read, table, { shopId: shop.id, limit: PAGE_SIZE })) {
      for (const row of rows) yield toLine({ table, row: withoutSecrets(row) })
      count += rows.length
    }
  }
  const sha256 = hash.digest('hex')
  await recordExport(ctx, { rows: count, sha256 })
  yield `${JSON.stringify({ end: { rows: count, sha256 } })}\n`
}

const withoutSecrets = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !OMITTED_COLUMNS.includes(column)))

async function recordExport(ctx: Context, { rows, sha256 }: { rows: number; sha256: string }): Promise<void> {
  const audit = { action: 'shop.exported', subjectId: ctx.shop.id, data: { rows, sha256 } }
  await mutate(ctx, async (trx) => {
    // An export that started before the shop was suspended may lack the last changes.
    if (ctx.shop.suspendedAt !== null && !(await updateIfUnchanged(trx, 'shops', ctx.shop, { exportDigest: sha256 })))
      throw concurrentChange()
    return { result: undefined, audit }
  })
}

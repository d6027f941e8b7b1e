import { affiliateNotFound, conflict, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage } from '../../core/pagination.ts'
import { insertRow } from '../../database/rows.ts'
import type { AliasRow } from '../../database/tables.ts'
import { codeKey, isValidAlias } from '../../engine/affiliate-codes.ts'
import { aliasList, deleteAlias, findAliases, findNameHolders } from './name-queries.ts'
import { findAffiliate } from './queries.ts'

type Alias = components['schemas']['Alias']

/** How many aliases an affiliate can have. */
const MAX_ALIASES = 100

/** Lists affiliates' additional codes and link names, including archived affiliates', newest first. */
export async function list(ctx: Context, { value, affiliateId, ...page }: Query<'listAliases'>) {
  const query = { ...page, ...(affiliateId && { affiliateId }), ...(value !== undefined && { key: codeKey(value) }) }
  return mapPage(await readFrom(ctx, aliasList, query), toAlias)
}

/** An affiliate's aliases, newest first. */
export const listOf = async ({ db, shop }: Context, affiliateId: string): Promise<Alias[]> =>
  (await findAliases(db.read, shop.id, affiliateId)).map(toAlias)

/**
 * Gives an affiliate an additional code or link name. Does nothing if the affiliate already has it.
 *
 * @throws ApiError 400 `alias_invalid`, 404 `affiliate_not_found`, 409 `alias_taken` or `alias_limit_reached`.
 */
export async function create(ctx: Context, { affiliateId, kind, value }: Body<'createAlias'>): Promise<Alias> {
  if (!isValidAlias(value)) {
    throw invalidField('alias_invalid', 'value', 'must be 1 to 100 visible characters without spaces.')
  }
  const key = codeKey(value)
  return mutate(ctx, async (trx) => {
    if (!(await findAffiliate(trx, ctx.shop.id, affiliateId))) throw affiliateNotFound()
    const holders = await findNameHolders(trx, ctx.shop.id, key)
    if (holders.some((holder) => holder.affiliateId !== affiliateId)) {
      throw conflict(
        'alias_taken',
        'Another affiliate of your shop has this code or link name. Choose a different one, or remove it there first.',
        'value',
      )
    }
    const affiliateAliases = await findAliases(trx, ctx.shop.id, affiliateId)
    const existing = affiliateAliases.find((alias) => alias.codeKey === key && alias.kind === kind)
    if (existing) return { result: toAlias(existing), audit: null }
    if (affiliateAliases.length >= MAX_ALIASES) {
      throw conflict('alias_limit_reached', `An affiliate can have ${MAX_ALIASES} aliases. Delete one first.`)
    }
    const row = {
      id: ctx.newId('als'),
      shopId: ctx.shop.id,
      affiliateId,
      kind,
      value,
      codeKey: key,
      createdAt: nowIso(ctx),
    }
    await insertRow(trx, 'affiliateAliases', row)
    const audit = { action: 'alias.created', subjectId: row.id, data: { affiliateId, kind, alias: value } }
    return { result: toAlias(row), audit }
  })
}

/** @throws ApiError 404 `alias_not_found`. */
export async function remove(ctx: Context, id: string) {
  return mutate(ctx, async (trx) => {
    const row = await deleteAlias(trx, ctx.shop.id, id)
    if (!row) throw notFound('alias_not_found', 'No alias with this id exists in your shop.')
    const { affiliateId, kind, value } = row
    return {
      result: { ok: true as const, message: 'Alias removed.', id },
      audit: { action: 'alias.deleted', subjectId: id, data: { affiliateId, kind, alias: value } },
    }
  })
}

const toAlias = (row: Omit<AliasRow, 'shopId'>): Alias => ({
  id: row.id,
  affiliateId: row.affiliateId,
  kind: row.kind,
  value: row.value,
  createdAt: row.createdAt,
})

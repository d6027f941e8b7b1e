import { conflict, invalidBody, notFound, programNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { yieldToEventLoop } from '../../database/event-loop.ts'
import { deleteRows } from '../../database/rows.ts'
import type { GeoRuleRow } from '../../database/tables.ts'
import * as rules from './queries.ts'
import { findProgram } from './queries.ts'

/** The limit per shop, as documented in openapi.yaml. */
const MAX_RULES = 1000

/** Lists the programs that only pay for orders shipped to certain places. */
export async function list(ctx: Context, query: Query<'listGeoRules'>) {
  const page = await rules.listGeoRules(ctx.db.read, ctx.shop.id, query)
  const data: components['schemas']['GeoRule'][] = []
  for (const { programId } of page.data) {
    const row = await rules.findGeoRule(ctx.db.read, ctx.shop.id, programId)
    if (!row) continue
    data.push(toGeoRule(row))
    // A rule can have 2,000 places.
    await yieldToEventLoop()
  }
  return { ...page, data }
}

/** The places a program is limited to. Null without limits. */
export const find = ({ db, shop }: Context, programId: string) => rules.findGeoRules(db.read, shop.id, programId)

/**
 * Limits a program to places, replacing its previous limits.
 *
 * @throws ApiError 400 `invalid_body` without any place, 404 `program_not_found`, 409 `geo_rule_limit_reached`.
 */
export async function set(ctx: Context, programId: string, body: Body<'setGeoRule'>) {
  const places = {
    countries: distinctNames(body.countries),
    states: distinctNames(body.states),
    cities: distinctNames(body.cities),
    postalPrefixes: distinctNames(body.postalPrefixes),
  }
  if (Object.values(places).every((list) => list.length === 0))
    throw invalidBody('At least one of countries, states, cities and postalPrefixes must contain a place.')
  return mutate(ctx, async (trx) => {
    if (!(await findProgram(trx, ctx.shop.id, programId))) throw programNotFound()
    if ((await rules.countOtherGeoRules(trx, ctx.shop.id, programId)) >= MAX_RULES) {
      throw conflict('geo_rule_limit_reached', 'A shop can have 1,000 geo rules. Remove one before you create another.')
    }
    const row = {
      programId,
      countries: JSON.stringify(places.countries),
      states: JSON.stringify(places.states),
      cities: JSON.stringify(places.cities),
      postalPrefixes: JSON.stringify(places.postalPrefixes),
      updatedAt: nowIso(ctx),
    }
    await rules.upsertGeoRule(trx, ctx.shop.id, row)
    return { result: toGeoRule(row), audit: { action: 'geo_rule.set', subjectId: programId, data: places } }
  })
}

/** @throws ApiError 404 `geo_rule_not_found`. */
export async function remove(ctx: Context, programId: string) {
  return mutate(ctx, async (trx) => {
    if ((await deleteRows(trx, 'geoRules', { shopId: ctx.shop.id, programId })) === 0) {
      throw notFound('geo_rule_not_found', 'This program has no geo rule.')
    }
    return {
      result: { ok: true as const, message: 'Geo rule removed.', id: programId },
      audit: { action: 'geo_rule.deleted', subjectId: programId },
    }
  })
}

const distinctNames = (list: string[] | null | undefined): string[] =>
  [...new Set((list ?? []).map((name) => name.trim()))].filter(Boolean)

const toGeoRule = (row: Omit<GeoRuleRow, 'shopId'>): components['schemas']['GeoRule'] => ({
  programId: row.programId,
  countries: JSON.parse(row.countries),
  states: JSON.parse(row.states),
  cities: JSON.parse(row.cities),
  postalPrefixes: JSON.parse(row.postalPrefixes),
  updatedAt: row.updatedAt,
})

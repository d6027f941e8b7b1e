import type { Context } from '../context.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'

/** The names of affiliates by id, archived ones too: what they earned is history. At most a page of them. */
export async function namesOf(ctx: Context, ids: string[]): Promise<Map<string, string>> {
  const people = await findAffiliatesById(ctx.db.read, ctx.shop.id, [...new Set(ids)])
  return new Map(people.map(({ id, name }) => [id, name]))
}

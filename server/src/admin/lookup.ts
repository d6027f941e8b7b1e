import { type FoundAffiliate, findByText } from '../affiliates/lookup.ts'
import * as programs from '../programs/programs.ts'
import type { PageRequest } from './route.ts'

/** Enough to offer in a select; more are filtered through links of their own pages. */
const MAX_PROGRAMS = 100
/** Matches to name when a text fits several affiliates. */
const MAX_MATCHES = 5

/** The affiliates that a typed text can mean. */
export const findAffiliates = ({ ctx }: PageRequest, text: string): Promise<FoundAffiliate[]> =>
  findByText(ctx, text, MAX_MATCHES)

/** The programs of the shop for a select, newest first. */
export async function programOptions({ ctx }: PageRequest): Promise<(readonly [id: string, name: string])[]> {
  const { data } = await programs.list(ctx, { page: 1, limit: MAX_PROGRAMS })
  return data.map(({ id, name }) => [id, name] as const)
}

import { invalidField } from '../contract/errors.ts'
import { type FoundAffiliate, findByText } from '../domains/affiliates/search.ts'
import * as programs from '../domains/programs/programs.ts'
import type { PageRequest } from './route.ts'

/** Enough to offer in a select; more are filtered through links of their own pages. */
const MAX_PROGRAMS = 100
/** Matches to name when a text fits several affiliates. */
const MAX_MATCHES = 5

/** A name, an email address or a code is shorter. */
const MAX_TEXT = 320

/** The affiliates that a typed text can mean. @throws ApiError 400 for a text that is too long to be one. */
export async function findAffiliates({ ctx }: PageRequest, text: string): Promise<FoundAffiliate[]> {
  if (text.length > MAX_TEXT)
    throw invalidField('invalid_parameter', 'affiliate', `must have at most ${MAX_TEXT} characters.`)
  return findByText(ctx, text, MAX_MATCHES)
}

/** The programs of the shop for a select, newest first. */
export async function programOptions({ ctx }: PageRequest): Promise<(readonly [id: string, name: string])[]> {
  const { data } = await programs.list(ctx, { page: 1, limit: MAX_PROGRAMS })
  return data.map(({ id, name }) => [id, name] as const)
}

import { invalidField } from '../../contract/errors.ts'
import { type FoundAffiliate, findByText } from '../../domains/affiliates/search.ts'
import * as programs from '../../domains/programs/programs.ts'
import type { PageRequest } from './route.ts'

/** As many as a select can offer. The others are reachable from their own pages. */
const MAX_PROGRAMS = 100
/** How many affiliates to name if several match. */
const MAX_MATCHES = 5

/** Longer than any name, email address, or code. */
const MAX_TEXT = 320

/** The affiliates that match a typed text. @throws ApiError 400 if the text is too long. */
export async function findAffiliates({ ctx }: PageRequest, text: string): Promise<FoundAffiliate[]> {
  if (text.length > MAX_TEXT)
    throw invalidField('invalid_parameter', 'affiliate', `must have at most ${MAX_TEXT} characters.`)
  return findByText(ctx, text, MAX_MATCHES)
}

/** The shop's programs for a select, newest first. */
export async function programOptions({ ctx }: PageRequest): Promise<(readonly [id: string, name: string])[]> {
  const { data } = await programs.list(ctx, { page: 1, limit: MAX_PROGRAMS })
  return data.map(({ id, name }) => [id, name] as const)
}

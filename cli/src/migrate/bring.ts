import type { Affiliate, AffiliateCreate, AffiliateUpdate, ReferralClient } from '@referral/sdk'
import { addressKey, isValidCode, type RefState, type SourceAffiliate, slugOf } from './plan.ts'

/** What became of one affiliate. */
export interface ImportResult {
  email: string
  id: string
  action: 'created' | 'completed' | 'existed'
  slug: string
  ref: RefState
  code: string
  notes: string
  /** What the export had and was not kept, each with the reason. */
  leftOut: string[]
}

/** The affiliates that are there, by e-mail address. */
export type ExistingAffiliates = Map<string, Affiliate>

/**
 * Creates an affiliate whose slug is the old ref. The API takes no slug, but makes it from the first name it is given and
 * never changes it: so the ref is that name, and the real one comes last. A run that was stopped in between is found by that.
 */
export async function importAffiliate(
  client: ReferralClient,
  newcomer: SourceAffiliate,
  { known, program }: { known: ExistingAffiliates; program: string | undefined },
): Promise<ImportResult> {
  const there = known.get(addressKey(newcomer.email))
  const isIncomplete =
    there !== undefined &&
    there.name === newcomer.ref &&
    slugOf(there.name) !== undefined &&
    there.name !== newcomer.name
  const notes = [...newcomer.notes]
  const leftOut = [...newcomer.leftOut]
  let affiliate = there ?? (await client.affiliates.create(toCreateInput(newcomer, program)))
  let code = affiliate.discountCode
  if (!there || isIncomplete) {
    code = await assignCode(client, affiliate, { newcomer, notes, leftOut })
    affiliate = await applyDetails(client, affiliate, newcomer)
  } else if (newcomer.coupon && newcomer.coupon.toLowerCase() !== code.toLowerCase())
    leftOut.push(codeKeptReason(newcomer.coupon, code))
  return {
    email: newcomer.email,
    id: affiliate.id,
    action: isIncomplete ? 'completed' : there ? 'existed' : 'created',
    slug: affiliate.slug,
    ref: refState(newcomer, affiliate.slug, { code, notes, leftOut, existed: there !== undefined && !isIncomplete }),
    code,
    notes: notes.join('; '),
    leftOut,
  }
}

function toCreateInput(
  { email, name, firstName, lastName, ref }: SourceAffiliate,
  program: string | undefined,
): AffiliateCreate {
  return {
    email,
    name: ref !== undefined && slugOf(ref) !== undefined ? ref : name,
    ...(firstName ? { firstName } : {}),
    ...(lastName ? { lastName } : {}),
    ...(program ? { campaignId: program } : {}),
  }
}

async function applyDetails(
  client: ReferralClient,
  affiliate: Affiliate,
  newcomer: SourceAffiliate,
): Promise<Affiliate> {
  const changes: AffiliateUpdate = { ...newcomer.contact }
  if (affiliate.name !== newcomer.name) changes.name = newcomer.name
  if (affiliate.status !== newcomer.status) changes.status = newcomer.status as NonNullable<AffiliateUpdate['status']>
  return Object.keys(changes).length ? client.affiliates.update(affiliate.id, changes) : affiliate
}

/** The old coupon becomes the discount code; without one, a ref that cannot be a slug may be a code. */
async function assignCode(
  client: ReferralClient,
  affiliate: Affiliate,
  { newcomer: { coupon, ref }, notes, leftOut }: { newcomer: SourceAffiliate; notes: string[]; leftOut: string[] },
): Promise<string> {
  const usual = affiliate.discountCode
  const wanted = coupon ?? (ref !== undefined && slugOf(ref) === undefined ? ref : undefined)
  if (wanted === undefined || wanted.toLowerCase() === usual.toLowerCase()) return usual
  if (!isValidCode(wanted)) {
    if (coupon) leftOut.push(invalidCodeReason(coupon))
    return usual
  }
  const { data, error } = await client.coupons.assign({ affiliateId: affiliate.id, code: wanted }).safe()
  if (error && error.code !== 'discount_code_taken' && error.code !== 'discount_code_invalid') throw error
  if (error && coupon)
    leftOut.push(error.code === 'discount_code_taken' ? codeTakenReason(wanted) : invalidCodeReason(wanted))
  for (const warning of data?.warnings ?? []) notes.push(warning.message)
  return data?.code ?? usual
}

export function refState(
  { ref }: SourceAffiliate,
  slug: string,
  { code, notes, leftOut, existed }: { code: string; notes: string[]; leftOut: string[]; existed: boolean },
): RefState {
  if (ref === undefined) return 'none'
  if (slug === ref.toLowerCase()) return 'kept'
  if (slug === slugOf(ref)) {
    notes.push(`send ${slug} as ref, not ${ref}`)
    return 'as slug'
  }
  if (code.toLowerCase() === ref.toLowerCase()) {
    notes.push(`send ${ref} as affiliateCode, not as ref`)
    return 'as code'
  }
  if (existed) leftOut.push(`link ${ref}: the affiliate was here before and has ${slug}`)
  else leftOut.push(slugOf(ref) ? `link ${ref}: somebody else has it` : `link ${ref}: a link has ${SLUG_RULE}`)
  return 'lost'
}

export const invalidCodeReason = (code: string) =>
  `code ${code}: a code has at most 9 characters, and none of 0, o and O`
export const codeTakenReason = (code: string) => `code ${code}: somebody else has it`
export const codeKeptReason = (code: string, own: string) =>
  `code ${code}: the affiliate was here before and keeps ${own}`

const SLUG_RULE = 'letters and digits with single dashes, dots or underscores between them'

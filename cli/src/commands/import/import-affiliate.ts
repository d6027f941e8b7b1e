import type { Affiliate, AffiliateCreate, AffiliateUpdate, ReferralClient } from '@referral/sdk'
import { emailKey, isValidCode, type RefState, type SourceAffiliate, slugOf } from './plan.ts'

/** The outcome for one affiliate. */
export interface ImportResult {
  email: string
  id: string
  action: 'created' | 'completed' | 'existed'
  slug: string
  ref: RefState
  code: string
  notes: string
  /** What the export contains but cannot be imported, with the reason. */
  leftOut: string[]
}

/** The affiliates of the shop, by email address. */
export type ExistingAffiliates = Map<string, Affiliate>

/**
 * Creates an affiliate whose slug is the old ref. The API derives the slug from the first name and never changes it, so
 * the affiliate is created with the ref as its name and renamed afterwards.
 */
export async function importAffiliate(
  client: ReferralClient,
  source: SourceAffiliate,
  { existing, program }: { existing: ExistingAffiliates; program: string | undefined },
): Promise<ImportResult> {
  const current = existing.get(emailKey(source.email))
  const incomplete = isIncomplete(current, source)
  const notes = [...source.notes]
  const leftOut = [...source.leftOut]
  let affiliate = current ?? (await client.affiliates.create(toCreateInput(source, program)))
  let code = affiliate.discountCode
  if (!current || incomplete) {
    code = await assignCode(client, affiliate, { source, notes, leftOut })
    affiliate = await applyDetails(client, affiliate, source)
  } else if (source.coupon && source.coupon.toLowerCase() !== code.toLowerCase())
    leftOut.push(codeKeptReason(source.coupon, code))
  return {
    email: source.email,
    id: affiliate.id,
    action: actionFor(current, incomplete),
    slug: affiliate.slug,
    ref: refState(source, affiliate.slug, { code, notes, leftOut, existed: current !== undefined && !incomplete }),
    code,
    notes: notes.join('; '),
    leftOut,
  }
}

/** The result of a dry run. A slug or code that the service generates is null. */
export type ImportPreview = Omit<ImportResult, 'id' | 'slug' | 'code'> & {
  name: string
  slug: string | null
  code: string | null
}

/** Predicts the results of an import, including conflicts with the shop and between rows. */
export function previewImport(affiliates: readonly SourceAffiliate[], existing: ExistingAffiliates): ImportPreview[] {
  const slugs = new Set([...existing.values()].map(({ slug }) => slug))
  const codes = new Set([...existing.values()].map(({ discountCode }) => discountCode.toLowerCase()))
  return affiliates.map((source) => {
    const { email, name, ref, coupon } = source
    const current = existing.get(emailKey(email))
    const incomplete = isIncomplete(current, source)
    const notes = [...source.notes]
    const leftOut = [...source.leftOut]
    let slug: string | null = current?.slug ?? null
    let code: string | null = current?.discountCode ?? null
    if (!current && ref !== undefined) {
      const slugOfRef = slugOf(ref)
      slug = slugOfRef !== undefined && !slugs.has(slugOfRef) ? slugOfRef : null
    }
    if (!current || incomplete) {
      const preferred = preferredCode(source)
      const isFree = preferred !== undefined && !codes.has(preferred.toLowerCase())
      if (preferred !== undefined && isValidCode(preferred) && isFree) code = preferred
      else if (coupon !== undefined && coupon.toLowerCase() !== code?.toLowerCase())
        leftOut.push(isValidCode(coupon) ? codeTakenReason(coupon) : invalidCodeReason(coupon))
    } else if (coupon !== undefined && coupon.toLowerCase() !== current.discountCode.toLowerCase())
      leftOut.push(codeKeptReason(coupon, current.discountCode))
    if (slug) slugs.add(slug)
    if (code) codes.add(code.toLowerCase())
    const state = refState(source, slug ?? '', {
      code: code ?? '',
      notes,
      leftOut,
      existed: current !== undefined && !incomplete,
    })
    const action = actionFor(current, incomplete)
    return { email, name, action, slug, ref: state, code, notes: notes.join('; '), leftOut }
  })
}

/** Whether an interrupted import created the affiliate under its ref without renaming it. */
const isIncomplete = (current: Affiliate | undefined, { name, ref }: SourceAffiliate): boolean =>
  current !== undefined && current.name === ref && slugOf(current.name) !== undefined && current.name !== name

const actionFor = (current: Affiliate | undefined, incomplete: boolean): ImportResult['action'] =>
  incomplete ? 'completed' : current ? 'existed' : 'created'

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
  { contact, name, status }: SourceAffiliate,
): Promise<Affiliate> {
  const changes: AffiliateUpdate = { ...contact }
  if (affiliate.name !== name) changes.name = name
  if (affiliate.status !== status) changes.status = status as NonNullable<AffiliateUpdate['status']>
  return Object.keys(changes).length ? client.affiliates.update(affiliate.id, changes) : affiliate
}

/** The old coupon, or a ref that cannot become a slug. */
const preferredCode = ({ coupon, ref }: SourceAffiliate): string | undefined =>
  coupon ?? (ref !== undefined && slugOf(ref) === undefined ? ref : undefined)

/** Assigns the preferred discount code. Returns the code that the affiliate has afterwards. */
async function assignCode(
  client: ReferralClient,
  affiliate: Affiliate,
  { source, notes, leftOut }: { source: SourceAffiliate; notes: string[]; leftOut: string[] },
): Promise<string> {
  const { coupon } = source
  const current = affiliate.discountCode
  const preferred = preferredCode(source)
  if (preferred === undefined || preferred.toLowerCase() === current.toLowerCase()) return current
  if (!isValidCode(preferred)) {
    if (coupon) leftOut.push(invalidCodeReason(coupon))
    return current
  }
  const { data, error } = await client.coupons.assign({ affiliateId: affiliate.id, code: preferred }).safe()
  if (error && error.code !== 'discount_code_taken' && error.code !== 'discount_code_invalid') throw error
  if (error && coupon)
    leftOut.push(error.code === 'discount_code_taken' ? codeTakenReason(preferred) : invalidCodeReason(preferred))
  for (const warning of data?.warnings ?? []) notes.push(warning.message)
  return data?.code ?? current
}

function refState(
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
  if (existed) leftOut.push(`link ${ref}: the affiliate already exists with ${slug}`)
  else leftOut.push(`link ${ref}: ${slugOf(ref) ? 'taken by another affiliate' : SLUG_RULE}`)
  return 'lost'
}

const SLUG_RULE =
  'a slug may contain only letters and digits, separated by single dashes, dots or underscores, and at most 60 characters'

const invalidCodeReason = (code: string) => `code ${code}: a code has at most 9 characters and no 0, o or O`
const codeTakenReason = (code: string) => `code ${code}: taken by another affiliate`
const codeKeptReason = (code: string, current: string) =>
  `code ${code}: the affiliate already exists and keeps ${current}`

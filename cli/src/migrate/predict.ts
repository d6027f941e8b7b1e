import {
  codeKeptReason,
  codeTakenReason,
  type ExistingAffiliates,
  type ImportResult,
  invalidCodeReason,
  refState,
} from './bring.ts'
import { addressKey, isValidCode, type SourceAffiliate, slugOf } from './plan.ts'

/** What a run would do. A generated code or slug is not known before the service makes it. */
export type ImportPreview = Omit<ImportResult, 'id' | 'slug' | 'code'> & {
  name: string
  slug: string | null
  code: string | null
}

/** Goes through the rows as a run would, with what the shop has and what earlier rows take. Sends nothing. */
export function previewImport(newcomers: readonly SourceAffiliate[], known: ExistingAffiliates): ImportPreview[] {
  const slugs = new Set([...known.values()].map(({ slug }) => slug))
  const codes = new Set([...known.values()].map(({ discountCode }) => discountCode.toLowerCase()))
  return newcomers.map((newcomer) => {
    const there = known.get(addressKey(newcomer.email))
    const { email, name, ref, coupon } = newcomer
    const notes = [...newcomer.notes]
    const leftOut = [...newcomer.leftOut]
    const isIncomplete = there !== undefined && there.name === ref && slugOf(ref) !== undefined && there.name !== name
    let slug: string | null = there?.slug ?? null
    let code: string | null = there?.discountCode ?? null
    if (!there && ref !== undefined) {
      const wanted = slugOf(ref)
      slug = wanted !== undefined && !slugs.has(wanted) ? wanted : null
    }
    if (!there || isIncomplete) {
      const wanted = coupon ?? (ref !== undefined && slugOf(ref) === undefined ? ref : undefined)
      const isFree = wanted !== undefined && !codes.has(wanted.toLowerCase())
      if (wanted !== undefined && isValidCode(wanted) && isFree) code = wanted
      else if (coupon !== undefined && coupon.toLowerCase() !== code?.toLowerCase())
        leftOut.push(isValidCode(coupon) ? codeTakenReason(coupon) : invalidCodeReason(coupon))
    } else if (coupon !== undefined && coupon.toLowerCase() !== there.discountCode.toLowerCase())
      leftOut.push(codeKeptReason(coupon, there.discountCode))
    if (slug) slugs.add(slug)
    if (code) codes.add(code.toLowerCase())
    const state = refState(newcomer, slug ?? '', {
      code: code ?? '',
      notes,
      leftOut,
      existed: there !== undefined && !isIncomplete,
    })
    const action = isIncomplete ? 'completed' : there ? 'existed' : 'created'
    return { email, name, action, slug, ref: state, code, notes: notes.join('; '), leftOut }
  })
}

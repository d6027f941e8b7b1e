import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { AffiliateRow } from '../db/tables.ts'
import { codeFromBytes, codeKey } from '../engine/discount-code.ts'
import { emailKey } from '../engine/email.ts'
import { slugAttempt, slugFrom } from '../engine/slug.ts'
import { findAffiliateByCode, findAffiliateBySlug, searchable } from '../repositories/affiliates.ts'

type Given = Pick<AffiliateRow, 'name' | 'email' | 'firstName' | 'lastName' | 'campaignId' | 'status'>

export const searchText = (row: Pick<AffiliateRow, 'name' | 'email' | 'firstName' | 'lastName'>): string =>
  searchable([row.name, row.email, row.firstName, row.lastName])

/** The row of a new affiliate with a slug and a discount code that nobody in the shop has (section 2.2). */
export async function newAffiliate(ctx: Context, trx: Trx, given: Given): Promise<Omit<AffiliateRow, 'shopId'>> {
  const createdAt = nowIso(ctx)
  const discountCode = await freeCode(ctx, trx)
  return {
    id: ctx.newId('aff'),
    ...given,
    phone: null,
    website: null,
    slug: await freeSlug(ctx, trx, given.name),
    discountCode,
    instagramHandle: null,
    tiktokHandle: null,
    youtubeHandle: null,
    homeCountry: null,
    homeState: null,
    homeCity: null,
    homePostalCode: null,
    homeAddress: null,
    createdAt,
    updatedAt: createdAt,
    deletedAt: null,
    emailKey: emailKey(given.email),
    codeKey: codeKey(discountCode),
    searchText: searchText(given),
    version: 1,
  }
}

/** A random code that nobody in the shop has. There are 34^8 of them, so the first is nearly always free. */
export async function freeCode(ctx: Context, trx: Trx): Promise<string> {
  for (;;) {
    const code = codeFromBytes(ctx.random(32))
    if (code && !(await findAffiliateByCode(trx, ctx.shop.id, codeKey(code)))) return code
  }
}

async function freeSlug(ctx: Context, trx: Trx, name: string): Promise<string> {
  const slug = slugFrom(name)
  for (let attempt = 1; ; attempt++) {
    // A shop full of namesakes: after a few tries a random ending is quicker than counting on.
    const candidate =
      attempt <= 20 ? slugAttempt(slug, attempt) : `${slug}-${Buffer.from(ctx.random(4)).toString('hex')}`
    if (!(await findAffiliateBySlug(trx, ctx.shop.id, candidate))) return candidate
  }
}

import { createHash } from 'node:crypto'
import { invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso, type SiteContext } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import type { Reader } from '../../database/database.ts'
import { findReferences, storeTouch } from '../orders/clicks.ts'
import { longestClickWindow } from '../programs/queries.ts'
import { trackingScript } from './script.ts'

type Schemas = components['schemas']

/** The script for the shop's pages, and its tag. */
export async function readScript(ctx: SiteContext): Promise<{ script: string; tag: string }> {
  const script = trackingScript(await longestClickWindow(ctx.db.read, ctx.shop.id))
  return { script, tag: `"${createHash('sha256').update(script).digest('hex').slice(0, 16)}"` }
}

/**
 * Records a click that a page reports, unless it names no affiliate. A click ID that is reported again keeps its time,
 * so that visitors cannot extend its window.
 */
export async function recordClick(ctx: SiteContext, body: Schemas['SiteClick']): Promise<Schemas['SiteReply']> {
  const known = await replyWithoutRecord(ctx.db.read, ctx.shop.id, body)
  if (known) return known
  if (!(await ctx.isCounted())) return { id: null }
  return mutate(ctx, async (trx) => {
    // Again: a page that is reloaded before the reply has sent its click twice.
    const recorded = await replyWithoutRecord(trx, ctx.shop.id, body)
    if (recorded) return { result: recorded, audit: null }
    const touch = { body: { ...body, type: 'click' as const }, occurredAt: nowIso(ctx) }
    return { result: { id: (await storeTouch(ctx, trx, touch)).clickId }, audit: null }
  })
}

/** The reply to a click that is not recorded: it names no affiliate, or its ID is recorded for that affiliate. */
async function replyWithoutRecord(
  db: Reader,
  shopId: string,
  body: Schemas['SiteClick'],
): Promise<Schemas['SiteReply'] | undefined> {
  const { affiliate, owner, sentId } = await findReferences(db, shopId, body)
  if (!affiliate) return { id: null }
  return affiliate.affiliateId === owner ? { id: sentId } : undefined
}

/** Records a page view that a page reports. */
export async function recordView(ctx: SiteContext, body: Schemas['SiteView']): Promise<Schemas['SiteReply']> {
  if (!(await ctx.isCounted())) return { id: null }
  return mutate(ctx, async (trx) => {
    const touch = { body: { ...body, type: 'page_view' as const }, occurredAt: nowIso(ctx) }
    return { result: { id: (await storeTouch(ctx, trx, touch)).id }, audit: null }
  })
}

/**
 * Records a click on an affiliate link, unless no affiliate has this `ref`. Returns the page to redirect to.
 *
 * @throws ApiError 400 `invalid_parameter` for a page of another host.
 */
export async function followLink(ctx: SiteContext, ref: string, path = '/'): Promise<string> {
  const page = pageOf(JSON.parse(ctx.shop.siteDomains)[0], path)
  const { id } = await recordClick(ctx, { ref, landingPage: page.origin + page.pathname })
  page.searchParams.set('ref', ref)
  page.searchParams.delete('referral_click_id')
  if (id !== null) page.searchParams.set('referral_click_id', id)
  return page.href
}

/** Resolves a path like a browser, for which `//`, `/\` and others begin with a host. */
function pageOf(domain: string, path: string): URL {
  const site = `https://${domain}`
  const page = URL.canParse(path, site) ? new URL(path, site) : undefined
  if (page?.origin !== site) throw invalidField('invalid_parameter', 'path', 'must be a path of the shop.')
  return page
}

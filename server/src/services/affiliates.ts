import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { AffiliateRow } from '../db/tables.ts'
import { emailKey } from '../engine/email.ts'
import { affiliateNotFound, concurrentChange, conflict, invalidBody, programNotFound } from '../errors.ts'
import type { Body, Query } from '../http/spec.ts'
import * as affiliates from '../repositories/affiliates.ts'
import { isDeep } from '../repositories/page.ts'
import { findProgram } from '../repositories/programs.ts'
import { statusEvents } from './affiliate-events.ts'
import { newAffiliate, searchText } from './affiliate-new.ts'
import { readList } from './lists.ts'
import { type AuditEntry, mutate } from './mutate.ts'
import { placeAfter } from './paging.ts'
import { mapPage, toAffiliate } from './wire.ts'

/** Lists affiliates that are not archived, newest first (section 4.1). */
export async function list(ctx: Context, query: Query<'listAffiliates'>) {
  const start = await placeAfter(ctx, 'affiliates', query)
  const readsMany = Boolean(query.q) || isDeep(query)
  return mapPage(await readList(ctx, 'affiliates', { ...query, start }, readsMany), toAffiliate)
}

/**
 * Creates an affiliate, `PENDING` unless its program approves affiliates at once (section 4.1 rule 2).
 *
 * @throws ApiError 400 without a name, 404 `program_not_found`, 409 `email_taken`.
 */
export async function create(ctx: Context, body: Body<'createAffiliate'>) {
  const name = body.name?.trim() || (body.firstName?.trim() && fullName(body.firstName, body.lastName))
  if (!name) throw invalidBody('name or firstName is required.')
  const email = body.email.trim()
  return mutate(ctx, async (trx) => {
    const campaignId = body.campaignId ?? (await defaultProgramId(ctx, trx))
    const program = campaignId ? await findProgram(trx, ctx.shop.id, campaignId) : undefined
    if (body.campaignId && !program) throw programNotFound()
    await refuseTakenEmail(ctx, trx, email)
    const row = await newAffiliate(ctx, trx, {
      name,
      email,
      firstName: body.firstName ?? null,
      lastName: body.lastName ?? null,
      campaignId: program?.id ?? null,
      status: program?.autoApproveAffiliate ? 'APPROVED' : 'PENDING',
    })
    await affiliates.insertAffiliate(trx, ctx.shop.id, row)
    const affiliate = toAffiliate({ ...row, shopId: ctx.shop.id })
    const audit: AuditEntry[] = [
      { action: 'affiliate.created', subjectId: row.id, data: { campaignId: row.campaignId } },
    ]
    if (row.status === 'APPROVED')
      audit.push({ action: 'affiliate.approved', subjectId: row.id, data: { by: 'program' } })
    return { result: affiliate, audit, events: statusEvents(affiliate, 'PENDING') }
  })
}

/**
 * Changes the sent fields (section 4.1 rule 4). Changing nothing is fine.
 *
 * @throws ApiError 400 for a blank name, 404 `affiliate_not_found` or `program_not_found`, 409 `email_taken` or
 *   `concurrent_change`.
 */
export async function update(ctx: Context, id: string, body: Body<'updateAffiliate'>) {
  if (body.name?.trim() === '') throw invalidBody('name must not be blank.')
  const before = await affiliates.findAffiliate(ctx.db.read, ctx.shop.id, id)
  if (!before) throw affiliateNotFound()
  const changes = changedFields(before, body)
  return mutate(ctx, async (trx) => {
    if (changes.campaignId && !(await findProgram(trx, ctx.shop.id, changes.campaignId))) throw programNotFound()
    if (Object.keys(changes).length === 0) return { result: toAffiliate(before), audit: null }
    if (changes.email) await refuseTakenEmail(ctx, trx, changes.email, id)
    const after = { ...before, ...changes, updatedAt: nowIso(ctx) }
    const keys = { searchText: searchText(after), ...(changes.email && { emailKey: emailKey(changes.email) }) }
    const claimed = await affiliates.claimAffiliate(trx, ctx.shop.id, before, {
      ...changes,
      ...keys,
      updatedAt: after.updatedAt,
    })
    if (!claimed) throw concurrentChange()
    const affiliate = toAffiliate(after)
    return {
      result: affiliate,
      audit: {
        action: 'affiliate.updated',
        subjectId: id,
        data: { fields: Object.keys(changes), ...statusChange(before, after) },
      },
      events: statusEvents(affiliate, before.status),
    }
  })
}

/**
 * Hides an affiliate and keeps its data (section 4.1 rule 5).
 *
 * @throws ApiError 404 `affiliate_not_found`, 409 `concurrent_change`.
 */
export async function archive(ctx: Context, id: string) {
  const before = await affiliates.findAffiliate(ctx.db.read, ctx.shop.id, id)
  if (!before) throw affiliateNotFound()
  return mutate(ctx, async (trx) => {
    const deletedAt = nowIso(ctx)
    const claimed = await affiliates.claimAffiliate(trx, ctx.shop.id, before, { deletedAt, updatedAt: deletedAt })
    if (!claimed) throw concurrentChange()
    return {
      result: { ok: true as const, message: 'Affiliate archived.', id },
      audit: { action: 'affiliate.archived', subjectId: id },
    }
  })
}

const fullName = (first?: string | null, last?: string | null) =>
  [first, last]
    .map((part) => part?.trim())
    .filter(Boolean)
    .join(' ')

async function defaultProgramId(ctx: Context, trx: Trx): Promise<string | null> {
  const shop = await trx.selectFrom('shops').select('defaultProgramId').where('id', '=', ctx.shop.id).executeTakeFirst()
  return shop?.defaultProgramId ?? null
}

async function refuseTakenEmail(ctx: Context, trx: Trx, email: string, exceptId?: string): Promise<void> {
  const holder = await affiliates.findAffiliateByEmail(trx, ctx.shop.id, emailKey(email))
  if (holder && holder.id !== exceptId) {
    throw conflict('email_taken', 'Another affiliate of your shop already uses this e-mail address.')
  }
}

/** The sent fields that differ. A name that was made of first and last name follows them. */
function changedFields(before: AffiliateRow, body: Body<'updateAffiliate'>): Partial<AffiliateRow> {
  const sent: Partial<AffiliateRow> = { ...body }
  if (sent.email !== undefined) sent.email = sent.email.trim()
  if (sent.name !== undefined) sent.name = sent.name.trim()
  const derived = fullName(before.firstName, before.lastName)
  if (sent.name === undefined && derived === before.name) {
    const { firstName, lastName } = { ...before, ...sent }
    sent.name = fullName(firstName, lastName) || before.name
  }
  const differs = ([name, value]: [string, unknown]) =>
    value !== undefined && value !== before[name as keyof AffiliateRow]
  return Object.fromEntries(Object.entries(sent).filter(differs)) as Partial<AffiliateRow>
}

const statusChange = (before: AffiliateRow, after: AffiliateRow) =>
  before.status === after.status ? {} : { previousStatus: before.status, status: after.status }

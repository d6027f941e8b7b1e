import {
  affiliateNotFound,
  concurrentChange,
  conflict,
  invalidBody,
  invalidField,
  programNotFound,
} from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, type KeyContext, nowIso } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { mapPage, readCursor, type Uncounted } from '../../core/pagination.ts'
import { searchable } from '../../core/searchable.ts'
import type { Transaction } from '../../database/database.ts'
import { insertRow, updateIfUnchanged } from '../../database/rows.ts'
import type { AffiliateRow } from '../../database/tables.ts'
import { codeFromBytes, codeKey, slugAttempt, slugFrom } from '../../engine/affiliate-codes.ts'
import { emailKey, isErasedAddress } from '../../engine/normalize.ts'
import { findShop } from '../accounts/queries.ts'
import { findProgram } from '../programs/queries.ts'
import { findNameHolders, type HeldName } from './name-queries.ts'
import * as affiliates from './queries.ts'
import { affiliateList, findAffiliate, findAffiliatesById } from './queries.ts'
import { issueAt } from './tokens.ts'

/** What the pages filter by, and the API does not. */
export interface PageFilter {
  /** `q` also finds a part of the discount code. */
  hasCodes?: boolean
  isArchived?: boolean
  /** Newest first by default. */
  sort?: affiliates.AffiliateSort
}

/** Lists affiliates that are not archived, or those that are. */
export const list = defineReader(
  affiliateList,
  async (ctx: Context & Pick<KeyContext, 'affiliateId'>, query: Query<'listAffiliates'> & Uncounted & PageFilter) => {
    const start = await readCursor(ctx, 'affiliates', query)
    const page = await readFrom(ctx, affiliateList, { ...query, start })
    return mapPage(page, ctx.affiliateId === undefined ? toAffiliate : toAffiliateSelf)
  },
)

/**
 * Creates an affiliate: `PENDING`, or `APPROVED` when its program auto-approves affiliates.
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
    await rejectTakenEmail(ctx, trx, email)
    const row = await newAffiliate(ctx, trx, {
      name,
      email,
      firstName: body.firstName ?? null,
      lastName: body.lastName ?? null,
      campaignId: program?.id ?? null,
      status: program?.autoApproveAffiliate ? 'APPROVED' : 'PENDING',
    })
    await insertRow(trx, 'affiliates', row)
    const affiliate = toAffiliate(row)
    const audit: AuditEntry[] = [
      { action: 'affiliate.created', subjectId: row.id, data: { campaignId: row.campaignId } },
    ]
    if (row.status === 'APPROVED')
      audit.push({ action: 'affiliate.approved', subjectId: row.id, data: { by: 'program' } })
    return { result: affiliate, audit, events: statusEvents(affiliate, 'PENDING') }
  })
}

/**
 * Changes the sent fields. A request without changes succeeds.
 *
 * @throws ApiError 400 for a blank name, 404 `affiliate_not_found` or `program_not_found`, 409 `email_taken` or
 *   `concurrent_change`.
 */
export async function update(ctx: Context, id: string, body: Body<'updateAffiliate'>) {
  if (body.name?.trim() === '') throw invalidField('invalid_body', 'name', 'must not be blank.')
  const before = await affiliates.findAffiliate(ctx.db.read, ctx.shop.id, id)
  if (!before) throw affiliateNotFound()
  const changes = changedFields(before, body)
  return mutate(ctx, async (trx) => {
    if (changes.campaignId && !(await findProgram(trx, ctx.shop.id, changes.campaignId))) throw programNotFound()
    if (Object.keys(changes).length === 0) return { result: toAffiliate(before), audit: null }
    if (changes.email) await rejectTakenEmail(ctx, trx, changes.email, id)
    const after = { ...before, ...changes, updatedAt: nowIso(ctx) }
    const keys = { searchText: searchText(after), ...(changes.email && { emailKey: emailKey(changes.email) }) }
    const updated = await updateIfUnchanged(trx, 'affiliates', before, {
      ...changes,
      ...keys,
      // Links and tokens from before stay revoked if the affiliate is approved again.
      ...(changes.status === 'REJECTED' && { tokensRevokedAt: issueAt(ctx, before) }),
      updatedAt: after.updatedAt,
    })
    if (!updated) throw concurrentChange()
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
 * Archives an affiliate: it is no longer listed, and its data is kept.
 *
 * @throws ApiError 404 `affiliate_not_found`, 409 `concurrent_change`.
 */
export async function archive(ctx: Context, id: string) {
  const before = await affiliates.findAffiliate(ctx.db.read, ctx.shop.id, id)
  if (!before) throw affiliateNotFound()
  return mutate(ctx, async (trx) => {
    const deletedAt = nowIso(ctx)
    const updated = await updateIfUnchanged(trx, 'affiliates', before, {
      deletedAt,
      tokensRevokedAt: issueAt(ctx, before),
      updatedAt: deletedAt,
    })
    if (!updated) throw concurrentChange()
    return {
      result: { ok: true as const, message: 'Affiliate archived.', id },
      audit: { action: 'affiliate.archived', subjectId: id },
    }
  })
}

/**
 * Restores an archived affiliate with the status from before. One that is not archived is returned unchanged.
 *
 * @throws ApiError 404 `affiliate_not_found`, also for one that was erased, 409 `email_taken` or `concurrent_change`.
 */
export async function unarchive(ctx: Context, id: string) {
  const [before] = await findAffiliatesById(ctx.db.read, ctx.shop.id, [id])
  if (!before || isErasedAddress(before.email)) throw affiliateNotFound()
  return mutate(ctx, async (trx) => {
    if (before.deletedAt === null) return { result: toAffiliate(before), audit: null }
    await rejectTakenEmail(ctx, trx, before.email, id)
    const changes = { deletedAt: null, updatedAt: nowIso(ctx) }
    if (!(await updateIfUnchanged(trx, 'affiliates', before, changes))) throw concurrentChange()
    return {
      result: toAffiliate({ ...before, ...changes }),
      audit: { action: 'affiliate.unarchived', subjectId: id },
    }
  })
}

const fullName = (first?: string | null, last?: string | null) =>
  [first, last]
    .map((part) => part?.trim())
    .filter(Boolean)
    .join(' ')

async function defaultProgramId(ctx: Context, trx: Transaction): Promise<string | null> {
  return (await findShop(trx, ctx.shop.id))?.defaultProgramId ?? null
}

async function rejectTakenEmail(ctx: Context, trx: Transaction, email: string, exceptId?: string): Promise<void> {
  const holder = await affiliates.findAffiliateByEmail(trx, ctx.shop.id, emailKey(email))
  if (holder && holder.id !== exceptId) {
    throw conflict(
      'email_taken',
      'Another affiliate of your shop has this email address. Use a different address.',
      'email',
    )
  }
}

/** The sent fields that differ. A name that was derived from first and last name changes with them. */
function changedFields(before: AffiliateRow, body: Body<'updateAffiliate'>): Partial<AffiliateRow> {
  const columns: Partial<AffiliateRow> = { ...body }
  if (columns.email !== undefined) columns.email = columns.email.trim()
  if (columns.name !== undefined) columns.name = columns.name.trim()
  const derived = fullName(before.firstName, before.lastName)
  if (columns.name === undefined && derived === before.name) {
    const { firstName, lastName } = { ...before, ...columns }
    columns.name = fullName(firstName, lastName) || before.name
  }
  const differs = ([name, value]: [string, unknown]) =>
    value !== undefined && value !== before[name as keyof AffiliateRow]
  return Object.fromEntries(Object.entries(columns).filter(differs)) as Partial<AffiliateRow>
}

const statusChange = (before: AffiliateRow, after: AffiliateRow) =>
  before.status === after.status ? {} : { previousStatus: before.status, status: after.status }

type NewAffiliate = Pick<AffiliateRow, 'name' | 'email' | 'firstName' | 'lastName' | 'campaignId' | 'status'>

export const searchText = (row: Pick<AffiliateRow, 'name' | 'email' | 'firstName' | 'lastName'>): string =>
  searchable([row.name, row.email, row.firstName, row.lastName])

/** A new affiliate's row, with a slug and a discount code that are unused in the shop. */
export async function newAffiliate(ctx: Context, trx: Transaction, fields: NewAffiliate): Promise<AffiliateRow> {
  const createdAt = nowIso(ctx)
  const discountCode = await unusedCode(ctx, trx)
  return {
    id: ctx.newId('aff'),
    shopId: ctx.shop.id,
    ...fields,
    phone: null,
    website: null,
    slug: await unusedSlug(ctx, trx, fields.name),
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
    emailKey: emailKey(fields.email),
    codeKey: codeKey(discountCode),
    searchText: searchText(fields),
    tokensRevokedAt: null,
    version: 1,
  }
}

/** A random code that is unused in the shop. There are 34^8 codes, so the first is nearly always unused. */
export async function unusedCode(ctx: Context, trx: Transaction): Promise<string> {
  for (;;) {
    const code = codeFromBytes(ctx.random(32))
    if (code && !(await isTaken(trx, ctx.shop.id, { key: codeKey(code), as: 'CODE' }))) return code
  }
}

/** Whether an affiliate has a name as its official code or slug, or as an alias. */
const isTaken = async (
  trx: Transaction,
  shopId: string,
  { key, as }: { key: string; as: HeldName['name'] },
): Promise<boolean> => (await findNameHolders(trx, shopId, key)).some(({ name }) => name === as || name === 'ALIAS')

async function unusedSlug(ctx: Context, trx: Transaction, name: string): Promise<string> {
  const slug = slugFrom(name)
  for (let attempt = 1; ; attempt++) {
    // After some attempts a random suffix is faster than counting.
    const candidate =
      attempt <= 20 ? slugAttempt(slug, attempt) : `${slug}-${Buffer.from(ctx.random(4)).toString('hex')}`
    if (!(await isTaken(trx, ctx.shop.id, { key: candidate, as: 'SLUG' }))) return candidate
  }
}

type Affiliate = components['schemas']['Affiliate']
type Status = Affiliate['status']

const isApproved = (status: Status) => status === 'APPROVED' || status === 'ACTIVE'

/** The events of a status change: the specific one first, then `affiliate.status_changed`. */
export function statusEvents(affiliate: Affiliate, previousStatus: Status): WebhookEvent[] {
  const { status } = affiliate
  if (status === previousStatus) return []
  const data = { ...toAffiliateSelf(affiliate), previousStatus }
  const changed = { event: 'affiliate.status_changed', data }
  if (isApproved(status) && !isApproved(previousStatus)) return [{ event: 'affiliate.approved', data }, changed]
  return status === 'REJECTED' ? [{ event: 'affiliate.rejected', data }, changed] : [changed]
}

/**
 * An affiliate, archived or not.
 *
 * @throws ApiError 404 `affiliate_not_found`.
 */
export async function find(ctx: Context, id: string): Promise<Affiliate> {
  const [row] = await findAffiliatesById(ctx.db.read, ctx.shop.id, [id])
  if (!row) throw affiliateNotFound()
  return toAffiliate(row)
}

/**
 * An affiliate that is not archived.
 *
 * @throws ApiError 404 `affiliate_not_found`.
 */
export async function findUnarchived(ctx: Context, id: string): Promise<Affiliate> {
  const row = await findAffiliate(ctx.db.read, ctx.shop.id, id)
  if (!row) throw affiliateNotFound()
  return toAffiliate(row)
}

/** The names of up to a page of affiliates by id, including archived ones. */
export async function affiliateNames(ctx: Context, ids: string[]): Promise<Map<string, string>> {
  const people = await findAffiliatesById(ctx.db.read, ctx.shop.id, [...new Set(ids)])
  return new Map(people.map(({ id, name }) => [id, name]))
}

/** A row as in openapi.yaml. A field that only owners and keys may see is added here, not to {@link toAffiliateSelf}. */
export const toAffiliate = (row: AffiliateRow): components['schemas']['Affiliate'] => toAffiliateSelf(row)

/**
 * The fields for the affiliate's own token, webhooks, and the feed. Names every field, so that no other column is sent.
 */
const toAffiliateSelf = (row: AffiliateRow | Affiliate): components['schemas']['AffiliateSelf'] => ({
  id: row.id,
  name: row.name,
  firstName: row.firstName,
  lastName: row.lastName,
  email: row.email,
  phone: row.phone,
  website: row.website,
  status: row.status,
  campaignId: row.campaignId,
  slug: row.slug,
  discountCode: row.discountCode,
  instagramHandle: row.instagramHandle,
  tiktokHandle: row.tiktokHandle,
  youtubeHandle: row.youtubeHandle,
  homeCountry: row.homeCountry,
  homeState: row.homeState,
  homeCity: row.homeCity,
  homePostalCode: row.homePostalCode,
  homeAddress: row.homeAddress,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  deletedAt: row.deletedAt,
})

import type { Affiliate, AffiliateCreate, AffiliateUpdate, Alias, ReferralClient } from '@referral/sdk'
import { unwrap } from '../../errors.ts'
import { type PayeeDetails, payeeProblem } from './payees.ts'
import { emailKey, type RefState, type SourceAffiliate, slugOf } from './plan.ts'

/** The outcome for one affiliate. */
export interface ImportResult {
  email: string
  id: string
  action: 'created' | 'completed' | 'existed'
  slug: string
  ref: RefState
  code: string
  /** The export's additional codes and link names that the affiliate now has. */
  aliases: string[]
  /** How the affiliate is paid, from the export. `kept` if the affiliate already had payment details. */
  payee: PayeeDetails['method'] | 'kept' | null
  notes: string
  /** Values in the export that cannot be imported, with the reason. */
  leftOut: string[]
}

/** The shop's data before the import. */
export interface ExistingShop {
  /** Affiliates by email address. */
  affiliates: Map<string, Affiliate>
  /** Aliases by affiliate ID. The affiliate may be archived. */
  aliases: Map<string, Alias[]>
}

/** An import's clients. Payment details require an owner token. */
export interface ImportClients {
  client: ReferralClient
  owner: ReferralClient | undefined
}

/**
 * Creates an affiliate whose slug is the old ref. The API derives the slug from the name an affiliate is created with
 * and never changes it, so the affiliate is created with the ref as its name and renamed afterwards. All other codes and
 * links become aliases.
 */
export async function importAffiliate(
  { client, owner }: ImportClients,
  source: SourceAffiliate,
  { existing, program }: { existing: ExistingShop; program: string | undefined },
): Promise<ImportResult> {
  const current = existing.affiliates.get(emailKey(source.email))
  const incomplete = isIncomplete(current, source)
  const notes = [...source.notes]
  const leftOut = [...source.leftOut]
  let affiliate = current ?? (await client.affiliates.create(toCreateInput(source, program)))
  let code = affiliate.discountCode
  if (!current || incomplete) {
    code = await assignCode(client, affiliate, source, notes)
    affiliate = await applyDetails(client, affiliate, source)
  }
  const { id, slug } = affiliate
  const existingAliases = new Set(existing.aliases.get(id)?.map(aliasKey))
  const aliases: Name[] = []
  for (const alias of aliasesOf(source, { code, slug })) {
    const problem = existingAliases.has(aliasKey(alias)) ? undefined : await createAlias(client, id, alias)
    if (problem) leftOut.push(`${nameOf(alias)}: ${problem}`)
    else aliases.push(alias)
  }
  const payee = await setPayee(owner, { id, isNew: !current || incomplete }, source, leftOut)
  return {
    email: source.email,
    id,
    action: actionFor(current, incomplete),
    slug,
    ref: refState(source, slug, aliases),
    code,
    aliases: aliases.map(({ value }) => value),
    payee,
    notes: notes.join('; '),
    leftOut,
  }
}

/** A dry run's result. A slug or code that the service generates is null. */
export type ImportPreview = Omit<ImportResult, 'id' | 'slug' | 'code'> & {
  name: string
  slug: string | null
  code: string | null
}

/** Predicts an import's results, including conflicts with the shop and between rows. */
export function previewImport(
  affiliates: readonly SourceAffiliate[],
  existing: ExistingShop,
  hasOwnerToken: boolean,
): ImportPreview[] {
  const names = new NameOwners(existing)
  return affiliates.map((source) => {
    const { email, name, ref, coupon } = source
    const owner = emailKey(email)
    const current = existing.affiliates.get(owner)
    const incomplete = isIncomplete(current, source)
    const leftOut = [...source.leftOut]
    let slug: string | null = current?.slug ?? null
    let code: string | null = current?.discountCode ?? null
    const slugOfRef = ref === undefined ? undefined : slugOf(ref)
    if (!current && slugOfRef !== undefined && !names.isTaken(['slug', 'alias'], slugOfRef)) slug = slugOfRef
    if (slug) names.add('slug', slug, owner)
    if ((!current || incomplete) && coupon && !names.isTaken(['code', 'alias'], coupon, owner)) code = coupon
    if (code) names.add('code', code, owner)
    const aliases: Name[] = []
    for (const alias of aliasesOf(source, { code, slug })) {
      const isTaken = names.isTaken(['code', 'slug', 'alias'], alias.value, owner)
      const problem = isTaken ? TAKEN : ALIAS.test(alias.value) ? undefined : ALIAS_RULE
      if (problem) leftOut.push(`${nameOf(alias)}: ${problem}`)
      else aliases.push(alias)
      if (!problem) names.add('alias', alias.value, owner)
    }
    const payee = previewPayee(source, hasOwnerToken, leftOut)
    const state = refState(source, slug ?? '', aliases)
    const action = actionFor(current, incomplete)
    const values = aliases.map(({ value }) => value)
    return {
      email,
      name,
      action,
      slug,
      ref: state,
      code,
      aliases: values,
      payee,
      notes: source.notes.join('; '),
      leftOut,
    }
  })
}

type NameKind = 'code' | 'slug' | 'alias'

/** The owner of each name, in the shop and in the rows so far. */
class NameOwners {
  readonly #owners = new Map<string, string>()

  constructor({ affiliates, aliases }: ExistingShop) {
    const emails = new Map<string, string>()
    for (const [owner, { id, slug, discountCode }] of affiliates) {
      emails.set(id, owner)
      this.add('slug', slug, owner)
      this.add('code', discountCode, owner)
    }
    for (const { value, affiliateId } of [...aliases.values()].flat())
      this.add('alias', value, emails.get(affiliateId) ?? affiliateId)
  }

  add(kind: NameKind, name: string, owner: string): void {
    this.#owners.set(`${kind} ${fold(name)}`, owner)
  }

  /** Whether an affiliate other than `owner` has the name. */
  isTaken(kinds: NameKind[], name: string, owner?: string): boolean {
    const owners = kinds.map((kind) => this.#owners.get(`${kind} ${fold(name)}`))
    return owners.some((other) => other !== undefined && other !== owner)
  }
}

/** Compares without letter case. The service normalizes more and makes the final decision. */
const fold = (name: string): string => name.normalize('NFKC').toLowerCase()

/** An additional code or link name. */
type Name = Pick<Alias, 'kind' | 'value'>

const aliasKey = ({ kind, value }: Name): string => `${kind} ${fold(value)}`
const nameOf = ({ kind, value }: Name): string => `${kind === 'CODE' ? 'code' : 'link'} ${value}`

/** The export's codes and links that are not the official ones. */
function aliasesOf(
  { ref, links, coupon, codes }: SourceAffiliate,
  { code, slug }: { code: string | null; slug: string | null },
): Name[] {
  const other = (kind: Name['kind'], values: (string | undefined)[], official: string | null): Name[] =>
    values.flatMap((value) =>
      value !== undefined && (official === null || fold(value) !== fold(official)) ? [{ kind, value }] : [],
    )
  const all = [...other('CODE', [coupon, ...codes], code), ...other('LINK', [ref, ...links], slug)]
  return [...new Map(all.map((alias) => [aliasKey(alias), alias])).values()]
}

/** Creates an alias. Returns why that is not possible, or undefined. */
async function createAlias(client: ReferralClient, affiliateId: string, alias: Name): Promise<string | undefined> {
  const { error } = await client.aliases
    .create({ affiliateId, ...alias } as Parameters<typeof client.aliases.create>[0])
    .safe()
  if (!error) return undefined
  if (error.code === 'alias_taken') return TAKEN
  if (error.code === 'alias_invalid') return ALIAS_RULE
  if (error.code === 'alias_limit_reached') return 'an affiliate can have 100 additional codes and links'
  throw error
}

const ALIAS = /^[^\s\p{Cc}\p{Cf}]{1,100}$/u
const ALIAS_RULE = 'it must have 1 to 100 visible characters without spaces'
const TAKEN = 'taken by another affiliate'

/** Sets the export's payment details. Returns how the affiliate is paid. */
async function setPayee(
  owner: ReferralClient | undefined,
  { id, isNew }: { id: string; isNew: boolean },
  source: SourceAffiliate,
  leftOut: string[],
): Promise<ImportResult['payee']> {
  const method = previewPayee(source, owner !== undefined, leftOut)
  if (method === null || !source.payee || !owner) return null
  const params = { path: { id } }
  if (!isNew && (await owner.GET('/admin/v1/affiliates/{id}/payee', { params })).response.ok) return 'kept'
  const result = await owner.PUT('/admin/v1/affiliates/{id}/payee', { params, body: source.payee })
  if (result.response.status !== 400) {
    unwrap(result)
    return method
  }
  leftOut.push(`payment details: ${result.error?.error}`)
  return null
}

/** How an affiliate would be paid. Missing details are left out. */
function previewPayee({ payee }: SourceAffiliate, hasOwnerToken: boolean, leftOut: string[]): ImportResult['payee'] {
  if (!payee) return null
  const problem = payeeProblem(payee) ?? (hasOwnerToken ? undefined : OWNER_TOKEN_MISSING)
  if (!problem) return payee.method
  leftOut.push(`payment details: ${problem}`)
  return null
}

const OWNER_TOKEN_MISSING = 'they require an owner token; log in with one and import the file again'

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

/** Assigns the coupon as discount code. Returns the code that the affiliate has afterwards. */
async function assignCode(
  client: ReferralClient,
  affiliate: Affiliate,
  { coupon }: SourceAffiliate,
  notes: string[],
): Promise<string> {
  const current = affiliate.discountCode
  if (coupon === undefined || fold(coupon) === fold(current)) return current
  const { data, error } = await client.coupons.assign({ affiliateId: affiliate.id, code: coupon }).safe()
  // A taken code is reported as a taken alias.
  if (error && error.code !== 'discount_code_taken' && error.code !== 'discount_code_invalid') throw error
  for (const warning of data?.warnings ?? []) notes.push(warning.message)
  return data?.code ?? current
}

function refState({ ref }: SourceAffiliate, slug: string, aliases: readonly Name[]): RefState {
  if (ref === undefined) return 'none'
  if (fold(slug) === fold(ref)) return 'kept'
  return aliases.some((aliase) => aliasKey(aliase) === aliasKey({ kind: 'LINK', value: ref })) ? 'as alias' : 'lost'
}

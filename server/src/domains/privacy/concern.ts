import type { TableName } from '../../database/personal-data.ts'
import { COLUMNS, type Kind } from '../../database/personal-data.ts'
import type { Row } from '../../database/table-keys.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import type { Facts, Place } from '../../engine/facts.ts'
import { emailKey } from '../../engine/normalize.ts'
import { replay } from '../commissions/explain.ts'
import type { Person } from './person.ts'

/** What a row has to do with a person. */
export interface Concern {
  /** The row is about this person. Other rows may mention the person. */
  isOwn: boolean
  /** The columns that an erasure changes. */
  changes: Row
}

/** What an erased affiliate is called. */
export const ERASED_NAME = 'Erased affiliate'

/** What a row has to do with a person, undefined for nothing. Orders come first: other rows are found by their ids. */
export function matchPerson(person: Person, table: TableName, row: Row): Concern | undefined {
  const isOwn = IS_OWN[table]?.(person, row) ?? false
  const columns = Object.entries(COLUMNS[table]) as [string, Kind][]
  const after: Row = {}
  for (const [column, kind] of columns) {
    const text = row[column]
    if (typeof text !== 'string' || kind === 'none' || kind === 'shop' || kind === 'special') continue
    after[column] = replaced(person, text, { kind, isOwn })
  }
  Object.assign(after, SPECIAL[table]?.(person, { ...row, ...after }, isOwn))
  const changes = Object.fromEntries(Object.entries(after).filter(([column, value]) => value !== row[column]))
  return isOwn || Object.keys(changes).length > 0 ? { isOwn, changes } : undefined
}

/** Whether the merchant has written about a person into what the shop is configured with. */
export const isConfiguredWith = (person: Person, table: TableName, row: Row): boolean =>
  Object.entries(COLUMNS[table]).some(
    ([column, kind]) => kind === 'shop' && person.isMentionedIn(String(row[column] ?? '')),
  )

function replaced(person: Person, text: string, { kind, isOwn }: { kind: Kind; isOwn: boolean }): string | null {
  switch (kind) {
    case 'about':
      return isOwn ? null : person.replaceText(text)
    case 'email':
      return person.replaceAddresses(text)
    case 'emailKey':
      return person.hasAddress(text) ? emailKey(person.replaceAddresses(text)) : text
    case 'customerId':
    case 'sessionId':
    case 'code':
      return replaceString(person, text, kind)
    case 'json':
      return replaceJson(person, text)
    default:
      return person.replaceText(text)
  }
}

const EMAILS = ['email', 'customerEmail', 'otherEmails']
const CODES = ['couponCode', 'affiliateCode', 'ref', 'slug', 'discountCode', 'code', 'previousCode', 'alias']

/** @param name the property that the text is the value of */
function replaceString(person: Person, text: string, name: string): string {
  if (EMAILS.includes(name)) return person.replaceAddresses(text)
  const isOwnId =
    (name === 'customerId' && person.customerIds.has(text)) ||
    (name === 'sessionId' && person.sessionIds.has(text)) ||
    (CODES.includes(name) && person.codes.has(codeKey(text)))
  return isOwnId ? person.pseudonym(text) : person.replaceText(text)
}

function replaceValue(person: Person, value: unknown, name: string): unknown {
  if (typeof value === 'string') return replaceString(person, value, name)
  if (Array.isArray(value)) return value.map((item) => replaceValue(person, item, name))
  if (typeof value !== 'object' || value === null) return value
  // The value of a piece of evidence is that of the field it names.
  const { source } = value as { source?: unknown }
  const entries = Object.entries(value).map(([key, inner]) => {
    const field = key === 'value' && typeof source === 'string' ? source : key
    return [person.replaceText(key), replaceValue(person, inner, field)]
  })
  return Object.fromEntries(entries)
}

/** A JSON text with the person replaced; the same text when it does not contain the person. */
function replaceJson(person: Person, text: string): string {
  const after = JSON.stringify(replaceValue(person, JSON.parse(text), ''))
  return after === JSON.stringify(JSON.parse(text)) ? text : after
}

const has = (ids: ReadonlySet<string>, id: unknown): boolean => typeof id === 'string' && ids.has(id)

export interface Buyer {
  customerEmail?: string | null
  otherEmails?: string[]
  customerId?: string | null
  sessionId?: string | null
}

/** An order buyer's or a visitor's addresses. */
export const addressesOf = ({ customerEmail, otherEmails = [] }: Buyer): string[] =>
  [customerEmail, ...otherEmails].filter((email) => typeof email === 'string')

export const isBuyer = (person: Person, buyer: Buyer): boolean =>
  addressesOf(buyer).some((email) => person.hasAddress(email)) ||
  has(person.customerIds, buyer.customerId) ||
  has(person.sessionIds, buyer.sessionId)

/** Which rows are about a person. Those of other tables at most mention somebody. */
const IS_OWN: { [Table in TableName]?: (person: Person, row: Row) => boolean } = {
  users: (person, { email }) => person.hasAddress(String(email)),
  affiliates: (person, { id, email }) => has(person.affiliateIds, id) || person.hasAddress(String(email)),
  affiliateAliases: (person, { affiliateId }) => has(person.affiliateIds, affiliateId),
  payees: (person, { affiliateId }) => has(person.affiliateIds, affiliateId),
  payoutLines: (person, { affiliateId }) => has(person.affiliateIds, affiliateId),
  orders: (person, { orderId, commissionId, facts }) => {
    const isOwn = isBuyer(person, (JSON.parse(String(facts)) as { order: Buyer }).order)
    if (isOwn) person.orderIds.add(String(orderId)).add(person.replaceText(String(orderId)))
    if (isOwn && commissionId !== null) person.commissionIds.add(String(commissionId))
    return isOwn
  },
  commissions: (person, { id, affiliateId }) => has(person.commissionIds, id) || has(person.affiliateIds, affiliateId),
  refunds: (person, { commissionId }) => has(person.commissionIds, commissionId),
  orderNotices: (person, { orderId }) => has(person.orderIds, orderId),
  journey: (person, row) => isBuyer(person, row as Buyer) || has(person.orderIds, row.orderId),
  customers: (person, { customerId, mailboxHash }) =>
    has(person.customerIds, customerId) || (mailboxHash !== null && mailboxHash === person.mailboxHash),
  audits: (person, { subjectId }) =>
    [person.affiliateIds, person.commissionIds, person.orderIds].some((ids) => has(ids, subjectId)),
}

/** What a table changes besides the kinds of its columns. */
const SPECIAL: { [Table in TableName]?: (person: Person, row: Row, isOwn: boolean) => Row } = {
  affiliates: (person, row, isOwn) => (isOwn ? { name: ERASED_NAME, slug: person.pseudonym(String(row.slug)) } : {}),
  affiliateAliases: (person, { value }, isOwn) => {
    const erased = isOwn ? person.pseudonym(String(value)) : undefined
    return erased === undefined ? {} : { value: erased, codeKey: codeKey(erased) }
  },
  orders: (_, row, isOwn) => (isOwn ? withoutAddress(row) : {}),
  orderNotices: (_, { body }, isOwn) => (isOwn ? { body: withoutReason(String(body)) } : {}),
  journey: (person, { affiliateId }, isOwn) =>
    // Links of an affiliate contain its name, and lead from its pages.
    !isOwn && has(person.affiliateIds, affiliateId) ? { url: null, landingPage: null, referrerUrl: null } : {},
  customers: (person, { emailHash }, isOwn) =>
    isOwn && emailHash ? { emailHash: person.pseudonym(String(emailHash)), mailboxHash: null } : {},
  webhookEvents: (person, { event, body }) => withoutAffiliate(person, String(event), String(body)),
  idempotencyKeys: (person, { key, result }) => ({
    ...(person.isMentionedIn(String(key)) && { key: person.pseudonym(String(key)) }),
    ...(isResponseAbout(person, String(result)) && ERASED_RESPONSE),
  }),
}

/** A fingerprint that matches no request. */
const ERASED_FINGERPRINT = 'erased'
const ERASED_RESPONSE = { fingerprint: ERASED_FINGERPRINT, result: 'null' }

/** From the least to the whole address. */
const KEPT_PLACES: (keyof Place)[][] = [['country'], ['country', 'state'], ['country', 'state', 'city']]

/** The facts of an order with only as much of the shipping address as its decision depends on. */
function withoutAddress({ facts, decision }: Row): Row {
  const stored = JSON.parse(String(facts)) as Facts
  const { shipping } = stored.order
  if (!shipping) return {}
  for (const names of KEPT_PLACES) {
    const address = Object.fromEntries(names.flatMap((name) => (shipping[name] ? [[name, shipping[name]]] : [])))
    const text = JSON.stringify({ ...stored, order: { ...stored.order, shipping: address } })
    if (replay({ facts: text, decision: String(decision) }).identical) return text === facts ? {} : { facts: text }
  }
  return {}
}

function withoutReason(body: string): string {
  const { reason, note, ...rest } = JSON.parse(body)
  return reason === undefined && note === undefined ? body : JSON.stringify(rest)
}

/** The events of an affiliate contain its whole row. */
function withoutAffiliate(person: Person, event: string, body: string): Row {
  const { data, ...rest } = JSON.parse(body)
  if (!event.startsWith('affiliate.') || !has(person.affiliateIds, data?.id)) return {}
  const erased = Object.entries(COLUMNS.affiliates).flatMap(([column, kind]) =>
    kind === 'about' && data[column] !== undefined ? [[column, null]] : [],
  )
  const after = JSON.stringify({ ...rest, data: { ...data, ...Object.fromEntries(erased), name: ERASED_NAME } })
  return after === body ? {} : { body: after }
}

/** Whether a stored response contains the person: an affiliate, its code, or text of a caller. */
function isResponseAbout(person: Person, result: string): boolean {
  if (replaceJson(person, result) !== result) return true
  let isFound = false
  JSON.stringify(JSON.parse(result), (_, value) => {
    if (typeof value === 'object' && value !== null)
      isFound ||=
        (has(person.affiliateIds, value.id) && 'email' in value) ||
        (has(person.affiliateIds, value.affiliateId) && ('email' in value || 'code' in value))
    return value
  })
  return isFound
}

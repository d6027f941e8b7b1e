import { createHmac } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { invalidField } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import type { Vault } from '../../core/vault.ts'
import { hashEmail } from '../../database/email-hash.ts'
import { ERASED_DOMAIN, emailKey, mailboxKey, mailboxKeys, orderKey, withoutInvisible } from '../../engine/normalize.ts'

/** Everything that may normalize to an `@`, or escape one in a URL. */
const MAY_CONTAIN_ADDRESS = /[@＠﹫%]/
/** Characters that end the local part of an address in text. */
const DELIMITER = /[\s<>,;:"'()[\]{}&=?#|/\\@]/
const WORD = /[\p{L}\p{N}]/u
/** The source of a stored order ID, and an adjustment's commission. */
const ID_PREFIX = /^(?:api:|shopify:|adj:[^:]+:)/
const PSEUDONYM = /^erased-[0-9a-f]{24}$/
const MAX_LOCAL_PART = 128
const MAX_DOMAIN = 255
const GMAIL = ['gmail.com', 'googlemail.com']

/** Identifiers that connect a person's rows. */
export type PersonIds = Record<
  'customerIds' | 'sessionIds' | 'orderIds' | 'commissionIds' | 'affiliateIds' | 'codes',
  Set<string>
>

interface KnownPerson {
  key?: string
  mailboxHash?: string
  ids?: Partial<PersonIds> | undefined
}

/**
 * A person, identified by mailbox as in the self-referral check: letter case, plus tags, and equivalent spellings do
 * not matter. The IDs occur only in this mailbox's orders and visits.
 */
export class Person {
  readonly customerIds: Set<string>
  readonly sessionIds: Set<string>
  readonly orderIds: Set<string>
  readonly commissionIds: Set<string>
  readonly affiliateIds: Set<string>
  /** The affiliates' slugs and codes in comparable form. */
  readonly codes: Set<string>
  /** The stored hashes of this person's addresses. */
  readonly mailboxHash: string | undefined
  readonly #key: string
  readonly #mailbox: string
  /** Lets an interrupted erasure find what it has already replaced. */
  readonly #replaced: string
  readonly #domains: string[]

  /** @param known `key` computes pseudonyms and is not needed for reading; `ids` are the IDs found so far */
  constructor(email: string, { key = '', mailboxHash, ids = {} }: KnownPerson = {}) {
    this.customerIds = new Set(ids.customerIds)
    this.sessionIds = new Set(ids.sessionIds)
    this.orderIds = new Set(ids.orderIds)
    this.commissionIds = new Set(ids.commissionIds)
    this.affiliateIds = new Set(ids.affiliateIds)
    this.codes = new Set(ids.codes)
    this.mailboxHash = mailboxHash
    this.#key = key
    this.#mailbox = mailboxKey(email)
    this.#replaced = mailboxKey(this.#pseudonymOf(email))
    const domain = this.#mailbox.slice(this.#mailbox.lastIndexOf('@') + 1)
    this.#domains = GMAIL.includes(domain) ? GMAIL : [...new Set([domain, domainToUnicode(domain)])].filter(Boolean)
  }

  /** The IDs found so far, to continue elsewhere. */
  ids(): PersonIds {
    const { customerIds, sessionIds, orderIds, commissionIds, affiliateIds, codes } = this
    return { customerIds, sessionIds, orderIds, commissionIds, affiliateIds, codes }
  }

  /** Whether a text is one of this person's addresses, or a list that contains one. */
  hasAddress(text: string | null | undefined): boolean {
    return typeof text === 'string' && MAY_CONTAIN_ADDRESS.test(text) && mailboxKeys(text).some(this.#isOwn)
  }

  readonly #isOwn = (mailbox: string): boolean => mailbox === this.#mailbox || mailbox === this.#replaced

  /** Whether a text contains one of this person's addresses, such as a URL or a reason. */
  isMentionedIn(text: string): boolean {
    if (!MAY_CONTAIN_ADDRESS.test(text)) return false
    return decodings(text).some(
      (decoding) => mailboxKeys(decoding).includes(this.#mailbox) || this.#isWithin(folded(decoding)),
    )
  }

  #isWithin(text: string): boolean {
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      const domain = this.#domains.find(
        (name) => text.startsWith(name, at + 1) && !WORD.test(text[at + 1 + name.length] ?? ''),
      )
      if (domain === undefined) continue
      for (const local of localPartsBefore(text, at))
        if (mailboxKey(`${local}@${domain}`) === this.#mailbox) return true
    }
    return false
  }

  /** Replaces this person's addresses in a text. Others are kept, so that self-referral remains detectable. */
  replaceAddresses(text: string): string {
    if (!this.hasAddress(text)) return text
    const others = mailboxKeys(text).filter((mailbox) => mailbox.includes('@') && !this.#isOwn(mailbox))
    if (others.length === 0) return this.#pseudonymOf(text)
    const parts = folded(text).split(/([\s<>,;"]+)/)
    const replaced = parts.map((part) => (this.hasAddress(part) ? this.#pseudonymOf(part) : part)).join('')
    return this.isMentionedIn(replaced) ? this.#pseudonymOf(text) : replaced
  }

  /** A pseudonym for a whole text if it mentions this person. A stored order ID keeps its prefix. */
  replaceText(text: string): string {
    if (!this.isMentionedIn(text)) return text
    const [prefix = ''] = ID_PREFIX.exec(text) ?? []
    // An ID's stored form and its reported form get the same pseudonym.
    return prefix + this.pseudonym(orderKey(text.slice(prefix.length)))
  }

  /** A pseudonym for an ID or text. Equal texts have equal pseudonyms until the key is dropped. */
  pseudonym(text: string): string {
    return PSEUDONYM.test(text) ? text : `erased-${this.#hash(text)}`
  }

  /** One mailbox's addresses get pseudonyms with one mailbox, and stay distinct where connections distinguish them. */
  #pseudonymOf(address: string): string {
    const key = emailKey(address)
    if (key.endsWith(`@${ERASED_DOMAIN}`)) return key
    const mailbox = mailboxKey(address)
    // A display name does not make another address.
    const tag = key === mailbox || /[\s<>()"]/.test(key) ? '' : `+${this.#hash(key)}`
    return `erased-${this.#hash(mailbox)}${tag}@${ERASED_DOMAIN}`
  }

  #hash(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex').slice(0, 24)
  }
}

/** What a shop's customers are stored with instead of an address. */
export const mailboxHashOf = ({ shop }: Pick<Context, 'shop'>, email: string): string =>
  hashEmail(shop.emailHashKey, email).mailboxHash

/** The mailboxes of all possible addresses in a text. Includes every person that {@link Person.isMentionedIn} finds. */
export function mailboxesIn(text: string): Set<string> {
  const mailboxes = new Set<string>()
  if (!MAY_CONTAIN_ADDRESS.test(text)) return mailboxes
  for (const decoding of decodings(text)) {
    for (const mailbox of mailboxKeys(decoding)) mailboxes.add(mailbox)
    const searched = folded(decoding)
    for (let at = searched.indexOf('@'); at >= 0; at = searched.indexOf('@', at + 1))
      for (const local of localPartsBefore(searched, at))
        for (const domain of domainsAfter(searched, at)) mailboxes.add(mailboxKey(`${local}@${domain}`))
  }
  return mailboxes
}

/** A text, and the same without the escapes of a URL in a URL. */
function decodings(text: string): string[] {
  const once = unescapePercent(text)
  return [...new Set([text, once, unescapePercent(once)])]
}

/**
 * Candidates for the local part of an address with its `@` at this position: `order-jo@…` may be the address of `jo`.
 */
function* localPartsBefore(text: string, at: number): Generator<string, void> {
  let start = at
  while (start > Math.max(0, at - MAX_LOCAL_PART) && !DELIMITER.test(text[start - 1]!)) start--
  for (let from = start; from < at; from++)
    if (from === start || !WORD.test(text[from - 1]!)) yield text.slice(from, at)
}

/** Yields candidate domains: `jo@example.com.pdf` may mean `example.com`. */
function* domainsAfter(text: string, at: number): Generator<string, void> {
  for (let end = at + 2; end <= Math.min(text.length, at + MAX_DOMAIN + 1); end++) {
    if (DELIMITER.test(text[end - 1]!)) return
    if (!WORD.test(text[end] ?? '')) yield text.slice(at + 1, end)
  }
}

/** Normalizes text for address search. */
const folded = (text: string): string =>
  withoutInvisible(text)
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[\u3002\uff61]/g, '.')
    .replace(/"([^"\s]+)"@/g, '$1@')
    .replace(/\s*@\s*/g, '@')

/** Decodes valid escapes. */
const unescapePercent = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })

/** A request's address, without surrounding whitespace. @throws ApiError 400 `invalid_body`. */
export function requireAddress(email: string): string {
  const address = email.trim()
  if (!/^[^@]+@[^@]+$/.test(mailboxKey(address)))
    throw invalidField('invalid_body', 'email', 'must be an email address.')
  return address
}

// Identifies an erased person for repeating the erasure. Comparing requires the encryption key and an address.

const KEY_TEXT = 'erasures'
const SEPARATOR = ':'
const textOf = (shopId: string, mailbox: string) => `erasure ${shopId} ${mailbox}`

/** A keyed hash of a person's mailbox, preceded by a hash that identifies the encryption key. */
export const hashOfPerson = ({ vault, shop }: Context, email: string): string =>
  [vault.fingerprint(KEY_TEXT), vault.fingerprint(textOf(shop.id, mailboxKey(email)))].join(SEPARATOR)

/** Whether a person's hash was made with one of the encryption keys. */
export const isComparable = (vault: Vault, person: string): boolean =>
  vault.hasFingerprint(person.split(SEPARATOR)[0] ?? '', KEY_TEXT)

/** Whether a person's hash was made with the newest encryption key. */
export const isOfNewestKey = (vault: Vault, person: string): boolean =>
  person.split(SEPARATOR)[0] === vault.fingerprint(KEY_TEXT)

/** A mailbox's hashes, one per encryption key. */
export async function hashesOfMailbox({ vault, shop }: Context, mailbox: string): Promise<string[]> {
  const keys = vault.fingerprints(KEY_TEXT)
  const hashes = vault.fingerprints(textOf(shop.id, mailbox))
  return keys.map((key, i) => [key, hashes[i]].join(SEPARATOR))
}

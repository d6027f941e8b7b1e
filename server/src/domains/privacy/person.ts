import { createHmac } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { invalidField } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import type { Vault } from '../../core/vault.ts'
import { hashEmail } from '../../database/email-hash.ts'
import { ERASED_DOMAIN, emailKey, mailboxKey, mailboxKeys, orderKey, withoutInvisible } from '../../engine/normalize.ts'

/** Everything that may normalize to an `@`, or be the escape of one in a URL. */
const MAY_CONTAIN_ADDRESS = /[@＠﹫%]/
/** What ends the local part of an address in a text. */
const DELIMITER = /[\s<>,;:"'()[\]{}&=?#|/\\@]/
const WORD = /[\p{L}\p{N}]/u
/** The source of a stored order id, and the commission of an adjustment. */
const ID_PREFIX = /^(?:api:|shopify:|adj:[^:]+:)/
const PSEUDONYM = /^erased-[0-9a-f]{24}$/
const MAX_LOCAL_PART = 128
const MAX_DOMAIN = 255
const GMAIL = ['gmail.com', 'googlemail.com']

/** What the rows of a person have in common. */
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
 * A person by mailbox, as self-referral compares it: letter case, plus tags and equal spellings of an address do not matter.
 * The ids are those that the orders and visits of this mailbox have in common with no other.
 */
export class Person {
  readonly customerIds: Set<string>
  readonly sessionIds: Set<string>
  readonly orderIds: Set<string>
  readonly commissionIds: Set<string>
  readonly affiliateIds: Set<string>
  /** The slugs and codes of the affiliates, as they are compared. */
  readonly codes: Set<string>
  /** What customers are stored with instead of an address of this person. */
  readonly mailboxHash: string | undefined
  readonly #key: string
  readonly #mailbox: string
  /** An interrupted erasure finds what it has replaced already. */
  readonly #replaced: string
  readonly #domains: string[]

  /**
   * @param known `key`: what pseudonyms are computed with, which a person who is only read needs not; `ids`: what was found
   *   before.
   */
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

  /** What was found, to continue elsewhere. */
  ids(): PersonIds {
    const { customerIds, sessionIds, orderIds, commissionIds, affiliateIds, codes } = this
    return { customerIds, sessionIds, orderIds, commissionIds, affiliateIds, codes }
  }

  /** Whether a text is an address of this person, or several of which one is. */
  hasAddress(text: string | null | undefined): boolean {
    return typeof text === 'string' && MAY_CONTAIN_ADDRESS.test(text) && mailboxKeys(text).some(this.#isOwn)
  }

  readonly #isOwn = (mailbox: string): boolean => mailbox === this.#mailbox || mailbox === this.#replaced

  /** Whether an address of this person is anywhere in a text, such as a URL or a reason. */
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

  /** A text with the addresses of this person replaced. Others are kept, so that self-referral remains detectable. */
  replaceAddresses(text: string): string {
    if (!this.hasAddress(text)) return text
    const others = mailboxKeys(text).filter((mailbox) => mailbox.includes('@') && !this.#isOwn(mailbox))
    if (others.length === 0) return this.#pseudonymOf(text)
    const parts = folded(text).split(/([\s<>,;"]+)/)
    const replaced = parts.map((part) => (this.hasAddress(part) ? this.#pseudonymOf(part) : part)).join('')
    return this.isMentionedIn(replaced) ? this.#pseudonymOf(text) : replaced
  }

  /** A pseudonym for a text as a whole if it mentions this person; the prefix of a stored order id is kept. */
  replaceText(text: string): string {
    if (!this.isMentionedIn(text)) return text
    const [prefix = ''] = ID_PREFIX.exec(text) ?? []
    // The stored form of an id and the reported one get the same pseudonym.
    return prefix + this.pseudonym(orderKey(text.slice(prefix.length)))
  }

  /** The pseudonym of an id or a text: equal texts have equal pseudonyms, until the key is dropped. */
  pseudonym(text: string): string {
    return PSEUDONYM.test(text) ? text : `erased-${this.#hash(text)}`
  }

  /** Addresses of one mailbox get pseudonyms of one mailbox, and remain as different as they are for connections. */
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

/** What the customers of a shop are stored with instead of an address. */
export const mailboxHashOf = ({ shop }: Pick<Context, 'shop'>, email: string): string =>
  hashEmail(shop.emailHashKey, email).mailboxHash

/** The mailbox of every address that is or may be in a text: every person whom {@link Person.isMentionedIn} finds is among them. */
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

/** What may be the local part of an address with its `@` at this position: `order-jo@…` may be that of `jo`. */
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

/** The form in which addresses are searched for in a text. */
const folded = (text: string): string =>
  withoutInvisible(text)
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[\u3002\uff61]/g, '.')
    .replace(/"([^"\s]+)"@/g, '$1@')
    .replace(/\s*@\s*/g, '@')

/** Decodes what is validly escaped. */
const unescapePercent = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })

/** The address of a request, without surrounding whitespace. @throws ApiError 400 `invalid_body`. */
export function requireAddress(email: string): string {
  const address = email.trim()
  if (!/^[^@]+@[^@]+$/.test(mailboxKey(address)))
    throw invalidField('invalid_body', 'email', 'must be an email address.')
  return address
}

// Whom an erasure was of, for its repetition: only who has the encryption key and an address can compare the two.

const KEY_TEXT = 'erasures'
const SEPARATOR = ':'
const textOf = (shopId: string, mailbox: string) => `erasure ${shopId} ${mailbox}`

/** A keyed hash of the mailbox of a person, preceded by one that shows which encryption key it was made with. */
export const hashOfPerson = ({ vault, shop }: Context, email: string): string =>
  [vault.fingerprint(KEY_TEXT), vault.fingerprint(textOf(shop.id, mailboxKey(email)))].join(SEPARATOR)

/** Whether the hash of a person was made with one of the encryption keys. */
export const isComparable = (vault: Vault, person: string): boolean =>
  vault.hasFingerprint(person.split(SEPARATOR)[0] ?? '', KEY_TEXT)

/** Whether the hash of a person was made with the newest encryption key. */
export const isOfNewestKey = (vault: Vault, person: string): boolean =>
  person.split(SEPARATOR)[0] === vault.fingerprint(KEY_TEXT)

/** The hashes of a mailbox with each of the encryption keys. */
export async function hashesOfMailbox({ vault, shop }: Context, mailbox: string): Promise<string[]> {
  const keys = await vault.fingerprints(KEY_TEXT)
  const hashes = await vault.fingerprints(textOf(shop.id, mailbox))
  return keys.map((key, i) => [key, hashes[i]].join(SEPARATOR))
}

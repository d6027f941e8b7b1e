import { createHmac } from 'node:crypto'
import { emailKey, mailboxKey } from '../engine/normalize.ts'

/** 128 bits. */
const LENGTH = 22

/** What is stored of an address instead of the address: keyed hashes that differ from shop to shop. */
export interface EmailHashes {
  /** Of the address in the form in which addresses are compared. */
  emailHash: string
  /** Of the mailbox behind it, so that an erasure finds every spelling. */
  mailboxHash: string
}

/** @param key the shop's `emailHashKey` */
export function hashEmail(key: string, email: string): EmailHashes {
  const hash = (text: string) => createHmac('sha256', key).update(text).digest('base64url').slice(0, LENGTH)
  return { emailHash: hash(emailKey(email)), mailboxHash: hash(mailboxKey(email)) }
}

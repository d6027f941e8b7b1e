import { createHmac } from 'node:crypto'
import { emailKey, mailboxKey } from '../engine/normalize.ts'

/** 128 bits. */
const LENGTH = 22

/** Keyed hashes stored instead of an email address. They differ from shop to shop. */
export interface EmailHashes {
  /** The hash of the address in comparable form. */
  emailHash: string
  /** The hash of the mailbox behind it, so that an erasure finds every spelling. */
  mailboxHash: string
}

/** @param key the shop's `emailHashKey` */
export function hashEmail(key: string, email: string): EmailHashes {
  const hash = (text: string) => createHmac('sha256', key).update(text).digest('base64url').slice(0, LENGTH)
  return { emailHash: hash(emailKey(email)), mailboxHash: hash(mailboxKey(email)) }
}

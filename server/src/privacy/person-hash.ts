import type { Context } from '../core/context.ts'
import type { Vault } from '../core/vault.ts'
import { mailboxKey } from '../engine/normalize.ts'

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

/** The hashes of a mailbox with each of the encryption keys. */
export async function hashesOfMailbox({ vault, shop }: Context, mailbox: string): Promise<string[]> {
  const keys = await vault.fingerprints(KEY_TEXT)
  const hashes = await vault.fingerprints(textOf(shop.id, mailbox))
  return keys.map((key, i) => [key, hashes[i]].join(SEPARATOR))
}

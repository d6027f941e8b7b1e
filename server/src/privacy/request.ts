import { invalidBody } from '../contract/errors.ts'
import { mailboxKey } from '../engine/normalize.ts'

/** The address of a request, without surrounding whitespace. @throws ApiError 400 `invalid_body`. */
export function requireAddress(email: string): string {
  const address = email.trim()
  if (!/^[^@]+@[^@]+$/.test(mailboxKey(address))) throw invalidBody('email must be an email address.')
  return address
}

import type { Context } from '../context.ts'
import type { Vault } from '../vault.ts'
import type { Flash } from './route.ts'

export const FLASH_COOKIE = 'referral_flash'
const SECONDS = 60

/**
 * The header that carries a message to the next page of this session. It may hold a new secret, so it is sealed: who
 * reads the cookie learns nothing, and another session cannot open it.
 */
export const flashCookie = ({ vault, isHttps }: Context, session: string, flash: Flash): string =>
  header(vault.seal(JSON.stringify(flash), bound(session)), SECONDS, isHttps)

/** The header that makes a message one that is shown once. */
export const forgetFlash = (isHttps: boolean | undefined): string => header('', 0, isHttps)

export function readFlash(vault: Vault, session: string, cookie: string | undefined): Flash | undefined {
  const text = cookie ? vault.open(cookie, bound(session)) : null
  return text === null ? undefined : JSON.parse(text)
}

const bound = (session: string) => `flash:${session}`

const header = (value: string, age: number, isHttps: boolean | undefined) =>
  `${FLASH_COOKIE}=${value}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`

import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../../config.ts'
import { ApiError, invalidBody } from '../../contract/errors.ts'
import { type Context, clockOf, type Deps, nowIso, type OwnerContext, systemClock } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { parseObject } from '../../core/ndjson.ts'
import type { Reader } from '../../database/database.ts'
import { deleteRows, insertRow, updateRows } from '../../database/rows.ts'
import type { PasskeyRow } from '../../database/tables.ts'
import { createSession, findActiveOwner, type NewSession, type Owner, type SignInDeps } from './sessions.ts'
import { findPasskey, listPasskeysOf, useChallenge } from './sign-in-queries.ts'

/** How long a challenge can be answered. */
const CHALLENGE_MS = 10 * 60_000
const MAX_PASSKEYS = 20
const MAX_NAME = 60
/** Up to 1,023 bytes in base64url. */
const CREDENTIAL_ID = /^[\w-]{1,1364}$/
/** EdDSA, ES256 and RS256 of COSE: every supported version of Node.js verifies them. */
const ALGORITHMS = [-8, -7, -257]
/** The name that authenticators show. */
const RELYING_PARTY = 'Referral Program'

/** The host and origin to which passkeys are bound. */
export interface RelyingParty {
  id: string
  origin: string
}

/**
 * The relying party of the public URL. Undefined where browsers offer no passkeys: without a public URL, for an IP address,
 * and without https except on localhost.
 */
export function relyingPartyOf({ publicUrl }: Pick<Config, 'publicUrl'>): RelyingParty | undefined {
  if (publicUrl === undefined) return undefined
  const { protocol, hostname, origin } = new URL(publicUrl)
  const isSecure = protocol === 'https:' || hostname === 'localhost'
  return isSecure && !isIP(hostname) && !hostname.startsWith('[') ? { id: hostname, origin } : undefined
}

function requireRelyingParty(config: Config): RelyingParty {
  const party = relyingPartyOf(config)
  if (party) return party
  throw invalidBody('Passkeys are off: they need a REFERRAL_PUBLIC_URL that browsers accept.')
}

/** Loaded for the first passkey, because most servers never need it. */
const library = () => import('@simplewebauthn/server')

const SIGN_IN = 'passkey:sign-in'
const registration = ({ session }: Pick<OwnerContext, 'session'>) => `passkey:add:${session?.tokenHash}`

/** Passkeys have the time of the server, also in a test shop. */
const inSystemTime = (ctx: Context): Pick<Deps, 'vault' | 'now'> => ({ vault: ctx.vault, now: systemClock(ctx).now })

/** A challenge contains when it was issued, encrypted for one purpose, so that issuing it stores nothing. */
const issueChallenge = (deps: Pick<Deps, 'vault' | 'now'>, purpose: string): string =>
  Buffer.from(deps.vault.seal(nowIso(deps), purpose)).toString('base64url')

/** When a challenge was issued; undefined for another one, and for one that has expired. */
function readChallenge(deps: Pick<Deps, 'vault' | 'now'>, purpose: string, challenge: string): string | undefined {
  const issuedAt = deps.vault.open(Buffer.from(challenge, 'base64url').toString(), purpose)
  const age = issuedAt === null ? Number.NaN : deps.now() - Date.parse(issuedAt)
  return issuedAt !== null && age >= 0 && age < CHALLENGE_MS ? issuedAt : undefined
}

/** A passkey as its user sees it. */
export type ListedPasskey = Pick<PasskeyRow, 'id' | 'name' | 'createdAt' | 'lastUsedAt'>

/** The passkeys of the user who calls, oldest first. */
export const list = async (ctx: OwnerContext): Promise<ListedPasskey[]> =>
  (await listPasskeysOf(ctx.db.read, ctx.shop.id, ctx.user.id)).map(({ id, name, createdAt, lastUsedAt }) => ({
    id,
    name,
    createdAt,
    lastUsedAt,
  }))

/** What a browser needs to create a passkey for the user who calls, as `PublicKeyCredentialCreationOptionsJSON`. */
export async function registrationOptions(ctx: OwnerContext, { id }: RelyingParty): Promise<object> {
  const { generateRegistrationOptions } = await library()
  const known = await listPasskeysOf(ctx.db.read, ctx.shop.id, ctx.user.id)
  return generateRegistrationOptions({
    rpID: id,
    rpName: RELYING_PARTY,
    userID: new TextEncoder().encode(ctx.user.id),
    userName: `${ctx.user.email} (${ctx.shop.name})`,
    challenge: Uint8Array.from(Buffer.from(issueChallenge(inSystemTime(ctx), registration(ctx)), 'base64url')),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: JSON.parse(transports),
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** What a browser needs to sign in with a passkey, as `PublicKeyCredentialRequestOptionsJSON`. */
export const signInOptions = (deps: Pick<Deps, 'vault' | 'now'>, { id }: RelyingParty): object => ({
  challenge: issueChallenge(deps, SIGN_IN),
  rpId: id,
  timeout: CHALLENGE_MS,
  userVerification: 'required',
})

/**
 * Adds a passkey that the browser created for the user who calls.
 *
 * @throws ApiError 400 for a response that does not prove a new passkey, or to another challenge; 400 for one too many.
 */
export async function add(ctx: OwnerContext, { name, response }: { name: string; response: string }): Promise<void> {
  const party = requireRelyingParty(ctx.config)
  const label = name.trim() || 'Passkey'
  if (label.length > MAX_NAME) throw invalidBody(`The name must not have more than ${MAX_NAME} characters.`)
  const verified = await verifyRegistration(ctx, party, response)
  if (!verified) throw invalidBody('The passkey could not be verified. Reload the page and try again.')
  const { id: credentialId, publicKey, counter, transports = [] } = verified.credential
  await mutate(ctx, async (trx) => {
    const { shop, user } = ctx
    if ((await listPasskeysOf(trx, shop.id, user.id)).length >= MAX_PASSKEYS)
      throw invalidBody(`You cannot have more than ${MAX_PASSKEYS} passkeys. Remove one first.`)
    if (await findPasskey(trx, credentialId)) throw invalidBody('This passkey is registered already.')
    if (!(await useChallenge(trx, shop.id, { userId: user.id, issuedAt: verified.issuedAt })))
      throw invalidBody('This form has already been submitted. Reload the page and try again.')
    const id = ctx.newId('psk')
    await insertRow(trx, 'passkeys', {
      shopId: shop.id,
      id,
      userId: user.id,
      credentialId,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: JSON.stringify(transports),
      name: label,
      createdAt: nowIso(systemClock(ctx)),
      lastUsedAt: null,
    })
    return { result: undefined, audit: { action: 'passkey.added', subjectId: id } }
  })
}

/** Removes a passkey of the user who calls. One that does not exist changes nothing. */
export async function remove(ctx: OwnerContext, id: string): Promise<void> {
  await mutate(ctx, async (trx) => {
    const count = await deleteRows(trx, 'passkeys', { shopId: ctx.shop.id, userId: ctx.user.id, id })
    return { result: undefined, audit: count ? { action: 'passkey.removed', subjectId: id } : null }
  })
}

/**
 * Creates a session for the response of a passkey to a challenge of this server, which cannot be used again.
 *
 * @throws ApiError 400 without a relying party; 401 `sign_in_refused`.
 */
export async function signIn(deps: SignInDeps, response: string): Promise<NewSession> {
  const party = requireRelyingParty(deps.config)
  // Its content is verified by the library.
  const credential: AuthenticationResponseJSON | undefined = parseObject(response)
  const known = CREDENTIAL_ID.test(String(credential?.id))
    ? await findSignedIn(deps.db.read, String(credential?.id))
    : null
  if (!credential || !known) throw rejected()
  const verified = await verifySignIn(deps, party, { credential, passkey: known.passkey })
  if (!verified) throw rejected()
  const { shop, user } = known.owner
  const recheck = async (db: Reader) => {
    const again = await findSignedIn(db, credential.id)
    if (!again) throw rejected()
    return again.owner.shop
  }
  const ctx: Context = { ...deps, ...clockOf(deps, shop), shop, actor: `user:${user.id}`, recheck }
  return mutate(ctx, async (trx) => {
    const { issuedAt, counter } = verified
    if (!(await useChallenge(trx, shop.id, { userId: user.id, issuedAt }))) throw rejected()
    const { id, counter: counterBefore } = known.passkey
    const unchanged = { shopId: shop.id, id, counter: counterBefore }
    const updated = await updateRows(trx, 'passkeys', unchanged, { counter, lastUsedAt: nowIso(deps) })
    if (updated === 0) throw rejected()
    return createSession(deps, trx, { user, shop }, 'passkey')
  })
}

/** A passkey with its user, unless the user is revoked. */
async function findSignedIn(db: Reader, id: string): Promise<{ passkey: PasskeyRow; owner: Owner } | null> {
  const passkey = await findPasskey(db, id)
  const owner = passkey && (await findActiveOwner(db, passkey.shopId, passkey.userId))
  return owner ? { passkey, owner } : null
}

async function verifyRegistration(ctx: OwnerContext, party: RelyingParty, response: string) {
  const credential: RegistrationResponseJSON | undefined = parseObject(response)
  const { verifyRegistrationResponse } = await library()
  let issuedAt: string | undefined
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: credential as RegistrationResponseJSON,
      expectedChallenge: (challenge) => {
        issuedAt = readChallenge(inSystemTime(ctx), registration(ctx), challenge)
        return issuedAt !== undefined
      },
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    return registrationInfo && issuedAt ? { credential: registrationInfo.credential, issuedAt } : undefined
  } catch {
    // The library throws for every response that is malformed or does not match; nothing else runs here.
    return undefined
  }
}

async function verifySignIn(
  deps: Pick<Deps, 'vault' | 'now'>,
  party: RelyingParty,
  { credential, passkey }: { credential: AuthenticationResponseJSON; passkey: PasskeyRow },
) {
  const { verifyAuthenticationResponse } = await library()
  let issuedAt: string | undefined
  try {
    if (Buffer.from(credential.response.userHandle ?? '', 'base64url').toString() !== passkey.userId) return undefined
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: credential,
      expectedChallenge: (challenge) => {
        issuedAt = readChallenge(deps, SIGN_IN, challenge)
        return issuedAt !== undefined
      },
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId,
        publicKey: Uint8Array.from(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.counter,
      },
    })
    return verified && issuedAt ? { issuedAt, counter: authenticationInfo.newCounter } : undefined
  } catch {
    // The library throws for every response that is malformed or does not match; nothing else runs here.
    return undefined
  }
}

const rejected = () =>
  new ApiError(401, 'sign_in_refused', 'The passkey is unknown, or its sign-in has expired or was used. Try again.')

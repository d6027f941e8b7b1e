import type { Configuration, IDToken, UserInfoResponse } from 'openid-client'
import type { OidcConfig } from '../../config.ts'
import { ApiError } from '../../contract/errors.ts'
import { type Context, type Deps, nowIso } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import type { Reader } from '../../database/database.ts'
import { findUsersOfAllShops } from './queries.ts'
import { createSession, findActiveOwner, type NewSession, type Owner, type SignInDeps } from './sessions.ts'
import { useChallenge } from './sign-in-queries.ts'

/** The path that the provider redirects back to. */
export const CALLBACK_PATH = '/admin/sign-in/oidc/callback'
/** The time limit for signing in at the provider. */
export const ATTEMPT_MS = 10 * 60_000
/** The time limit for choosing a shop. */
const CHOICE_MS = 5 * 60_000
const MAX_SHOPS = 50
const PROVIDER_TIMEOUT_SECONDS = 10
/** Providers rarely change their endpoints. Keys are read again when a signature uses an unknown one. */
const DISCOVERY_MS = 3_600_000

/** A sign-in attempt's state, encrypted in a browser cookie. */
interface Attempt {
  issuedAt: string
  state: string
  nonce: string
  codeVerifier: string
  next: string
}

type Dependencies = Pick<Deps, 'config' | 'vault' | 'now' | 'log'> & { requestId: string }

const ATTEMPT = 'oidc:attempt'
const CHOICE = 'oidc:choice'

/**
 * Starts an attempt. Returns the provider's URL, and the attempt for a cookie.
 *
 * @throws ApiError 401 `sign_in_refused` when the provider does not respond.
 */
export async function begin(deps: Dependencies, next: string): Promise<{ url: string; attempt: string }> {
  const { library, client } = await connect(deps)
  const pending: Attempt = {
    issuedAt: nowIso(deps),
    state: library.randomState(),
    nonce: library.randomNonce(),
    codeVerifier: library.randomPKCECodeVerifier(),
    next,
  }
  const url = library.buildAuthorizationUrl(client, {
    redirect_uri: deps.config.publicUrl + CALLBACK_PATH,
    scope: 'openid email',
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await library.calculatePKCECodeChallenge(pending.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, attempt: deps.vault.seal(JSON.stringify(pending), ATTEMPT) }
}

/** A user to sign in as, with the proof to send if this user is chosen. */
export interface Choice {
  shop: string
  role: string
  proof: string
}

/**
 * Completes an attempt: exchanges the callback's code and finds the users with the confirmed address.
 *
 * @throws ApiError 401 `sign_in_refused`.
 */
export async function finish(
  deps: Dependencies & Pick<Deps, 'db'>,
  { search, attempt }: { search: string; attempt: string },
): Promise<{ choices: Choice[]; next: string }> {
  const pending = openSealed<Attempt>(deps, attempt, ATTEMPT)
  if (!pending || isOlder(deps, pending.issuedAt, ATTEMPT_MS))
    throw rejected('The sign-in took too long, or began in another browser. Try again.')
  const email = await readEmail(deps, new URL(deps.config.publicUrl + CALLBACK_PATH + search), pending)
  const users = await findUsersOfAllShops(deps.db.read, email, MAX_SHOPS)
  const owners = await Promise.all(users.map(({ shopId, id }) => findActiveOwner(deps.db.read, shopId, id)))
  const issuedAt = nowIso(deps)
  const choices = owners.flatMap((owner) => (owner ? [choiceOf(deps, owner, issuedAt)] : []))
  if (choices.length > 0) return { choices, next: pending.next }
  throw rejected('No user has the address that the provider confirmed. Ask an owner of your shop to add you.')
}

interface Chosen {
  issuedAt: string
  shopId: string
  userId: string
}

const choiceOf = ({ vault }: Pick<Deps, 'vault'>, { shop, user }: Owner, issuedAt: string): Choice => {
  const chosen: Chosen = { issuedAt, shopId: shop.id, userId: user.id }
  return { shop: shop.name, role: user.role, proof: vault.seal(JSON.stringify(chosen), CHOICE) }
}

/**
 * Creates a session for the user named by a proof. A proof is accepted once, within a few minutes.
 *
 * @throws ApiError 401 `sign_in_refused`.
 */
export async function signIn(deps: SignInDeps, proof: string): Promise<NewSession> {
  const chosen = openSealed<Chosen>(deps, proof, CHOICE)
  if (!chosen || isOlder(deps, chosen.issuedAt, CHOICE_MS)) throw rejected('The sign-in took too long. Try again.')
  const find = async (db: Reader): Promise<Owner> => {
    const owner = await findActiveOwner(db, chosen.shopId, chosen.userId)
    if (!owner) throw rejected('This user is revoked. Ask an owner of your shop.')
    return owner
  }
  const { shop, user } = await find(deps.db.read)
  const recheck = async (db: Reader) => (await find(db)).shop
  const ctx: Context = { ...deps, shop, actor: `user:${user.id}`, recheck }
  return mutate(ctx, async (trx) => {
    if (!(await useChallenge(trx, shop.id, { userId: user.id, issuedAt: chosen.issuedAt })))
      throw rejected('This sign-in was used. Try again.')
    return createSession(deps, trx, { user, shop }, 'oidc')
  })
}

const isOlder = (deps: Pick<Deps, 'now'>, issuedAt: string, ms: number): boolean => {
  const age = deps.now() - Date.parse(issuedAt)
  return !(age >= 0 && age < ms)
}

function openSealed<T>({ vault }: Pick<Deps, 'vault'>, sealed: string, bound: string): T | undefined {
  const text = vault.open(sealed, bound)
  return text === null ? undefined : JSON.parse(text)
}

/** The email address confirmed by the provider. */
async function readEmail(deps: Dependencies, callback: URL, pending: Attempt): Promise<string> {
  const { library, client } = await connect(deps)
  let claims: IDToken | UserInfoResponse | undefined
  try {
    const tokens = await library.authorizationCodeGrant(client, callback, {
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      pkceCodeVerifier: pending.codeVerifier,
      idTokenExpected: true,
    })
    claims = tokens.claims()
    // Some providers include the address only here.
    if (claims && claims.email === undefined && client.serverMetadata().userinfo_endpoint)
      claims = await library.fetchUserInfo(client, tokens.access_token, claims.sub)
  } catch (error) {
    logFailure(deps, error as Error)
    throw rejected('The sign-in was canceled, or its response is invalid. Try again.')
  }
  if (typeof claims?.email === 'string' && claims.email_verified === true) return claims.email
  throw rejected('The provider did not confirm an email address.')
}

interface Connection {
  library: typeof import('openid-client')
  client: Configuration
}

/** One connection per configuration, with its creation time. */
const connections = new WeakMap<OidcConfig, { made: Promise<Connection>; at: number }>()

async function connect(deps: Dependencies): Promise<Connection> {
  const { oidc } = deps.config
  if (!oidc) throw rejected('OpenID Connect is off.')
  const known = connections.get(oidc)
  if (known && performance.now() - known.at < DISCOVERY_MS) return known.made
  const made = discover(oidc).catch((error) => {
    connections.delete(oidc)
    logFailure(deps, error as Error)
    throw rejected('The sign-in provider does not respond. Sign in in another way, or try again.')
  })
  connections.set(oidc, { made, at: performance.now() })
  return made
}

/** Loads the library, which servers without a provider never do, and reads the provider's metadata. */
async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<Connection> {
  const library = await import('openid-client')
  // The setting accepts http only on the same machine. Without these checks, the library trusts the connection to the
  // provider instead of the signature of an ID token.
  const insecure = issuer.startsWith('http:') ? [library.allowInsecureRequests] : []
  const execute = [library.enableNonRepudiationChecks, ...insecure]
  const options = { execute, timeout: PROVIDER_TIMEOUT_SECONDS }
  const configuration = await library.discovery(new URL(issuer), clientId, clientSecret, undefined, options)
  // Without a list, the standard says `client_secret_basic`.
  const methods = configuration.serverMetadata().token_endpoint_auth_methods_supported
  if (methods?.includes('client_secret_post')) return { library, client: configuration }
  const client = new library.Configuration(
    configuration.serverMetadata(),
    clientId,
    clientSecret,
    library.ClientSecretBasic(clientSecret),
  )
  client.timeout = PROVIDER_TIMEOUT_SECONDS
  for (const apply of execute) apply(client)
  return { library, client }
}

/** Logs only codes, because messages may contain what the provider or the browser sent. */
const logFailure = ({ log, requestId }: Dependencies, error: Error): void => {
  const code = 'code' in error ? error.code : undefined
  log.warn({ requestId, name: error.name, code }, 'oidc_failed')
}

const rejected = (message: string) => new ApiError(401, 'sign_in_refused', message)

import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const CLIENT = { clientId: 'referral', clientSecret: 'secret of the client' }

/** What the next ID token has instead of the correct values. */
export interface Claims {
  [claim: string]: unknown
}

export type OidcProvider = Awaited<ReturnType<typeof startOidcProvider>>

/**
 * A provider of OpenID Connect on loopback that signs in anyone who asks. It checks the client, the redirect URI and the PKCE
 * verifier, and a code is valid once.
 */
export async function startOidcProvider({ methods = ['client_secret_basic'] }: { methods?: string[] } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const codes = new Map<string, URLSearchParams>()
  const provider = {
    claims: {} as Claims,
    /** Claims of the userinfo endpoint. */
    info: {} as Claims,
    isForged: false,
    isDown: false,
    requests: [] as string[],
  }
  let issuer = ''

  const idToken = (asked: URLSearchParams): string => {
    const now = Math.floor(Date.now() / 1000)
    const usual = {
      iss: issuer,
      sub: 'somebody',
      aud: CLIENT.clientId,
      iat: now,
      exp: now + 300,
      nonce: asked.get('nonce'),
      email_verified: true,
    }
    const parts = [
      { alg: 'RS256', kid: 'k1' },
      { ...usual, ...provider.claims },
    ]
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    const signature = createSign('sha256')
      .update(text)
      .sign(provider.isForged ? foreign : privateKey)
    return `${text}.${signature.toString('base64url')}`
  }

  const exchange = (request: IncomingMessage, form: URLSearchParams): [number, object] => {
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
    const [id, secret] = methods.includes('client_secret_post')
      ? [form.get('client_id'), form.get('client_secret')]
      : basic.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    if (id !== CLIENT.clientId || secret !== CLIENT.clientSecret) return [401, { error: 'invalid_client' }]
    const code = form.get('code') ?? ''
    const asked = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = asked?.get('code_challenge') === challenge && asked.get('redirect_uri') === form.get('redirect_uri')
    if (!asked || !isRight) return [400, { error: 'invalid_grant' }]
    return [200, { access_token: randomUUID(), token_type: 'Bearer', id_token: idToken(asked) }]
  }

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: methods,
  })

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', issuer)
    provider.requests.push(url.pathname)
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (provider.isDown) return send(500, {})
    let text = ''
    for await (const chunk of request) text += chunk
    if (url.pathname === '/.well-known/openid-configuration') return send(200, metadata())
    if (url.pathname === '/jwks')
      return send(200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] })
    if (url.pathname === '/userinfo') return send(200, { sub: 'somebody', ...provider.info })
    if (url.pathname === '/token') return send(...exchange(request, new URLSearchParams(text)))
    const asked = url.searchParams
    const isRight = asked.get('client_id') === CLIENT.clientId && asked.get('code_challenge_method') === 'S256'
    if (url.pathname !== '/authorize' || !isRight || asked.get('response_type') !== 'code') return send(400, {})
    const code = randomUUID()
    codes.set(code, asked)
    const back = new URLSearchParams({ code, state: asked.get('state') ?? '' })
    response.writeHead(302, { Location: `${asked.get('redirect_uri')}?${back}` })
    response.end()
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(provider, {
    issuer,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
}

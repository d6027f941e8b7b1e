import { randomBytes } from 'node:crypto'
import { group } from '../check.ts'
import type { Context } from '../context.ts'
import { operations } from '../generated/contract.ts'

const ERRORS = 'reference/errors.md'
const page = 'concepts/index.md#access'

export const auth = group('auth', { title: 'Credentials', page }, (rule) => {
  rule(
    'missing',
    'A request without Authorization returns 401 credentials_missing',
    async (t) => {
      t.expect(await t.get('/affiliates', {}, { key: null }), 401, 'credentials_missing')
    },
    { page: `${ERRORS}#credentials_missing` },
  )
  for (const [name, header] of [
    ['basic', 'Basic dXNlcjpwYXNz'],
    ['no-token', 'Bearer'],
    ['two-tokens', 'Bearer a b'],
    ['no-scheme', 'rk_abc'],
  ] as const)
    rule(
      `malformed-${name}`,
      `\`Authorization: ${header}\` returns 401 credentials_malformed`,
      async (t) => {
        const reply = await t.get('/affiliates', {}, { key: null, headers: { Authorization: header } })
        t.expect(reply, 401, 'credentials_malformed')
      },
      { page: `${ERRORS}#credentials_malformed` },
    )
  rule(
    'unknown-key',
    'An unknown key returns 403 key_unknown',
    async (t) => {
      t.expect(await t.get('/affiliates', {}, { key: `rk_${randomBytes(24).toString('hex')}` }), 403, 'key_unknown')
    },
    { page: `${ERRORS}#key_unknown` },
  )
  rule(
    'wrong-format',
    'A token of another format is an unknown key: 403',
    async (t) => {
      t.expect(await t.get('/affiliates', {}, { key: 'not-a-key' }), 403, 'key_unknown')
    },
    { page: `${ERRORS}#key_unknown` },
  )
  rule(
    'changed-key',
    'The key with one character changed is unknown',
    async (t) => {
      const { key } = t.shop
      const last = key.at(-1) === 'a' ? 'b' : 'a'
      t.expect(await t.get('/affiliates', {}, { key: key.slice(0, -1) + last }), 403, 'key_unknown')
    },
    { page: `${ERRORS}#key_unknown` },
  )
  rule('scheme-ignores-case', '`bearer` in lower case is accepted, as RFC 9110 defines', async (t) => {
    t.expect(
      await t.get('/affiliates', { limit: 1 }, { key: null, headers: { Authorization: `bearer ${t.shop.key}` } }),
      200,
    )
  })
  rule('no-key-in-query', 'A key in the query is not a credential', async (t) => {
    t.expect(await t.get('/affiliates', { api_key: t.shop.key, access_token: t.shop.key }, { key: null }), 401)
  })
  rule(
    'path-before-credentials',
    'An unknown path returns 404 without a credential',
    async (t) => {
      t.expect(await t.get('/nothing-here', {}, { key: null }), 404, 'path_unknown')
    },
    { page: `${ERRORS}#path_unknown` },
  )
  rule(
    'method-before-credentials',
    'A wrong method returns 405 without a credential',
    async (t) => {
      t.expect(await t.get('/events', {}, { key: null }), 405, 'method_not_allowed')
    },
    { page: `${ERRORS}#method_not_allowed` },
  )
  rule('credentials-before-body', 'An invalid body without a credential returns 401', async (t) => {
    t.expect(await t.post('/affiliates', undefined, { raw: '{', key: null }), 401)
  })
  rule('unknown-key-before-body', 'An invalid body with an unknown key returns 403', async (t) => {
    t.expect(await t.post('/affiliates', undefined, { raw: '{', key: 'rk_unknown' }), 403)
  })
})

/** A key with these scopes, shared by the checks. It is revoked after the run. */
export async function keyWith(t: Context, given: string[]): Promise<{ id: string; secret: string }> {
  const reply = await t.owner('POST', '/keys', { label: `${t.id('key')}`.slice(0, 100), scopes: given })
  if (reply.status !== 201) throw new Error(`a key could not be created: ${reply.status} ${reply.text.slice(0, 200)}`)
  return reply.body.data
}

export const keys = group('keys', { title: 'API keys', page, suite: 'owner', needs: ['owner'] }, (rule) => {
  rule('created-with-secret', 'POST /admin/v1/keys returns 201 and the secret of an active key', async (t) => {
    const reply = await t.owner('POST', '/keys', { label: t.id('key').slice(0, 100), scopes: ['programs:read'] })
    const { data } = t.expect(reply, 201)
    t.ok(/^rk_[A-Za-z0-9_]{40,}$/.test(data.secret), 'the secret must be rk_ and at least 40 characters')
    t.ok(data.secret.startsWith(data.prefix), 'prefix must be the start of the secret')
    t.fields(data, { scopes: ['programs:read'], status: 'active' }, 'key')
    t.expect(await t.get('/programs', { limit: 1 }, { key: data.secret }), 200)
    await t.owner('DELETE', `/keys/${data.id}`)
  })
  rule('secret-is-shown-once', 'The list of keys contains no secret', async (t) => {
    const { id, secret } = await keyWith(t, ['programs:read'])
    const { text, body } = await t.owner('GET', '/keys')
    t.ok(
      body.data?.some((key: { id: string }) => key.id === id),
      'the list must contain the key',
    )
    t.ok(!text.includes(secret), 'the list contains the secret')
    await t.owner('DELETE', `/keys/${id}`)
  })
  rule(
    'label-and-scopes-required',
    'A key without a label, without scopes, or with an unknown scope returns 400',
    async (t) => {
      for (const body of [
        { scopes: ['programs:read'] },
        { label: 'x' },
        { label: 'x', scopes: [] },
        { label: 'x', scopes: ['everything'] },
      ])
        t.expect(await t.owner('POST', '/keys', body), 400)
    },
  )
  rule(
    'revoked-at-once',
    'A revoked key returns 403 key_revoked at once',
    async (t) => {
      const { id, secret } = await keyWith(t, ['programs:read'])
      t.expect(await t.owner('DELETE', `/keys/${id}`), 200)
      t.expect(await t.get('/programs', {}, { key: secret }), 403, 'key_revoked')
      t.expect(await t.owner('DELETE', `/keys/${id}`), 409, 'key_already_revoked')
    },
    { page: `${ERRORS}#key_revoked` },
  )
  rule('rotated-at-once', 'Rotating a key returns a new secret, and the old one stops working', async (t) => {
    const { id, secret } = await keyWith(t, ['programs:read'])
    const { data } = t.expect(await t.owner('POST', `/keys/${id}/rotate`), 200)
    t.ok(data.secret && data.secret !== secret, 'the secret must be new')
    t.expect(await t.get('/programs', { limit: 1 }, { key: data.secret }), 200)
    t.expect(await t.get('/programs', {}, { key: secret }), 403)
    await t.owner('DELETE', `/keys/${data.id}`)
  })
  rule('rotated-with-overlap', 'With overlapSeconds both secrets work, and revoking the key ends both', async (t) => {
    const { id, secret } = await keyWith(t, ['programs:read'])
    const { data } = t.expect(await t.owner('POST', `/keys/${id}/rotate`, { overlapSeconds: 3600 }), 200)
    for (const key of [secret, data.secret]) t.expect(await t.get('/programs', { limit: 1 }, { key }), 200)
    await t.owner('DELETE', `/keys/${data.id}`)
    for (const key of [secret, data.secret]) t.expect(await t.get('/programs', {}, { key }), 403)
  })
  rule(
    'expired',
    'A key is rejected from `expiresAt` on',
    async (t) => {
      const expiresAt = new Date(Date.now() + 1500).toISOString()
      const reply = await t.owner('POST', '/keys', {
        label: t.id('key').slice(0, 100),
        scopes: ['programs:read'],
        expiresAt,
      })
      const { secret } = t.expect(reply, 201).data
      t.expect(await t.get('/programs', { limit: 1 }, { key: secret }), 200)
      await t.sleep(Math.max(0, Date.parse(expiresAt) - Date.now()) + 300)
      t.expect(await t.get('/programs', {}, { key: secret }), 403, 'key_expired')
    },
    { page: `${ERRORS}#key_expired` },
  )
  rule('expiry-in-the-past', 'A key that would expire in the past returns 400', async (t) => {
    t.expect(await t.owner('POST', '/keys', { label: 'x', scopes: ['programs:read'], expiresAt: '2020-01-01' }), 400)
  })
  rule(
    'unknown-key',
    'An unknown key id returns 404 key_not_found',
    async (t) => {
      t.expect(await t.owner('DELETE', '/keys/key_unknown'), 404, 'key_not_found')
    },
    { page: `${ERRORS}#key_not_found` },
  )
  rule('owner-token-is-no-key', 'An owner token is not accepted by /api/v1', async (t) => {
    t.expect(await t.get('/affiliates', {}, { key: t.shop.ownerToken ?? null }), 403)
  })
  rule('key-is-no-owner-token', 'An API key is not accepted by /admin/v1', async (t) => {
    const reply = await t.call('GET', '/admin/v1/keys', { key: t.shop.key })
    t.ok([401, 403].includes(reply.status), `expected 401 or 403, received ${reply.status}`)
  })
  rule(
    'owner-token-missing',
    '/admin/v1 without a credential returns 401 owner_credentials_missing',
    async (t) => {
      t.expect(await t.call('GET', '/admin/v1/keys', { key: null }), 401, 'owner_credentials_missing')
    },
    { page: `${ERRORS}#owner_credentials_missing` },
  )
})

/** A request that reaches the check of the scope of each operation. */
const scoped = Object.entries(operations).flatMap(([id, { method, path, scope }]) =>
  scope ? [{ id, method, path, scope }] : [],
)

export const scopeRules = group('scopes', { title: 'Scopes', page, suite: 'owner', needs: ['owner'] }, (rule) => {
  for (const { id, method, path, scope } of scoped)
    rule(
      id,
      `${method} ${path} requires the scope ${scope}`,
      async (t) => {
        // A key for `:read` has `:write` and the other way round, so that neither includes the other.
        const key = await t.sharedKey(scope.endsWith(':read') ? 'writes' : 'reads')
        const reply = await t.call(method, path, {
          key,
          ...(method === 'GET' || method === 'DELETE' ? {} : { raw: '{' }),
        })
        t.expect(reply, 403, 'scope_missing')
        t.ok(String(reply.body.error).includes(scope), `the error must name ${scope}: ${reply.body.error}`)
      },
      { page: `${ERRORS}#scope_missing` },
    )
})

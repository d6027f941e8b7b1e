import { createReferralClient, type ReferralClient } from '@referral/sdk'
import { describe, expect } from 'vitest'
import { ID } from '../contract/fixture.ts'
import { allOperations, type DocumentedOperation, document } from '../support/document.ts'
import { rowsOf, updateRows } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

/** What the token of an affiliate may call. */
const READS = ['listAffiliates', 'listAliases', 'getAffiliateBalance', 'listCommissions', 'listCoupons', 'getAnalytics']

let token: string
let other: { id: string; slug: string; discountCode: string }
let foreign: string[]
test.beforeAll(async ({ exampleServer: server }) => {
  other = await newAffiliate(server, { name: 'Mara Lind', email: 'mara@example.com', code: 'MARA9' })
  const alias = { affiliateId: other.id, kind: 'CODE', value: 'MARA2020' }
  const { id: aliasId } = await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body: alias }))
  const { commission } = await expectOk(
    convert(server, { externalOrderId: 'of-mara', amountCents: 5000, couponCode: 'MARA2020' }),
  )
  foreign = [other.id, aliasId, commission.id, 'of-mara', 'MARA9', 'MARA2020', 'mara@example.com', 'mara-lind']
  ;({ token } = await expectOk(tokenOf(server)))
})

const tokenOf = (server: TestServer, body: object = {}, key?: string): Promise<Reply> =>
  server.request('POST', '/api/v1/affiliates/tokens', {
    body: { affiliateId: ID.affiliate, ...body },
    ...(key && { key }),
  })

const read = (server: TestServer, { path }: Pick<DocumentedOperation, 'path'>, query = ''): Promise<Reply> =>
  server.request('GET', `${path}${query && `?${query}`}`, { key: token })
const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]

describe('every operation', () => {
  for (const op of allOperations.filter(({ path }) => /^\/(api|admin)\//.test(path))) {
    if (op.isPublic) continue
    const isAllowed = READS.includes(op.id)
    test(`${op.id}: ${isAllowed ? 'only what belongs to the affiliate' : '403'}`, async ({ exampleServer: server }) => {
      if (!isAllowed) {
        const path = op.path.replaceAll(/\{\w+\}/g, ID.affiliate)
        const reply = await server.request(op.method, path, { key: token, ...(op.method !== 'GET' && { body: {} }) })
        // Tokens of affiliates are not owner tokens, and attempts with unknown ones are limited.
        const expected = op.path.startsWith('/api/')
          ? [[403, op.scope ? 'scope_missing' : 'key_unknown']]
          : [
              [403, 'owner_token_unknown'],
              [429, 'sign_in_throttled'],
            ]
        expect(expected).toContainEqual(codeOf(reply))
        return
      }
      const { status, body } = await read(server, op)
      expect(status).toBe(200)
      const text = JSON.stringify(body)
      expect(text).toContain(ID.affiliate)
      for (const one of [...foreign, 'Mara']) expect(text).not.toContain(one)
      const filters = op.parameters.filter(
        ({ in: place, name }) => place === 'query' && /id$|^q$|code|value|email/i.test(name),
      )
      for (const { name } of filters) {
        for (const value of foreign) {
          const reply = await read(server, op, new URLSearchParams({ [name]: value }).toString())
          const names = op.id === 'listAffiliates' ? 'id' : 'affiliateId'
          if (name === names) expect(codeOf(reply)).toEqual([403, 'scope_missing'])
          else
            expect([name, value, JSON.stringify(reply.body.data ?? [])]).toEqual([
              name,
              value,
              expect.not.stringMatching(/mara/i),
            ])
        }
      }
    })
  }
})

const clientOf = (server: TestServer, affiliateToken: string): ReferralClient =>
  createReferralClient({
    affiliateToken,
    baseUrl: 'http://test',
    fetch: (request) => server.app.request(request),
    maxRetries: 0,
  })

test('a token shows the documented fields of its affiliate, and no others', async ({ exampleServer: server }) => {
  const [own] = (await clientOf(server, token).affiliates.list()).data
  const documented = Object.keys(document.components.schemas.AffiliateSelf.properties)
  expect(Object.keys(own!).sort()).toEqual(documented.sort())
})

test('a token has the read scopes of its key only', async ({ exampleServer: server }) => {
  const { secret } = await expectOk(
    server.owner('POST', '/keys', { label: 'Portal', scopes: ['affiliates:read', 'payouts:write'] }),
  )
  const narrow = await expectOk(tokenOf(server, {}, secret))
  expect(narrow.scopes).toEqual(['affiliates:read'])
  const client = clientOf(server, narrow.token)
  expect((await client.affiliates.list()).data).toHaveLength(1)
  expect(await rejection(client.commissions.list())).toEqual([403, 'scope_missing'])
})

test('403 for a token that was changed, has expired, or whose affiliate is archived or rejected', async ({
  exampleServer: server,
}) => {
  const [claims = '', signature = ''] = token.slice(3).split('.')
  const changed = Buffer.from(Buffer.from(claims, 'base64url').toString().replace(ID.affiliate, other.id)).toString(
    'base64url',
  )
  // The last of 43 characters has two bits that decoding ignores.
  const sibling = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = sibling[sibling.indexOf(signature.slice(-1)) + 1]
  const otherSpellings = [
    `${token}.x`,
    `${token}.`,
    `${token}==`,
    `ra_${claims}==.${signature}`,
    `${token.slice(0, -1)}${last}`,
  ]
  const forged = [`ra_${changed}.${signature}`, `ra_${claims}.`, `ra_${claims}.${'A'.repeat(43)}`, 'ra_', 'ra_.']
  for (const wrong of [...forged, ...otherSpellings])
    expect(await rejection(clientOf(server, wrong).affiliates.list()), wrong).toEqual([403, 'key_unknown'])
  const day = await expectOk(tokenOf(server, { affiliateId: other.id, expiresInSeconds: 86_400 }))
  const client = clientOf(server, day.token)
  await client.affiliates.list()
  updateRows(server, 'affiliates', { status: 'REJECTED' }, { id: other.id })
  expect(await rejection(client.affiliates.list())).toEqual([403, 'key_revoked'])
  updateRows(server, 'affiliates', { status: 'APPROVED' }, { id: other.id })
  const { now } = server.deps
  server.deps.now = () => now() + 86_400_000
  const late = await rejection(client.affiliates.list())
  server.deps.now = now
  expect(late).toEqual([403, 'key_expired'])
  updateRows(server, 'affiliates', { deletedAt: '2026-11-02T12:00:00.000Z' }, { id: other.id })
  expect(await rejection(client.affiliates.list())).toEqual([403, 'key_revoked'])
  expect(codeOf(await tokenOf(server, { affiliateId: other.id }))).toEqual([404, 'affiliate_not_found'])
})

test('the stored response of a repeated request is not a credential', async ({ exampleServer: server }) => {
  const send = () =>
    server.request('POST', '/api/v1/affiliates/tokens', {
      body: { affiliateId: ID.affiliate },
      headers: { 'Idempotency-Key': 'token-once' },
    })
  const [first, second] = [await send(), await send()]
  expect(second.body).toEqual(first.body)
  expect(second.headers.get('Idempotent-Replayed')).toBe('true')
  expect(JSON.stringify(rowsOf(server, 'idempotencyKeys'))).not.toContain('ra_')
  expect(server.logs.join('')).not.toContain(token.split('.')[1])
})

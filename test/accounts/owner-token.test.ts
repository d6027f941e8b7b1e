import { expect } from 'vitest'
import { allRows } from '../support/inspect.ts'
import { signIn, staffOf } from '../support/owner.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { createLink, type Named, replaceToken, revokeUser } from '../support/tenants.ts'
import { type Owner, test } from '../support/test.ts'

let named: Named
test.beforeAll(async ({ server }) => {
  named = { shop: server.shop.shopId, email: 'owner@shop.example' }
})

const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const session = (owner: Owner, key: string | null, headers = {}) =>
  owner('GET', '/session', undefined, { key, headers })

test('the new token works; the old one, its sessions and the links of its user are rejected', async ({
  server,
  owner,
}) => {
  const staff = await staffOf(server)
  const old = server.shop.ownerToken
  const [mine, theirs] = [await signIn(server), await signIn(server, staff)]
  const { token: link } = await createLink(server.deps, named)
  const { userId, ownerToken } = await replaceToken(server.deps, named)
  expect(await expectOk(session(owner, ownerToken))).toMatchObject({ user: { id: userId, email: named.email } })
  expect(codeOf(await session(owner, old))).toEqual([403, 'owner_token_unknown'])
  expect(codeOf(await session(owner, null, mine.headers))).toEqual([401, 'session_expired'])
  for (const token of [old, link]) expect(codeOf((await signIn(server, token)).reply)).toEqual([401, 'sign_in_refused'])
  expect((await signIn(server, ownerToken)).reply.status).toBe(201)
  // Nobody else is signed out.
  expect((await session(owner, staff)).status).toBe(200)
  expect((await session(owner, null, theirs.headers)).status).toBe(200)
  server.shop.ownerToken = ownerToken
})

test('the audit records whose token was replaced and by whom, and contains neither token', async ({
  server,
  owner,
}) => {
  const before = server.shop.ownerToken
  const { userId, ownerToken } = await replaceToken(server.deps, named)
  server.shop.ownerToken = ownerToken
  const [entry] = await expectOk(owner('GET', '/audit?action=owner_token.replaced'))
  expect(entry).toMatchObject({ actor: 'operator', action: 'owner_token.replaced', subjectId: userId })
  const everything = allRows(server)
  for (const token of [before, ownerToken]) expect(JSON.stringify([everything, server.logs])).not.toContain(token)
})

test('after parallel replacements, exactly one token works', async ({ server, owner }) => {
  const done = await Promise.allSettled(Array.from({ length: 8 }, () => replaceToken(server.deps, named)))
  const tokens = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value.ownerToken] : []))
  const replies = await Promise.all(tokens.map((token) => session(owner, token)))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(done.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))).toEqual(
    Array(8 - tokens.length).fill('concurrent_change'),
  )
})

test('no token for a revoked user', async ({ server }) => {
  const email = 'leaver@shop.example'
  await staffOf(server, email)
  await revokeUser(server.deps, { ...named, email })
  await expect(replaceToken(server.deps, { ...named, email })).rejects.toThrow('revoked')
})

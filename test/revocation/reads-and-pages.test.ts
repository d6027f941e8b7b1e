// Full: it revokes credentials of hundreds of open requests.
import { afterAll, describe, expect, vi } from 'vitest'
import { callOperation, snapshot } from '../contract/fixture.ts'
import { manyNames } from '../fuzz/heavy.ts'
import { operation } from '../support/document.ts'
import { afterReport, beforeTransaction } from '../support/faults.ts'
import { bytesOf, capture, type HeldRequests, holdRequests } from '../support/held-requests.ts'
import { callOwner, ID, type OwnerServer } from '../support/owner.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import type { RequestOptions } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { createLink, revokeUser } from '../support/tenants.ts'
import { test } from '../support/test.ts'
import { keyWays, newOwner, type OtherProcess, otherProcess, sessionWays, tokenWays } from './ways.ts'

let held: HeldRequests
let other: OtherProcess
test.beforeAll(async ({ ownerServer: server }) => {
  held = await holdRequests(server)
  other = await otherProcess(server)
})
afterAll(async () => {
  await held.close()
  await other.close()
})

const statusAndCode = (answer: RawAnswer | undefined) => [answer?.status, answer?.headers['x-error-code']]
const request = (method: string, path: string, options: RequestOptions) => ({ method, path, options })

describe('a key that is revoked while its request is open', () => {
  const revoked = keyWays['the key was revoked']!

  /** The response to a request whose key is revoked before the last byte. */
  async function late(path: string, options: RequestOptions, method = 'POST') {
    const { headers, revoke } = await revoked.make(other)
    const finish = await held.hold(bytesOf(request(method, path, options), headers))
    await revoke()
    return finish()
  }

  test('403 instead of the stored response of an earlier call', async ({ ownerServer: server }) => {
    const body = { email: 'replayed@example.com', name: 'Replayed' }
    const headers = { 'Idempotency-Key': 'replayed' }
    await expectOk(server.request('POST', '/api/v1/affiliates', { body, headers }))
    expect(statusAndCode(await late('/api/v1/affiliates', { body, headers }))).toEqual(revoked.rejection)
    expect(statusAndCode(await late('/api/v1/affiliates', { body: { ...body, name: 'X' }, headers }))).toEqual(
      revoked.rejection,
    )
    expect(
      (await server.request('POST', '/api/v1/affiliates', { body, headers })).headers.get('Idempotent-Replayed'),
    ).toBe('true')
  })

  test.each([
    ['a dry run', '/api/v1/events?dryRun=1', { body: { externalOrderId: 'dry', amountCents: 100 } }],
    ['a preview', '/api/v1/payouts', { body: { periodStart: '2026-10-01', periodEnd: '2026-10-31', dryRun: true } }],
    ['an invalid body', '/api/v1/affiliates', { body: { email: 'nobody' } }],
    ['a body that is not JSON', '/api/v1/affiliates', { raw: '{"email": ' }],
    ['an address that is taken', '/api/v1/affiliates', { body: { email: 'nisa@example.com', name: 'N' } }],
    ['an affiliate that does not exist', '/api/v1/coupons', { body: { affiliateId: 'aff_none' } }],
  ])('403 for %s', async (_what, path, options: RequestOptions) => {
    expect(statusAndCode(await late(path, options))).toEqual(revoked.rejection)
  })

  test('403 for a large dry run that was queued behind others', async ({ ownerServer: server }) => {
    const { headers, revoke } = await revoked.make(other)
    const send = (n: number) => {
      const raw = `{"externalOrderId":"dry","amountCents":1,"x":${manyNames(`n${n}_`)}}`
      return server.request('POST', '/api/v1/events?dryRun=1', { raw, key: null, headers })
    }
    let isRevoked = false
    let sent = 0
    // Six bodies wait for their turn at all times, so the one sent last is read after the revocation.
    const replies: Awaited<ReturnType<typeof send>>[] = []
    const sendInTurn = async (): Promise<void> => {
      const n = sent++
      replies[n] = await send(n)
      if (!isRevoked) await sendInTurn()
    }
    const waiting = Array.from({ length: 6 }, sendInTurn)
    await vi.waitFor(() => expect(replies[0]?.status).toBe(200), { timeout: 10_000 })
    await revoke()
    isRevoked = true
    await Promise.all(waiting)
    const last = replies.at(-1)
    expect([last?.status, last?.headers.get('X-Error-Code')]).toEqual(revoked.rejection)
  })

  test('403 for queued analytics', async ({ ownerServer: server }) => {
    const { headers, revoke } = await revoked.make(other)
    const end = afterReport(server, revoke)
    const reply = await server.request('GET', '/api/v1/analytics', { key: null, headers })
    end()
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual(revoked.rejection)
  })
})

describe('a user who is revoked while a request is open', () => {
  test('403 for a backtest, which changes nothing', async ({ ownerServer: server }) => {
    const { make, rejection } = tokenWays['the user was revoked']!
    const { headers, revoke } = await make(other)
    const call = await capture(server, (fake) => callOwner(fake, operation('runBacktest')))
    const finish = await held.hold(bytesOf(call, headers))
    await revoke()
    expect(statusAndCode(await finish())).toEqual(rejection)
  })

  test('401 for signing in, with a token and with a link: no session is created', async ({ ownerServer: server }) => {
    for (const isLink of [false, true]) {
      const { named, ownerToken } = await newOwner(other)
      const token = isLink ? (await createLink(other.deps, named)).token : ownerToken
      const finish = await held.hold(bytesOf(request('POST', '/admin/v1/session', { body: { token } }), {}))
      await revokeUser(other.deps, named)
      const before = snapshot(server)
      expect(statusAndCode(await finish())).toEqual([401, 'sign_in_refused'])
      expect(snapshot(server)).toBe(before)
    }
  })

  test('401 for signing in when it happens before the session is written', async ({ ownerServer: server }) => {
    for (const isLink of [false, true]) {
      const { named, ownerToken } = await newOwner(other)
      const token = isLink ? (await createLink(other.deps, named)).token : ownerToken
      let before = ''
      const end = beforeTransaction(server, async () => {
        end()
        await revokeUser(other.deps, named)
        before = snapshot(server)
      })
      const reply = await server.request('POST', '/admin/v1/session', { key: null, body: { token } })
      expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([401, 'sign_in_refused'])
      expect(snapshot(server)).toBe(before)
    }
  })
})

describe('a form of the dashboard', () => {
  const forms = (server: OwnerServer): string[] => {
    const paths = server.routes.filter(({ method, path }) => method === 'POST' && /^\/admin\/(?!v1|sign-in)/.test(path))
    return [...new Set(paths.map(({ path }) => path.replace(/:\w+/g, ID.commission)))]
  }

  test.for(Object.entries(sessionWays))(
    'is refused and shows nothing of the shop when %s',
    async ([_name, way], { ownerServer: server }) => {
      expect(forms(server).length).toBeGreaterThan(10)
      for (const path of forms(server)) {
        // Staff may sign out, manage their own sign-in and send again.
        if (way.rejection[1] === 'role_missing' && /sign-out|account|redeliver|test/.test(path)) continue
        const sent: Record<string, string>[] = [{ label: 'Late', 'access-payouts': 'read' }, { periodStart: 'x' }]
        for (const fields of sent) {
          const { headers, revoke } = await way.make(other)
          const raw = new URLSearchParams({ csrf: headers['X-CSRF-Token'] ?? '', ...fields }).toString()
          const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
          const bytes = bytesOf(request('POST', path, { raw, headers: type }), { Cookie: headers.Cookie ?? '' })
          const finish = await held.hold(bytes)
          await revoke()
          const before = snapshot(server)
          const answer = await finish()
          expect(statusAndCode(answer), path).toEqual(way.rejection)
          expect(answer?.body, path).not.toContain('NISA16')
          expect(snapshot(server), path).toBe(before)
        }
      }
    },
  )
})

test('the same calls succeed with a credential that is not revoked', async ({ ownerServer: server }) => {
  const call = await capture(server, (fake) => callOperation(fake, operation('createAffiliate')))
  const answer = await (await held.hold(bytesOf(call, { Authorization: `Bearer ${server.shop.key}` })))()
  expect(statusAndCode(answer)).toEqual([201, undefined])
})

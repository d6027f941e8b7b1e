import { describe, expect } from 'vitest'
import { TABLE_NAMES } from '../../server/src/database/personal-data.ts'
import { check } from '../../server/src/operator/check.ts'
import { report, resultOf, sentBatch } from '../payouts/payments.ts'
import { beforeTransaction } from '../support/faults.ts'
import { allTables, rowsOf, subscribe, updateRows } from '../support/inspect.ts'
import { deletionOf, endOf, newTenant, operate } from '../support/operator.ts'
import { ownerServer } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const codeOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get('X-Error-Code')]

describe('a shop', () => {
  test('is created with a token for its owner, found in the list, renamed, and limited', async ({ server }) => {
    const { shop, owner } = await expectOk(
      operate(server, 'POST', '/shops', {
        name: ' Caps ',
        plan: 'ENTERPRISE',
        currency: 'EUR',
        ownerEmail: 'o@caps.example',
      }),
    )
    expect(shop).toMatchObject({ name: 'Caps', plan: 'ENTERPRISE', currency: 'EUR', status: 'ACTIVE' })
    const session = await server.request('GET', '/admin/v1/session', { key: owner.token })
    expect(session.body.data).toMatchObject({ user: { id: owner.id, role: 'OWNER' }, shop: { id: shop.id } })
    const listed = await operate(server, 'GET', '/shops?limit=100')
    expect(listed.body.data).toContainEqual(shop)
    expect(listed.body.pagination.total).toBe(listed.body.data.length)
    const renamed = await expectOk(operate(server, 'PATCH', `/shops/${shop.id}`, { name: 'Hats' }))
    expect(renamed).toEqual({ ...shop, name: 'Hats', updatedAt: renamed.updatedAt })
    expect(await expectOk(operate(server, 'GET', `/shops/${shop.id}`))).toEqual(renamed)
    const audits = rowsOf(server, 'audits', { shopId: shop.id, actor: 'operator' })
    expect(audits.map(({ action }) => action)).toEqual(['shop.created', 'shop.updated'])
  })

  test('a change without a difference is no change', async ({ server }) => {
    const { shopId } = await newTenant(server)
    const before = rowsOf(server, 'audits', { shopId })
    await expectOk(operate(server, 'PATCH', `/shops/${shopId}`, { name: 'Test shop', apiEnabled: true }))
    expect(rowsOf(server, 'audits', { shopId })).toEqual(before)
  })

  test('a limit of requests replaces that of the plan, and gives no access without one', async ({ server }) => {
    const shop = await server.createShop()
    const limit = async () =>
      (await server.request('GET', '/api/v1/programs', { key: shop.key })).headers.get('X-RateLimit-Limit')
    expect(await limit()).toBe('100')
    await expectOk(operate(server, 'PATCH', `/shops/${shop.shopId}`, { requestsPerMinute: 250 }))
    expect(await limit()).toBe('250')
    await expectOk(operate(server, 'PATCH', `/shops/${shop.shopId}`, { plan: 'STARTER' }))
    expect(codeOf(await server.request('GET', '/api/v1/programs', { key: shop.key }))).toEqual([403, 'plan_required'])
    await expectOk(operate(server, 'PATCH', `/shops/${shop.shopId}`, { plan: 'PROFESSIONAL', requestsPerMinute: null }))
    expect(await limit()).toBe('100')
  })

  test('a limit of active keys replaces the general one', async ({ server }) => {
    const { shopId } = await newTenant(server)
    await expectOk(operate(server, 'PATCH', `/shops/${shopId}`, { maxActiveKeys: 2 }))
    const create = () => operate(server, 'POST', `/shops/${shopId}/keys`, { label: 'K', scopes: ['events:write'] })
    expect((await create()).status).toBe(201)
    const reply = await create()
    expect(codeOf(reply)).toEqual([409, 'key_limit_reached'])
    expect(reply.body.error).toContain('2 active API keys')
  })

  test('a key and a user are created, replaced and revoked', async ({ server }) => {
    const { shopId } = await newTenant(server)
    const key = await expectOk(
      operate(server, 'POST', `/shops/${shopId}/keys`, { label: 'K', scopes: ['programs:read'] }),
    )
    const use = async (secret: string) => (await server.request('GET', '/api/v1/programs', { key: secret })).status
    const rotated = await expectOk(operate(server, 'POST', `/shops/${shopId}/keys/${key.id}/rotate`))
    expect([await use(key.secret), await use(rotated.secret)]).toEqual([403, 200])
    await expectOk(operate(server, 'DELETE', `/shops/${shopId}/keys/${key.id}`))
    expect(await use(rotated.secret)).toBe(403)

    const user = await expectOk(
      operate(server, 'POST', `/shops/${shopId}/users`, { email: 'new@example.com', role: 'STAFF' }),
    )
    const session = async (token: string) => (await server.request('GET', '/admin/v1/session', { key: token })).status
    const { token } = await expectOk(operate(server, 'POST', `/shops/${shopId}/users/${user.id}/token`))
    expect([await session(user.token), await session(token)]).toEqual([403, 200])
    const link = await expectOk(operate(server, 'POST', `/shops/${shopId}/users/${user.id}/sign-in-link`))
    const opened = await server.request('POST', '/admin/v1/session', {
      key: null,
      body: { token: link.path.split('token=')[1] },
    })
    expect(opened.body.data.user).toMatchObject({ id: user.id, role: 'STAFF' })
    await expectOk(operate(server, 'DELETE', `/shops/${shopId}/users/${user.id}`))
    expect(await session(token)).toBe(403)
    const users = await expectOk(operate(server, 'GET', `/shops/${shopId}/users`))
    expect(users.map(({ email }: { email: string }) => email)).toEqual(['owner@shop.example', 'new@example.com'])
    expect(users[1].revokedAt).not.toBeNull()
    expect(JSON.stringify([users, server.logs])).not.toContain(token)
  })

  test('the ids of another shop are not found', async ({ server }) => {
    const [one, other] = [await newTenant(server), await newTenant(server)]
    const paths = [
      ['POST', `/users/${other.userId}/token`],
      ['POST', `/users/${other.userId}/sign-in-link`],
      ['DELETE', `/users/${other.userId}`],
      ['POST', `/keys/${other.keyId}/rotate`],
      ['DELETE', `/keys/${other.keyId}`],
    ] as const
    for (const [method, path] of paths)
      expect((await operate(server, method, `/shops/${one.shopId}${path}`)).status, path).toBe(404)
  })
})

describe('a suspended shop', () => {
  test('rejects keys, lets owners read and sign out but change nothing, and works again when it is resumed', async ({
    server,
  }) => {
    const shop = await server.createShop()
    const as = server.asShop(shop)
    const suspended = await expectOk(operate(server, 'POST', `/shops/${shop.shopId}/suspend`))
    expect(suspended).toMatchObject({ status: 'SUSPENDED', suspendedAt: expect.any(String) })
    expect(await expectOk(operate(server, 'POST', `/shops/${shop.shopId}/suspend`))).toEqual(suspended)
    expect(codeOf(await as.request('GET', '/api/v1/programs'))).toEqual([403, 'shop_suspended'])
    expect((await as.owner('GET', '/keys')).status).toBe(200)
    expect(codeOf(await as.owner('PATCH', '/settings', { taxWithholdingBps: 1 }))).toEqual([403, 'shop_suspended'])
    const signedIn = await as.request('POST', '/admin/v1/session', { key: null, body: { token: shop.ownerToken } })
    const headers = {
      Cookie: signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '',
      'X-CSRF-Token': signedIn.body.data.csrfToken,
    }
    expect((await as.request('DELETE', '/admin/v1/session', { key: null, headers })).status).toBe(200)
    expect(await expectOk(operate(server, 'GET', '/shops?status=SUSPENDED&limit=100'))).toContainEqual(suspended)
    await expectOk(operate(server, 'POST', `/shops/${shop.shopId}/resume`))
    expect((await as.request('GET', '/api/v1/programs')).status).toBe(200)
  })
})

/** The rows of a shop by table, from the catalog of the database. */
const rowsOfShop = (server: TestServer, shopId: string): Record<string, number> =>
  Object.fromEntries(
    allTables(server).flatMap(([table, rows]) => {
      const found = rows.filter((row) => (table === 'shops' ? row.id : row.shopId) === shopId)
      return found.length > 0 ? [[table, found.length]] : []
    }),
  )

describe('deletion', () => {
  test('leaves no row of the shop in any table, other shops as they were, and a record of its export', async () => {
    const server = await ownerServer()
    const { shopId } = server.shop
    const other = await server.createShop()
    subscribe(server)
    const filled = Object.keys(rowsOfShop(server, shopId))
    const others = rowsOfShop(server, other.shopId)
    await expectOk(operate(server, 'POST', `/shops/${shopId}/suspend`))
    const exported = await operate(server, 'GET', `/shops/${shopId}/export`)
    const { sha256, rows } = endOf(exported)
    updateRows(server, 'payoutBatches', { status: 'FAILED' }, { shopId, status: 'OPEN' })
    const query = new URLSearchParams({ name: 'Test shop', digest: sha256 })
    const deleted = await expectOk(operate(server, 'DELETE', `/shops/${shopId}?${query}`))
    expect(deleted).toMatchObject({ id: shopId, deleted: true })
    expect(deleted.rows).toBeGreaterThan(rows)
    // The example fills most tables, so that the comparison is not empty.
    expect(filled.length).toBeGreaterThan(TABLE_NAMES.length / 2)
    expect(rowsOfShop(server, shopId)).toEqual({})
    expect(rowsOfShop(server, other.shopId)).toEqual(others)
    expect(codeOf(await server.request('GET', '/api/v1/programs'))).toEqual([403, 'key_unknown'])
    expect(codeOf(await server.owner('GET', '/keys'))).toEqual([403, 'owner_token_unknown'])
    expect((await operate(server, 'DELETE', `/shops/${shopId}?${query}`)).status).toBe(404)
    const [record] = await expectOk(operate(server, 'GET', '/audit?action=shop.deleted'))
    expect(record).toMatchObject({
      subjectId: shopId,
      data: { name: 'Test shop', export: sha256, audit: { seq: expect.any(Number), hash: expect.any(String) } },
    })
    await server.close()
  }, 60_000)

  test('continues after it was interrupted, and cannot be undone', async ({ server }) => {
    const { shopId } = await newTenant(server)
    const query = await deletionOf(server, shopId)
    const stopping = new AbortController()
    const { stopping: running } = server.deps
    server.deps.stopping = stopping.signal
    stopping.abort()
    expect(await expectOk(operate(server, 'DELETE', `/shops/${shopId}?${query}`))).toMatchObject({ deleted: false })
    server.deps.stopping = running
    expect(await expectOk(operate(server, 'GET', `/shops/${shopId}`))).toMatchObject({ status: 'DELETING' })
    expect(codeOf(await operate(server, 'POST', `/shops/${shopId}/resume`))).toEqual([409, 'shop_deletion_started'])
    expect(await expectOk(operate(server, 'DELETE', `/shops/${shopId}?${query}`))).toMatchObject({ deleted: true })
    expect(rowsOfShop(server, shopId)).toEqual({})
  })

  test('is no inconsistency for check, wherever it is interrupted', async () => {
    const server = await ownerServer()
    const { shopId } = server.shop
    const { lines } = await sentBatch(server)
    await report(server, [resultOf(lines[0], 'RETURNED')])
    updateRows(server, 'payoutBatches', { status: 'FAILED' }, { shopId, status: 'OPEN' })
    const path = `/shops/${shopId}?${await deletionOf(server, shopId)}`
    const { stopping: running } = server.deps
    let isDeleted = false
    for (let transactions = 1; !isDeleted; transactions++) {
      const stopping = new AbortController()
      server.deps.stopping = stopping.signal
      let left = transactions
      const end = beforeTransaction(server, (changed) => {
        if (changed === shopId && --left === 0) stopping.abort()
      })
      isDeleted = (await expectOk(operate(server, 'DELETE', path))).deleted
      end()
      server.deps.stopping = running
      expect((await check(server.deps)).problems, `after ${transactions} transactions`).toEqual([])
    }
    expect(rowsOfShop(server, shopId)).toEqual({})
    await server.close()
  }, 60_000)

  test('with an open batch, requires force', async ({ server }) => {
    const shop = await server.createShop()
    const as = { ...server, ...server.asShop(shop) }
    await withAffiliate(as)
    await expectOk(convert(as, { externalOrderId: 'x', amountCents: 10_000, couponCode: 'NISA16' }))
    const period = { periodStart: '2026-10-01', periodEnd: '2026-11-30' }
    await expectOk(as.request('POST', '/api/v1/payouts', { body: period }))
    const query = await deletionOf(server, shop.shopId)
    const path = `/shops/${shop.shopId}?${query}`
    expect(codeOf(await operate(server, 'DELETE', path))).toEqual([409, 'shop_has_open_batch'])
    expect(await expectOk(operate(server, 'DELETE', `${path}&force=1`))).toMatchObject({ deleted: true })
  })

  test('an export from before the suspension deletes nothing', async ({ server }) => {
    const { shopId } = await newTenant(server)
    const { sha256 } = endOf(await operate(server, 'GET', `/shops/${shopId}/export`))
    await expectOk(operate(server, 'POST', `/shops/${shopId}/suspend`))
    const query = new URLSearchParams({ name: 'Test shop', digest: sha256 })
    expect(codeOf(await operate(server, 'DELETE', `/shops/${shopId}?${query}`))).toEqual([409, 'shop_export_required'])
  })
})

test('an export has every row, no credential, and a digest of its bytes', async ({ server }) => {
  const shop = await server.createShop()
  const as = { ...server, ...server.asShop(shop) }
  await withAffiliate(as)
  await expectOk(as.owner('PATCH', '/settings', { storeWebhookSecret: 'hush-hush-hush-hush' }))
  const before = rowsOfShop(server, shop.shopId)
  const reply = await operate(server, 'GET', `/shops/${shop.shopId}/export`)
  expect(reply.headers.get('Content-Type')).toBe('application/x-ndjson')
  const text = String(reply.body)
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const bytes = text.slice(0, text.trimEnd().lastIndexOf('\n') + 1)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(bytes))
  expect(endOf(reply)).toEqual({ rows: lines.length - 2, sha256: Buffer.from(digest).toString('hex') })
  const tables = lines.slice(1, -1).map(({ table }) => table)
  const counted = Object.fromEntries(
    Object.keys(before).map((table) => [table, tables.filter((one) => one === table).length]),
  )
  // Derived rows and stored responses are left out.
  expect(counted).toEqual({ ...before, rowCounts: 0, ...('idempotencyKeys' in before && { idempotencyKeys: 0 }) })
  for (const secret of ['ecretHash"', '"tokenHash"', '"storeWebhookSecret":', shop.key, shop.ownerToken])
    expect(text).not.toContain(secret)
})

// Full: it revokes credentials of hundreds of open requests.
import { afterAll, expect } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { call } from '../support/calls.ts'
import { bytesOf, holdLastByte } from '../support/held-requests.ts'
import { countOf, insertRow } from '../support/inspect.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

let first: RunningServer
let second: RunningServer
test.beforeAll(async ({ server }) => {
  const env = {
    DATABASE_URL: server.url,
    REFERRAL_DATA_DIR: server.deps.config.dataDir,
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    REFERRAL_DEMO: '0',
    LOG_LEVEL: 'warn',
  }
  first = await startServer(env)
  second = await startServer(env)
})
afterAll(async () => {
  await Promise.all([first.stop('SIGKILL'), second.stop('SIGKILL')])
})

const portOf = ({ url }: RunningServer) => Number(new URL(url).port)
const ROUNDS = 5
const OPEN = 8
const LATER = 10

const newKey = async (server: TestServer) => {
  const { body } = await call(first, server.shop.ownerToken, [
    'POST',
    '/admin/v1/keys',
    { label: 'K', scopes: ['affiliates:write'] },
  ])
  return body.data as { id: string; secret: string }
}

let made = 0
const affiliate = () => ({ email: `person-${++made}@example.com`, name: 'Person' })
const hold = (at: RunningServer, secret: string) =>
  holdLastByte(
    portOf(at),
    bytesOf(
      { method: 'POST', path: '/api/v1/affiliates', options: { body: affiliate() } },
      { Authorization: `Bearer ${secret}` },
    ),
  )

const affiliates = (server: TestServer) => countOf(server, 'affiliates')

test('a key revoked by one process is rejected by both: 0 requests succeed', async ({ server }) => {
  const codes: (string | undefined)[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { id, secret } = await newKey(server)
    expect((await call(second, secret, ['POST', '/api/v1/affiliates', affiliate()])).status).toBe(201)
    const open = await Promise.all(Array.from({ length: OPEN }, (_, n) => hold(n % 2 === 0 ? first : second, secret)))
    const before = affiliates(server)
    expect((await call(first, server.shop.ownerToken, ['DELETE', `/admin/v1/keys/${id}`])).status).toBe(200)
    const ended = await Promise.all(open.map((finish) => finish()))
    codes.push(...ended.map((answer) => answer?.headers['x-error-code']))
    for (let n = 0; n < LATER; n++) {
      const at = n % 2 === 0 ? first : second
      const { headers } = await call(at, secret, ['POST', '/api/v1/affiliates', affiliate()])
      codes.push(headers.get('X-Error-Code') ?? 'none')
    }
    expect(affiliates(server)).toBe(before)
  }
  expect(codes).toHaveLength(ROUNDS * (OPEN + LATER))
  expect(codes.filter((code) => code !== 'key_revoked')).toEqual([])
})

test('changes under load stop with the revocation: only those committed before it are acknowledged', async ({
  server,
}) => {
  await shops.update(server.deps, server.shop.shopId, { plan: 'ENTERPRISE' })
  const { id, secret } = await newKey(server)
  let isRevoked = false
  let late = 0
  let ok = 0
  const work = async (at: RunningServer) => {
    for (;;) {
      const startedAfter = isRevoked
      const { status } = await call(at, secret, ['POST', '/api/v1/affiliates', affiliate()])
      if (status === 201) ok++
      if (status === 201 && startedAfter) late++
      if (status !== 201) return
    }
  }
  const workers = Array.from({ length: 8 }, (_, n) => work(n % 2 === 0 ? first : second))
  while (ok < 20) await new Promise((done) => setTimeout(done, 5))
  await call(first, server.shop.ownerToken, ['DELETE', `/admin/v1/keys/${id}`])
  isRevoked = true
  const atRevocation = affiliates(server)
  await Promise.all(workers)
  expect([late, affiliates(server)]).toEqual([0, atRevocation])
})

test('an API switched off by one process accepts no change in the other, not even while that one still serves reads', async ({
  server,
}) => {
  const { secret } = await newKey(server)
  expect((await call(second, secret, ['POST', '/api/v1/affiliates', affiliate()])).status).toBe(201)
  const finish = await hold(second, secret)
  insertRow(server, 'installationSettings', { name: 'apiEnabled', value: 'off' })
  const before = affiliates(server)
  const { status, headers } = await call(second, secret, ['POST', '/api/v1/affiliates', affiliate()])
  expect([status, headers.get('X-Error-Code')]).toEqual([503, 'api_disabled'])
  expect((await finish())?.headers['x-error-code']).toBe('api_disabled')
  expect(affiliates(server)).toBe(before)
})

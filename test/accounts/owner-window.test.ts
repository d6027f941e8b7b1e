import { afterAll, beforeAll, expect, test } from 'vitest'
import { visitorOf } from '../admin/page-fixture.ts'
import { admin, signIn, staffOf } from '../support/owner.ts'
import { type Reply, type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer({ limited: true })
})
afterAll(() => server.close())

const codeOf = ({ status, headers }: Pick<Reply, 'status' | 'headers'>) => [status, headers.get('X-Error-Code')]

test('429 after 600 requests of one user in a window, by token, session and page together; others go on', async () => {
  const staff = await staffOf(server)
  const visitor = visitorOf(server)
  expect((await visitor.signIn()).status).toBe(303)
  const { headers } = await signIn(server)
  const byToken = () => admin(server, 'GET', '/session')
  const bySession = () => admin(server, 'GET', '/session', undefined, { key: null, headers })
  const { user } = await expectOk(byToken())
  // Signing in is not counted here: it has a window of its own.
  await Promise.all(Array.from({ length: 593 }, () => server.limiter.consume(`user:${user.id}`, 600)))
  for (let i = 0; i < 2; i++) {
    expect((await byToken()).status).toBe(200)
    expect((await bySession()).status).toBe(200)
    expect((await visitor.open('/admin/keys')).status).toBe(200)
  }
  const refused = await byToken()
  expect([...codeOf(refused), Number(refused.headers.get('Retry-After')) > 0]).toEqual([429, 'rate_limited', true])
  expect(codeOf(await bySession())).toEqual([429, 'rate_limited'])
  expect(codeOf(await visitor.open('/admin/keys'))).toEqual([429, 'rate_limited'])
  expect(codeOf(await visitor.send('/admin/sign-out', []))).toEqual([429, 'rate_limited'])
  expect((await admin(server, 'GET', '/session', undefined, { key: staff })).status).toBe(200)
  expect((await server.request('GET', '/api/v1/programs')).status).toBe(200)
})

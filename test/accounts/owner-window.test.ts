import { expect } from 'vitest'
import { visitorOf } from '../dashboard/visitor.ts'
import { signIn, staffOf } from '../support/owner.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { limited: true })

const codeOf = ({ status, headers }: Pick<Reply, 'status' | 'headers'>) => [status, headers.get('X-Error-Code')]

test('429 after 600 requests of one user in a window, by token, session and page together; other users are not limited', async ({
  server,
  owner,
}) => {
  const staff = await staffOf(server)
  const visitor = visitorOf(server)
  expect((await visitor.signIn()).status).toBe(303)
  const { headers } = await signIn(server)
  const byToken = () => owner('GET', '/session')
  const bySession = () => owner('GET', '/session', undefined, { key: null, headers })
  const { user } = await expectOk(byToken())
  // Signing in is not counted here: it has its own window.
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
  expect((await owner('GET', '/session', undefined, { key: staff })).status).toBe(200)
  expect((await server.request('GET', '/api/v1/programs')).status).toBe(200)
})

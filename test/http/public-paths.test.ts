import { describe, expect } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { limited: true, config: { trustProxy: 1 } })

/** A caller without a credential, from its own address. */
const from =
  (server: TestServer, address: string) =>
  (path: string, headers: Record<string, string> = {}) =>
    server.request('GET', path, { key: null, headers: { 'X-Forwarded-For': address, ...headers } })

describe.each(['/openapi.json', '/openapi.yaml', '/referral.arazzo.yaml'])('%s', (path) => {
  const get = (server: TestServer, path: string, headers?: Record<string, string>) =>
    from(server, '203.0.113.1')(path, headers)

  test('304 for a client that holds the current document', async ({ server }) => {
    const first = await get(server, path)
    const tag = first.headers.get('ETag') ?? ''
    expect([first.status, tag]).toEqual([200, expect.stringMatching(/^"[0-9a-f]{16}"$/)])
    for (const held of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await get(server, path, { 'If-None-Match': held })
      expect([again.status, again.body, again.headers.get('ETag')], held).toEqual([304, '', tag])
    }
    expect((await get(server, path, { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  test('a browser does not sniff another content type', async ({ server }) => {
    expect((await get(server, path)).headers.get('X-Content-Type-Options')).toBe('nosniff')
  })
})

test('the two formats of the document have different ETags', async ({ server }) => {
  const get = from(server, '203.0.113.2')
  const [json, yaml] = [await get('/openapi.json'), await get('/openapi.yaml')]
  expect(json.headers.get('ETag')).not.toBe(yaml.headers.get('ETag'))
  expect(json.body).toMatchObject({ openapi: expect.any(String), paths: expect.any(Object) })
})

test('429 after 600 requests of one address in a window; other addresses, health and the docs are not limited', async ({
  server,
}) => {
  const get = from(server, '203.0.113.3')
  await Promise.all(Array.from({ length: 597 }, () => server.limiter.consume('public:203.0.113.3', 600)))
  expect((await get('/openapi.json', { 'If-None-Match': '*' })).status).toBe(304)
  expect((await get('/openapi.yaml', { 'If-None-Match': '*' })).status).toBe(304)
  expect((await get('/')).status).toBe(302)
  for (const path of ['/openapi.json', '/openapi.yaml', '/']) {
    const refused = await get(path)
    expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  }
  for (const path of ['/healthz', '/readyz', '/api/v1/docs']) expect((await get(path)).status, path).toBe(200)
  expect((await from(server, '203.0.113.4')('/openapi.json')).status).toBe(200)
})

test('every response disables content type sniffing', async ({ server }) => {
  const get = from(server, '203.0.113.5')
  const paths = [
    '/',
    '/healthz',
    '/readyz',
    '/nothing',
    '/api/v1/docs',
    '/api/v1/nothing',
    '/api/v1/programs',
    '/admin',
  ]
  for (const path of [...paths, '/admin/sign-in', '/admin/v1/keys', '/admin/v1/nothing'])
    expect((await get(path)).headers.get('X-Content-Type-Options'), path).toBe('nosniff')
  const keyed = await server.request('GET', '/api/v1/programs')
  expect([keyed.status, keyed.headers.get('X-Content-Type-Options')]).toEqual([200, 'nosniff'])
})

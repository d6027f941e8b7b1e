import { describe, expect } from 'vitest'
import { allOperations } from '../support/document.ts'
import { test as baseTest } from '../support/test.ts'

const ORIGIN = 'https://dashboard.example.com'
const test = baseTest.extend('options', { scope: 'file' }, { config: { corsOrigins: [ORIGIN] } })

const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith('access-control-'))
const preflight = (method: string, origin = ORIGIN) => ({
  key: null,
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'authorization',
  },
})
const urlOf = (path: string) => path.replace(/\{\w+\}/g, 'none')

describe('an allowed origin', () => {
  test('may read responses and errors of reads, without credentials of the browser', async ({ server }) => {
    for (const key of [server.shop.key, 'rk_nobody']) {
      const { headers } = await server.request('GET', '/api/v1/programs', { key, headers: { Origin: ORIGIN } })
      expect(headers.get('Access-Control-Allow-Origin')).toBe(ORIGIN)
      expect(headers.get('Vary')).toBe('Origin')
      expect(headers.get('Access-Control-Expose-Headers')).toContain('X-Error-Code')
      expect(headers.get('Access-Control-Allow-Credentials')).toBeNull()
    }
  })

  test('may send a key with a read of /api/v1, and nothing else, of any operation', async ({ server }) => {
    const allowed: string[] = []
    for (const { id, method, path } of allOperations) {
      const { status, headers } = await server.request('OPTIONS', urlOf(path), preflight(method))
      if (status === 204) allowed.push(id)
      else expect([status, corsOf(headers)], id).toEqual([405, []])
    }
    const reads = allOperations.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/'))
    expect(allowed).toEqual(reads.map(({ id }) => id))
    const { headers } = await server.request('OPTIONS', '/api/v1/programs', preflight('GET'))
    expect(Object.fromEntries(corsOf(headers))).toEqual({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'Authorization, X-Request-Id',
      'access-control-max-age': '600',
    })
  })

  test('may not read the response of a change', async ({ server }) => {
    const headers = { Origin: ORIGIN }
    const changed = await server.request('POST', '/api/v1/programs', { body: { name: 'P' }, headers })
    const owned = await server.request('GET', '/admin/v1/keys', { key: server.shop.ownerToken, headers })
    expect([...corsOf(changed.headers), ...corsOf(owned.headers)]).toEqual([])
  })
})

test.for(['https://dashboard.example.com.evil.example', 'http://dashboard.example.com', 'null'])(
  'the origin %s is not allowed',
  async (origin, { server }) => {
    const read = await server.request('GET', '/api/v1/programs', { headers: { Origin: origin } })
    expect([read.status, corsOf(read.headers), read.headers.get('Vary')]).toEqual([200, [], 'Origin'])
    const asked = await server.request('OPTIONS', '/api/v1/programs', preflight('GET', origin))
    expect([asked.status, corsOf(asked.headers)]).toEqual([405, []])
  },
)

baseTest('without the setting, no response has a header for other origins', async ({ server }) => {
  const read = await server.request('GET', '/api/v1/programs', { headers: { Origin: ORIGIN } })
  expect([corsOf(read.headers), read.headers.get('Vary')]).toEqual([[], null])
  expect((await server.request('OPTIONS', '/api/v1/programs', preflight('GET'))).status).toBe(405)
})

import { expect } from 'vitest'
import { TABLE_NAMES } from '../../server/src/database/personal-data.ts'
import { document } from '../support/document.ts'
import { countOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const paths = Object.entries<object>(document.paths).map(([path, item]) => ({
  path,
  url: path.replace(/\{\w+\}/g, 'none'),
  methods: METHODS.filter((method) => method in item).map((method) => method.toUpperCase()),
}))

test.for(paths)(
  '405 with the methods of $path in Allow, HEAD where there is GET',
  async ({ url, methods }, { server }) => {
    const expected = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).sort()
    const others = ['OPTIONS', ...METHODS.map((one) => one.toUpperCase())].filter((one) => !methods.includes(one))
    for (const method of others) {
      const { status, headers } = await server.request(method, url)
      expect([status, headers.get('Allow')?.split(', ').sort()], method).toEqual([405, expected])
    }
  },
)

const readable = paths.filter(({ path, methods }) => methods.includes('GET') && !path.endsWith('/stream'))

test.for(readable)('HEAD responds like GET on $path, without a body', async ({ url }, { server }) => {
  const key = url.startsWith('/admin/') ? server.shop.ownerToken : server.shop.key
  const got = await server.request('GET', url, { key })
  const head = await server.fetch(
    new Request(`http://127.0.0.1${url}`, { method: 'HEAD', headers: { Authorization: `Bearer ${key}` } }),
  )
  expect([head.status, head.headers.get('Content-Type'), await head.text()]).toEqual([
    got.status,
    got.headers.get('Content-Type'),
    '',
  ])
})

test.for(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])('%s of the events allows only POST', async (method, { server }) => {
  const { status, headers } = await server.fetch(
    new Request('http://127.0.0.1/api/v1/events', {
      method,
      headers: { Authorization: `Bearer ${server.shop.key}` },
    }),
  )
  expect([status, headers.get('Allow')]).toEqual([405, 'POST'])
})

const tables = TABLE_NAMES.filter((table) => table !== 'audits')
const rows = (server: TestServer) => Object.fromEntries(tables.map((table) => [table, countOf(server, table)]))

test.for(paths.filter(({ methods }) => methods.includes('GET')))(
  'HEAD on $path creates nothing',
  async ({ url }, { server }) => {
    const before = rows(server)
    const key = url.startsWith('/admin/') ? server.shop.ownerToken : server.shop.key
    for (const query of ['', '?sessionId=s-1'])
      await server.fetch(
        new Request(`http://127.0.0.1${url}${query}`, { method: 'HEAD', headers: { Authorization: `Bearer ${key}` } }),
      )
    expect(rows(server)).toEqual(before)
  },
)

import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { test } from '../support/test.ts'

const PATHS = [
  ['/api/v1/docs', 'gzip, br', 'gzip'],
  ['/admin/sign-in', 'gzip, br', 'gzip'],
  ['/openapi.yaml', 'gzip, br', 'br'],
  ['/openapi.json', 'gzip, br', 'br'],
  ['/docs/redoc.js', 'gzip, br', 'br'],
  ['/docs/redoc.js', 'gzip, br;q=0', 'gzip'],
] as const
const unpack = { br: brotliDecompressSync, gzip: gunzipSync }

test.for(PATHS)('%s for %s is compressed as %s', async ([path, accepted, encoding], { server }) => {
  const load = (headers: Record<string, string> = {}) => server.app.request(path, { headers })
  const plain = await load()
  const sent = await load({ 'Accept-Encoding': accepted })
  expect([plain.status, plain.headers.get('Content-Encoding')]).toEqual([200, null])
  expect([sent.status, sent.headers.get('Content-Encoding')]).toEqual([200, encoding])
  expect(sent.headers.get('Vary')).toContain('Accept-Encoding')
  const [whole, packed] = [Buffer.from(await plain.arrayBuffer()), Buffer.from(await sent.arrayBuffer())]
  expect(unpack[encoding](packed).length).toBe(whole.length)
  if (whole.length > 100_000) expect(packed.length).toBeLessThan(whole.length / 3)

  const tag = sent.headers.get('ETag')
  if (!tag) return
  const again = await load({ 'Accept-Encoding': accepted, 'If-None-Match': tag })
  expect([again.status, await again.text()]).toEqual([304, ''])
})

test('a list of the API is sent as it is', async ({ server }) => {
  const { headers } = await server.request('GET', '/api/v1/commissions', { headers: { 'Accept-Encoding': 'gzip' } })
  expect(headers.get('Content-Encoding')).toBeNull()
})

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { operations } from '../support/document.ts'
import { testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

let page: string
test.beforeAll(async ({ server }) => {
  page = (await server.request('GET', '/api/v1/docs', { key: null })).body
})

test('is at most 60 kB and links every operation to the reference once', () => {
  expect(Buffer.byteLength(page)).toBeLessThan(60_000)
  for (const { id, path, tags } of operations) {
    expect(page.split(`<code>${path}</code>`), path).toHaveLength(2)
    expect(page.split(`href="/docs#tag/${tags[0]}/operation/${id}"`), id).toHaveLength(2)
  }
})

test('reports another order than the introductions, so that a reader can follow both', () => {
  const keysOf = (text: string) => text.match(/(?<=Idempotency-Key: )[\w-]+/g) ?? []
  const introductions = ['README.md', 'docs/start.md'].map((file) => readFileSync(file, 'utf8')).join()
  expect(keysOf(introductions)).not.toEqual([])
  for (const key of keysOf(page)) expect(keysOf(introductions)).not.toContain(key)
})

test('contains the address of the request, with the scheme that a trusted proxy names', async ({ server }) => {
  const read = async (app: typeof server.app, url: string, headers = {}) =>
    (await app.request(`${url}/api/v1/docs`, { headers })).text()
  const addresses = (text: string) => new Set(text.match(/https?:\/\/[^/'"\s]*(?=\/api\/v1)/g))
  expect(addresses(await read(server.app, 'http://api.example:8787'))).toEqual(new Set(['http://api.example:8787']))
  const proxied = await testServer({ config: { trustProxy: 1 } })
  const text = await read(proxied.app, 'http://api.example', { 'X-Forwarded-Proto': 'https' })
  expect(addresses(text)).toEqual(new Set(['https://api.example']))
  await proxied.close()
})

test('its commands add an affiliate, report an order and a refund, pay, and subscribe', async () => {
  const server = await testServer()
  const shop = await server.createShop()
  const commands = [...page.matchAll(/<code>(curl .*?)<\/code>/gs)].map(([, text = '']) =>
    text
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  )
  const ids: Record<string, string> = { WEBHOOK_SECRET: 'a'.repeat(32) }
  const replies: string[] = []
  for (const command of commands) {
    const filled = command.replaceAll(/<(\w+)>/g, (_, name) => ids[name] ?? `<${name}>`)
    const [, path = ''] = /'http:\/\/test(.*?)'/.exec(filled) ?? []
    const method = / -X (\w+)/.exec(filled)?.[1] ?? (filled.includes(' -d ') ? 'POST' : 'GET')
    const [, raw] = / -d '(.*)'/.exec(filled) ?? []
    const headers = Object.fromEntries(
      [...filled.matchAll(/ -H '(.*?): (.*?)'/g)].map(([, name, value]) => [name, value]),
    )
    expect('Content-Type' in headers).toBe(raw !== undefined)
    const { status, body } = await server.request(method, path, { key: shop.key, headers, ...(raw && { raw }) })
    replies.push(`${method} ${path.split('?')[0]?.replace('/api/v1', '')} ${status}`)
    const id = body.data?.id
    if (path.endsWith('/programs')) ids.PROGRAM_ID = id
    if (path.endsWith('/payouts')) ids.BATCH_ID = id
    if (path.endsWith('/events')) expect(body.commission.amountCents).toBe(1600)
  }
  expect(replies).toEqual([
    'GET /shop 200',
    'POST /programs 201',
    'POST /affiliates 201',
    'POST /events 201',
    'POST /refunds 200',
    'POST /payouts 200',
    'POST /payouts 200',
    'PATCH /payouts 200',
    'POST /webhooks 200',
  ])
  await server.close()
})

test('loads no external resources and runs no script', () => {
  expect(page).not.toMatch(/<script|<link|src=|@import|url\(/)
})

test('the content security policy allows no script, no frame and no other resource; its only style is allowed by hash', async ({
  server,
}) => {
  const { headers } = await server.request('GET', '/api/v1/docs', { key: null })
  const policy = headers.get('Content-Security-Policy') ?? ''
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
  expect(policy.split('; ')).toEqual([
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "script-src 'none'",
    "img-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ])
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  expect(headers.get('X-Frame-Options')).toBe('DENY')
  expect(page).not.toMatch(/ style=| on\w+=/)
})

test('200 for any query', async ({ server }) => {
  expect((await server.request('GET', '/api/v1/docs?x=%00', { key: null })).status).toBe(200)
})

test('200 with an invalid credential, and while the API is switched off', async ({ server }) => {
  expect((await server.request('GET', '/api/v1/docs', { key: 'rk_nobody' })).status).toBe(200)
  const off = await testServer({ config: { apiDisabled: true } })
  expect((await off.request('GET', '/api/v1/docs', { key: null })).status).toBe(200)
  await off.close()
})

test('/docs serves the reference from this server only, under a policy that allows nothing inline', async ({
  server,
}) => {
  const reference = await server.request('GET', '/docs', { key: null })
  expect(reference.status).toBe(200)
  expect(reference.headers.get('Content-Security-Policy')?.split('; ')).toEqual([
    "default-src 'none'",
    `style-src 'self' 'sha256-${createHash('sha256').update('').digest('base64')}'`,
    "script-src 'self'",
    "img-src 'self' data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "connect-src 'self'",
    'font-src data:',
  ])
  expect(reference.headers.get('X-Content-Type-Options')).toBe('nosniff')
  expect(reference.headers.get('X-Frame-Options')).toBe('DENY')
  const assets = [...String(reference.body).matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(assets).toEqual(['/docs/style.css', '/docs/reference.js'])
  for (const path of [...assets, '/docs/redoc.js']) {
    const asset = await server.request('GET', path, { key: null })
    expect([asset.status, asset.headers.get('X-Content-Type-Options')], path).toEqual([200, 'nosniff'])
    const again = { key: null, headers: { 'If-None-Match': asset.headers.get('ETag') ?? '' } }
    expect((await server.request('GET', path, again)).status, path).toBe(304)
  }
})

test('the script of the reference reports nothing and loads no image from its vendor', async ({ server }) => {
  const script = String((await server.request('GET', '/docs/redoc.js', { key: null })).body)
  expect(script.length).toBeGreaterThan(1_000_000)
  expect(script).not.toContain('cdn.redoc.ly/redoc/logo')
  expect(String((await server.request('GET', '/docs/reference.js', { key: null })).body)).toContain(
    'disableTelemetry: true',
  )
})

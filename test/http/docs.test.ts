import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { LIMITS } from '../../server/src/http/documented-limits.ts'
import { MAX_BODY_BYTES } from '../../server/src/http/parse-request.ts'
import { PLAN_LIMITS } from '../../server/src/http/rate-limit.ts'
import { composed, document, operations } from '../support/document.ts'
import { testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

let page: string
test.beforeAll(async ({ server }) => {
  page = (await server.request('GET', '/api/v1/docs', { key: null })).body
})

test.each(operations.filter((op) => op.path.startsWith('/api/v1/')).map((op) => [op.id, op] as const))(
  'shows %s with its path, scope, parameters and error codes',
  (id, op) => {
    const article = page.split('<article id="').find((part) => part.startsWith(`${id}"`)) ?? ''
    expect(article).toContain(`<b>${op.method}</b> ${op.path}`)
    if (op.scope) expect(article).toContain(op.scope)
    for (const { name } of op.parameters) expect(article).toContain(`<code>${name}</code>`)
    for (const code of Object.values(op.responses).flat()) expect(article).toContain(`<code>${code}</code>`)
  },
)

test('shows every field of every request body', () => {
  const bodies = [
    'AffiliateCreate',
    'AffiliateUpdate',
    'ProgramUpdate',
    'PayoutCreate',
    'ConversionEvent',
    'ClickEvent',
    'PageViewEvent',
    'WebhookCreate',
  ]
  for (const name of bodies) {
    for (const field of Object.keys(composed({ $ref: `#/components/schemas/${name}` }).whole.properties))
      expect(page).toContain(`<code>${field}</code>`)
  }
})

test('shows the limits that apply', () => {
  const values = Object.fromEntries(LIMITS)
  const { PROFESSIONAL = 0, ENTERPRISE = 0 } = PLAN_LIMITS
  expect(values['Requests per minute and key']).toBe(
    `${PROFESSIONAL} (Professional), ${ENTERPRISE.toLocaleString('en-US')} (legacy Enterprise); the operator can set another limit for a shop`,
  )
  expect(values.Body).toContain(`${MAX_BODY_BYTES / 1024 ** 2} MiB`)
  for (const limit of Object.keys(values)) expect(page).toContain(`<td>${limit}</td>`)
})

test('shows every webhook event', () => {
  for (const name of Object.keys(document.webhooks)) expect(page).toContain(`event-${name}`)
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

test('every command sends JSON with its content type', () => {
  const commands = page.match(/<code>curl .*?<\/code>/gs) ?? []
  expect(commands.length).toBeGreaterThan(0)
  for (const command of commands.filter((one) => one.includes(' -d ')))
    expect(command).toContain('Content-Type: application/json')
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

test('the quick start shows the SDK, the verifier, the signature headers, the limits, and every field and code', () => {
  for (const text of ['@referral/sdk', '@referral/webhook-verifier', 'webhook-signature', 'X-RateLimit-Reset'])
    expect(page).toContain(text)
  const resources = [
    'Affiliate',
    'Program',
    'Commission',
    'PayoutBatch',
    'Coupon',
    'JourneyEntry',
    'WebhookSubscription',
  ]
  for (const name of resources) {
    const fields = Object.keys(composed({ $ref: `#/components/schemas/${name}` }).whole.properties)
    const [, article = ''] = page.split(`<article id="resource-${name}">`)
    for (const field of fields) expect(article.split('</article>')[0], name).toContain(`<code>${field}</code>`)
  }
  for (const code of document.components.schemas.ErrorCode?.enum ?? []) expect(page).toContain(`id="error-${code}"`)
})

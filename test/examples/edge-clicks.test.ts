import { createReferralClient } from '@referral/sdk'
import { type TestServer, testServer } from '@referral/server/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import edge from '../../examples/edge-clicks.ts'

const SHOP = 'https://shop.example'
let server: TestServer
let reports: Request[]
beforeEach(async () => {
  server = await testServer({ scenario: 'affiliate' })
  reports = []
  // The origins of the edge worker: the shop's own pages, and the service.
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.url.startsWith(SHOP)) return new Response('a page', { headers: { 'Set-Cookie': 'cart=1' } })
    reports.push(request.clone())
    return server.fetch(request)
  })
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  await server.close()
})

async function visit(path: string, init?: RequestInit, apiKey = server.apiKey): Promise<Response> {
  const work: Promise<unknown>[] = []
  const env = { REFERRAL_BASE_URL: server.baseUrl, REFERRAL_API_KEY: apiKey }
  const response = await edge.fetch(new Request(`${SHOP}${path}`, init), env, {
    waitUntil: (promise) => void work.push(promise),
  })
  await Promise.all(work)
  return response
}

const clickOf = (response: Response) => {
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('referral_click='))
  return cookie?.split(/[=;]/)[1]
}

test('a visit through a link is reported, and its cookie attributes the order', async () => {
  const response = await visit('/shoes?ref=nisa-karim&utm_source=mail', {
    headers: { Referer: 'https://blog.example/' },
  })
  expect(await response.text()).toBe('a page')
  expect(response.headers.get('Cache-Control')).toBe('private, no-store')
  expect(response.headers.getSetCookie()).toEqual([
    'cart=1',
    expect.stringMatching(/^referral_click=[\w-]{36}; Max-Age=2592000; Path=\/; Secure; HttpOnly; SameSite=Lax$/),
    'referral_visit=nisa-karim; Path=/; Secure; HttpOnly; SameSite=Lax',
  ])
  expect(await reports[0]?.json()).toMatchObject({
    type: 'click',
    ref: 'nisa-karim',
    clickId: clickOf(response),
    landingPage: `${SHOP}/shoes`,
    referrerUrl: 'https://blog.example/',
    utmSource: 'mail',
  })

  const client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch: server.fetch })
  const order = { externalOrderId: '1001', amountCents: 10_000, clickId: clickOf(response) }
  server.clock.advance(60_000)
  const { attribution, commission } = await client.events.conversion(order)
  expect(attribution).toMatchObject({ affiliateId: server.seeds.affiliateId, reasonCode: 'CLICK_MATCH' })
  expect(commission.amountCents).toBe(1600)
})

test.each([
  ['without a ref', '/shoes', undefined],
  ['with POST', '/cart?ref=nisa-karim', { method: 'POST' }],
  ['that was counted', '/shoes?ref=nisa-karim', { headers: { Cookie: 'referral_visit=nisa-karim' } }],
])('a visit %s is not changed', async (_, path, init) => {
  const response = await visit(path, init)
  expect(response.headers.getSetCookie()).toEqual(['cart=1'])
  expect(reports).toEqual([])
})

test('the page is served when the click cannot be reported', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const response = await visit('/?ref=nisa-karim', undefined, 'rk_wrong')
  expect(await response.text()).toBe('a page')
  expect(error).toHaveBeenCalledExactlyOnceWith('click: This API key does not exist.')
})

test('URL values are cut to the maximum lengths of the API', async () => {
  const error = vi.spyOn(console, 'error')
  await visit(`/?ref=${'x'.repeat(5000)}&utm_source=${'y'.repeat(300)}`)
  expect(reports).toHaveLength(1)
  expect(error).not.toHaveBeenCalled()
})

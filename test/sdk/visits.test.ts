import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as forExpress from '@referral/sdk/express'
import * as forFastify from '@referral/sdk/fastify'
import * as forHono from '@referral/sdk/hono'
import { clickIdOf, referral as forNext } from '@referral/sdk/next'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

type Fetch = (path: string, init?: RequestInit) => Promise<Response>
interface Shop {
  fetch: Fetch
  close: () => unknown
}

/** A shop whose pages show the click ID of their visitor. */
const shops: Record<string, (options: forHono.VisitOptions) => Promise<Shop>> = {
  hono: async (options) => {
    const app = new Hono<{ Variables: { clickId: string | undefined } }>()
    app.use(forHono.referral(options))
    app.get('*', (c) => c.text(c.get('clickId') ?? ''))
    return { fetch: async (path, init) => app.request(`https://shop.example${path}`, init), close: () => {} }
  },
  express: async (options) => {
    const app = express()
    app.use(forExpress.referral(options))
    app.use((_request, response) => void response.send(response.locals.clickId ?? ''))
    const listening = app.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    return { fetch: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init), close: () => listening.close() }
  },
  fastify: async (options) => {
    const app = fastify()
    app.decorateRequest('clickId')
    app.addHook('onRequest', forFastify.referral(options))
    app.get('*', async (request) => (request as forFastify.FastifyRequest).clickId ?? '')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { fetch: (path, init) => fetch(url + path, init), close: () => app.close() }
  },
  next: async (options) => {
    const track = forNext(options)
    const serve: Fetch = async (path, init) => {
      const request = new Request(`https://shop.example${path}`, init)
      const response = track(request, new Response())
      const set = response.headers.getSetCookie()[0]
      const headers = new Headers({ cookie: set ?? request.headers.get('cookie') ?? '' })
      return new Response(clickIdOf({ headers }) ?? '', { headers: response.headers })
    }
    return { fetch: serve, close: () => {} }
  },
}

let slug: string
test.beforeAll(async ({ server }) => {
  slug = (await withAffiliate(server)).affiliate.slug
})
const clicks = (server: TestServer) => rowsOf(server, 'journey', { type: 'click' })

describe.each(Object.entries(shops))('%s', (name, open) => {
  test('one click a visit, whose ID is kept and explains the order', async ({ server, client }) => {
    const reports: Promise<unknown>[] = []
    const shop = await open({ client, waitUntil: (report) => void reports.push(report) })
    const before = clicks(server).length
    const first = await shop.fetch(`/hats?ref=${slug}&utm_source=news`)
    const cookies = first.headers.getSetCookie()
    const clickId = await first.text()
    const cookie = cookies.map((text) => text.split(';')[0]).join('; ')
    expect(cookies[0]).toMatch(/^referral_click=[\w-]+; Max-Age=2592000; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
    // A shared cache would send the ID to all visitors.
    expect(first.headers.get('Cache-Control')).toBe('private, no-store')
    for (const path of ['/', `/hats?ref=${slug}`]) {
      const again = await shop.fetch(path, { headers: { cookie } })
      expect([await again.text(), again.headers.getSetCookie()]).toEqual([clickId, []])
      expect(again.headers.get('Cache-Control')).toBeNull()
    }
    for (const headers of [new Headers({ 'User-Agent': 'Googlebot/2.1' }), new Headers({ 'Sec-Purpose': 'prefetch' })])
      expect((await shop.fetch(`/?ref=${slug}`, { headers })).headers.getSetCookie()).toEqual([])
    await Promise.all(reports)
    expect(clicks(server).slice(before)).toMatchObject([{ clickId, utmSource: 'news' }])
    const { body } = await convert(server, { externalOrderId: `o-${name}`, amountCents: 1000, clickId })
    expect(body.attribution.method).toBe('DIRECT_LINK')
    await shop.close()
  })
})

test('a click of the server’s own link is kept without a second one, and never breaks out of the cookie', async ({
  server,
  client,
}) => {
  const shop = await shops.hono!({ client })
  const before = clicks(server).length
  const page = await shop.fetch('/?ref=x&referral_click_id=jrn_1%3B%20Domain%3Devil')
  expect(page.headers.getSetCookie()[0]).toMatch(/^referral_click=jrn_1Domainevil; Max-Age/)
  expect(clicks(server).length).toBe(before)
})

test('a report that fails is passed to onError, and the page is served', async ({ server }) => {
  const errors: Error[] = []
  const reports: Promise<unknown>[] = []
  const client = server.clientOf('rk_nobody')
  const waitUntil = (report: Promise<unknown>) => void reports.push(report)
  const shop = await shops.hono!({ client, onError: (error) => void errors.push(error), waitUntil })
  expect((await shop.fetch(`/?ref=${slug}`)).status).toBe(200)
  await Promise.all(reports)
  expect(errors).toMatchObject([{ status: 403 }])
})

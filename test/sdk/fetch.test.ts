import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReferralClient } from '@referral/sdk'
import { Agent, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { success } from './support/scripted-client.ts'

let server: Server
let baseUrl: string
const seen: string[] = []
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    seen.push(`${request.method} ${request.headers.authorization} ${body}`)
    response
      .writeHead(200, { 'Content-Type': 'application/json', 'X-Request-Id': 'req_1' })
      .end(JSON.stringify(success))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('the fetch of undici is a fetch, types included, and fetchOptions pass its dispatcher', async () => {
  let dispatched = 0
  const agent = new Agent().compose((dispatch) => (options, handler) => {
    dispatched++
    return dispatch(options, handler)
  })
  const client = createReferralClient({
    apiKey: 'rk_test',
    baseUrl,
    fetch: undiciFetch,
    fetchOptions: { dispatcher: agent },
  })
  const { requestId } = await client.coupons.assign({ affiliateId: 'aff_1' }).withResponse()
  expect(requestId).toBe('req_1')
  expect(seen.at(-1)).toBe('POST Bearer rk_test {"affiliateId":"aff_1"}')
  expect(dispatched).toBe(1)
  await agent.close()
})

test('fetchOptions are passed to the global fetch', async () => {
  let options: unknown
  const fetch = (request: Request, init: object) => {
    options = init
    return globalThis.fetch(request)
  }
  const client = createReferralClient({ apiKey: 'rk_test', baseUrl, fetch, fetchOptions: { keepalive: true } })
  await client.analytics.get()
  expect(options).toMatchObject({ keepalive: true, method: 'GET', redirect: 'manual' })
})

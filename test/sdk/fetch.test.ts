// Full: it starts other processes.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, Agent as HttpAgent, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { createReferralClient } from '@referral/sdk'
import nodeFetch from 'node-fetch'
import { Agent, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProxy } from './support/network.ts'
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

test('node-fetch is a fetch, types included, and fetchOptions pass its agent', async () => {
  const agent = new HttpAgent({ keepAlive: true })
  let sockets = 0
  agent.on('free', () => sockets++)
  const client = createReferralClient({ apiKey: 'rk_test', baseUrl, fetch: nodeFetch, fetchOptions: { agent } })
  const { requestId } = await client.coupons.assign({ affiliateId: 'aff_2' }).withResponse()
  expect(requestId).toBe('req_1')
  expect(seen.at(-1)).toBe('POST Bearer rk_test {"affiliateId":"aff_2"}')
  expect(sockets).toBe(1)
  agent.destroy()
})

test('node-fetch does not follow redirects, and its refused connection names the address', async () => {
  const options = { apiKey: 'rk_test', maxRetries: 0, fetch: nodeFetch }
  const redirecting = createServer((_, response) => void response.writeHead(302, { Location: baseUrl }).end())
  redirecting.listen(0, '127.0.0.1')
  await once(redirecting, 'listening')
  const origin = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`
  const client = createReferralClient({ ...options, baseUrl: origin })
  expect((await client.programs.list().safe()).error).toMatchObject({ name: 'InvalidResponseError', status: 302 })
  redirecting.closeAllConnections()
  redirecting.close()
  await once(redirecting, 'close')
  const { error } = await client.events.conversion({ externalOrderId: '1', amountCents: 1 }).safe()
  expect(error?.name).toBe('ConnectionError')
  expect(error?.message).toContain('ECONNREFUSED')
})

test('NODE_USE_ENV_PROXY and HTTP_PROXY send requests through a proxy', async () => {
  const proxy = await startProxy()
  const code = `import { createReferralClient } from '@referral/sdk'
    const client = createReferralClient({ apiKey: 'rk_test', baseUrl: '${baseUrl}' })
    console.log((await client.analytics.get().withResponse()).requestId)`
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, NO_PROXY: '' }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    cwd: import.meta.dirname,
    env,
  })
  expect(stdout.trim()).toBe('req_1')
  expect(proxy.hosts).toEqual([new URL(baseUrl).host])
  proxy.close()
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

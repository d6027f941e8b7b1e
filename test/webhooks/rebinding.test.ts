import { once } from 'node:events'
import { type AddressInfo, createServer, type LookupFunction, type Server } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createResolve } from '../../server/src/domains/webhooks/delivery/public-url.ts'
import { startDnsServer } from './dns-server.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

const PUBLIC = '8.8.8.8'

/** The addresses of each name, by the number of earlier queries. */
const zone: Record<string, (type: 'A' | 'AAAA', count: number) => string[] | undefined> = {
  'steady.example.com': (type) => (type === 'A' ? [PUBLIC] : []),
  'flips.example.com': (type, count) => (type === 'A' ? [count === 1 ? PUBLIC : '127.0.0.1'] : []),
  'flips-six.example.com': (type, count) => (type === 'AAAA' ? [count === 1 ? '2606:4700:4700::1111' : '::1'] : []),
  'mixed.example.com': (type) => (type === 'A' ? [PUBLIC, '127.0.0.1'] : []),
  'mixed-families.example.com': (type) => (type === 'A' ? [PUBLIC] : ['::1']),
  'six-only.example.com': (type) => (type === 'AAAA' ? ['::ffff:7f00:1'] : []),
}

let fixture: Fixture
let dns: Awaited<ReturnType<typeof startDnsServer>>
let canary: Server
let visitors: number
beforeEach(async () => {
  visitors = 0
  canary = createServer((socket) => {
    visitors++
    socket.destroy()
  }).listen(0, '::')
  await once(canary, 'listening')
  dns = await startDnsServer((name, type, count) => zone[name]?.(type, count))
  fixture = await webhookFixture()
  Object.assign(fixture.deps, { resolve: createResolve([dns.address]) })
})
afterEach(async () => {
  await fixture.close()
  dns.stop()
  canary.close()
  expect(visitors).toBe(0)
})

const url = (name: string) => `https://${name}:${(canary.address() as AddressInfo).port}/`
const save = async (name: string) =>
  (await fixture.request('POST', '/api/v1/webhooks', { body: { url: url(name) } })).status

test('a name that resolves to a private address after it was stored is rejected at delivery', async () => {
  for (const name of ['flips.example.com', 'flips-six.example.com']) expect(await save(name)).toBe(200)
  await fixture.send({ resolve: createResolve([dns.address]) })
  await fixture.request('POST', '/api/v1/webhooks?test=1', { body: { url: 'https://8.8.8.8/' } })
  await until(() => fixture.deliveries({ code: 'refused_url' }).length === 2)
})

test('one private address among public ones is rejected, when stored and at delivery', async () => {
  const mixed = ['mixed.example.com', 'mixed-families.example.com', 'six-only.example.com']
  for (const name of mixed) expect(await save(name)).toBe(400)
  for (const name of mixed) fixture.plant(url(name))
  await fixture.send({ resolve: createResolve([dns.address]) })
  await fixture.request('POST', '/api/v1/webhooks?test=1', { body: { url: 'https://8.8.8.8/' } })
  await until(() => fixture.deliveries({ code: 'refused_url' }).length === 3)
})

test('a name that does not exist is stored, and its deliveries fail with dns', async () => {
  expect(await save('nowhere.example.com')).toBe(200)
  await fixture.send({ resolve: createResolve([dns.address]) })
  await fixture.request('POST', '/api/v1/webhooks?test=1', { body: { url: 'https://8.8.8.8/' } })
  await until(() => fixture.deliveries({ code: 'dns', status: 'FAILED' }).length === 1)
})

test('the connection uses the address that was checked, after a single lookup', async () => {
  const reached: string[] = []
  // Without Internet access: connections to a checked address go to the receiver.
  const route =
    (lookup: LookupFunction): LookupFunction =>
    (host, how, done) =>
      lookup(host, how, (error, found) => {
        if (error) return done(error, found)
        reached.push(...[found].flat().map((one) => (typeof one === 'string' ? one : one.address)))
        done(null, [{ address: '127.0.0.1', family: 4 }])
      })
  fixture.plant(`https://flips.example.com:${fixture.receiver.port}/`)
  await fixture.send({ resolve: createResolve([dns.address]), route })
  await fixture.request('POST', '/api/v1/webhooks?test=1', { body: { url: 'https://8.8.8.8/' } })
  // The receiver does not support TLS, so the handshake fails; only its target matters.
  await until(() => fixture.deliveries({ code: 'tls' }).length === 1)
  expect(reached).toEqual([PUBLIC])
  expect(dns.asked.get('A flips.example.com')).toBe(1)
})

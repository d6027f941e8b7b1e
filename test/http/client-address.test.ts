import { expect } from 'vitest'
import { clientNetwork } from '../../server/src/http/server.ts'
import type { TestServer } from '../support/server.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { limited: true, config: { trustProxy: 1 } })

/** What is left of a caller's window after a call without a key. */
async function remaining(server: TestServer, forwardedFor: string): Promise<number> {
  const headers = { 'X-Forwarded-For': forwardedFor }
  const { status, headers: answered } = await server.request('GET', '/api/v1/programs', { key: null, headers })
  expect(status).toBe(401)
  return Number(answered.get('X-RateLimit-Remaining'))
}

test('an IPv6 client is counted by its network, whichever of its addresses it takes', async ({ server }) => {
  expect(await remaining(server, '2001:db8:1:2::1')).toBe(99)
  expect(await remaining(server, '2001:db8:1:2:ffff::1')).toBe(98)
  expect(await remaining(server, '[2001:db8:1:2:abcd::9]:4711')).toBe(97)
  expect(await remaining(server, '2001:db8:1:3::1')).toBe(99)
})

test('an IPv4 client is counted by its address, however a proxy writes it', async ({ server }) => {
  expect(await remaining(server, '203.0.113.7')).toBe(99)
  expect(await remaining(server, '203.0.113.7:50123')).toBe(98)
  expect(await remaining(server, '::ffff:203.0.113.7')).toBe(97)
  expect(await remaining(server, '203.0.113.8')).toBe(99)
})

test('only the configured number of proxies is trusted', async ({ server }) => {
  expect(await remaining(server, '198.51.100.1, 198.51.100.9')).toBe(99)
  expect(await remaining(server, '198.51.100.2, 198.51.100.9')).toBe(98)
})

test.each([
  ['::1', '::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['unknown', 'unknown'],
  ['127.0.0.1', '127.0.0.1'],
])('the address %s is counted as %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network)
})

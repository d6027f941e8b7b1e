import { expect, test } from 'vitest'
import { isPublicAddress } from '../../server/src/domains/webhooks/delivery/public-url.ts'
import { guardedConnector, guardedLookup } from '../../server/src/domains/webhooks/delivery/transport.ts'
import { hosts } from './corpus.ts'

test('the connector rejects literal addresses in every spelling, without a DNS lookup', async () => {
  const lookups: string[] = []
  const resolve = async (host: string) => {
    lookups.push(host)
    return []
  }
  const connect = (hostname: string) =>
    new Promise<unknown>((done) => {
      const target = { hostname, host: hostname, protocol: 'https:', port: '443' }
      guardedConnector(resolve, {})(target, (...[error]) => done(error?.message))
    })
  const literal = ['127.0.0.1', '::1', '::ffff:7f00:1', '::7f00:1', '10.0.0.1', '0.0.0.0', '169.254.169.254']
  const odd = ['127.1', '0x7f.1', '0177.0.0.01', '1.0x7f', '0x7f000001', '2130706433', 'localhost', '[::1]', '']
  for (const hostname of [...literal, ...odd])
    expect([hostname, await connect(hostname)]).toEqual([hostname, 'refused_url'])
  expect(lookups).toEqual([])
  expect(await connect('hooks.example.com')).toBe('dns')
})

test('the lookup supports both callback signatures', async () => {
  const look = (all: boolean) =>
    new Promise((done) => {
      const lookup = guardedLookup(async () => ['8.8.8.8', '2606:4700::1111'])
      lookup('hooks.example.com', { all }, (...answer) => done(answer))
    })
  expect(await look(false)).toEqual([null, '8.8.8.8', 4])
  expect(await look(true)).toEqual([
    null,
    [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ],
  ])
})

test('no URL spelling of a private address is treated as public', () => {
  expect(hosts.filter((host) => isPublicAddress(host.replace(/[[\]]/g, '')))).toEqual([])
})

test.each([
  '8.8.8.8',
  '1.0.0.1',
  '172.32.0.1',
  '172.15.255.255',
  '192.167.255.255',
  '100.128.0.1',
  '198.20.0.1',
  '223.255.255.255',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))

test.each(['2606:4700:4700::1111', '2a00:1450:4001:80b::200e', '2001:4860:4860::8888', '2400:cb00::1', '2003::1'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
)

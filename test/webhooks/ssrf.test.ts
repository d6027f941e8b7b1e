// SQLite only: addresses are checked before anything is sent, whatever stores them.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { countOf } from '../support/inspect.ts'
import { fine, hosts, rebound, urls } from './corpus.ts'
import { type Fixture, names, until, webhookFixture } from './fixture.ts'

/** Counts connections to this machine, on any of its addresses. */
let canary: Server
let visitors = 0
let port: number
beforeAll(async () => {
  canary = createServer((socket) => {
    visitors++
    socket.destroy()
  }).listen(0, '::')
  await once(canary, 'listening')
  port = (canary.address() as AddressInfo).port
})
afterAll(() => void canary.close())

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  for (const [name, addresses] of Object.entries(rebound)) names.set(name, addresses)
  names.set('hooks.example.com', ['8.8.8.8'])
})
afterEach(async () => {
  await fixture.close()
  names.clear()
  expect(visitors).toBe(0)
})

const literal = () => [
  ...hosts.map((host) => `https://${host}:${port}/hook`),
  ...hosts.map((host) => `http://${host}:${port}/hook`),
  ...urls,
]
const resolved = () => Object.keys(rebound).map((name) => `https://${name}:${port}/hook`)
const save = (url: string, query = '') => fixture.request('POST', `/api/v1/webhooks${query}`, { body: { url } })

test('the corpus is large, and the canary detects a connection', async () => {
  expect(hosts.length + urls.length + Object.keys(rebound).length).toBeGreaterThan(200)
  await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
  expect(visitors).toBe(1)
  visitors = 0
})

test('400 for every address that is not public https, and nothing is stored', async () => {
  for (const url of [...literal(), ...resolved()]) {
    const { status, body, headers } = await save(url)
    expect([url, status, headers.get('X-Error-Code')]).toEqual([url, 400, 'webhook_url_refused'])
    expect(body).toEqual({ error: expect.stringMatching(/^url /) })
    expect((await save(url, '?test=1')).status, url).toBe(400)
  }
  expect(countOf(fixture, 'subscriptions')).toBe(0)
})

test('200 for public addresses, even when the name does not resolve yet', async () => {
  for (const url of fine) {
    const { status, body } = await save(url)
    expect([url, status, body.data?.url]).toEqual([url, 200, url])
  }
})

test('refused_url at delivery for a stored private address', async () => {
  const all = [...literal(), ...resolved()]
  for (const url of all) fixture.plant(url)
  await fixture.send()
  await fixture.test()
  await until(() => fixture.finished().length === all.length)
  const refused = { code: 'refused_url', status: 'FAILED', httpStatus: null } as const
  expect(fixture.deliveries(refused)).toHaveLength(fixture.deliveries().length)
  expect(fixture.receiver.received).toEqual([])
})

test('a redirect is not followed, and the allowed host still gets its deliveries', async () => {
  for (const status of [301, 302, 303, 307, 308])
    fixture.plant(fixture.receiver.at(`/redirect/${status}?http://127.0.0.1:${port}/`))
  fixture.plant(fixture.receiver.at('/allowed'))
  fixture.plant(`http://127.0.0.1:${port}/`)
  await fixture.send()
  await fixture.test()
  await until(() => fixture.finished().length === 7)
  expect(fixture.receiver.received).toHaveLength(6)
  expect(fixture.receiver.to('/allowed')).toHaveLength(1)
  const inOrder = fixture.deliveries().sort((a, b) => (a.subscriptionId < b.subscriptionId ? -1 : 1))
  const codes = inOrder.map(({ code, httpStatus }) => [code, httpStatus])
  expect(codes).toEqual([
    ...[301, 302, 303, 307, 308].map((status) => ['refused_url', status]),
    ['ok', 200],
    ['refused_url', null],
  ])
})

test('an allowed host is allowed on its port only', async () => {
  const { status } = await save(fixture.receiver.at('/ok'))
  expect(status).toBe(200)
  expect((await save(`http://127.0.0.1:${port}/`)).status).toBe(400)
  expect((await save(`http://localhost:${fixture.receiver.port}/`)).status).toBe(400)
  expect((await save(`http://user@127.0.0.1:${fixture.receiver.port}/`)).status).toBe(400)
})

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import { createResolve } from '../../../server/src/domains/webhooks/delivery/public-url.ts'
import { fine, hosts, rebound, urls } from '../../webhooks/corpus.ts'
import { startDnsServer } from '../../webhooks/dns-server.ts'
import { type Fixture, webhookFixture } from '../../webhooks/fixture.ts'
import { carrying, insideFour, spelledFour } from '../../webhooks/spellings.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

const ALLOWED = 50
const REDIRECTS = [301, 302, 303, 307, 308]
const FLIPS = 25

/** Records connections to this machine on any of its addresses. */
async function startCanary() {
  let visitors = 0
  const server = createServer((socket) => {
    visitors++
    socket.destroy()
  }).listen(0, '::')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, visitors: () => visitors, stop: () => server.close() }
}

/** A DNS server that returns a public address first and this machine's address later, or both at once. */
const zone = (name: string, type: 'A' | 'AAAA', count: number): string[] | undefined => {
  if (name in rebound) return rebound[name]?.map(asGroups).filter((one) => one.includes(':') === (type === 'AAAA'))
  if (name.startsWith('flips-six')) return type === 'AAAA' ? [count === 1 ? '2606:4700:4700::1111' : '::1'] : []
  if (name.startsWith('flips')) return type === 'A' ? [count === 1 ? '8.8.8.8' : '127.0.0.1'] : []
  return type === 'A' ? ['8.8.8.8'] : []
}

const asGroups = (address: string) => address.replace('::ffff:127.0.0.1', '::ffff:7f00:1')

// None of these can be the result of a DNS query.
const SPELLED = ['odd.example.com', 'odder.example.com', 'zone.example.com']

function formsFor(port: number, options: RunOptions): string[] {
  const many = sized(400, options)
  const seed = Date.now() % 2 ** 31
  const made = [spelledFour(insideFour()), carrying(insideFour())].flatMap((one) =>
    fc.sample(one, { numRuns: many, seed }),
  )
  const names = Object.keys(rebound).filter((name) => !SPELLED.includes(name))
  const literal = [...hosts, ...made].flatMap((host) => [`https://${host}:${port}/`, `http://${host}:${port}/`])
  return [...new Set([...literal, ...urls, ...names.map((name) => `https://${name}:${port}/`)])]
}

async function save(at: Fixture, url: string): Promise<number> {
  return (await at.request('POST', '/api/v1/webhooks', { body: { url } })).status
}

async function settled(at: Fixture, count: number): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const { n } = at.sql.prepare(`select count(*) as n from deliveries where "finishedAt" is not null`).get() as {
      n: number
    }
    if (Number(n) >= count) return
    if (performance.now() > deadline) throw new Error(`${n} of ${count} deliveries ended within a minute`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

async function refuseToSave(at: Fixture, forms: string[]): Promise<void> {
  for (const url of forms) {
    const status = await save(at, url)
    if (status !== 400) throw new Error(`saving ${url} answered ${status}`)
  }
  for (const url of fine) {
    const status = await save(at, url)
    if (status !== 200) throw new Error(`saving ${url}, which is allowed, answered ${status}`)
  }
  at.sql.exec('delete from subscriptions')
}

async function refuseToDeliver(
  at: Fixture,
  forms: string[],
  { port, dns }: { port: number; dns: string },
): Promise<void> {
  for (const url of forms) at.plant(url)
  for (const status of REDIRECTS) at.plant(at.receiver.at(`/redirect/${status}?http://127.0.0.1:${port}/`))
  for (let i = 0; i < ALLOWED; i++) at.plant(at.receiver.at(`/allowed/${i}`))
  for (let i = 0; i < FLIPS; i++) {
    const status = await save(at, `https://flips${i % 2 ? '-six' : ''}-${i}.example.com:${port}/`)
    if (status !== 200) throw new Error(`a name that is public at first was answered ${status}`)
  }
  await at.send({ resolve: createResolve([dns]) })
  await at.test()
  await settled(at, forms.length + REDIRECTS.length + ALLOWED + FLIPS)
  const [refused, ok] = ['refused_url', 'ok'].map((code) => at.deliveries({ code }).length)
  if (refused !== forms.length + REDIRECTS.length + FLIPS) throw new Error(`${refused} deliveries were refused`)
  const arrived = Array.from({ length: ALLOWED }, (_, i) => at.receiver.to(`/allowed/${i}`).length)
  if (ok !== ALLOWED || arrived.some((count) => count !== 1))
    throw new Error(`allowed: ${ok} sent, ${arrived.join(' ')} arrived`)
}

async function run(options: RunOptions): Promise<string> {
  const canary = await startCanary()
  const dns = await startDnsServer(zone)
  const at = await webhookFixture()
  Object.assign(at.deps, { resolve: createResolve([dns.address]) })
  try {
    await fetch(`http://127.0.0.1:${canary.port}/`).catch(() => undefined)
    if (canary.visitors() !== 1) throw new Error('the canary does not see who connects')
    const forms = formsFor(canary.port, options)
    await refuseToSave(at, forms)
    await refuseToDeliver(at, forms, { port: canary.port, dns: dns.address })
    if (canary.visitors() !== 1) throw new Error(`${canary.visitors() - 1} connections reached this machine`)
    return `${figure(forms.length)} forms refused at saving and at delivery, ${FLIPS} names that turned private refused at delivery, canary reached 0 times, ${ALLOWED} of ${ALLOWED} allowed delivered, ${fine.length} of ${fine.length} public ones saved`
  } finally {
    await at.close()
    dns.stop()
    canary.stop()
  }
}

export const guarantee: LongTest = { title: 'Webhooks reach public addresses only', minutes: 3, run }

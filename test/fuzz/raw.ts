import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { createListener } from '../../server/src/http/listen.ts'
import { sendRaw } from '../support/raw-http.ts'
import type { FuzzWorld } from './world.ts'

const line = (text: string) => `${text}\r\n`

/** Valid requests, before they are modified. */
function rightRequests({ server }: FuzzWorld): string[] {
  const head = line('Host: 127.0.0.1') + line(`Authorization: Bearer ${server.shop.key}`)
  const program = '{"name":"Raw","commissionPercent":10}'
  const order = '{"externalOrderId":"raw","amountCents":100,"couponCode":"NISA16"}'
  const sized = (body: string) => `${line(`Content-Length: ${body.length}`)}\r\n${body}`
  const chunked = (body: string) =>
    `${line('Transfer-Encoding: chunked')}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  return [
    `GET /api/v1/programs?limit=1 HTTP/1.1\r\n${head}\r\n`,
    `POST /api/v1/programs HTTP/1.1\r\n${head}${sized(program)}`,
    `POST /api/v1/programs HTTP/1.1\r\n${head}${chunked(program)}`,
    `POST /api/v1/events HTTP/1.1\r\n${head}${line('Idempotency-Key: raw')}${sized(order)}`,
    `PATCH /api/v1/programs?id=none HTTP/1.1\r\n${head}${sized(program)}`,
  ]
}

const ODD = [
  '\0',
  '\r',
  '\n',
  '\r\n\r\n',
  ' ',
  '\t',
  ':',
  '/',
  '%',
  '\\',
  '\x7f',
  '\xff',
  '\xc3',
  'é',
  '*',
  '?',
  '#',
  '@',
]
const LINES = [
  'Content-Length: 5',
  'Content-Length: +5',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Host: other',
  'Host:',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Authorization: Bearer x',
  'X-Request-Id: \xff',
  ' folded: line',
  `A: ${'b'.repeat(20_000)}`,
]

type Harm = (text: string, at: number) => string
const HARM: fc.Arbitrary<Harm> = fc.oneof(
  fc.constantFrom(...ODD).map(
    (odd): Harm =>
      (text, at) =>
        text.slice(0, at) + odd + text.slice(at),
  ),
  fc.constantFrom(...ODD).map(
    (odd): Harm =>
      (text, at) =>
        text.slice(0, at) + odd + text.slice(at + 1),
  ),
  fc.nat({ max: 20 }).map(
    (count): Harm =>
      (text, at) =>
        text.slice(0, at) + text.slice(at + count),
  ),
  fc.constantFrom(...LINES).map(
    (one): Harm =>
      (text) =>
        text.replace('\r\n', `\r\n${one}\r\n`),
  ),
  fc.constantFrom<Harm>(
    (text, at) => text.slice(0, at),
    (text) => text.replaceAll('\r\n', '\n'),
    (text) => text.replace('HTTP/1.1', 'HTTP/1.0'),
    (text) => text.replace(/^\w+/, 'TRACE'),
    (text) => text.replace(/^\w+/, 'CONNECT'),
    (text) => text.replace(/^\w+ \S+/, 'OPTIONS *'),
    (text) => text + text,
    (text) => text.replace(/Content-Length: \d+/, 'Content-Length: 1'),
    (text) => text.replace('/api/v1', '/api//v1/../v1/%2e%2e/./v1'),
  ),
)

const requests = (world: FuzzWorld): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...rightRequests(world)),
      fc.array(fc.tuple(HARM, fc.nat({ max: 400 })), { minLength: 1, maxLength: 3 }),
    )
    .map(([text, harms]) => harms.reduce((made, [harm, at]) => harm(made, at % (made.length + 1)), text))

/** Sends this many malformed requests over a socket. @throws with one that failed, got a wrong response or had an effect. */
export async function fuzzRaw(world: FuzzWorld, { numRuns, seed }: { numRuns: number; seed: number }) {
  const { app, deps, logs } = world.server
  const listener = createListener(app.fetch, deps).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const tally = { requests: 0, answers: 0, refused: 0 }
  const property = fc.asyncProperty(requests(world), async (text) => {
    const before = world.state()
    const answers = await sendRaw(port, text, { ends: true })
    tally.requests++
    tally.answers += answers.length
    for (const { status, headers, body } of answers) {
      if (!(status >= 100 && status < 500)) throw new Error(`answered ${status}`)
      if (status < 400) continue
      tally.refused++
      if (!headers['x-request-id'] || !headers['x-error-code'])
        throw new Error(`answered ${status} without its headers`)
      if (Object.keys(JSON.parse(body)).join() !== 'error') throw new Error(`answered ${status} with ${body}`)
    }
    if (answers.every(({ status }) => status >= 400) && world.state() !== before)
      throw new Error('a rejected request changed rows')
    if (logs.some((one) => one.includes('"bug"'))) throw new Error(logs.findLast((one) => one.includes('"bug"')))
  })
  try {
    await fc.assert(property, { numRuns, seed, endOnFailure: true })
    const [alive] = await sendRaw(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    if (alive?.status !== 200) throw new Error('the server no longer responds')
  } finally {
    listener.closeAllConnections()
    await new Promise((done) => listener.close(done))
  }
  return tally
}

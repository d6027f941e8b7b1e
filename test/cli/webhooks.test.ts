import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { join } from 'node:path'
import { webhook } from '@referral/webhook-verifier/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examples } from '../../cli/src/commands/webhooks/examples.ts'
import { document, problems } from '../support/document.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, openShop, type Shop } from './support.ts'

const SECRET = 'test-secret'
const env = { REFERRAL_WEBHOOK_SECRET: SECRET }
const folder = temporaryFolder()
const servers: Server[] = []
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await shop.close()
  folder.remove()
})

async function serve(server: Server): Promise<string> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/hooks`
}

const right = () => createServer(webhook({ secret: SECRET, onRejected: () => {} }, () => {}))

/** A custom receiver; `judge` returns the status. */
const byHand = (judge: (body: Buffer, headers: IncomingHttpHeaders) => number) =>
  createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    let status = 500
    try {
      status = judge(Buffer.concat(chunks), request.headers)
    } catch {
      // Like a framework when a handler throws.
      status = 500
    }
    response.writeHead(status).end()
  })

const hex = (body: Buffer | string) => createHmac('sha256', SECRET).update(body).digest('hex')
const plainSignature = (headers: IncomingHttpHeaders) => String(headers['x-service-signature'] ?? '')
const standard = (body: Buffer, headers: IncomingHttpHeaders) => {
  const mac = createHmac('sha256', SECRET)
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
    .update(body)
  return String(headers['webhook-signature'] ?? '') === `v1,${mac.digest('base64')}`
}
const isFresh = (headers: IncomingHttpHeaders) =>
  Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) < 300
/** A correct receiver, which the wrong ones below modify in one way each. */
const careful = (body: Buffer, headers: IncomingHttpHeaders) =>
  standard(body, headers) && isFresh(headers) ? 200 : 400
const seen = new Set<unknown>()

const wrong: Record<string, { server: () => Server; found: string[] }> = {
  'does not check the signature': {
    server: () => byHand(() => 200),
    found: [
      'one bit of the body flipped',
      'an empty signature',
      'no signature at all',
      'signed with another secret',
      'the signature in uppercase',
      'half a signature',
      'signed an hour ago',
      'signed an hour ahead',
    ],
  },
  'verifies the body after serializing it again': {
    server: () =>
      byHand((body, headers) =>
        isFresh(headers) && hex(JSON.stringify(JSON.parse(body.toString('utf8')))) === plainSignature(headers)
          ? 200
          : 400,
      ),
    found: ['JSON that changes when parsed and serialized', 'a leading byte order mark'],
  },
  'accepts missing and uppercase signatures': {
    server: () =>
      byHand((body, headers) => {
        const signature = plainSignature(headers)
        if (headers['webhook-id'] && !isFresh(headers)) return 400
        return signature === '' || signature.toLowerCase() === hex(body) ? 200 : 400
      }),
    found: ['an empty signature', 'no signature at all', 'the signature in uppercase'],
  },
  'does not check the timestamp': {
    server: () => byHand((body, headers) => (standard(body, headers) ? 200 : 400)),
    found: ['signed an hour ago', 'signed an hour ahead'],
  },
  'rejects unknown events and repeated deliveries': {
    server: () =>
      byHand((body, headers) => {
        if (careful(body, headers) !== 200) return 400
        if (seen.has(headers['webhook-id'])) return 409
        seen.add(headers['webhook-id'])
        return headers['x-service-event'] === 'test' ? 200 : 422
      }),
    found: ['the same delivery twice', 'an unknown event type'],
  },
  'accepts only small bodies and throws for short signatures': {
    server: () =>
      byHand((body, headers) => {
        if (body.length > 100_000) return 413
        if (plainSignature(headers).length === 32) throw new RangeError('Input buffers must have the same byte length')
        return careful(body, headers)
      }),
    found: ['half a signature', 'a body of 1 MB'],
  },
}

interface CheckReport {
  score: number
  total: number
  probes: { name: string; passed: boolean; advice: string | null }[]
}

test('a correct receiver scores 100%', async () => {
  const junit = join(folder.path, 'right.xml')
  const { code, stdout } = await cli(['webhooks', 'check', await serve(right()), '--json', '--junit', junit], { env })
  const report: CheckReport = JSON.parse(stdout)
  expect(report.probes.filter(({ passed }) => !passed)).toEqual([])
  expect({ code, score: report.score, total: report.total }).toEqual({ code: 0, score: 100, total: 14 })
  expect(readFileSync(junit, 'utf8')).toContain('tests="14" failures="0"')
})

test('each of six incorrect receivers fails only the checks that it violates', async () => {
  const results = await Promise.all(
    Object.entries(wrong).map(async ([name, { server, found }]) => {
      const junit = join(folder.path, `${found.length}-${name.length}.xml`)
      const { code, stdout } = await cli(['webhooks', 'check', await serve(server()), '--json', '--junit', junit], {
        env,
      })
      const report: CheckReport = JSON.parse(stdout)
      const failed = report.probes.filter(({ passed }) => !passed)
      expect.soft(readFileSync(junit, 'utf8')).toContain(`failures="${found.length}"`)
      expect.soft(failed.every(({ advice }) => advice)).toBe(true)
      return { name, code, failed: failed.map((one) => one.name) }
    }),
  )
  expect(results).toEqual(Object.entries(wrong).map(([name, { found }]) => ({ name, code: 8, failed: found })))
}, 60_000)

test('7 without a receiver, 2 without a secret', async () => {
  expect((await cli(['webhooks', 'check', 'http://127.0.0.1:1/'], { env })).code).toBe(7)
  expect((await cli(['webhooks', 'check', await serve(right())])).code).toBe(2)
})

test('the examples of trigger are those of the contract and match its schemas', () => {
  expect(Object.keys(examples)).toEqual(Object.keys(document.webhooks))
  for (const [name, example] of Object.entries(examples)) {
    const { $ref } = document.webhooks[name].post.requestBody.content['application/json'].schema
    expect([name, problems($ref.slice(1), example)]).toEqual([name, []])
  }
})

test('trigger sends every event to a receiver', async () => {
  const url = await serve(right())
  for (const event of Object.keys(examples))
    expect(await json(['webhooks', 'trigger', event, '--to', url], { env })).toMatchObject({ event, status: 200 })
  const made = await cli(['webhooks', 'trigger', 'test', '--to', url])
  expect(made.code).toBe(1)
  expect(made.stderr).toContain('generated for this run')
})

test('sign and verify read a file or standard input, and never a secret from an argument', async () => {
  const body = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d, 0xff])
  const file = join(folder.path, 'body.bin')
  writeFileSync(file, body)
  const signed = await json<Record<string, string>>(['webhooks', 'sign', file], { env })
  expect(signed['X-Service-Signature']).toBe(hex(body))
  const piped = await cli(['webhooks', 'verify', '--signature', hex(body), '--json'], { env, input: body })
  expect(JSON.parse(piped.stdout)).toMatchObject({ valid: true })
  const wrongOne = await cli(['webhooks', 'verify', file, '--signature', hex('other'), '--json'], { env })
  expect({ code: wrongOne.code, stdout: wrongOne.stdout }).toEqual({ code: 1, stdout: '' })
  expect(JSON.parse(wrongOne.stderr).code).toBe('signature_mismatch')

  writeFileSync(file, '{"event":"test","timestamp":"2026-11-02T12:00:00.000Z","shop_id":"s","data":{}}')
  writeFileSync(join(folder.path, 'secret'), `${SECRET}\n`)
  const headers = await json<Record<string, string>>([
    'webhooks',
    'sign',
    file,
    '--secret-file',
    join(folder.path, 'secret'),
  ])
  const lines = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
  expect(await json(['webhooks', 'verify', file, '--secret-stdin', ...lines], { input: SECRET })).toMatchObject({
    event: 'test',
  })
  expect((await cli(['webhooks', 'sign', file, '--secret', SECRET])).code).toBe(2)
})

test('create generates a secret, prints it once, and warns about events that are never sent', async () => {
  const create = ['webhooks', 'create', '--url', 'https://shop.example/hooks', '--json']
  const { stdout, stderr } = await cli([...create, '--events', 'commission.paid,commission.created'], { env: shop.env })
  const made = JSON.parse(stdout)
  expect(made).toMatchObject({ hasSecret: true, secret: expect.stringMatching(/^[0-9a-f-]{72}$/) })
  expect(stderr).toMatch(/Events that are never sent: commission\.paid\./)
  const own = JSON.parse((await cli(create, { env: { ...shop.env, ...env } })).stdout)
  expect(own).toMatchObject({ hasSecret: true, secret: null })
  expect(JSON.parse((await cli([...create, '--no-secret'], { env: shop.env })).stdout)).toMatchObject({
    hasSecret: false,
  })
  expect(shop.server.log()).not.toContain(made.secret)
})

test('an empty --events is an empty name, not all events', async () => {
  const create = ['webhooks', 'create', '--url', 'https://shop.example/unset', '--json']
  const { stdout, stderr } = await cli([...create, '--events', ''], { env: shop.env })
  expect(JSON.parse(stdout)).toMatchObject({ events: [''] })
  expect(stderr).toContain('Events that are never sent: ""')
})

test('3 when no subscription receives the test event', async () => {
  const { data } = await shop.client.webhooks.list()
  for (const { id } of data) await shop.client.webhooks.delete(id)
  await shop.client.webhooks.create({ url: 'https://shop.example/hooks', events: ['commission.created'] })
  const { code, stdout, stderr } = await cli(['webhooks', 'test'], { env: shop.env })
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  expect(stderr).toContain('No subscription would receive')
  await shop.client.webhooks.create({ url: 'https://shop.example/test', events: ['test'] })
  expect(await json(['webhooks', 'test'], { env: shop.env })).toMatchObject({ receivers: 1 })
})

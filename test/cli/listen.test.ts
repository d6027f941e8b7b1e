// Full: it waits for time to pass.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { receive } from '@referral/webhook-verifier'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cliProcess, ended, json, start, wrongWith } from './support.ts'

const folder = temporaryFolder()
let server: RunningServer
let port: string
let env: Record<string, string>
let receiver: Server
let got: { headers: Record<string, string>; body: Buffer }[] = []

beforeAll(async () => {
  port = String(await freePort())
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, PORT: port })
  // Uses the demo shop, without a profile or variables.
  env = { REFERRAL_DATA_DIR: folder.path }
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    got.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks) })
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
}, 60_000)
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await server.stop('SIGKILL')
  folder.remove()
})

const order = (id: string) =>
  json(['events', 'send', '--order', id, '--amount-cents', '1000', '--coupon', 'NISA16'], { env })
const restart = async () => {
  await server.stop('SIGKILL')
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, PORT: port })
}
const until = async (is: () => boolean) => {
  for (let i = 0; i < 400 && !is(); i++) await new Promise((done) => setTimeout(done, 50))
}

test('no delivery is lost when the server restarts, and each has the original bytes and a valid signature', async () => {
  got = []
  const { port: to } = receiver.address() as { port: number }
  const child = start(['webhooks', 'listen', '--forward-to', `127.0.0.1:${to}/hooks`, '--count', '4', '--json'], {
    env,
  })
  let opened = false
  child.stdout?.on('data', () => {
    opened = true
  })
  const end = ended(child)
  await until(() => opened)
  // Restart before the first delivery and after it.
  await restart()
  await order('l-1')
  await until(() => got.length === 1)
  await restart()
  // Orders before the listener reconnects and after it.
  await order('l-2')
  await order('l-3')
  await until(() => got.length === 3)
  await order('l-4')
  const { code, stdout, stderr } = await end
  expect(code, stderr).toBe(0)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  for (const line of lines) expect(wrongWith('Listened', line)).toEqual([])
  const [open, ...deliveries] = lines
  expect(deliveries.map(({ event, status }) => [event, status])).toEqual(Array(4).fill(['commission.created', 200]))
  for (const [i, { headers, body }] of got.entries()) {
    const { event } = await receive({ headers, body }, { secret: open.secret, requireTimestamp: true })
    expect((event.data as { externalOrderId: string }).externalOrderId).toBe(`l-${i + 1}`)
    expect(body.toString('utf8')).toBe(deliveries[i].body)
    expect(headers['user-agent']).toBe(deliveries[i].headers['User-Agent'])
  }
  expect(got).toHaveLength(4)
  // The secret is the same on each run, so that it can be configured once.
  const printed = await cliProcess(['webhooks', 'listen', '--print-secret'], { env })
  expect(printed).toMatchObject({ code: 0, stdout: `${open.secret}\n` })
}, 60_000)

test('--after continues an earlier run, and an interrupted run prints it', async () => {
  const first = start(['webhooks', 'listen', '--json'], { env })
  let output = ''
  first.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const end = ended(first)
  await until(() => output.includes('"open"'))
  await order('r-1')
  await until(() => output.includes('"delivery"'))
  first.kill('SIGINT')
  const { code, stderr } = await end
  expect(code).toBe(130)
  const id = /--after (\S+)/.exec(stderr)?.[1] ?? ''
  await order('r-2')
  const { stdout } = await cliProcess(['webhooks', 'listen', '--after', id, '--count', '1', '--json'], { env })
  expect(JSON.parse(JSON.parse(stdout.trim().split('\n')[1] ?? '').body).data.externalOrderId).toBe('r-2')
}, 30_000)

test('--secret-file forwards with the secret that the receiver has, and prints none', async () => {
  got = []
  const file = join(folder.path, 'secret')
  writeFileSync(file, 'whsec_of the receiver\n')
  const { port: to } = receiver.address() as { port: number }
  const forward = ['--forward-to', `http://127.0.0.1:${to}/hooks`, '--secret-file', file]
  const child = start(['webhooks', 'listen', ...forward, '--count', '1', '--json'], { env })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const end = ended(child)
  await until(() => output.includes('"open"'))
  await order('s-1')
  const { code, stdout } = await end
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([code, lines[0].secret, lines[1].status]).toEqual([0, null, 200])
  for (const line of lines) expect(wrongWith('Listened', line)).toEqual([])
  const [{ headers, body }] = got as [(typeof got)[number]]
  const { event } = await receive({ headers, body }, { secret: 'whsec_of the receiver', requireTimestamp: true })
  expect((event.data as { externalOrderId: string }).externalOrderId).toBe('s-1')
  const { code: unused } = await cliProcess(['webhooks', 'listen', '--secret-file', file], { env })
  expect(unused).toBe(2)
}, 30_000)

test('a receiver that rejects an event is quoted, and one that is not running is named', async () => {
  const strict = createServer((_, response) => response.writeHead(400).end('signature_mismatch')).listen(0, '127.0.0.1')
  await once(strict, 'listening')
  const { port: to } = strict.address() as { port: number }
  const trigger = (target: string) => cliProcess(['webhooks', 'trigger', 'test', '--to', target])
  const rejected = await trigger(`localhost:${to}`)
  expect([rejected.code, rejected.stderr]).toEqual([1, expect.stringContaining('400: signature_mismatch')])
  strict.close()
  const down = await trigger(`localhost:${await freePort()}`)
  expect([down.code, down.stderr]).toEqual([7, expect.stringContaining('ECONNREFUSED')])
  expect((await trigger('ftp://localhost:3000')).code).toBe(2)
})

test('4 with an unknown key', async () => {
  const { code, stdout } = await cliProcess(['webhooks', 'listen', '--json'], {
    env: { REFERRAL_BASE_URL: server.url, REFERRAL_API_KEY: 'rk_wrong' },
  })
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
})

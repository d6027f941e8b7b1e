// Full: it compares a clock with a bound.
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  cliProcess,
  ended,
  noTerminal,
  onTerminal,
  openShop,
  type Shop,
  start,
  withAffiliate,
  wrongWith,
} from './support.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
}, 60_000)
afterAll(() => shop.close())

/** Runs a failing command with --json and returns the object on standard error. */
async function fails(args: string[], env = shop.env) {
  const { code, stdout, stderr } = await cliProcess([...args, '--json'], { env })
  expect(stdout).toBe('')
  const failure = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
  expect(wrongWith('Failure', failure)).toEqual([])
  return { code, failure }
}

test.concurrent('0 on success', async () => {
  expect((await cliProcess(['affiliates', 'list'], { env: shop.env })).code).toBe(0)
})

test.concurrent('0 when the change was already made', async () => {
  const [affiliate] = (await shop.client.affiliates.list()).data
  expect((await cliProcess(['affiliates', 'approve', affiliate?.id ?? ''], { env: shop.env })).code).toBe(0)
})

test.concurrent('1 when a receiver rejects an event', async () => {
  const receiver = createServer((_, response) => response.writeHead(500).end()).listen(0)
  const { port } = receiver.address() as { port: number }
  const { code, failure } = await fails(['webhooks', 'trigger', 'test', '--to', `http://127.0.0.1:${port}`])
  receiver.close()
  expect(code).toBe(1)
  expect(failure).toMatchObject({ status: 500, code: 'receiver_refused' })
})

test.concurrent('2 for invalid usage, and when the API rejects the request', async () => {
  expect((await fails(['affiliates', 'list', '--statsu', 'PENDING'])).code).toBe(2)
  expect((await cliProcess(['affiliates'], { env: shop.env })).code).toBe(2)
  // A suggestion must not turn a protection off.
  const { failure: secret } = await fails(['webhooks', 'create', '--url', 'https://shop.example', '--secret', 's'])
  expect(secret.hint).toContain('--secret-stdin')
  expect(secret.message).not.toContain('--no-secret')
  expect((await fails(['programs', 'update', 'prg_1'])).failure.message).toContain('--commission')
  const { code, failure } = await fails(['affiliates', 'create', '--email', 'no-address', '--name', 'X'])
  expect(code).toBe(2)
  expect(failure).toMatchObject({ status: 400, code: 'invalid_body', requestId: expect.stringMatching(/./) })
})

test.concurrent('3 when something is not found, or there is nothing to do', async () => {
  const [unknown, nothing, unheard] = await Promise.all([
    fails(['affiliates', 'approve', 'aff_unknown']),
    fails(['payouts', 'create', '--month', '2020-01']),
    fails(['webhooks', 'test']),
  ])
  expect(unknown).toMatchObject({ code: 3, failure: { status: 404, code: 'affiliate_not_found' } })
  expect(nothing).toMatchObject({ code: 3, failure: { status: 404, code: 'no_eligible_commissions' } })
  expect(unheard.failure.code).toBe('no_receiver')
})

test.concurrent('4 without a credential, with an unknown one, and with one without the scope', async () => {
  expect(await fails(['affiliates', 'list'], {})).toMatchObject({
    code: 4,
    failure: { code: 'not_logged_in', status: null },
  })
  const address = { REFERRAL_BASE_URL: shop.server.url }
  expect(await fails(['whoami'], address)).toMatchObject({ code: 4, failure: { code: 'api_key_missing' } })
  const unknown = { ...shop.env, REFERRAL_API_KEY: 'rk_unknown' }
  expect(await fails(['affiliates', 'list'], unknown)).toMatchObject({ code: 4, failure: { code: 'key_unknown' } })
  const narrow = { ...shop.env, REFERRAL_API_KEY: await shop.newKey(['events:write']) }
  expect(await fails(['affiliates', 'list'], narrow)).toMatchObject({ code: 4, failure: { code: 'scope_missing' } })
})

test.concurrent('5 on a conflict', async () => {
  const { code, failure } = await fails(['affiliates', 'create', '--email', 'NISA@example.com', '--name', 'Twin'])
  expect(code).toBe(5)
  expect(failure).toMatchObject({ status: 409, code: 'email_taken' })
})

/** Runs a command against a service that always fails. */
async function against(status: number, headers: Record<string, string>, args: string[]) {
  const service = createServer((_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end('{"error":"Not now."}')
  }).listen(0)
  const { port } = service.address() as { port: number }
  const result = await fails(args, { ...shop.env, REFERRAL_BASE_URL: `http://127.0.0.1:${port}` })
  service.closeAllConnections()
  service.close()
  return result
}

test.concurrent('6 when rate limited, without waiting', async () => {
  const headers = {
    'X-Error-Code': 'rate_limited',
    'X-RateLimit-Reset': '42',
    'Retry-After': '42',
    'X-Request-Id': 'r1',
  }
  const started = Date.now()
  const { code, failure } = await against(429, headers, ['affiliates', 'list'])
  expect(code).toBe(6)
  expect(failure).toMatchObject({
    status: 429,
    code: 'rate_limited',
    requestId: 'r1',
    hint: expect.stringContaining('--wait'),
  })
  expect(Date.now() - started).toBeLessThan(10_000)
})

test.concurrent('7 when the service is unavailable or unreachable', async () => {
  const headers = { 'X-Error-Code': 'storage_unavailable', 'Retry-After': '0' }
  expect((await against(503, headers, ['affiliates', 'list'])).code).toBe(7)
  const gone = await fails(['affiliates', 'list'], { ...shop.env, REFERRAL_BASE_URL: 'http://127.0.0.1:1' })
  expect(gone).toMatchObject({ code: 7, failure: { code: 'connection_error', status: null } })
})

test.concurrent('8 on partial failure, with a report', async () => {
  const receiver = createServer((_, response) => response.end()).listen(0)
  const { port } = receiver.address() as { port: number }
  const { code, stdout } = await cliProcess(['webhooks', 'check', `http://127.0.0.1:${port}`, '--json'], {
    env: { REFERRAL_WEBHOOK_SECRET: 'something' },
  })
  receiver.closeAllConnections()
  receiver.close()
  expect(code).toBe(8)
  expect(JSON.parse(stdout).score).toBeLessThan(100)
})

test.concurrent('9 when confirmation is required and there is no terminal', async () => {
  expect(await fails(['keys', 'revoke', 'key_1'])).toMatchObject({
    code: 9,
    failure: { code: 'confirmation_required' },
  })
})

test.skipIf(noTerminal)('9 when the confirmation is declined', async () => {
  const { code, output } = await onTerminal(['keys', 'revoke', 'key_1'], {
    env: shop.env,
    answers: [[/\[y\/N\]/, 'n\n']],
  })
  expect(code).toBe(9)
  expect(output).toContain('Nothing was changed')
})

test.concurrent('130 when interrupted', async () => {
  const service = createServer(() => {}).listen(0)
  const { port } = service.address() as { port: number }
  const child = start(['affiliates', 'list'], { env: { ...shop.env, REFERRAL_BASE_URL: `http://127.0.0.1:${port}` } })
  const end = ended(child)
  await new Promise((done) => service.once('request', done))
  child.kill('SIGINT')
  expect(await end).toMatchObject({ code: 130, stdout: '' })
  service.closeAllConnections()
  service.close()
})

test.skipIf(noTerminal)('130 on Ctrl-C at a prompt', async () => {
  const env = { ...shop.env, REFERRAL_CONFIG_DIR: '/nonexistent' }
  const login = await onTerminal(['login', '--base-url', shop.server.url], { env, answers: [[/hidden/, '\u0003']] })
  expect(login.code).toBe(130)
})

// Full: it starts other processes.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort, type RunningServer, run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder: ReturnType<typeof temporaryFolder>
let server: RunningServer | undefined
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await server?.stop('SIGKILL')
  server = undefined
  folder.remove()
})

const env = () => ({ REFERRAL_DATA_DIR: folder.path })
const demo = () =>
  Object.fromEntries(
    readFileSync(join(folder.path, 'demo.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  )

test('the first start prints a command that creates a commission for an order, and the second keeps the data', async () => {
  server = await startServer(env())
  const lines = server.output().trim().split('\n')
  expect(lines.at(-1)).toBe(`listening on ${server.url}`)
  const first = demo()
  expect(first).toEqual({
    REFERRAL_BASE_URL: server.url,
    REFERRAL_API_KEY: expect.stringMatching(/^rk_[0-9A-Za-z]{49}$/),
    REFERRAL_OWNER_TOKEN: expect.stringMatching(/^ro_/),
    REFERRAL_SHOP_ID: expect.stringMatching(/^shp_/),
  })
  expect(statSync(join(folder.path, 'demo.env')).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder.path, 'encryption.key')).mode & 0o777).toBe(0o600)

  // Logs may contain what a start prints; the token is only in the file, and a link expires.
  expect(server.output()).not.toContain(first.REFERRAL_OWNER_TOKEN)
  const linkIn = (output: string) => /dashboard +(\S+)/.exec(output)?.[1] ?? ''
  const enter = async () => {
    const { origin, pathname, searchParams } = new URL(linkIn(server?.output() ?? ''))
    const answer = await fetch(origin + pathname, { method: 'POST', body: searchParams, redirect: 'manual' })
    return [answer.status, answer.headers.get('Location')]
  }
  expect(await enter()).toEqual([303, '/admin'])
  expect((await enter())[0]).toBe(401)

  const commands = lines.filter((line) => line.trim().startsWith('curl'))
  expect(commands).toHaveLength(3)
  expect(commands.filter((one) => one.includes(' -d ') && !one.includes('Content-Type: application/json'))).toEqual([])
  const paste = (command: string | undefined) =>
    JSON.parse(execFileSync('sh', ['-c', `${command} -s`], { encoding: 'utf8' }))
  const order = paste(commands[0])
  expect(order).toMatchObject({
    attribution: { method: 'COUPON', reasonCode: 'COUPON_MATCH' },
    commission: { amountCents: 1440, status: 'APPROVED' },
  })
  expect(paste(commands[0])).toEqual(order)
  expect(paste(commands[1]).data).toHaveLength(1)
  expect(paste(commands[2]).commission.amountCents).toBe(800)

  expect(await server.stop()).toBe(0)
  server = await startServer(env())
  expect(demo()).toEqual({ ...first, REFERRAL_BASE_URL: server.url })
  expect((await enter())[0]).toBe(303)
  expect(paste(commands[1]?.replaceAll(/http:\S+?(?=\/api)/g, server.url)).data).toHaveLength(1)

  const database = join(folder.path, 'referral.db')
  const copied = await run(['copy', '--from', `file:${database}`, '--to', `file:${database}.copy`], env())
  expect(copied).toMatchObject({ code: 1, stderr: `${database} is in use. Stop the server first.\n` })
}, 30_000)

test('without the encryption key of its database the server does not start, and no other key is generated', async () => {
  server = await startServer(env())
  await server.stop()
  const key = join(folder.path, 'encryption.key')
  const right = readFileSync(key)
  rmSync(key)
  const missing = `${key} is missing: restore the encryption key of this database.\n`
  expect(await run(['serve'], env())).toMatchObject({ code: 1, stderr: missing })
  expect(existsSync(key)).toBe(false)
  writeFileSync(key, Buffer.alloc(32, 7).toString('base64'))
  const { code, stderr } = await run(['serve'], env())
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`${key} does not match the encryption key of this database`),
  ])
  const checked = await run(['check'], env())
  expect([checked.code, checked.stdout]).toEqual([
    1,
    expect.stringContaining('The encryption key does not belong to this database'),
  ])
  writeFileSync(key, right)
  expect(await run(['check'], env())).toMatchObject({ code: 0 })
}, 30_000)

test('health, readiness, the contract and the docs need no credential', async () => {
  server = await startServer(env())
  const get = async (path: string) => fetch(`${server?.url}${path}`)
  expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' })
  expect(await (await get('/readyz')).json()).toEqual({ status: 'ok' })
  expect(await (await get('/openapi.yaml')).text()).toMatch(/^openapi: 3\.1/)
  expect((await (await get('/openapi.json')).json()).paths).toHaveProperty('/api/v1/events')
  expect((await get('/api/v1/docs')).headers.get('content-type')).toContain('text/html')
})

test('SIGTERM drains in-flight requests, and callers who never pause do not delay it', async () => {
  server = await startServer(env())
  const { url } = server
  const { REFERRAL_API_KEY: key } = demo()
  const headers = { Authorization: `Bearer ${key}` }
  const answered: string[] = []
  let answers = 0
  const report = async (id: string) => {
    const body = JSON.stringify({ externalOrderId: id, amountCents: 100, couponCode: 'NISA16' })
    const given = { method: 'POST', headers: { ...headers, 'Idempotency-Key': id }, body }
    const { status } = await fetch(`${url}/api/v1/events`, given)
    answers++
    if (status === 201) answered.push(id)
  }
  let isOver = false
  const caller = async (n: number) => {
    for (let i = 0; !isOver; i++) await report(`term-${n}-${i}`).catch(() => new Promise((done) => setTimeout(done, 5)))
  }
  const callers = Array.from({ length: 8 }, (_, n) => caller(n))
  while (answered.length < 20) await new Promise((done) => setTimeout(done, 5))
  const before = answers
  expect(await server.stop()).toBe(0)
  isOver = true
  await Promise.all(callers)
  // Per caller: its in-flight request, and one sent before it could notice.
  expect(answers - before).toBeLessThanOrEqual(8 * 3)
  server = await startServer(env())
  const list = await (await fetch(`${server.url}/api/v1/commissions?limit=100`, { headers })).json()
  const stored = list.data.map(({ externalOrderId }: { externalOrderId: string }) => externalOrderId)
  expect(stored.filter((id: string) => id.startsWith('term-') && !answered.includes(id))).toEqual([])
  expect(list.pagination.total).toBeGreaterThanOrEqual(20)
})

test('the log is JSON without keys and without the query', async () => {
  server = await startServer(env())
  const { REFERRAL_API_KEY: key } = demo()
  await fetch(`${server.url}/api/v1/affiliates?q=canary-name`, {
    headers: { Authorization: `Bearer ${key}`, 'X-Request-Id': 'my-id' },
  })
  await server.stop()
  const lines = server
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ requestId: 'my-id', path: '/api/v1/affiliates', status: 200 }))
  expect(server.log()).not.toContain('canary-name')
  expect(server.log()).not.toContain(key)
})

test('a port in use prevents startup with one sentence', async () => {
  server = await startServer(env())
  const port = new URL(server.url).port
  const second = temporaryFolder()
  const { code, stderr } = await run(['serve'], { REFERRAL_DATA_DIR: second.path, PORT: port })
  second.remove()
  expect([code, stderr.trim()]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^Cannot listen on 127\\.0\\.0\\.1:${port}: .*PORT.*$`)),
  ])
})

test.each([
  [{ PORT: 'eighty' }, /^PORT must .*"eighty"/],
  [{ REFERRAL_DEMO: 'yes' }, /^REFERRAL_DEMO must .*"yes"/],
  [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must .* silent,.*"loud"/],
  [{ REDIS_URL: 'http://:secret@localhost' }, /^REDIS_URL must (?!.*secret).* rediss:/],
  [
    { REFERRAL_WEBHOOK_ALLOW: '127.0.0.1:9000, http://localhost' },
    /^REFERRAL_WEBHOOK_ALLOW must .*"http:\/\/localhost"/,
  ],
  [{ REFERRAL_WEBHOOK_ALLOW: 'localhost:70000' }, /^REFERRAL_WEBHOOK_ALLOW must .*"localhost:70000"/],
  [
    {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    },
    /^Cannot connect to PostgreSQL: .*127\.0\.0\.1:1/,
  ],
  [{ REFERRAL_ENCRYPTION_KEY: 'short' }, /^REFERRAL_ENCRYPTION_KEY must .*32 bytes/],
])('%j prevents startup with one line: %s', async (wrong, line) => {
  const { code, stderr } = await run(['serve'], { ...env(), ...wrong } as Record<string, string>)
  expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringMatching(line)]])
})

test('without the demo there is no shop and no demo.env', async () => {
  server = await startServer({ ...env(), REFERRAL_DEMO: '0', PORT: String(await freePort()) })
  const { stdout } = await run(['shop', 'list', '--json'], env())
  expect(JSON.parse(stdout)).toEqual({ data: [] })
  expect(() => demo()).toThrow()
})
